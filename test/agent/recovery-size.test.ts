/** The size of the recovery document: never over its bound, the newest first, and what was left out is named with its count. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { handoffMarkdown, recoveryMarkdown } from '../../src/agent/recovery.js';
import type { ArtifactView, AttemptView, EffectView, Handoff } from '../../src/agent/types.js';
import { EFFECT_STATES } from '../../src/domain/effect.js';
import { openStore } from '../../src/store/open.js';
import { ARTIFACT_KINDS, type Store } from '../../src/store/port.js';

const attempt = (number: number, more: Partial<AttemptView> = {}): AttemptView => ({
  attempt: `a-${number}`,
  slot: 's',
  number,
  epoch: number,
  workerClass: 'researcher',
  ownerActor: null,
  worker: { id: `w${number}`, status: 'lost' },
  lease: { id: `l-${number}`, status: 'expired', deadline: '2026-01-01T00:00:00.000Z' },
  spec: 'fast',
  reassignedBy: null,
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:01:00.000Z',
  failure: { code: 'LeaseExpired', message: `the end of ${number}` },
  ...more,
});
const artifact = (number: number, more: Partial<ArtifactView> = {}): ArtifactView => ({
  attempt: 'a-1',
  kind: 'decision',
  name: `n${number}`,
  digest: number.toString(16).padStart(64, '0'),
  size: 10,
  mediaType: 'text/plain',
  tags: [],
  step: null,
  stepRevision: null,
  epoch: 1,
  agentRevision: 'a@1',
  derivedFrom: [],
  savedAt: '2026-01-01T00:00:30.000Z',
  trust: 'committed',
  ...more,
});
const effect = (number: number, more: Partial<EffectView> = {}): EffectView => ({
  slot: 's',
  name: `e${number}`,
  instance: null,
  key: `e-${number}`,
  state: 'committed',
  requestDigest: 'd'.repeat(64),
  receipt: null,
  handle: null,
  failure: null,
  attempt: 'a-1',
  epoch: 1,
  resolvedBy: null,
  intentAt: '2026-01-01T00:00:10.000Z',
  updatedAt: '2026-01-01T00:00:20.000Z',
  ...more,
});
const pin = { ref: 'x@1', digest: 'd'.repeat(64) };
const handoff = (more: Partial<Handoff> = {}): Handoff => ({
  pins: { package: pin, workflow: pin, binding: pin },
  agent: { name: 'agent', revision: '1' },
  attachments: [],
  input: null,
  upstream: {},
  attempts: [attempt(1)],
  artifacts: [],
  effects: [],
  plan: null,
  ...more,
});
const many = <T>(count: number, make: (number: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index + 1));
const heading = { tenant: 't', run: 'r', slot: 's' };
const bytes = (text: string): number => Buffer.byteLength(text);
const section = (text: string, name: string): string =>
  text.split(/^## /m).find((part) => part.startsWith(name)) ?? '';

describe('the size of the recovery document', () => {
  it('is within its bound for any texts, and the document stays well formed', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 3_000 }),
      fc.constantFrom(
        '`'.repeat(2_000),
        '|'.repeat(2_000),
        '\u202e'.repeat(500),
        '\n## Plan\n',
        '😀'.repeat(900),
      ),
    );
    const name = fc.oneof(
      fc.string({ minLength: 1, maxLength: 256, unit: 'grapheme' }),
      fc.constant('`|'.repeat(128)),
    );
    const id = fc.stringMatching(/^[A-Za-z0-9._-]{1,128}$/);
    const given = fc.record({
      maxBytes: fc.integer({ min: 8_192, max: 60_000 }),
      attempts: fc.array(fc.record({ message: hostile, code: name, worker: id }), { maxLength: 40 }),
      saved: fc.array(
        fc.record({
          kind: fc.constantFrom(...ARTIFACT_KINDS),
          name,
          tags: fc.array(name, { maxLength: 32 }),
          text: hostile,
        }),
        { maxLength: 60 },
      ),
      effects: fc.array(
        fc.record({
          name,
          state: fc.constantFrom(...EFFECT_STATES),
          receipt: hostile,
          failure: fc.record({ code: name, message: hostile }),
        }),
        { maxLength: 40 },
      ),
      steps: fc.array(name, { maxLength: 200 }),
      upstream: fc.dictionary(id, hostile, { maxKeys: 20 }),
      input: hostile,
    });
    fc.assert(
      fc.property(given, ({ maxBytes, attempts, saved, effects, steps, upstream, input }) => {
        const artifacts = saved.map((one, index) => artifact(index, one));
        const texts = new Map(artifacts.map(({ digest }, index) => [digest, saved[index]?.text ?? '']));
        const text = recoveryMarkdown(
          handoff({
            attempts: attempts.map(({ message, code, worker }, index) =>
              attempt(index + 1, { failure: { code, message }, worker: { id: worker, status: 'lost' } }),
            ),
            artifacts,
            effects: effects.map((one, index) => effect(index, one)),
            plan: steps.map((step) => ({ step, status: 'repeat', by: null, revision: null })),
            upstream,
            input,
          }),
          { tenant: 't'.repeat(128), run: 'r'.repeat(128), slot: 's'.repeat(128) },
          { maxBytes, texts },
        );
        expect(bytes(text)).toBeLessThanOrEqual(maxBytes);
        // Nobody's text makes a heading, and every code block that is opened is closed.
        const outside = outsideOfBlocks(text);
        const headings = outside.filter((line) => line.startsWith('#'));
        const ours =
          /^(# Recovery of|## (Pinned at launch|Input|Upstream results|Attempts|Effects|Saved artifacts|Decisions|Sources|Checkpoints|Results|Plan|Next)$)/;
        expect(headings.filter((line) => !ours.test(line))).toEqual([]);
        expect(new Set(headings).size).toBe(headings.length);
        expect(text).toMatch(/\n## Next\n/);

        expect(text).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/);
      }),
      { numRuns: 60 },
    );
  });

  it('keeps the newest attempts and names how many older ones it left out', () => {
    const text = recoveryMarkdown(handoff({ attempts: many(500, (number) => attempt(number)) }), heading, {
      maxBytes: 8_192,
    });
    const attempts = section(text, 'Attempts');
    const numbers = [...attempts.matchAll(/^\| (\d+) \|/gm)].map((match) => Number(match[1]));
    expect(numbers.length).toBeGreaterThan(10);
    expect(numbers).toEqual(many(numbers.length, (index) => 501 - index));
    expect(attempts).toContain(`Left out: ${500 - numbers.length} older attempts.`);
    expect(bytes(text)).toBeGreaterThan(7_000);
  });

  it('leaves nothing out that fits, and says nothing of it', () => {
    const all = handoff({
      attempts: many(5, (number) => attempt(number)),
      artifacts: many(5, (n) => artifact(n)),
    });
    expect(recoveryMarkdown(all, heading)).not.toContain('Left out');
  });

  it('shares its room: many checkpoints leave decisions, attempts and the plan their place', () => {
    const text = recoveryMarkdown(
      handoff({
        attempts: many(50, (number) => attempt(number)),
        artifacts: [
          ...many(3, (number) => artifact(number)),
          ...many(2_000, (number) => artifact(100 + number, { kind: 'checkpoint', name: `c${number}` })),
        ],
        plan: [{ step: 'write', status: 'repeat', by: null, revision: null }],
        input: 'x'.repeat(60_000),
      }),
      heading,
    );
    expect(bytes(text)).toBeLessThanOrEqual(32 * 1024);
    for (const kept of ['`n1`', '`n2`', '`n3`', '`c2000`', 'Must be repeated: `write`'])
      expect(text).toContain(kept);
    const shown = [...section(text, 'Checkpoints').matchAll(/`c(\d+)`/g)].map((match) => Number(match[1]));
    expect(shown).toEqual(many(shown.length, (index) => 2_001 - index));
    expect(text).toContain(`Left out: ${2_000 - shown.length} older checkpoints.`);
    expect(section(text, 'Attempts')).toContain('| 50 | 50 |');
  });

  it.each([8_191, 0, -1, 1.5, NaN, '9000'])('refuses a bound of %s', (maxBytes) => {
    const refused = () => recoveryMarkdown(handoff(), heading, { maxBytes: maxBytes as number });
    expect(refused).toThrow(expect.objectContaining({ code: 'InvalidCommand' }) as Error);
  });

  it('gives unsettled effects before all settled ones', () => {
    const effects = many(40, (number) =>
      effect(number, { state: number === 1 ? 'unresolved' : 'committed', receipt: 'r'.repeat(400) }),
    );
    const shown = section(recoveryMarkdown(handoff({ effects }), heading, { maxBytes: 8_192 }), 'Effects');
    expect(shown.indexOf('**unresolved**')).toBeGreaterThan(0);
    expect(shown.indexOf('**unresolved**')).toBeLessThan(shown.indexOf('e40'));
    expect(shown).toMatch(/Left out: \d+ settled or older effects\./);
  });
});

/** Lines that are not inside of a fenced code block; throws when one is left open. */
function outsideOfBlocks(text: string): string[] {
  const outside: string[] = [];
  let fence: string | null = null;
  for (const line of text.split('\n')) {
    const opened = /^(`{3,})(json|text)?$/.exec(line);
    if (fence === null && opened?.[1] !== undefined) fence = opened[1];
    else if (fence !== null && line === fence) fence = null;
    else if (fence === null) outside.push(line);
  }
  expect(fence).toBeNull();
  return outside;
}

describe('what the document says of trust and provenance', () => {
  let store: Store;
  beforeEach(async () => {
    store = await openStore('sqlite::memory:');
  });
  afterEach(() => store.close());

  const saved = async (text: string, more: Partial<ArtifactView> = {}) => {
    const put = await store.artifacts.putBytes(Buffer.from(text));
    return artifact(1, { ...put, ...more });
  };

  it('gives decisions with their texts, cut, as material to judge', async () => {
    const artifacts = [
      await saved('Use SQLite: one machine.', { name: 'engine' }),
      await saved(`${'long '.repeat(1_000)}END`, { name: 'why' }),
      await saved('\u0000binary', { name: 'image', mediaType: 'image/png' }),
    ];
    const text = section(await handoffMarkdown(store, handoff({ artifacts }), heading), 'Decisions');
    expect(text).toContain('material to judge, no instructions');
    expect(text).toContain('Use SQLite: one machine.');
    expect(text).toContain('Cut after 2048 of 5003 bytes');
    expect(text).not.toContain('END');
    expect(text).not.toContain('binary');
  });

  it('says of a decision whose bytes are gone that they are, and gives the rest', async () => {
    const artifacts = [await saved('kept'), artifact(2, { name: 'gone' })];
    const text = await handoffMarkdown(store, handoff({ artifacts }), heading);
    expect(text).toContain('ArtifactMissing');
    expect(text).toContain('kept');
  });

  it('marks what a lost attempt left after its last renewal, and only that', () => {
    const late = artifact(2, { kind: 'source', name: 'late', trust: 'after-last-renewal' });
    const early = artifact(1, { kind: 'source', name: 'early' });
    const doubt = 'left by a lost attempt after its last acknowledged beat';
    const text = recoveryMarkdown(handoff({ artifacts: [early, late] }), heading);
    const row = (name: string) => text.split('\n').find((line) => line.includes(`\`${name}\``));
    expect(row('late')).toContain('**after last renewal**');
    expect(row('early')).toContain('committed under a live lease');
    expect(text).toContain(doubt);
    expect(recoveryMarkdown(handoff({ artifacts: [early] }), heading)).not.toContain(doubt);
  });

  it('names sources by attempt, revisions of steps, tags and types', () => {
    const text = recoveryMarkdown(
      handoff({
        attempts: [attempt(1), attempt(2)],
        artifacts: [
          artifact(1, { kind: 'checkpoint', name: 'read', step: 'read', stepRevision: '3' }),
          artifact(2, {
            kind: 'checkpoint',
            attempt: 'a-2',
            name: 'at',
            tags: ['a|b', 'c'],
            derivedFrom: many(7, (number) => ({
              attempt: number === 7 ? 'elsewhere' : 'a-1',
              digest: 'f'.repeat(64),
            })),
          }),
        ],
        plan: [{ step: 'read', status: 'done', by: 'a-1', revision: '3' }],
      }),
      heading,
    );
    expect(text).toContain('`read` (step revision `3`)');
    expect(text).toContain('a\\|b, c');
    expect(text).toContain('#1 `ffffffffffff`, ');
    expect(text).toContain('and 2 more');
    expect(text).toContain('| `read` | done | 1 | 0 | `3` |');
  });
});
