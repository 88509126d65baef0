/** What an accepted reassign changes, exactly, and what it keeps (design, "Reassign"). */
import { describe, expect, test } from 'vitest';
import { packState, unpackState } from '../../src/domain/pack.js';
import type { Slot } from '../../src/domain/types.js';
import { NOW, accept, craft, prior, reassign, round, slotOf, start } from './kit.js';

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
const good = () => craft(start(), waiting);

describe('accepted', () => {
  const stale: Partial<Slot> = {
    gate: 'time',
    retryTime: NOW + 9,
    pendingWorker: 'left-over',
    claimFailure: { code: 'PinsDamaged', message: 'x', at: 1, times: 2 },
    spent: { failures: 1, losses: 1 },
  };

  test('changes exactly what the design says, and keeps the rest', () => {
    const at = craft(good(), stale);
    const before = slotOf(at);
    const after = accept(at, reassign(), NOW + 5);
    expect(after).toEqual({
      ...at,
      slots: {
        a: {
          ...before,
          gate: 'open',
          retryTime: null,
          spec: 'two',
          workerClass: 'senior',
          pendingWorker: null,
          active: null,
          before: null,
          spent: { failures: 0, losses: 0 },
          claimFailure: null,
          lastReassign: { reason: 'host lost', actor: 'ada', at: NOW + 5, workerClass: 'senior' },
          reassign: {
            reason: 'host lost',
            actor: 'ada',
            at: NOW + 5,
            workerClass: 'senior',
            fromSpec: 'one',
            toSpec: 'two',
            predecessor: 'a-1',
          },
        },
      },
    });
  });

  test('stays to be seen, cut to one line, when its successor works and when that one is lost too', () => {
    const reason = 'too hard '.repeat(40);
    const reopened = accept(good(), reassign({ reason }));
    const seen = { actor: 'ada', at: NOW, workerClass: 'senior', reason: `${reason.slice(0, 200)}…` };
    const lost = round(reopened, 2, 'expired');
    expect(slotOf(lost).reassign).toBeNull();
    expect(slotOf(lost).lastReassign).toEqual(seen);
    expect(slotOf(round(reopened, 2, 'success')).lastReassign).toEqual(seen);
    expect(slotOf(unpackState(packState(lost), lost)).lastReassign).toEqual(seen);
  });

  test('a second one before any claim replaces the first, and remembers from where', () => {
    const at = good();
    const once = accept(at, reassign());
    const twice = slotOf(
      accept(once, reassign({ workerClass: 'coder', reason: 'changed my mind', commandId: 'c2' })),
    );
    expect(twice.reassign).toMatchObject({
      fromSpec: 'two',
      toSpec: 'one',
      reason: 'changed my mind',
      predecessor: 'a-1',
    });
    expect(twice.prior).toEqual(prior());
  });

  test('other slots and the run are untouched', () => {
    const state = start(...['a', 'b'].map((name) => ({ ...slotNode(name) })));
    const at = craft(state, waiting);
    const after = accept(at, reassign());
    expect(after.slots['b']).toBe(at.slots['b']);
    expect(after.status).toBe('running');
  });
});

const slotNode = (name: string) => {
  const plan = start().plan.nodes[0];
  if (!plan) throw new Error('no node');
  return { ...plan, node: name, slots: [name] };
};
