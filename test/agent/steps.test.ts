/**
 * `ctx.step` and `ctx.steps`: nested names, revisions, a bound on how many are at work, errors that keep their type and name
 * their step, and results of an earlier version of the store.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BatonError } from '../../src/domain/errors.js';
import { failureOf } from '../../src/host/outcome.js';
import { canonicalJson } from '../../src/store/canonical.js';
import { openStore } from '../../src/store/open.js';
import type { Json, Store } from '../../src/store/port.js';
import { attemptLab, type AttemptLab, type LabAttempt } from './attempt-lab.js';

let store: Store;
let lab: AttemptLab;
beforeEach(async () => {
  store = await openStore('sqlite::memory:');
  lab = attemptLab(store);
});
afterEach(() => store.close());

const savedSteps = async (): Promise<(string | null)[][]> =>
  (await store.artifacts.list('t', 'r')).map(({ step, stepRevision }) => [step, stepRevision]);
const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.fail('nothing was thrown'),
    (error: unknown) => error,
  );

describe('nested steps', () => {
  it('have the names of the steps around them, also across awaits and at once', async () => {
    const { context } = await lab.attempt('1');
    const chapter = (name: string) =>
      context.step(name, async () => {
        await turn();
        const read = await context.step('read', () => `read ${name}`);
        return context.step('deep', () => context.step('er', () => read));
      });
    expect(await Promise.all([chapter('one'), chapter('two')])).toEqual(['read one', 'read two']);
    expect(await context.step('read', () => 'at the top')).toBe('at the top');
    expect((await savedSteps()).map(([step]) => step).sort()).toEqual(
      [
        'one',
        'one/deep',
        'one/deep/er',
        'one/read',
        'read',
        'two',
        'two/deep',
        'two/deep/er',
        'two/read',
      ].sort(),
    );
  });

  it('are given back to a successor that runs the outer one again', async () => {
    const first = await lab.attempt('1');
    const failing = first.context.step('outer', async () => {
      await first.context.step('inner', () => 'costly');
      throw new Error('killed here');
    });
    await expect(failing).rejects.toThrow('killed here');
    await lab.expire(first.ref);
    const { context } = await lab.attempt('2');
    const again = context.step('outer', () =>
      context.step('inner', () => expect.fail('the inner one ran again')),
    );
    expect(await again).toBe('costly');
  });

  it('may have the name of the step around them', async () => {
    const { context } = await lab.attempt('1');
    expect(await context.step('a', () => context.step('a', () => 1))).toBe(1);
    expect((await savedSteps()).map(([step]) => step)).toEqual(['a/a', 'a']);
  });

  it('of two attempts in one process do not meet', async () => {
    const first = await lab.attempt('1');
    await lab.expire(first.ref);
    const second = await lab.attempt('2');
    const inside = first.context.step('outer', () => second.context.step('mine', () => 1));
    await expect(inside).rejects.toMatchObject({ code: 'StaleLease' });
    await second.context.step('mine', () => 1);
    expect((await savedSteps()).map(([step]) => step)).not.toContain('outer/mine');
  });

  it('count all their names for the limit', async () => {
    const { context } = await lab.attempt('1');
    const inner = context.step('x'.repeat(200), () => context.step('y'.repeat(56), () => 1));
    await expect(inner).rejects.toMatchObject({ code: 'TooLarge' });
  });

  it('saved by an early version under their own name alone are found', async () => {
    const first = await lab.attempt('1');
    await earlyStep(first, 'inner', 'from before');
    await lab.expire(first.ref);
    const { context } = await lab.attempt('2');
    expect(await context.step('outer', () => context.step('inner', () => 'again'))).toBe('from before');
    // A revision is a demand that no early result meets.
    const revised = context.step('new', () => context.step('inner', () => 'again', { revision: '2' }));
    expect(await revised).toBe('again');
  });

  it('never get what a step of today outside of theirs has saved', async () => {
    const { context } = await lab.attempt('1');
    await context.step('inner', () => 'of the top');
    expect(await context.step('outer', () => context.step('inner', () => 'of outer'))).toBe('of outer');
  });
});

/** A row as the store had it before there were agent revisions and nested names. */
async function earlyStep({ fence }: LabAttempt, step: string, value: Json): Promise<void> {
  const put = await store.artifacts.putBytes(Buffer.from(canonicalJson(value)));
  const what = { kind: 'checkpoint', name: step, mediaType: 'application/json', ...put } as const;
  await store.artifacts.save({ fence, ...what, step, at: 1 });
}

describe('revisions of a step', () => {
  it('run it again, keep what was saved, and give each its own back', async () => {
    const first = await lab.attempt('1');
    const run = (attempt: LabAttempt, value: number, revision?: string) =>
      attempt.context.step('s', () => value, revision === undefined ? {} : { revision });
    expect(await run(first, 1)).toBe(1);
    expect(await run(first, 2, 'b')).toBe(2);
    await lab.expire(first.ref);
    const second = await lab.attempt('2');
    expect(await run(second, 9)).toBe(1);
    expect(await run(second, 9, 'b')).toBe(2);
    expect(await run(second, 3, 'c')).toBe(3);
    expect(await savedSteps()).toEqual([
      ['s', null],
      ['s', 'b'],
      ['s', 'c'],
    ]);
  });

  it('called at once are two runs', async () => {
    const { context } = await lab.attempt('1');
    const both = [1, 2].map((n) => context.step('s', async () => (await turn(), n), { revision: `${n}` }));
    expect(await Promise.all(both)).toEqual([1, 2]);
  });

  it.each([
    ['', 'InvalidCommand'],
    [' ', 'InvalidCommand'],
    [7, 'InvalidCommand'],
    ['x'.repeat(129), 'TooLarge'],
  ])('refuses the revision %j', async (revision, code) => {
    const { context } = await lab.attempt('1');
    const refused = context.step('s', () => 1, { revision: revision as string });
    await expect(refused).rejects.toMatchObject({ code });
  });
});

