/** A token is good for one attempt of one claim command under one store's key, and for nothing else. */
import { expect, it } from 'vitest';
import { attemptOfToken, isGenuine, leaseToken } from '../../src/client/token.js';

const key = Buffer.alloc(32, 7);
const token = leaseToken(key, 'a-1', 'c-1');

it('is the same each time and names its attempt', () => {
  expect(leaseToken(key, 'a-1', 'c-1')).toBe(token);
  expect(attemptOfToken(token)).toBe('a-1');
  expect(attemptOfToken(leaseToken(key, 'a.1.b', 'c'))).toBe('a.1.b');
  expect(isGenuine(key, token, 'a-1', 'c-1')).toBe(true);
});

it.each([
  ['another attempt', key, token, 'a-2', 'c-1'],
  ['another claim', key, token, 'a-1', 'c-2'],
  ['another store', Buffer.alloc(32, 8), token, 'a-1', 'c-1'],
  ['a cut token', key, token.slice(0, -1), 'a-1', 'c-1'],
  ['a longer token', key, `${token}A`, 'a-1', 'c-1'],
  ['another attempt named before the same code', key, token.replace('a-1', 'a-9'), 'a-1', 'c-1'],
])('is refused for %s', (_what, store, shown, attempt, command) => {
  expect(isGenuine(store, shown, attempt, command)).toBe(false);
});

it.each(['', '.', 'a.', '.b', 'none'])('%j has not the form of a token', (text) =>
  expect(attemptOfToken(text)).toBeNull(),
);
