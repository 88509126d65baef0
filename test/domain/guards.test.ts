/** Reassign's guard table, cell by cell (design, "Reassign"), and its dry run. */
import { describe, expect, test } from 'vitest';
import { check } from '../../src/domain/decide.js';
import type { ErrorCode } from '../../src/domain/errors.js';
import { REASSIGN_GUARDS, dryRunReassign } from '../../src/domain/reassign.js';
import {
  LEASE_STATUSES,
  SLOT_STATES,
  WORKER_STATUSES,
  isTerminalLease,
  isTerminalWorker,
  type RunState,
  type Slot,
} from '../../src/domain/types.js';
import {
  NOW,
  accept,
  attempt,
  craft,
  deepFreeze,
  expectRefused,
  prior,
  reassign,
  slotOf,
  start,
  type Reassign,
} from './kit.js';

/** A slot that a reassign by `ada` may take over. */
const waiting: Partial<Slot> = {
  state: 'retry-wait',
  gate: 'reassign',
  prior: prior(),
  epoch: 1,
  number: 1,
  counts: { claims: 1, failures: 0, losses: 1, releases: 0 },
  spent: { failures: 0, losses: 1 },
  failure: { code: 'LeaseExpired', message: 'no beat' },
};
interface Case {
  state: RunState;
  command: Reassign;
}
const good = (): Case => ({ state: craft(start(), waiting), command: reassign() });
const withSlot = (at: Case, changes: Partial<Slot>): Case => ({ ...at, state: craft(at.state, changes) });
const withPrior = (at: Case, changes: Parameters<typeof prior>[0]): Case => {
  const before = slotOf(at.state).prior ?? prior();
  return withSlot(at, { prior: { ...before, ...changes } });
};
const withCommand = (at: Case, changes: Partial<Reassign>): Case => ({
  ...at,
  command: { ...at.command, ...changes },
});

/** How each guard is made to fail, in the order of the design. */
const BREAK: readonly (readonly [ErrorCode, (at: Case) => Case])[] = [
  ['RunNotFound', (at) => withCommand(at, { tenant: 'other' })],
  ['RunClosed', (at) => ({ ...at, state: deepFreeze({ ...at.state, status: 'failed' }) })],
  ['RunMismatch', (at) => withCommand(at, { run: 'r2' })],
  ['SlotNotFound', (at) => withCommand(at, { slot: 'zz' })],
  ['SlotNotInRetryWait', (at) => withSlot(at, { state: 'active', gate: null, active: attempt(2) })],
  ['NoPriorWorker', (at) => withSlot(at, { prior: null })],
  ['WorkerNotTerminal', (at) => withPrior(at, { status: 'running' })],
  ['LeaseNotTerminal', (at) => withPrior(at, { leaseStatus: 'live' })],
  ['ReasonRequired', (at) => withCommand(at, { reason: ' ' })],
  ['OwnerActorMismatch', (at) => withCommand(at, { actor: 'bob' })],
  ['NoCompatibleLaunchSpec', (at) => withCommand(at, { workerClass: 'nobody' })],
];
const verdictOf = ({ state, command }: Case) => check(state, command, NOW);

test('the guards are the ones of the design, in its order', () => {
  expect(REASSIGN_GUARDS.map((guard) => guard.code)).toEqual(BREAK.map(([code]) => code));
  expect(verdictOf(good())).toBeNull();
});

describe.each(BREAK.map(([code, fail], index) => ({ code, fail, index })))(
  '$code',
  ({ code, fail, index }) => {
    test('refuses alone', () => {
      const refused = expectRefused(verdictOf(fail(good())), code);
      expect(Object.keys(refused.details).length).toBeGreaterThan(0);
    });

    // A slot without a prior worker has neither status nor owner: those guards cannot fail together with it.
    const later = BREAK.slice(index + 1).filter(
      ([other]) =>
        code !== 'NoPriorWorker' ||
        !['WorkerNotTerminal', 'LeaseNotTerminal', 'OwnerActorMismatch'].includes(other),
    );
    test.each(later)('wins over %s', (_, failToo) => {
      expect(verdictOf(fail(failToo(good())))?.code).toBe(code);
    });

    test('wins over all later ones at once', () => {
      expect(verdictOf(fail(later.reduce((at, [, failToo]) => failToo(at), good())))?.code).toBe(code);
    });
  },
);

