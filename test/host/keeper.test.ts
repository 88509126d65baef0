/** The keeper's rules by themselves: beats are functions here. With real beats they are in lease.test.ts. */
import { ActivityNotFoundError, ActivityPausedError } from '@temporalio/client';
import { afterEach, describe, expect, it } from 'vitest';
import { LeaseKeeper, type KeeperOptions } from '../../src/host/keeper.js';
import type { Held } from '../../activities/claims-shared.js';
import { waitFor } from '../support/wait.js';

const TTL = 1_500;
const keepers: LeaseKeeper[] = [];
afterEach(() => keepers.splice(0).forEach((keeper) => keeper.lose('test over')));

const held = (token: string): Held => ({
  workflowRunId: token,
  activityId: 'a',
  taskToken: new TextEncoder().encode(token),
  receivedAt: performance.now(),
});

function keep(options: Partial<KeeperOptions> = {}) {
  const seen = { beats: [] as string[], ends: [] as string[], started: performance.now() };
  const { heartbeat, ...others } = options;
  const keeper = new LeaseKeeper(
    {
      attempt: 'a-1',
      ttlMs: TTL,
      heartbeat: async (token, progress) => {
        seen.beats.push(new TextDecoder().decode(token));
        await heartbeat?.(token, progress);
      },
      findEnd: () => Promise.resolve(null),
      onRevoked: (by) => seen.ends.push(by),
      onOver: (why) => seen.ends.push(why.code),
      ...others,
    },
    held('one'),
  );
  keepers.push(keeper);
  return { keeper, seen };
}

const aborted = (keeper: LeaseKeeper) =>
  waitFor(() => keeper.signal.aborted, { timeoutMs: 5_000, everyMs: 5 });

