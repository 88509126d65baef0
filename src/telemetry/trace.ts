/**
 * Spans, by the OpenTelemetry API alone: where no SDK is registered every call here does nothing. A span says which code ended it
 * and not in which words: messages may hold what an agent was working on.
 */
import {
  context,
  createContextKey,
  isSpanContextValid,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Link,
  type Span,
  type SpanContext,
  SpanKind,
} from '@opentelemetry/api';
import { ATTRIBUTES, attributesOf, SCOPE, type Facts } from './names.js';

export { SpanKind };

/** What all spans of an attempt are about, however deep in an agent's code they are made. */
const ABOUT = createContextKey('temporal-baton.about');

export interface SpanInput {
  readonly attributes?: Attributes;
  /** Default: `INTERNAL`. */
  readonly kind?: SpanKind;
  /** `traceparent` of the span above. Default, and where it is absent or none: the active one. */
  readonly parent?: string | undefined;
  /** `traceparent` of a span that led to this one. */
  readonly link?: string | undefined;
}

/** Starts a span that its starter ends with {@link endSpan}. */
export function startSpan(name: string, input: SpanInput = {}): Span {
  const { attributes, kind, parent, link } = input;
  const above = parent === undefined ? undefined : contextOf(parent);
  const linked = link === undefined ? undefined : contextOf(link);
  const links: Link[] = linked ? [{ context: linked }] : [];
  const within: Context = above ? trace.setSpanContext(context.active(), above) : context.active();
  const about = within.getValue(ABOUT) as Attributes | undefined;
  const options = { links, attributes: { ...about, ...attributes }, kind: kind ?? SpanKind.INTERNAL };
  return trace.getTracer(SCOPE).startSpan(name, options, within);
}

/** Runs work with the span as the active one: what is traced in it, by whomever, is below it. */
export const inSpan = <T>(span: Span, work: () => T): T =>
  context.with(trace.setSpan(context.active(), span), work);

/** {@link inSpan}, and all spans of ours in it have these facts too. */
export const about = <T>(facts: Facts, span: Span, work: () => T): T =>
  context.with(trace.setSpan(context.active().setValue(ABOUT, attributesOf(facts)), span), work);

/** Runs work in a span of its own. An error ends the span with its code and is thrown on. */
export async function traced<T>(
  name: string,
  input: SpanInput,
  work: (span: Span) => Promise<T> | T,
): Promise<T> {
  const span = startSpan(name, input);
  try {
    const value = await inSpan(span, () => work(span));
    endSpan(span);
    return value;
  } catch (error) {
    endSpan(span, codeOf(error));
    throw error;
  }
}

/** @param code of what ended it badly; absent: it ended well */
export function endSpan(span: Span, code?: string): void {
  if (code !== undefined) markSpan(span, code);
  span.end();
}

/** Marks a span as ended badly. */
export function markSpan(span: Span, code: string): void {
  span.setAttributes({ [ATTRIBUTES.code]: code, 'error.type': code });
  span.addEvent('exception', { 'exception.type': code });
  span.setStatus({ code: SpanStatusCode.ERROR, message: code });
}

/** Code of an error of ours or of an agent, type of a failure of Temporal's, or the name of its class. */
export function codeOf(error: unknown): string {
  const { code, type, name } = (error ?? {}) as { code?: unknown; type?: unknown; name?: unknown };
  const said = [code, type, name].find((word) => typeof word === 'string' && /^[\w.:-]{1,128}$/.test(word));
  return typeof said === 'string' ? said : 'Error';
}

/** A span as a W3C `traceparent`, for what is carried by our own messages; undefined where nothing is traced. */
export function traceparentOf(span: Span): string | undefined {
  const { traceId, spanId, traceFlags } = span.spanContext();
  if (!isSpanContextValid(span.spanContext())) return undefined;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

function contextOf(traceparent: string): SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent) ?? [];
  const found = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(found) ? found : undefined;
}

/** Ids of the span, as log lines name them; empty where nothing is traced. */
export function traceIds(
  span: Span | undefined = trace.getActiveSpan(),
): { trace_id: string; span_id: string } | undefined {
  const found = span?.spanContext();
  return found && isSpanContextValid(found) ? { trace_id: found.traceId, span_id: found.spanId } : undefined;
}
