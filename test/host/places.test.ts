import type { SlotReserveContext } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import { Places } from '../../src/host/places.js';

const context = {} as SlotReserveContext;
const settled = async (promise: Promise<unknown>): Promise<boolean> => {
  const mark = Symbol();
  await new Promise((resolve) => setImmediate(resolve));
  return (await Promise.race([promise, Promise.resolve(mark)])) !== mark;
};

describe('places', () => {
  it('grants no more permits than there are places, and grants the next when one comes back', async () => {
    const supplier = new Places(2).supplier();
    const never = new AbortController().signal;
    const first = supplier.reserveSlot(context, never);
    const second = supplier.reserveSlot(context, never);
    const third = supplier.reserveSlot(context, never);
    expect([await settled(first), await settled(second), await settled(third)]).toEqual([true, true, false]);
    supplier.releaseSlot({ permit: {} });
    expect(await settled(third)).toBe(true);
  });

  it('counts claims and agents with the permits', async () => {
    const places = new Places(1);
    const supplier = places.supplier();
    const never = new AbortController().signal;
    await supplier.reserveSlot(context, never);
    expect(places.take()).toBe(true);
    expect(places.take()).toBe(false);
    supplier.releaseSlot({ permit: {} });
    const next = supplier.reserveSlot(context, never);
    expect(await settled(next)).toBe(false);
    places.giveBack();
    expect(await settled(next)).toBe(true);
  });

  it('forgets an aborted reservation, with the reason that Temporal expects', async () => {
    const places = new Places(1);
    const supplier = places.supplier();
    places.take();
    const abort = new AbortController();
    const waiting = supplier.reserveSlot(context, abort.signal);
    const reason = new Error('shutdown');
    abort.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    places.giveBack();
    expect(await settled(supplier.reserveSlot(context, new AbortController().signal))).toBe(true);
  });

  it('takes no eager tasks', () => {
    expect(new Places(1).supplier().tryReserveSlot(context)).toBeNull();
  });
});
