/** Text that agents and people gave reaches neither the terminal's control nor another folder. */
import { describe, expect, it } from 'vitest';
import { fileName } from '../../src/cli/artifact-files.js';
import { asBatonError, exitCodeOf } from '../../src/cli/errors.js';
import { durationInput } from '../../src/cli/input.js';
import { attemptsText, clean } from '../../src/cli/render.js';
import { BatonError, ERROR_CODES, type ErrorCode } from '../../src/domain/errors.js';

describe('clean', () => {
  it('shows control characters instead of sending them', () => {
    expect(clean('a\u001b[31mb\u0007\u009b')).toBe('a\\x1b[31mb\\x07\\x9b');
    expect(clean('pay\u202egnp.exe\u2066\u200f')).toBe('pay\\u202egnp.exe\\u2066\\u200f');
  });
  it('leaves lines and letters of all languages', () => {
    expect(clean('zwei\nZeilen – 日本')).toBe('zwei\nZeilen – 日本');
  });
});

it('keeps a failure message that holds a terminal sequence in its table cell', () => {
  const text = attemptsText([
    {
      attempt: 'a',
      slot: 's',
      number: 1,
      epoch: 1,
      workerClass: 'c',
      ownerActor: null,
      spec: 'x',
      reassignedBy: null,
      worker: { id: 'w', status: 'failed' },
      lease: { id: 'l', status: 'released', deadline: null },
      startedAt: null,
      endedAt: null,
      failure: { code: 'X', message: '\u001b[2Jgone\nnext' },
    },
  ]);
  expect(text).toContain('X: \\x1b[2Jgone\\nnext');
});

it.each([
  ['../../etc/passwd', '..%2F..%2Fetc%2Fpasswd'],
  ['..', '%2E%2E'],
  ['notes.md', 'notes.md'],
])('writes artifact %s as file %s', (name, file) => expect(fileName(name)).toBe(file));

it.each([
  ['10s', 10_000],
  ['250ms', 250],
  ['2', 2_000],
  ['1.5', 1_500],
])('reads the duration %s', (text, time) => expect(durationInput('timeout', text)).toBe(time));

it('gives every code the exit code of the table, also for an error of another copy of the package', () => {
  for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
    expect(exitCodeOf(new BatonError(code, 'x'))).toBe(ERROR_CODES[code].exit);
    const foreign = Object.assign(new Error('x'), { code, details: { a: 1 } });
    expect(asBatonError(foreign)).toMatchObject({ code, details: { a: 1 } });
  }
  expect(asBatonError(new Error('boom')).code).toBe('Internal');
});
