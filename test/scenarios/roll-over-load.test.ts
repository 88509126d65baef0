/** S22: roll-overs under load. What the run has become is compared with the rules applied by themselves, command by command. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Command } from '../../src/domain/commands.js';
import { check, obey, observe } from '../../src/domain/decide.js';
import type { RunState, Slot } from '../../src/domain/types.js';
import { BatonError } from '../../src/domain/errors.js';
import type { RunHandle } from '../../src/client/run-handle.js';
import { verdict } from '../domain/kit.js';
import { startBaton, type Baton } from '../support/baton.js';
import { spec } from '../support/definitions.js';
import { expectInvariants, stateOf } from '../support/invariants.js';
import { watched } from '../support/operator.js';
import { launchNodes } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const SLOTS = 8;
const COMMANDS_EACH = 25;
const NAMES = ['claim', 'claim', 'revoke', 'reassign', 'reassign', 'hold', 'releaseHold', 'fail'] as const;

/** Numbers that look random and are the same each time. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** What commands make of a slot, without times and ids of the machine. */
function made({ state, gate, number, epoch, counts, spent, active, prior, reassign, hold }: Slot) {
  const record = reassign && { reason: reassign.reason, actor: reassign.actor, after: reassign.predecessor };
  const held = hold && { reason: hold.reason, from: hold.from, gate: hold.gate };
  return {
    state,
    gate,
    number,
    epoch,
    counts,
    spent,
    active: active?.attempt,
    prior,
    reassign: record,
    hold: held,
  };
}

/** One caller: commands on one slot, one after the other, each judged by the pure rules first. */
class Caller {
  private token = '';
  accepted = 0;
  refused = 0;

  constructor(
    private readonly baton: Baton,
    private readonly run: RunHandle,
    private readonly slot: string,
    private model: RunState,
  ) {}

  get expected(): Slot {
    return this.model.slots[this.slot] as Slot;
  }

  async give(name: (typeof NAMES)[number], number: number): Promise<void> {
    const { slot } = this;
    const commandId = `${slot}-${number}`;
    const reason = `${name} ${number} of ${slot}`;
    const handle = this.run.slot(slot);
    if (name === 'fail') {
      if (this.expected.state !== 'active') return;
      await handle.fail(this.token, { code: 'Gone', message: reason, commandId });
      this.accepted += 1;
      return this.ended('failure', { code: 'Gone', message: reason });
    }
    const signed = { tenant: this.baton.tenant, run: this.run.run, slot, actor: 'ada', commandId };
    const command: Command =
      name === 'claim'
        ? { name, ...signed, workerClass: 'coder', worker: 'w' }
        : name === 'reassign'
          ? { name, ...signed, workerClass: 'coder', reason }
          : { name, ...signed, reason };
    const refusal = check(this.model, command, Date.now());
    const sendOnce = async (): Promise<string> => {
      if (name === 'claim') {
        const claimed = await handle.claim({ workerClass: 'coder', worker: 'w', commandId });
        this.token = claimed.lease.token;
        return claimed.attempt;
      }
      if (name === 'reassign')
        return JSON.stringify(await handle.reassign({ workerClass: 'coder', reason, commandId }));
      return JSON.stringify(await handle[name]({ reason, commandId }));
    };
    // A query may see an end that the next task brings, while a command in that same task is judged before it: “repeat in a
    // moment” is what such a refusal says.
    const send = async (): Promise<string> => {
      for (let tries = 0; ; tries += 1) {
        try {
          return await sendOnce();
        } catch (error) {
          const again = error instanceof BatonError && error.message.includes('being recorded');
          if (!again || tries === 200) throw error;
          await sleep(50);
        }
      }
    };
    if (refusal) {
      await expect(send(), `${commandId} ${name}`).rejects.toMatchObject({ code: refusal.code });
      this.refused += 1;
      return;
    }
    const answer = await send();
    this.accepted += 1;
    // Sent again, as after a lost answer: the same, and once only.
    if (number % 3 === 0) expect(await send(), `${commandId} ${name}`).toBe(answer);
    this.model = obey(this.model, command, Date.now());
    if (name === 'claim') await this.claimed(answer);
    if (name === 'revoke') await this.settled();
  }

  private async claimed(attempt: string): Promise<void> {
    const row = await this.baton.store.attempts.get(this.baton.tenant, this.run.run, attempt);
    const { number, epoch, worker, workerClass, ownerActor, lease, spec: id, hostQueue } = row!;
    const limits = { ttlMs: 30_000, maxDurationMs: null, startedAt: 0 };
    const ref = {
      attempt,
      number,
      epoch,
      worker,
      workerClass,
      ownerActor,
      lease,
      spec: id,
      hostQueue,
      ...limits,
    };
    this.model = observe(this.model, { kind: 'claimed', slot: this.slot, attempt: ref }, Date.now());
  }

