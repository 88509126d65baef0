/**
 * Metrics, by the OpenTelemetry API alone. They are counted where activities, hosts and clients run, never in workflow code, which
 * is replayed. docs/observability.md has the table. Attributes are of few values: no run, slot or attempt.
 */
import { metrics, type Counter, type Histogram, type MeterProvider } from '@opentelemetry/api';
import { ERROR_CODES, isErrorCode } from '../domain/errors.js';
import type { WorkerStatus } from '../domain/types.js';
import { ATTRIBUTES, SCOPE } from './names.js';
import { codeOf } from './trace.js';

interface Instruments {
  readonly claims: Counter;
  readonly losses: Counter;
  readonly refusals: Counter;
  readonly takeover: Histogram;
  readonly unresolved: Counter;
  readonly timeLeft: Histogram;
}

/** Seconds. Leases last from a second in tests to days of a person's. */
const LEASE_SECONDS = [0.25, 0.5, 1, 2, 5, 10, 15, 20, 30, 40, 60, 120, 300, 900, 3_600, 14_400];
const TAKEOVER_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400];

const made = new WeakMap<MeterProvider, Instruments>();

/** Of the provider that is registered now: unlike tracers, instruments made before an SDK is registered stay without effect. */
function instruments(): Instruments {
  const provider = metrics.getMeterProvider();
  const known = made.get(provider);
  if (known) return known;
  const meter = provider.getMeter(SCOPE);
  const fresh: Instruments = {
    claims: meter.createCounter('baton.claims', {
      unit: '{claim}',
      description: 'Claims whose worker attached.',
    }),
    losses: meter.createCounter('baton.losses', {
      unit: '{attempt}',
      description: 'Attempts recorded as lost: missed beats, or the maximum duration.',
    }),
    refusals: meter.createCounter('baton.refusals', {
      unit: '{refusal}',
      description: 'Commands, claims and saves refused by a rule.',
    }),
    takeover: meter.createHistogram('baton.takeover.duration', {
      unit: 's',
      description: 'From the end of an attempt to the attachment of its successor.',
      advice: { explicitBucketBoundaries: TAKEOVER_SECONDS },
    }),
    unresolved: meter.createCounter('baton.effects.unresolved', {
      unit: '{effect}',
      description: 'Effects that became unresolved: nobody can tell whether they happened.',
    }),
    timeLeft: meter.createHistogram('baton.lease.time_left', {
      unit: 's',
      description: 'What was left of a lease when its renewal was acknowledged.',
      advice: { explicitBucketBoundaries: LEASE_SECONDS },
    }),
  };
  made.set(provider, fresh);
  return fresh;
}

const ofClass = (workerClass: string) => ({ [ATTRIBUTES.workerClass]: workerClass });

/** A worker attached for the first time. @param takeover whether somebody had worked on the slot before */
export const countClaim = (workerClass: string, takeover: boolean): void =>
  instruments().claims.add(1, { ...ofClass(workerClass), 'baton.takeover': takeover });

/** An attempt was recorded as lost. @param end `expired` or `max-duration` */
export const countLoss = (workerClass: string, end: string): void =>
  instruments().losses.add(1, { ...ofClass(workerClass), [ATTRIBUTES.end]: end });

/**
 * Counts an error when it is a refusal by a rule: `baton`'s exit code 3. Others (a store that is away, a malformed command) are not.
 *
 * @param command what was refused: a command's name, or `claimSlot`
 */
export function countRefusal(error: unknown, command: string): void {
  const code = codeOf(error);
  if (!isErrorCode(code) || ERROR_CODES[code].exit !== 3) return;
  instruments().refusals.add(1, { [ATTRIBUTES.code]: code, [ATTRIBUTES.command]: command });
}

/**
 * Records how long a slot was without a worker, when it had one before.
 *
 * @param before the attempt before: its worker's status, and when its end was recorded
 * @param startedAt of the successor; both are times of the Temporal server, so that no clock is compared with another
 */
export function recordTakeover(
  workerClass: string,
  before: { readonly worker: { readonly status: WorkerStatus }; readonly endedAt: string | null } | undefined,
  startedAt: number | null,
): void {
  if (before?.endedAt == null || startedAt === null) return;
  const seconds = Math.max(0, startedAt - Date.parse(before.endedAt)) / 1_000;
  instruments().takeover.record(seconds, { ...ofClass(workerClass), 'baton.from': before.worker.status });
}

export const countUnresolved = (effect: string): void =>
  instruments().unresolved.add(1, { [ATTRIBUTES.effect]: effect });

/** @param ms by this process's monotonic clock, from the acknowledgement to the end that the lease had before it */
export const recordTimeLeft = (workerClass: string, ms: number): void =>
  instruments().timeLeft.record(Math.max(0, ms) / 1_000, ofClass(workerClass));
