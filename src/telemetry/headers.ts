/**
 * The trace in Temporal's headers, as Temporal's own OpenTelemetry package writes it, so that either understands the other.
 * Its workflow half is workflows/interceptors.ts.
 */
import { context, propagation, trace, type Context } from '@opentelemetry/api';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import { TRACE_HEADER } from '../domain/wire.js';

/** The headers with the active span's context; as they were where nothing is traced. */
export function withTrace(headers: Headers): Headers {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  if (Object.keys(carrier).length === 0) return headers;
  return { ...headers, [TRACE_HEADER]: defaultPayloadConverter.toPayload(carrier) };
}

/**
 * The context that work with these headers belongs in. A span that is active already stands: it is that of an interceptor before
 * ours, which has read the header.
 */
export function traceIn(headers: Headers): Context {
  const active = context.active();
  const header = headers[TRACE_HEADER];
  if (header === undefined || trace.getSpan(active)) return active;
  try {
    const carrier: unknown = defaultPayloadConverter.fromPayload(header);
    return typeof carrier === 'object' && carrier !== null ? propagation.extract(active, carrier) : active;
  } catch {
    // Anybody may have written it; work is not refused for it.
    return active;
  }
}
