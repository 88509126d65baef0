import { describe, expect, it } from 'vitest';
import { Slices } from '../../src/cli/demo/slices.js';

/** Lets a worker of that many milliseconds a piece run until the target, and says how far it got in how many slices. */
function simulate(
  total: number,
  target: number,
  msEach: number,
  before = 0,
): { done: number; slices: number } {
  const slices = new Slices(total);
  let ran = 0;
  let done = 0;
  for (let count = 0; ; count++) {
    if (done >= target) return { done, slices: count };
    if (count > 10_000) throw new Error('it starves');
    ran += slices.next;
    const now = Math.min(total, Math.max(0, Math.floor((ran - before) / msEach)));
    slices.record(now - done, target - now);
    done = now;
  }
}

describe('slices of a host that is to be frozen in the middle', () => {
  it.each([2, 3, 10, 50, 200, 700, 3_000])('%i pieces are never done before the host is frozen', (total) => {
    const target = Math.min(total - 1, Math.max(1, Math.round(total * 0.4)));
    for (const msEach of [1, 2, 5, 20, 100]) {
      for (const before of [0, 100, 3_000]) {
        const { done } = simulate(total, target, msEach, before);
        expect(done).toBeLessThan(total);
        expect(done).toBeGreaterThanOrEqual(target);
      }
    }
  });

  it('a slow machine is looked at no more often than it brings something', () => {
    expect(simulate(700, 280, 40).slices).toBeLessThan(120);
  });

  it('are a second at most, and get there by accidents', () => {
    const slices = new Slices(2);
    expect(slices.next).toBe(1);
    for (let accident = 0; accident < 6; accident++) slices.lengthen();
    expect(slices.next).toBe(1_000);
    slices.record(0, 1);
    expect(slices.next).toBe(1_000);
  });
});
