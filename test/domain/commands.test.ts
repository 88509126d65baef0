/** The parser of commands: every malformed input has its code and names its field; digests tell repeats from conflicts. */
import { describe, expect, test } from 'vitest';
import { commandDigest, parseCommand, updateIdOf, type Command } from '../../src/domain/commands.js';
import { checkId, checkInline, checkText, codePoints, utf8Bytes } from '../../src/domain/text.js';
import { UPDATES, type UpdateName } from '../../src/domain/wire.js';

const address = { tenant: 'acme', run: 'r1' };
const signed = { actor: 'ada', commandId: 'c1' };
const onSlot = { ...address, slot: 'a', ...signed };
const GOOD: Record<UpdateName, Record<string, unknown>> = {
  claim: { ...onSlot, workerClass: 'coder', worker: 'w1' },
  reassign: { ...onSlot, workerClass: 'coder', reason: 'lost' },
  hold: { ...onSlot, reason: 'x' },
  releaseHold: { ...onSlot, reason: 'x' },
  revoke: { ...onSlot, reason: 'x' },
  cancelSlot: { ...onSlot, reason: 'x' },
  cancelRun: { ...address, ...signed, reason: 'x' },
  resolveEffect: { ...onSlot, effect: 'pay', outcome: 'committed', reason: 'x' },
};
const point = (code: number) => String.fromCodePoint(code);

function refused(name: UpdateName, raw: unknown) {
  const parsed = parseCommand(name, raw);
  if (parsed.ok) throw new Error(`accepted: ${JSON.stringify(raw)}`);
  return parsed.refusal;
}

/** Refused with a code, and the field is named both in the message and in the details. */
function wrong(name: UpdateName, raw: unknown, field: string, code = 'InvalidCommand') {
  const refusal = refused(name, raw);
  expect(refusal.code).toBe(code);
  expect(refusal.details['field']).toBe(field);
  expect(refusal.message).toContain(`\`${field}\``);
  return refusal;
}

function accepted(name: UpdateName, raw: unknown): Command {
  const parsed = parseCommand(name, raw);
  if (!parsed.ok) throw new Error(parsed.refusal.message);
  return parsed.command;
}

describe.each(UPDATES)('%s', (name) => {
  const good = GOOD[name];

  test('is accepted as it is, whatever the order of its fields', () => {
    expect(accepted(name, good)).toEqual({ name, ...good });
    const reversed = Object.fromEntries(Object.entries(good).reverse());
    expect(commandDigest(accepted(name, reversed))).toBe(commandDigest(accepted(name, good)));
  });

  const ids = Object.keys(good).filter((field) => !['reason', 'effect', 'outcome'].includes(field));
  test.each(ids)('needs `%s`', (field) => {
    const without = { ...good };
    delete without[field];
    wrong(name, without, field);
    const values = [
      undefined,
      null,
      '',
      ' ',
      1,
      0,
      true,
      [],
      ['x'],
      {},
      { x: 1 },
      'acme ',
      ' acme',
      'a/b',
      'a b',
      'a:b',
    ];
    for (const value of values) wrong(name, { ...good, [field]: value }, field);
    const strange = ['é', 'a\n', 'a\0', point(0xff41), `a${point(0x200b)}`, point(0x1f600), '\ud800'];
    for (const value of strange) wrong(name, { ...good, [field]: value }, field);
  });

  test.each(ids)('`%s` has 1 to 128 characters', (field) => {
    for (const value of ['a', 'A.b_c-9', '.', '-', '..', 'x'.repeat(128)])
      expect(accepted(name, { ...good, [field]: value })).toMatchObject({ [field]: value });
    wrong(name, { ...good, [field]: 'x'.repeat(129) }, field);
    const long = wrong(name, { ...good, [field]: 'x'.repeat(1_000_000) }, field);
    expect(long.message.length).toBeLessThan(400);
  });

  test.each(['extra', 'slots', 'Tenant', 'constructor', 'toString', '', 'x'.repeat(500)])(
    'refuses the unknown field `%s`',
    (field) => {
      const refusal = refused(name, { ...good, [field]: 1 });
      expect(refusal.code).toBe('InvalidCommand');
      expect(refusal.message).toContain('has no field');
      expect(refusal.message.length).toBeLessThan(400);
    },
  );

  test('refuses an own field `__proto__`, which a raw update can carry', () => {
    const raw = JSON.parse(`{"__proto__": {"tenant": "acme"}, ${JSON.stringify(good).slice(1)}`) as unknown;
    expect(refused(name, raw).code).toBe('InvalidCommand');
  });

  test('does not take its fields from a prototype', () => {
    const { tenant, ...rest } = good;
    const inherited = Object.assign(Object.create({ tenant }) as object, rest);
    const parsed = parseCommand(name, inherited);
    // Nothing that comes through JSON has such a prototype; what counts is that no field is made up.
    if (parsed.ok) expect(parsed.command.tenant).toBe('acme');
    expect(refused(name, rest).details['field']).toBe('tenant');
  });

  test.each([[undefined], [null], ['text'], [1], [true], [[]], [[good]], [[good, good]], [() => 1]])(
    'takes one JSON object, not %j',
    (raw) => {
      const refusal = wrong(name, raw, name);
      expect(refusal.message).toContain('one JSON object');
    },
  );

  test('names the first wrong field in declared order', () => {
    wrong(name, {}, 'tenant');
    wrong(name, { tenant: 'acme' }, 'run');
    wrong(name, { ...good, run: 1, actor: 1 }, 'run');
  });
});

