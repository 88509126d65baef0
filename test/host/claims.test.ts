/** S7: half a claim. Each store call between offer and attachment fails, hangs, or loses its answer, once. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/agent/types.js';
import { BatonError } from '../../src/domain/errors.js';
import type { Store } from '../../src/store/port.js';
import { openLab, oneSpec, quiet, type Lab } from './lab.js';
import { waitFor } from '../support/wait.js';

let lab: Lab;
beforeAll(async () => {
  quiet();
  lab = await openLab();
});
afterAll(() => lab.close());

type Verb = (...args: unknown[]) => Promise<unknown>;
type Fault = 'fails' | 'hangs' | 'loses its answer';

/** The lab's own store, one call of which goes wrong once. */
function faulty(group: 'revisions' | 'attempts' | 'runs', verb: string, fault: Fault) {
  const seen = { faults: 0 };
  const verbs = lab.store[group] as unknown as Record<string, Verb>;
  const once: Verb = async (...args) => {
    if (seen.faults > 0) return verbs[verb]?.(...args);
    seen.faults += 1;
    if (fault === 'hangs') return new Promise(() => undefined);
    if (fault === 'loses its answer') await verbs[verb]?.(...args);
    throw BatonError.of('StoreUnavailable', 'the store is away');
  };
  const store = { ...lab.store, [group]: { ...verbs, [verb]: once } };
  return { store, seen };
}

const CALLS = [
  ['revisions', 'pinned'],
  ['attempts', 'claim'],
  ['attempts', 'attach'],
  ['runs', 'get'],
  ['attempts', 'stage'],
] as const;
const FAULTS: readonly Fault[] = ['fails', 'hangs', 'loses its answer'];
const CASES = CALLS.flatMap(([group, verb]) => FAULTS.map((fault) => [group, verb, fault] as const));

describe('S7 half a claim', () => {
  it.concurrent.each(CASES)('%s.%s %s: the slot is worked on once', async (group, verb, fault) => {
    const workerClass = `c-${randomBytes(4).toString('hex')}`;
    const started: string[] = [];
    const agent = defineAgent({
      workerClass,
      run: (ctx) => {
        started.push(ctx.attempt);
        return Promise.resolve(ctx.attempt);
      },
    });
    const { store, seen } = faulty(group, verb, fault);
    const name = `p-${workerClass}`;
    const launch = oneSpec(workerClass, '15s');
    await lab.baton.publish({
      documents: [
        { kind: 'package', name, outcome: 'Done.', content: {}, workflow: name, binding: name },
        { kind: 'workflow', name, nodes: [{ node: 'a' }] },
        {
          kind: 'binding',
          name,
          workflow: name,
          nodes: { a: { agent: { name: 'x', revision: '1' }, attachments: [], launch } },
        },
      ],
    });
    await lab.host([agent], { store });
    const run = await lab.baton.launch({ package: name });
    const result = await run.result();
    expect(seen.faults).toBe(1);
    expect(started).toHaveLength(1);
    expect(result).toEqual({ a: started[0] });
    expect(
      (await run.attempts()).map(({ attempt, number, worker }) => [attempt, number, worker.status]),
    ).toEqual([[started[0], 1, 'succeeded']]);
  });

  it('counts a claim that never attached as no attempt, and gives its place back', async () => {
    const started: string[] = [];
    const agent = defineAgent({
      workerClass: 'unattached',
      run: (ctx) => {
        started.push(ctx.attempt);
        return Promise.resolve();
      },
    });
    let refusals = 1;
    const { attempts } = lab.store;
    const store: Store = {
      ...lab.store,
      attempts: {
        ...attempts,
        attach: (input) => {
          if (refusals-- > 0) return Promise.reject(BatonError.of('StaleLease', 'voided meanwhile'));
          return attempts.attach(input);
        },
      },
    };
    await lab.publish([{ node: 'a' }], oneSpec('unattached', '15s'));
    await lab.host([agent], { store });
    const run = await lab.baton.launch({ package: 'job' });
    // One place only: without it given back nobody could take the next offer.
    await run.result();
    expect(started).toHaveLength(1);
    const views = await run.attempts();
    expect(views.map(({ number, epoch, worker }) => [number, epoch, worker.status])).toEqual([
      [1, 2, 'succeeded'],
    ]);
    await waitFor(async () => (await run.show()).slots[0]?.counts.losses === 0);
  });
});