  private async ended(end: 'failure', failure: { code: string; message: string }): Promise<void> {
    const attempt = this.expected.active!.attempt;
    const fact = { kind: 'attempt-ended', slot: this.slot, attempt, end, staged: 's', failure } as const;
    this.model = observe(this.model, fact, Date.now());
    await this.settled();
  }

  private async settled(): Promise<void> {
    const { end, attempt, failure } = this.expected.ending!;
    const fact = { kind: 'settled', slot: this.slot, attempt: attempt.attempt } as const;
    this.model = observe(this.model, { ...fact, settled: verdict(end, failure) }, Date.now());
    await waitFor(
      async () => {
        const real = (await stateOf(this.baton, this.run.run)).state.slots[this.slot];
        return real && !real.active && !real.ending;
      },
      { what: `the end of ${attempt.attempt} to be recorded`, timeoutMs: 60_000, everyMs: 50 },
    );
  }
}

test.each([
  ['as the worker remembers it', {}],
  ['with every task a replay', { maxCachedWorkflows: 0 }],
])(
  `S22 ${SLOTS * COMMANDS_EACH} mixed commands, ${SLOTS} at a time, over roll-overs, %s: each applied once, as the rules say`,
  async (_how, options) => {
    const baton = await startBaton(options);
    const names = Array.from({ length: SLOTS }, (_, index) => `s${index}`);
    const { agent, runs } = watched('hosted');
    await baton.startHost([agent]);
    const run = await launchNodes(
      baton,
      {
        ...Object.fromEntries(names.map((name) => [name, { launch: [spec({ ttl: '300s' })] }])),
        hosted: { launch: [spec({ dispatch: 'queue', classes: ['hosted'], ttl: '5s' })] },
        outside: { launch: [spec({ ttl: '300s' })] },
      },
      { rollOverEvents: 40 },
    );
    await waitFor(() => runs.length === 1);
    const held = await run.slot('outside').claim({ workerClass: 'coder', worker: 'outside' });
    const { state: start } = await stateOf(baton, run.run);
    const handle = baton.temporal.workflow.getHandle(run.workflowId);
    const executions = new Set<string>();

    const callers = names.map((name, index) => {
      const own = baton.as('ada', { timeoutMs: 60_000 }).run(run.run);
      return { roll: dice(index + 1), caller: new Caller(baton, own, name, start) };
    });
    for (let number = 0; number < COMMANDS_EACH; number += 1) {
      await Promise.all(callers.map(({ caller, roll }) => caller.give(NAMES[roll(NAMES.length)]!, number)));
      executions.add((await handle.describe()).runId);
      await run.slot('outside').heartbeat(held.lease.token);
      await expectInvariants(baton, run.run);
    }
    // Often enough to mean something: several roll-overs, and both kinds of verdict.
    expect(executions.size).toBeGreaterThanOrEqual(4);
    expect(callers.reduce((sum, { caller }) => sum + caller.accepted, 0)).toBeGreaterThan(50);
    expect(callers.reduce((sum, { caller }) => sum + caller.refused, 0)).toBeGreaterThan(20);
    const { state: end } = await stateOf(baton, run.run);
    for (const [index, name] of names.entries())
      expect(made(end.slots[name]!), name).toEqual(made(callers[index]!.caller.expected));
    for (const name of names) {
      const attempts = await run.attempts(name);
      expect(
        attempts.map(({ number }) => number),
        name,
      ).toEqual(attempts.map((_, at) => at + 1));
      expect(attempts, name).toHaveLength(end.slots[name]!.counts.claims);
    }
    // Nobody noticed: the same agent, the same lease.
    expect(runs).toHaveLength(1);
    expect(runs[0]!.told).toBeNull();
    await runs[0]!.ctx.checkpoint('after', 1);
    await run.slot('outside').complete(held.lease.token, { result: 1 });
    runs[0]!.finish('done');
    // A worker without a cache may drop a task that came while it evicted the run; Temporal gives it again after ten seconds.
    await waitFor(async () => (await run.slot('hosted').show()).state === 'succeeded', { timeoutMs: 60_000 });
    for (const name of ['hosted', 'outside'])
      expect((await run.attempts(name)).map(({ worker }) => worker.status)).toEqual(['succeeded']);
    await expectInvariants(baton, run.run);
  },
  240_000,
);