describe('reason', () => {
  const reasoned = UPDATES.filter((name) => name !== 'claim');
  test.each(reasoned)('of %s may be absent, null or blank here: a guard of its own asks for it', (name) => {
    const { reason: _, ...without } = GOOD[name];
    accepted(name, without);
    for (const reason of [null, undefined, '', ' ', point(0x200b)]) accepted(name, { ...without, reason });
  });

  test.each(reasoned)('of %s is a text', (name) => {
    for (const reason of [1, true, [], ['x'], {}]) wrong(name, { ...GOOD[name], reason }, 'reason');
  });

  test('is counted in code points: 4,000 pass, 4,001 do not', () => {
    const astral = point(0x1f600);
    for (const char of ['a', 'é', point(0x3042), astral]) {
      const full = char.repeat(4_000);
      expect(accepted('reassign', { ...GOOD.reassign, reason: full })).toMatchObject({ reason: full });
      const { details } = wrong('reassign', { ...GOOD.reassign, reason: full + char }, 'reason', 'TooLarge');
      expect(details).toMatchObject({ size: 4_001, limit: 4_000, unit: 'code points' });
    }
    wrong('reassign', { ...GOOD.reassign, reason: 'a'.repeat(8_001) }, 'reason', 'TooLarge');
    wrong('reassign', { ...GOOD.reassign, reason: ' '.repeat(4_001) }, 'reason', 'TooLarge');
  });

  test.each(['\ud800', 'a\udc00b', '\udc00\ud800', 'x'.repeat(9_000) + '\ud83d', '\0', 'a\0b', ' \0 '])(
    'case %#: a NUL or half a surrogate pair is malformed',
    (reason) => {
      wrong('hold', { ...GOOD.hold, reason }, 'reason');
    },
  );

  test('other control characters, line breaks and right-to-left text pass', () => {
    for (const reason of ['a\nb\tc', '\u0001x', 'שלום', 'é' /* decomposed */, '👩‍👩‍👧'])
      expect(accepted('hold', { ...GOOD.hold, reason })).toMatchObject({ reason });
  });
});

describe('claim', () => {
  test.each(['owner', 'spec'])('%s may be absent or null, and is an id otherwise', (field) => {
    expect(accepted('claim', { ...GOOD.claim, [field]: null })).toMatchObject({ [field]: null });
    expect(accepted('claim', { ...GOOD.claim, [field]: 'bob' })).toMatchObject({ [field]: 'bob' });
    for (const value of ['', ' ', 1, false, [], {}, 'bob ', 'x'.repeat(129)])
      wrong('claim', { ...GOOD.claim, [field]: value }, field);
  });

  test('has no reason', () => {
    wrong('claim', { ...GOOD.claim, reason: 'x' }, 'reason');
  });
});

test('cancelRun has no slot', () => {
  wrong('cancelRun', { ...GOOD.cancelRun, slot: 'a' }, 'slot');
});

