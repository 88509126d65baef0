/** Runs and commands of the reassign matrix: a state made by hand for each combination, since no history reaches most. */
import { createRun } from '../../src/domain/run.js';
import type {
  AttemptRef,
  Ending,
  LaunchSpec,
  LeaseStatus,
  Pins,
  PriorWorker,
  RunState,
  Slot,
  WorkerStatus,
} from '../../src/domain/types.js';
import type { Combination } from './factors.js';

export const TENANT = 'acme';
export const SLOT = 'work';
export const ACTOR = 'ada';
export const AT = 1_700_000_000_000;
const pin = { ref: 'job@1', digest: '0'.repeat(64) };
export const PINS: Pins = { package: pin, workflow: pin, binding: pin };

const spec = (id: string, workerClasses: readonly string[]): LaunchSpec => ({
  id,
  workerClasses,
  // Nobody is offered anything, so that a crafted run stands still.
  dispatch: 'direct',
  lease: { ttlMs: 600_000, maxDurationMs: null },
  retry: {
    mode: 'manual',
    backoff: { initialMs: 1, factor: 1, maxMs: 1 },
    failures: 3,
    losses: 5,
    onExhausted: 'wait',
  },
});

const PLAN = {
  nodes: [
    {
      node: SLOT,
      slots: [SLOT],
      dependsOn: [],
      optional: false,
      steps: null,
      agent: { name: 'tester', revision: '1' },
      attachments: [],
      launch: [spec('one', ['coder', 'either']), spec('two', ['senior', 'either'])],
    },
  ],
};

const CLASSES: Readonly<Record<Combination['workerClass'], string>> = {
  one: 'coder',
  two: 'senior',
  'one and two': 'either',
  none: 'poet',
};
const REASONS: Readonly<Record<Combination['reason'], string | null>> = {
  given: 'the host is gone',
  missing: null,
  blank: ' \u00a0\u200b\t',
  'too long': 'x'.repeat(4_001),
};
const TENANTS = (tenant: string): Readonly<Record<Combination['tenant'], string>> => ({
  own: tenant,
  foreign: 'globex',
  'own in another case': tenant.toUpperCase(),
});

const attempt: AttemptRef = {
  attempt: 'a-1',
  number: 1,
  epoch: 1,
  worker: 'w-1',
  workerClass: 'coder',
  ownerActor: null,
  lease: 'l-1',
  spec: 'one',
  hostQueue: 'nowhere',
  ttlMs: 600_000,
  maxDurationMs: null,
  startedAt: AT,
};

function priorOf({ worker, lease, owner }: Combination): PriorWorker | null {
  if (worker === 'none') return null;
  return {
    attempt: attempt.attempt,
    number: attempt.number,
    worker: attempt.worker,
    workerClass: attempt.workerClass,
    ownerActor: owner === 'nobody' ? null : owner === 'the actor' ? ACTOR : 'bob',
    status: worker satisfies WorkerStatus,
    leaseStatus: lease === 'being recorded' ? 'live' : (lease satisfies LeaseStatus),
  };
}

/** The run in which the command meets its guards. */
export function stateOf(combination: Combination, tenant = TENANT, run = 'r-1'): RunState {
  const state = createRun({ tenant, run, pins: PINS, plan: PLAN }, 0);
  const fresh = state.slots[SLOT];
  if (!fresh) throw new RangeError('the plan has the slot');
  const closed = combination.run === 'closed';
  const name = combination.slot === 'absent' ? 'retry-wait' : combination.slot;
  const prior = priorOf(combination);
  const { counts, spent } = fresh;
  const before = { state: 'open', ...pick(fresh), prior: null } as const;
  const ending: Ending = {
    attempt,
    end: 'expired',
    failure: null,
    staged: null,
    endedAt: AT,
    undo: { counts, spent, prior: null, reassign: null },
    before,
  };
  const slot: Slot = {
    ...fresh,
    state: name,
    gate: name === 'retry-wait' ? 'reassign' : null,
    prior,
    active: name === 'active' ? { ...attempt, attempt: 'a-2', number: 2, epoch: 2, lease: 'l-2' } : null,
    ending: combination.lease === 'being recorded' ? ending : null,
    hold:
      name === 'on-hold'
        ? { from: 'retry-wait', gate: 'reassign', reason: 'wait', actor: ACTOR, at: AT }
        : null,
    epoch: 2,
    number: 2,
  };
  return { ...state, status: closed ? 'cancelled' : 'running', slots: { [SLOT]: slot } };
}

function pick({
  gate,
  retryTime,
  spec: id,
  workerClass,
  prior,
  reassign,
  number,
  counts,
  spent,
  failure,
}: Slot) {
  return { gate, retryTime, spec: id, workerClass, prior, reassign, number, counts, spent, failure };
}

/** The command as a caller sends it, without the fields that are absent. */
export function commandOf(combination: Combination, tenant = TENANT, run = 'r-1'): Record<string, unknown> {
  const reason = REASONS[combination.reason];
  return {
    tenant: TENANTS(tenant)[combination.tenant],
    run: combination.run === 'another' ? `${run}-another` : run,
    slot: combination.slot === 'absent' ? 'nothing' : SLOT,
    workerClass: CLASSES[combination.workerClass],
    ...(reason === null ? {} : { reason }),
    actor: ACTOR,
    commandId: 'c-1',
  };
}
