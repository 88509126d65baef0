/** At most so many at once per key, first come first served, and a place is given back however its work ends. */
import { expect, it } from 'vitest';
import { Places } from '../../src/client/places.js';

it('never lets more in than there are places, in order, per key', async () => {
  const places = new Places(2);
  const order: number[] = [];
  let inside = 0;
  let most = 0;
  const work = (index: number) => async (): Promise<void> => {
    inside += 1;
    most = Math.max(most, inside);
    order.push(index);
    await new Promise((resolve) => setImmediate(resolve));
    inside -= 1;
    if (index % 3 === 0) throw new Error(`work ${index}`);
  };
  const all = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) => places.use('run', work(index))),
  );
  expect(most).toBe(2);
  expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index));
  expect(all.filter(({ status }) => status === 'rejected')).toHaveLength(7);
});

it('lets another key in while one is full', async () => {
  const places = new Places(1);
  let finish = (): void => undefined;
  const first = places.use('a', () => new Promise<void>((resolve) => (finish = resolve)));
  await expect(places.use('b', () => Promise.resolve('in'))).resolves.toBe('in');
  finish();
  await first;
});