describe('steps of a list', () => {
  it.each([
    [undefined, 4],
    [1, 1],
    [3, 3],
  ])('with concurrency %s has at most %i at work, and the results in order', async (concurrency, most) => {
    const { context } = await lab.attempt('1');
    let now = 0;
    let peak = 0;
    const items = Array.from({ length: 12 }, (_, index) => `i${index}`);
    const work = async (item: string, index: number) => {
      peak = Math.max(peak, (now += 1));
      // The later ones are done first.
      for (let turns = 12 - index; turns > 0; turns -= 1) await turn();
      now -= 1;
      return item.toUpperCase();
    };
    const options = concurrency === undefined ? {} : { concurrency };
    const results = await context.steps('read', items, work, options);
    expect(results).toEqual(items.map((item) => item.toUpperCase()));
    expect(peak).toBe(most);
    expect((await savedSteps()).map(([step]) => step).sort()).toEqual(
      items.map((item) => `read/${item}`).sort(),
    );
  });

  it('repeats in a successor only what was not saved, and begins nothing after an error', async () => {
    const first = await lab.attempt('1');
    const done: number[] = [];
    const failing = first.context.steps(
      'n',
      [10, 20, 30, 40],
      (item) => {
        if (item === 30) throw new Error('30 failed');
        done.push(item);
        return item;
      },
      { concurrency: 1 },
    );
    await expect(failing).rejects.toThrow('30 failed');
    expect(done).toEqual([10, 20]);
    await lab.expire(first.ref);
    const { context } = await lab.attempt('2');
    const again: number[] = [];
    const work = (item: number) => (again.push(item), item + 1);
    expect(await context.steps('n', [10, 20, 30, 40], work)).toEqual([10, 20, 31, 41]);
    expect(again).toEqual([30, 40]);
  });

  it('names items by `key`, nests, and takes a revision', async () => {
    const { context } = await lab.attempt('1');
    const read = () =>
      context.steps('doc', [{ id: 'a' }, { id: 'b' }], ({ id }) => context.step('part', () => id), {
        key: ({ id }) => id,
        revision: '2',
      });
    expect(await context.step('all', read)).toEqual(['a', 'b']);
    expect((await savedSteps()).sort()).toEqual([
      ['all', null],
      ['all/doc/a', '2'],
      ['all/doc/a/part', null],
      ['all/doc/b', '2'],
      ['all/doc/b/part', null],
    ]);
  });

  it.each([0, -1, 1.5, NaN, Infinity, '2'])('refuses the concurrency %s', async (concurrency) => {
    const { context } = await lab.attempt('1');
    const refused = context.steps('n', [1], () => 1, { concurrency: concurrency as number });
    await expect(refused).rejects.toMatchObject({ code: 'InvalidCommand' });
  });

  it('refuses two items of one key before any is begun', async () => {
    const { context } = await lab.attempt('1');
    const refused = context.steps('n', ['a', 'b', 'a'], () => expect.fail('begun'));
    await expect(refused).rejects.toMatchObject({ code: 'InvalidCommand', details: { step: 'n/a' } });
  });
});

function cycle(): object {
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  return loop;
}

describe('errors of a step', () => {
  class RateLimited extends Error {
    readonly code = 'RateLimited';
  }

  it('are thrown on as they are; the failure names the innermost step and keeps the code', async () => {
    const { context } = await lab.attempt('1');
    const limited = new RateLimited('slow down');
    const outer = context.step('outer', () => context.step('inner', () => Promise.reject(limited)));
    expect(await thrownBy(outer)).toBe(limited);
    expect(failureOf(limited)).toEqual({ code: 'RateLimited', message: 'step outer/inner: slow down' });
    const wrapped = new Error('the report failed', { cause: limited });
    expect(failureOf(wrapped)).toEqual({
      code: 'AgentError',
      message: 'step outer/inner: the report failed',
    });
    expect(await savedSteps()).toEqual([]);
  });

  it('that are no Error become one, and outside of steps nothing is named', async () => {
    const { context } = await lab.attempt('1');

    const thrown = await thrownBy(context.step('s', () => Promise.reject('just text')));
    expect(thrown).toBeInstanceOf(Error);
    expect(failureOf(thrown).message).toBe('step s: just text');
    expect(failureOf(new Error('elsewhere'))).toEqual({ code: 'AgentError', message: 'elsewhere' });
  });

  it.each([
    ['a cycle', cycle, 'InvalidCommand'],
    ['a function', () => ({ f: () => 1 }), 'InvalidCommand'],
    ['17 MiB', () => 'x'.repeat(17 * 1024 * 1024), 'TooLarge'],
  ])('refuse a result that is %s, and save nothing', async (_what, result, code) => {
    const { context } = await lab.attempt('1');
    const error = await thrownBy(context.step<unknown>('s', result));
    expect(error).toBeInstanceOf(BatonError);
    expect(error).toMatchObject({ code });
    expect(failureOf(error).message).toMatch(/^step s: /);
    expect(await savedSteps()).toEqual([]);
    expect(await context.step('s', () => 'mended')).toBe('mended');
  });
});
