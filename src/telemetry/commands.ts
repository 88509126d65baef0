/** A client's command: one span, and one count when it is refused. */
import type { Span } from '@opentelemetry/api';
import { ATTRIBUTES, attributesOf, type Facts } from './names.js';
import { countRefusal } from './metrics.js';
import { SpanKind, traced } from './trace.js';

/**
 * Carries a command out in a span `baton.<command>`, in the words of the command line: `baton.cancel-slot`. Refusals are counted under the
 * command's own name, `cancelSlot`, as the audit has it.
 *
 * @param commandId as the caller gave it; absent: one is made up, which nobody will look for
 */
export function commanded<T>(
  name: string,
  facts: Facts,
  commandId: string | undefined,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const id = commandId === undefined ? {} : { [ATTRIBUTES.commandId]: commandId };
  const attributes = { ...attributesOf(facts), ...id };
  return traced(spanOf(name), { attributes, kind: SpanKind.CLIENT }, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      countRefusal(error, name);
      throw error;
    }
  });
}

/** `baton.claim` is the claim's own span, where it is carried out. */
function spanOf(command: string): string {
  if (command === 'claim') return 'baton.request-claim';
  return `baton.${command.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