test('a slot without prior worker wins over an ending that is being recorded', () => {
  const ending = { attempt: attempt(1), end: 'expired', failure: null, staged: null, endedAt: NOW } as const;
  const { counts, spent } = slotOf(good().state);
  const undo = { counts, spent, prior: null, reassign: null };
  const before = { ...slotOf(good().state), state: 'open' as const };
  const at = withSlot(good(), { prior: null, ending: { ...ending, undo, before } });
  expect(verdictOf(at)?.code).toBe('NoPriorWorker');
  const settling = withSlot(at, { prior: prior() });
  expectRefused(verdictOf(settling), 'LeaseNotTerminal', 'being recorded', 'attempt=att-1');
});

describe('slot state', () => {
  test.each(SLOT_STATES.filter((state) => state !== 'retry-wait'))('%s is refused and named', (state) => {
    const refused = verdictOf(withSlot(good(), { state, gate: null }));
    expectRefused(refused, 'SlotNotInRetryWait', `the slot is ${state}`, 'slot=a', `state=${state}`);
    expect(refused?.details).toEqual({ slot: 'a', state });
  });

  test.each([
    ['time', NOW + 1],
    ['time', NOW - 1],
    ['reassign', null],
    ['open', null],
  ] as const)('retry-wait with gate %s (retry time %s) is accepted', (gate, retryTime) => {
    const at = withSlot(good(), { gate, retryTime });
    const after = slotOf(accept(at.state, at.command));
    expect(after).toMatchObject({ state: 'retry-wait', gate: 'open', retryTime: null });
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('slot %s is not found', (slot) => {
    expect(verdictOf(withCommand(good(), { slot }))?.code).toBe('SlotNotFound');
  });

  test.each(['succeeded', 'failed', 'cancelled', 'terminated'] as const)(
    'a run that is %s is closed',
    (status) => {
      const at = good();
      const refused = verdictOf({ ...at, state: deepFreeze({ ...at.state, status }) });
      expect(expectRefused(refused, 'RunClosed', status).details).toEqual({ run: 'r1', status });
    },
  );

  test.each(['acme2', 'ACME', 'Acme', 'acm'])(
    'tenant %s gets the answer for a run that does not exist',
    (tenant) => {
      const refused = verdictOf(withCommand(good(), { tenant }));
      expect(expectRefused(refused, 'RunNotFound').details).toEqual({ tenant, run: 'r1' });
      expect(refused?.message).not.toContain('acme,');
    },
  );
});

describe('prior worker and lease', () => {
  const cells = WORKER_STATUSES.flatMap((status) =>
    LEASE_STATUSES.map((leaseStatus) => [status, leaseStatus] as const),
  );
  test.each(cells)('worker %s with lease %s', (status, leaseStatus) => {
    const refused = verdictOf(withPrior(good(), { status, leaseStatus }));
    if (!isTerminalWorker(status)) {
      const { details } = expectRefused(refused, 'WorkerNotTerminal', status, 'worker=w1');
      expect(details).toEqual({ slot: 'a', state: 'retry-wait', worker: 'w1', status });
    } else if (!isTerminalLease(leaseStatus)) {
      const { details } = expectRefused(refused, 'LeaseNotTerminal', `lease=${leaseStatus}`);
      expect(details).toEqual({ slot: 'a', state: 'retry-wait', attempt: 'a-1', lease: leaseStatus });
    } else expect(refused).toBeNull();
  });

  test('which statuses are terminal', () => {
    expect(WORKER_STATUSES.filter(isTerminalWorker)).toEqual([
      'succeeded',
      'failed',
      'released',
      'lost',
      'cancelled',
    ]);
    expect(LEASE_STATUSES.filter(isTerminalLease)).toEqual(['released', 'expired', 'revoked', 'void']);
  });
});

describe('owner actor', () => {
  test.each([
    [null, 'ada', true],
    [null, 'bob', true],
    ['ada', 'ada', true],
    ['ada', 'Ada', false],
    ['ada', 'bob', false],
  ])('owner %s, actor %s', (ownerActor, actor, passes) => {
    const refused = verdictOf(withCommand(withPrior(good(), { ownerActor }), { actor }));
    if (passes) return expect(refused).toBeNull();
    const { details } = expectRefused(refused, 'OwnerActorMismatch', `actor=${actor}`, `owner=${ownerActor}`);
    expect(details).toEqual({ slot: 'a', actor, owner: ownerActor });
  });
});

describe('reason', () => {
  const point = (code: number) => String.fromCodePoint(code);
  const BLANKS: Record<string, string> = {
    empty: '',
    space: ' ',
    tabs: '\t\r\n\v\f',
    'no-break space': point(0xa0),
    'ideographic space': point(0x3000),
    'line and paragraph separator': point(0x2028) + point(0x2029),
    'zero-width space': point(0x200b),
    'zero-width joiners': point(0x200c) + point(0x200d),
    'word joiner': point(0x2060),
    'byte order mark': point(0xfeff),
    'bidi marks': point(0x200e) + point(0x202e) + point(0x2066),
    'Mongolian vowel separator': point(0x180e),
    'soft hyphen': point(0xad),
    'control characters': point(1) + point(0x1b) + point(0x7f) + point(0x85),
    'tag characters': point(0xe0001) + point(0xe0041),
    mixed: ` ${point(0xa0)}\n${point(0x200b)}${point(0xfeff)} `,
  };
  test.each([...Object.entries(BLANKS), ['null', null], ['absent', undefined]] as [
    string,
    string | null | undefined,
  ][])('%s is blank', (_, reason) => {
    const { details } = expectRefused(verdictOf(withCommand(good(), { reason })), 'ReasonRequired', 'reason');
    expect(details).toEqual({ field: 'reason' });
  });

  test.each([
    'x',
    '.',
    ` ${point(0x200b)}x `,
    point(0x301), // a lone combining accent can be seen
    point(0x1f600),
    point(0x2800), // a Braille blank is a symbol
    'a'.repeat(4_000),
  ])('case %# is a reason, and is stored as it is', (reason) => {
    const at = withCommand(good(), { reason });
    expect(slotOf(accept(at.state, at.command)).reassign?.reason).toBe(reason);
  });
});

describe('launch specification', () => {
  test.each([
    ['coder', 'one'],
    ['senior', 'two'],
    ['human', 'two'], // the first in declared order of the two that admit it
  ])('class %s selects specification %s', (workerClass, id) => {
    const at = withCommand(good(), { workerClass });
    const after = slotOf(accept(at.state, at.command));
    expect(after).toMatchObject({
      spec: id,
      workerClass,
      reassign: { fromSpec: 'one', toSpec: id, workerClass },
    });
  });

  test.each(['Coder', 'cod', 'nobody'])(
    'class %s is admitted by none, and the admitted ones are named',
    (workerClass) => {
      const refused = verdictOf(withCommand(good(), { workerClass }));
      const { details } = expectRefused(refused, 'NoCompatibleLaunchSpec', workerClass, 'senior');
      expect(details).toEqual({ slot: 'a', workerClass, admitted: ['coder', 'senior', 'human'] });
    },
  );
});

describe('dry run', () => {
  const verdicts = ({ state, command }: Case) => dryRunReassign(state, command, NOW);

  test('of a good one passes every guard, names the specification and changes nothing', () => {
    const result = verdicts(good());
    expect(result).toMatchObject({ accepted: true, spec: 'two' });
    expect(result.verdicts.map(({ code, passed, message }) => [code, passed, message])).toEqual(
      BREAK.map(([code]) => [code, true, null]),
    );
  });

  test.each(BREAK.slice(4))('judges the guards after %s too', (code, fail) => {
    const result = verdicts(fail(good()));
    expect(result.accepted).toBe(false);
    expect(result.verdicts).toHaveLength(BREAK.length);
    expect(result.verdicts.filter((one) => !one.passed).map((one) => one.code)).toEqual([code]);
    expect(result.verdicts.find((one) => one.code === code)?.message).toBe(verdictOf(fail(good()))?.message);
  });

  test('tells a foreign tenant nothing beyond the first guard', () => {
    const broken = BREAK.reduce((at, [, fail]) => fail(at), good());
    expect(verdicts(broken).verdicts.map((one) => one.code)).toEqual(['RunNotFound']);
    expect(verdicts(withCommand(good(), { tenant: 'other' }))).toMatchObject({ accepted: false, spec: null });
  });

  test('stops at a slot that does not exist', () => {
    const result = verdicts(withCommand(good(), { slot: 'zz' }));
    expect(result.verdicts.map((one) => one.code)).toEqual([
      'RunNotFound',
      'RunClosed',
      'RunMismatch',
      'SlotNotFound',
    ]);
    expect(result).toMatchObject({ accepted: false, spec: null });
  });
});