describe('lease keeper', () => {
  it('sends the first progress at once, and the next with the beats', async () => {
    const progress: unknown[] = [];
    const { keeper, seen } = keep({ heartbeat: async (_token, value) => void progress.push(value) });
    keeper.progress({ done: 1 });
    await waitFor(() => progress.length === 1, { everyMs: 2 });
    expect(performance.now() - seen.started).toBeLessThan(TTL / 3);
    keeper.progress({ done: 2 });
    keeper.progress({ done: 3 });
    await waitFor(() => progress.length === 2, { everyMs: 2 });
    expect(performance.now() - seen.started).toBeGreaterThan(TTL / 4);
    expect(progress).toEqual([{ done: 1 }, { done: 3 }]);
  });

  it('beats every third of the TTL, with the newest progress', async () => {
    const progress: unknown[] = [];
    const { keeper, seen } = keep({ heartbeat: async (_token, value) => void progress.push(value) });
    keeper.progress({ done: 1 });
    await waitFor(() => seen.beats.length >= 7, { everyMs: 5 });
    const took = performance.now() - seen.started;
    expect(took).toBeGreaterThan(5 * (TTL / 3));
    expect(keeper.signal.aborted).toBe(false);
    expect(progress.at(-1)).toEqual({ done: 1 });
  });

  it('S5 sends the next beat sooner when one fails, and keeps the lease', async () => {
    let calls = 0;
    const { keeper, seen } = keep({
      heartbeat: async () => {
        calls += 1;
        if (calls % 2 === 1) throw new Error('connection refused');
      },
    });
    await waitFor(() => seen.beats.length >= 10, { everyMs: 5 });
    expect(keeper.state).toBe('attached');
    expect(keeper.signal.aborted).toBe(false);
  });

  it.each([
    ['fail', () => Promise.reject(new Error('refused'))],
    ['hang', () => new Promise<void>(() => undefined)],
  ])('S5 aborts one TTL after the last acknowledged beat when all beats %s', async (_how, heartbeat) => {
    const { keeper, seen } = keep({ heartbeat });
    await aborted(keeper);
    const took = performance.now() - seen.started;
    expect(took).toBeGreaterThanOrEqual(TTL - 5);
    expect(took).toBeLessThan(TTL + 1_000);
    expect(seen.ends).toEqual(['StaleLease']);
    await expect(keeper.usable()).rejects.toMatchObject({ code: 'StaleLease' });
  });

  it('S5 counts from when the acknowledged beat was sent, not from its answer', async () => {
    let first = true;
    const { keeper, seen } = keep({
      heartbeat: () => {
        if (!first) return new Promise<void>(() => undefined);
        first = false;
        return new Promise<void>((resolve) => setTimeout(resolve, TTL * 0.3));
      },
    });
    await aborted(keeper);
    const took = performance.now() - seen.started;
    expect(took).toBeLessThan(TTL / 3 + TTL + 0.27 * TTL);
    expect(took).toBeGreaterThanOrEqual(TTL / 3 + TTL - 20);
  });

  it('S5 is detached when the server does not know the token: nothing may start, and a new attachment goes on', async () => {
    let known = false;
    const { keeper, seen } = keep({
      heartbeat: async (token) => {
        if (!known && new TextDecoder().decode(token) === 'one') throw new ActivityNotFoundError('Not found');
      },
    });
    await waitFor(() => keeper.state === 'detached', { everyMs: 2 });
    let allowed = false;
    const usable = keeper.usable().then(() => (allowed = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect([allowed, keeper.signal.aborted]).toEqual([false, false]);
    known = true;
    expect(keeper.attach(held('two'))).toBe(true);
    await usable;
    await waitFor(() => seen.beats.at(-1) === 'two', { everyMs: 5 });
    expect(seen.ends).toEqual([]);
  });

  it('S5 aborts a detached attempt at the last acknowledged beat + TTL, or at once when its end is known', async () => {
    const notFound = () => Promise.reject(new ActivityNotFoundError('Not found'));
    const waits = keep({ heartbeat: notFound });
    const knows = keep({ heartbeat: notFound, findEnd: () => Promise.resolve('the run is completed') });
    await aborted(knows.keeper);
    expect(performance.now() - knows.seen.started).toBeLessThan(TTL - 200);
    await aborted(waits.keeper);
    expect(performance.now() - waits.seen.started).toBeGreaterThanOrEqual(TTL - 5);
    expect(waits.keeper.attach(held('two'))).toBe(false);
  });

  it('S3 finds out at the first chance after a busy loop', async () => {
    const { keeper } = keep();
    const until = performance.now() + TTL + 50;
    while (performance.now() < until);
    await expect(keeper.usable()).rejects.toMatchObject({ code: 'StaleLease' });
    expect(keeper.signal.aborted).toBe(true);
  });

  it('S9 withdraws the authority at once and stops beating when an operator paused the activity', async () => {
    const { keeper, seen } = keep({ heartbeat: () => Promise.reject(new ActivityPausedError('paused')) });
    await aborted(keeper);
    expect(seen.ends).toEqual(['paused']);
    expect(seen.beats).toHaveLength(1);
    // The end is still to be told.
    const sent: string[] = [];
    expect(await keeper.finish(async (token) => void sent.push(new TextDecoder().decode(token)))).toBe(true);
    expect(sent).toEqual(['one']);
  });

  it('resends the end until it is acknowledged, with the new token after a roll-over', async () => {
    const { keeper, seen } = keep();
    const sent: string[] = [];
    const finished = keeper.finish(async (token) => {
      sent.push(new TextDecoder().decode(token));
      if (sent.length === 1) throw new Error('refused');
      if (sent.length === 2) {
        setTimeout(() => keeper.attach(held('two')), 20);
        throw new ActivityNotFoundError('Not found');
      }
    });
    expect(await finished).toBe(true);
    expect(sent).toEqual(['one', 'one', 'two']);
    expect(seen.ends).toEqual([]);
    expect(keeper.signal.aborted).toBe(false);
  });

  it('S5 takes no harm from a beat that is in flight while the completion succeeds', async () => {
    let refuse: (error: Error) => void = () => undefined;
    const { keeper, seen } = keep({ heartbeat: () => new Promise((_resolve, reject) => (refuse = reject)) });
    await waitFor(() => seen.beats.length === 1, { everyMs: 2 });
    expect(await keeper.finish(() => Promise.resolve())).toBe(true);
    refuse(new ActivityNotFoundError('Not found'));
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen.ends).toEqual([]);
    expect(keeper.signal.aborted).toBe(false);
  });
});
