/** An authority token names one fence under one store's key; any other text is refused, with the code of who asks. */
import { expect, it } from 'vitest';
import { leaseToken } from '../../src/client/token.js';
import { authorityToken, peekAuthority, readAuthority } from '../../src/effects/token.js';

const key = Buffer.alloc(32, 7);
const fence = { tenant: 'acme', run: 'r-1', slot: 'publish', attempt: 'a-1', epoch: 3 };
const token = authorityToken(key, fence);
const [version, payload = '', mac = ''] = token.split('.');
const encoded = (text: string): string => Buffer.from(text, 'utf8').toString('base64url');
const signedLike = (text: string): string => `${version}.${encoded(text)}.${mac}`;

it('is the same each time, and gives its fence back', () => {
  expect(token).toMatch(/^ba1\.[\w-]+\.[\w-]{43}$/);
  expect(authorityToken(key, { ...fence })).toBe(token);
  expect(readAuthority(key, token)).toEqual(fence);
  expect(peekAuthority(token)).toEqual(fence);
});

it('fits ids of the longest kind', () => {
  const id = 'x'.repeat(128);
  const long = { tenant: id, run: id, slot: id, attempt: id, epoch: Number.MAX_SAFE_INTEGER };
  expect(readAuthority(key, authorityToken(key, long))).toEqual(long);
});

it.each([
  ['another store', authorityToken(Buffer.alloc(32, 8), fence)],
  [
    'a higher epoch under the old signature',
    signedLike(JSON.stringify({ attempt: 'a-1', epoch: 4, run: 'r-1', slot: 'publish', tenant: 'acme' })),
  ],
  ['a cut signature', token.slice(0, -1)],
  ['a longer signature', `${token}A`],
  // The last character of 43 carries two bits that no byte of the signature has.
  [
    'the same bytes in another base64',
    `${token.slice(0, -1)}${String.fromCharCode(token.charCodeAt(token.length - 1) + 1)}`,
  ],
  ['a lease token', leaseToken(key, 'a-1', 'c-1')],
  [
    'a lease token over the payload',
    `ba1.${payload}.${leaseToken(key, `ba1.${payload}`, '').split('.').at(-1)}`,
  ],
  ['no token', 'none'],
])('is not believed: %s', (_what, shown) => {
  expect(() => readAuthority(key, shown)).toThrow(expect.objectContaining({ code: 'StaleLease' }));
});

it.each([
  ['nothing', ''],
  ['another version', token.replace('ba1', 'ba2')],
  ['a part too many', `${token}.x`],
  ['no signature', `ba1.${payload}.`],
  ['what is no JSON', signedLike('{')],
  ['JSON in another order', signedLike('{"tenant":"acme","run":"r-1","slot":"s","attempt":"a-1","epoch":3}')],
  ['a field too few', signedLike('{"attempt":"a-1","epoch":3,"run":"r-1","slot":"s"}')],
  ['a field too many', signedLike('{"attempt":"a","epoch":3,"run":"r","slot":"s","tenant":"t","x":1}')],
  ['a bad id', signedLike('{"attempt":"a b","epoch":3,"run":"r","slot":"s","tenant":"t"}')],
  ['an epoch that is none', signedLike('{"attempt":"a","epoch":1.5,"run":"r","slot":"s","tenant":"t"}')],
  ['an epoch of 0', signedLike('{"attempt":"a","epoch":0,"run":"r","slot":"s","tenant":"t"}')],
  ['a list', signedLike('[]')],
  ['null', signedLike('null')],
  ['a flood', 'a'.repeat(1_000_000)],
])('has not the form of a token: %s', (_what, shown) => {
  expect(() => peekAuthority(shown)).toThrow(expect.objectContaining({ code: 'InvalidCommand' }));
});

it('is refused when it is no text at all', () => {
  for (const shown of [undefined, null, 7, {}, [token]])
    expect(() => peekAuthority(shown as string)).toThrow(expect.objectContaining({ code: 'InvalidCommand' }));
});
