/** Points, verdicts and texts of the crash explorer, without a server. */
import { describe, expect, it } from 'vitest';
import type { EffectRow } from '../../src/store/port.js';
import { listPoints } from '../../src/testing/crash/points.js';
import { countCommits, effectPoints, wrongEffects } from '../../src/testing/crash/effects.js';
import { countSteps, differences, repeatedSteps } from '../../src/testing/crash/verdict.js';
import { crashReportMarkdown, crashReportText, type CrashReport } from '../../src/testing/index.js';

const row = (
  kind: 'result' | 'checkpoint' | 'source',
  name: string,
  step: string | null = null,
  slot = 'a',
) => ({
  kind,
  name,
  step,
  slot,
  savedAt: 0,
});

describe('points', () => {
  it('are numbered by kind and name, and tell an agent’s own result from the end of its work', () => {
    const rows = [
      row('checkpoint', 'x', 'x'),
      row('checkpoint', 'x'),
      row('result', 'result'),
      row('checkpoint', 'x'),
      row('source', 'y', null, 'unexplored'),
      row('result', 'result'),
    ];
    const points = listPoints(rows, new Map([['a', 'node']]));
    expect(points.map(({ kind, name, nth }) => [kind, name, nth])).toEqual([
      ['step', 'x', 1],
      ['checkpoint', 'x', 1],
      ['artifact', 'result', 1],
      ['checkpoint', 'x', 2],
      ['result', 'result', 1],
    ]);
  });
});

describe('effects', () => {
  const effect = {
    key: 'k',
    name: 'pay',
    instance: null,
    slot: 'a',
    run: 'r',
    intentAt: 1,
    updatedAt: 3,
  } as const;
  const of = (change: object) =>
    ({ ...effect, handle: null, state: 'intent', ...change }) as unknown as EffectRow;

  it('have a point for each thing that is recorded of them, between the saves', () => {
    const rows = [
      of({ state: 'committed', handle: { job: 1 } }),
      of({ name: 'mail', instance: 'ada', intentAt: 4 }),
      of({ slot: 'unexplored' }),
    ];
    const saves = [
      { ...row('source', 'early'), savedAt: 2 },
      { ...row('result', 'result'), savedAt: 9 },
    ];
    const nodes = new Map([['a', 'node']]);
    const points = listPoints(saves, nodes, effectPoints(rows, nodes));
    expect(points.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'effect-intent pay',
      'effect-accepted pay',
      'artifact early',
      'effect-outcome pay',
      'effect-intent mail (ada)',
      'result result',
    ]);
  });

  it('are wrong when committed twice, or other than recorded', async () => {
    const wrong = async (state: string, times: number) =>
      wrongEffects(await countCommits([of({ state })], () => times)).length;
    expect(await Promise.all([wrong('committed', 1), wrong('rejected', 0), wrong('intent', 0)])).toEqual([
      0, 0, 0,
    ]);
    expect(
      await Promise.all([
        wrong('committed', 0),
        wrong('committed', 2),
        wrong('rejected', 1),
        wrong('intent', 2),
      ]),
    ).toEqual([1, 1, 1, 1]);
    expect(wrongEffects(await countCommits([of({ state: 'intent' })], undefined))).toEqual([]);
    await expect(countCommits([of({})], () => Number.NaN)).rejects.toMatchObject({ code: 'InvalidCommand' });
  });
});

describe('verdict', () => {
  const ran = (...steps: string[]) =>
    countSteps(steps.map((step) => ({ kind: 'step', slot: 'a', step }) as const));

  it('counts as repeated what ran more often than undisturbed', () => {
    expect(repeatedSteps(ran('one', 'two', 'two', 'new'), ran('one', 'two'))).toEqual([
      { slot: 'a', step: 'two', times: 2 },
    ]);
    expect(repeatedSteps(ran('one', 'one'), ran('one', 'one'))).toEqual([]);
  });

  it('compares results, by the caller’s rule if there is one', () => {
    expect(differences({ a: { n: 1 } }, { a: { n: 1 } })).toEqual([]);
    expect(differences({ a: { n: 1 } }, { a: { n: 2 } })[0]).toMatch(/slot a is \{"n":2\}, undisturbed/);
    expect(differences({ a: 1 }, { a: 2 }, () => true)).toEqual([]);
  });
});

describe('report', () => {
  const point = { slot: 'a', node: 'a', kind: 'step', name: 'x|y', nth: 1 };
  const cell = {
    point,
    finished: true,
    status: 'succeeded',
    attempts: 2,
    effects: [],
    sameResults: true,
  } as const;
  const report: CrashReport = {
    package: 'job',
    points: [point],
    cells: [
      {
        ...cell,
        when: 'before',
        effects: [{ slot: 'a', effect: 'pay', state: 'committed', times: 1 }],
        repeated: [{ slot: 'a', step: 'x|y', times: 2 }],
        problem: null,
      },
      { ...cell, when: 'after', repeated: [], finished: false, problem: 'first\nsecond' },
    ],
    skipped: [{ slot: 'b', why: 'is claimed directly' }],
    results: { a: null },
    ok: false,
  };

  it('says as text what was killed, repeated, wrong and left out', () => {
    const text = crashReportText(report);
    expect(text).toMatch(/^Crashes of job: 1 points?, 2 kills, 1 held\./);
    expect(text).toMatch(/before.*step x\|y of slot a.*finished.*2.*x\|y ×2.*pay ×1.*yes/);
    expect(text).toMatch(/after.*not finished.*nothing.*none.*NO/);
    expect(text).toContain('Killed after step x|y of slot a: first\nsecond');
    expect(text).toContain('Not explored: slot b is claimed directly.');
  });

  it('is a table in Markdown, whatever the names are', () => {
    const lines = crashReportMarkdown(report).split('\n');
    expect(lines[2]).toBe('| killed | point | run | attempts | repeated | effects | held |');
    expect(lines[4]).toBe('| before | step x\\|y of slot a | finished | 2 | x\\|y ×2 | pay ×1 | yes |');
    expect(lines).toContain('- Killed after step x|y of slot a: first');
  });
});
