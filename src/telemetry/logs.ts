/** What each line of ours says of what it is about: ids in the fields of the logger, never in its text alone. */
import type { Span } from '@opentelemetry/api';
import type { Facts } from './names.js';
import { traceIds } from './trace.js';

/**
 * Fields of a log line: tenant, run, slot, attempt, number, epoch, worker and class as far as they are known, and the ids of the
 * trace.
 *
 * @param of anything that has such fields; others are left out
 * @param span whose ids the line has. Default: the active one
 */
export function logFields(of: Facts, span?: Span): Record<string, unknown> {
  const { tenant, run, slot, attempt, number, epoch, worker, workerClass } = of;
  const fields = { tenant, run, slot, attempt, number, epoch, worker, workerClass, ...traceIds(span) };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
