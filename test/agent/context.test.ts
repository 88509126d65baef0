import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AttemptRef } from '../../src/domain/types.js';
import { openStore } from '../../src/store/open.js';
import type { Json, Store } from '../../src/store/port.js';
import { attemptLab, type AttemptLab } from './attempt-lab.js';

let store: Store;
let lab: AttemptLab;
beforeEach(async () => {
  store = await openStore('sqlite::memory:');
  lab = attemptLab(store);
});
afterEach(() => store.close());

const attempt = (claimId: string) => lab.attempt(claimId);
const expire = (ref: AttemptRef) => lab.expire(ref);

describe('agent context', () => {
  it('runs a step once per slot: a successor gets the saved value', async () => {
    const first = await attempt('1');
    let runs = 0;
    const work = () => ({ b: 2, a: [(runs += 1)] });
    expect(await first.context.step('count', work)).toEqual({ a: [1], b: 2 });
    expect(await first.context.step('count', work)).toEqual({ a: [1], b: 2 });
    await expire(first.ref);
    const second = await attempt('2');
    expect(await second.context.step('count', work)).toEqual({ a: [1], b: 2 });
    expect(runs).toBe(1);
  });

  it('shares one run of a step that is called twice at once, and runs a failed one again', async () => {
    const { context } = await attempt('1');
    let runs = 0;
    const slow = async () => {
      runs += 1;
      await new Promise((resolve) => setImmediate(resolve));
      return runs;
    };
    expect(await Promise.all([context.step('x', slow), context.step('x', slow)])).toEqual([1, 1]);
    await expect(context.step('y', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await context.step('y', () => 7)).toBe(7);
  });

  it('refuses saves and steps of a lease that is over, fires the signal, and saves nothing', async () => {
    const { ref, context } = await attempt('1');
    await expire(ref);
    await expect(context.save({ kind: 'source', name: 'n', content: 'late' })).rejects.toMatchObject({
      code: 'StaleLease',
    });
    expect(context.signal.aborted).toBe(true);
    let ran = false;
    await expect(context.step('z', () => (ran = true))).rejects.toMatchObject({ code: 'StaleLease' });
    expect(ran).toBe(false);
    expect(await store.artifacts.list('t', 'r')).toEqual([]);
  });

  it('gives the newest checkpoint of a name, with the attempt that saved it', async () => {
    const first = await attempt('1');
    expect(await first.context.lastCheckpoint('at')).toBeNull();
    await first.context.step('at', () => 'a step of that name is no checkpoint');
    await first.context.checkpoint('at', 1);
    await first.context.checkpoint('at', 2);
    await expire(first.ref);
    const second = await attempt('2');
    expect(await second.context.lastCheckpoint('at')).toMatchObject({
      value: 2,
      attempt: first.ref.attempt,
      number: 1,
      own: false,
      agentRevision: 'a@1',
    });
  });

  it('saves text, JSON and bytes, and reads them back by digest; nothing of another run', async () => {
    const { context } = await attempt('1');
    const text = await context.save({ kind: 'source', name: 'notes.md', content: 'ä' });
    const json = await context.save({ kind: 'decision', name: 'd', content: { b: 1, a: 2 } });
    const bytes = await context.save({
      kind: 'source',
      name: 'b',
      content: new Uint8Array([0, 255]),
      mediaType: 'image/x',
    });
    expect([text.size, text.mediaType, json.mediaType, bytes.mediaType]).toEqual([
      2,
      'text/plain; charset=utf-8',
      'application/json',
      'image/x',
    ]);
    expect(new TextDecoder().decode(await context.read(json))).toBe('{"a":2,"b":1}');
    expect([...(await context.read(bytes))]).toEqual([0, 255]);
    const foreign = await store.artifacts.putBytes(new TextEncoder().encode('secret of another run'));
    await expect(context.read(foreign)).rejects.toMatchObject({ code: 'ArtifactMissing' });
  });

  it.each([
    ['', 'InvalidCommand'],
    [' \t', 'InvalidCommand'],
    ['a\0b', 'InvalidCommand'],
    ['\ud800', 'InvalidCommand'],
    ['x'.repeat(257), 'TooLarge'],
  ])('refuses the name %j', async (name, code) => {
    const { context } = await attempt('1');
    await expect(context.step(name, () => 1)).rejects.toMatchObject({ code });
    await expect(context.checkpoint(name, 1)).rejects.toMatchObject({ code });
  });

  it('refuses progress that is too large or no JSON, and copies what it takes', async () => {
    const { context, progress } = await attempt('1');
    const value = { done: 1 };
    context.progress(value);
    value.done = 2;
    expect(progress).toEqual([{ done: 1 }]);
    expect(() => context.progress('x'.repeat(70_000))).toThrow(
      expect.objectContaining({ code: 'TooLarge' }) as Error,
    );
    const loop: Record<string, unknown> = {};
    loop['self'] = loop;
    expect(() => context.progress(loop as Json)).toThrow(
      expect.objectContaining({ code: 'InvalidCommand' }) as Error,
    );
  });
});
