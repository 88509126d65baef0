/** Canonical JSON (RFC 8785) and digests. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, digestOf, sha256 } from '../../src/store/canonical.js';

describe('canonicalJson', () => {
  it('is the example of RFC 8785, section 3.2.2', () => {
    const value = {
      numbers: [333333333.33333329, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: '\u20ac$\u000f\nA\'B"\\\\"/',
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('does not depend on the order of keys and reads back as the same value', () => {
    const property = fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      expect(canonicalJson(JSON.parse(text))).toBe(text);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
    });
    fc.assert(property);
    expect(digestOf({ a: 1, b: { d: 1, c: 2 } })).toBe(digestOf({ b: { c: 2, d: 1 }, a: 1 }));
  });

  it.each([
    undefined,
    Number.NaN,
    Infinity,
    1n,
    () => 1,
    { a: () => 1 },
    [() => 1],

    [, 1],
    { a: { toJSON: () => undefined } },
    { a: '\ud800' },
    ['\udc00x'],
    { '\ud800': 1 },
    { a: '\\\ud800' },
  ])('refuses %o, which has no such text', (value) => {
    expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: 'InvalidCommand' }));
  });

  it('takes text that only looks like a lone surrogate, and pairs', () => {
    expect(canonicalJson('\\ud800 \u{1f600}')).toBe('"\\\\ud800 \u{1f600}"');
  });

  it('refuses a value that contains itself', () => {
    const value: Record<string, unknown> = {};
    value.self = value;
    expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: 'InvalidCommand' }));
  });
});

describe('sha256', () => {
  it('is lower-case hex, of bytes and of UTF-8 text alike', () => {
    expect(sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(sha256('ü')).toBe(sha256(Buffer.from('ü', 'utf8')));
    expect(digestOf('x')).toBe(sha256('"x"'));
  });
});
