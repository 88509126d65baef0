import { expect, test } from 'vitest';
import {
  median,
  medianOfRatios,
  orders,
  quantile,
  ratioOfMedians,
  spread,
} from '../../bench/overhead/statistics.js';

test('quantiles interpolate between the nearest ranks and do not mind the order', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(quantile([0, 10], 0.1)).toBeCloseTo(1);
  expect(spread([5, 1, 4, 2, 3])).toEqual({ n: 5, median: 3, p10: 1.4, p90: 4.6, min: 1, max: 5 });
  expect(() => median([])).toThrow(RangeError);
});

test('sorting is by value, not by text, and the samples stay as they are', () => {
  const samples = [100, 9, -20];
  expect(median(samples)).toBe(9);
  expect(samples).toEqual([100, 9, -20]);
});

test('ratios of medians and medians of ratios are two figures', () => {
  const ours = [10, 20, 90];
  const theirs = [10, 40, 30];
  expect(ratioOfMedians(ours, theirs)).toBe(0.667);
  expect(medianOfRatios(ours, theirs)).toBe(1);
  expect(ratioOfMedians([1], [0])).toBeNull();
  expect(medianOfRatios([1], [0])).toBeNull();
});

test('in all orders together each side is as often before each other one as after it', () => {
  const all = orders(['a', 'b', 'c']);
  expect(new Set(all.map((order) => order.join(''))).size).toBe(6);
  const before = all.filter((order) => order.indexOf('a') < order.indexOf('b')).length;
  expect(before).toBe(3);
});