describe('resolveEffect', () => {
  const good = GOOD.resolveEffect;

  test.each(['effect', 'instance'])('`%s` is a text of 1 to 256 code points', (field) => {
    for (const value of ['a', 'pay the bill / März', point(0x1f600).repeat(256)])
      expect(accepted('resolveEffect', { ...good, [field]: value })).toMatchObject({ [field]: value });
    for (const value of ['', ' ', point(0x200b), 1, {}, [], 'a\0'])
      wrong('resolveEffect', { ...good, [field]: value }, field);
    wrong('resolveEffect', { ...good, [field]: 'x'.repeat(257) }, field, 'TooLarge');
  });

  test('needs an effect and an outcome; an instance may be absent or null', () => {
    for (const field of ['effect', 'outcome']) wrong('resolveEffect', { ...good, [field]: null }, field);
    for (const outcome of ['unresolved', 'rejected', '', 'toString', {}])
      wrong('resolveEffect', { ...good, outcome }, 'outcome');
    expect(accepted('resolveEffect', { ...good, instance: null })).toMatchObject({ instance: null });
  });

  test('a receipt is any JSON of at most 64 KiB, and of a committed effect only', () => {
    for (const receipt of [null, 0, false, '', [], { a: [1] }, 'x'.repeat(64 * 1024 - 2)])
      expect(accepted('resolveEffect', { ...good, receipt })).toMatchObject({ receipt });
    wrong('resolveEffect', { ...good, receipt: 'x'.repeat(64 * 1024 - 1) }, 'receipt', 'TooLarge');
    wrong('resolveEffect', { ...good, receipt: 1n }, 'receipt');
    for (const receipt of [0, false, '', {}])
      wrong('resolveEffect', { ...good, outcome: 'absent', receipt }, 'receipt');
    accepted('resolveEffect', { ...good, outcome: 'absent', receipt: null });
  });
});

describe('digest', () => {
  const digest = (name: UpdateName, changes: Record<string, unknown> = {}) =>
    commandDigest(accepted(name, { ...GOOD[name], ...changes }));

  test('is 16 hex digits, and part of the update id', () => {
    expect(digest('claim')).toMatch(/^[0-9a-f]{16}$/);
    const command = accepted('claim', GOOD.claim);
    expect(updateIdOf(command)).toBe(`c1.${commandDigest(command)}`);
  });

  test('absent, null and undefined fields count alike', () => {
    expect(digest('claim', { owner: null, spec: undefined })).toBe(digest('claim'));
    const { reason: _, ...without } = GOOD.hold;
    expect(commandDigest(accepted('hold', { ...without, reason: null }))).toBe(
      commandDigest(accepted('hold', without)),
    );
    expect(digest('hold', { reason: '' })).not.toBe(digest('hold', { reason: null }));
  });

  test('differs with every field and with the name of the command', () => {
    const seen = new Set<string>();
    let count = 0;
    const add = (value: string) => {
      seen.add(value);
      count += 1;
    };
    for (const name of UPDATES) {
      add(digest(name));
      for (const field of Object.keys(GOOD[name]))
        add(digest(name, { [field]: field === 'outcome' ? 'absent' : 'other' }));
    }
    add(digest('claim', { owner: 'x' }));
    add(digest('claim', { spec: 'x' }));
    expect(seen.size).toBe(count);
  });

  test('differs where a person sees no difference', () => {
    expect(digest('hold', { reason: 'x ' })).not.toBe(digest('hold', { reason: 'x' }));
    expect(digest('hold', { reason: '\u00e9' })).not.toBe(digest('hold', { reason: 'e\u0301' }));
  });

  test('values cannot move between fields', () => {
    expect(digest('claim', { worker: 'a', owner: 'b' })).not.toBe(
      digest('claim', { worker: 'b', owner: 'a' }),
    );
    expect(digest('hold', { reason: '"],["slot","b' })).not.toBe(digest('hold', { reason: 'x', slot: 'b' }));
  });
});

describe('texts and sizes', () => {
  test('code points and UTF-8 bytes', () => {
    const text = `aé${point(0x3042)}${point(0x1f600)}`;
    expect(codePoints(text)).toBe(4);
    expect(utf8Bytes(text)).toBe(Buffer.byteLength(text));
    expect(codePoints('')).toBe(0);
  });

  test('checkId and checkText throw what the parser would say', () => {
    expect(checkId('run', 'r1')).toBe('r1');
    expect(() => checkId('run', 'r 1')).toThrow(expect.objectContaining({ code: 'InvalidCommand' }) as Error);
    expect(checkText('message', ' ')).toBe(' ');
    expect(() => checkText('message', 'abc', 2)).toThrow(
      expect.objectContaining({ code: 'TooLarge' }) as Error,
    );
    expect(() => checkText('message', undefined)).toThrow(/`message`/);
  });

  test('inline values are measured as UTF-8 of their JSON, up to and including the limit', () => {
    const fits = 'é'.repeat(32 * 1024 - 1); // two quotes make it exactly 64 KiB
    expect(utf8Bytes(checkInline('result', fits))).toBe(64 * 1024);
    expect(() => checkInline('result', `${fits}x`)).toThrow(
      expect.objectContaining({ code: 'TooLarge' }) as Error,
    );
    expect(checkInline('result', undefined)).toBe('null');
  });
});
