/**
 * The report: one page that stands by itself, in which what agents and operators wrote is text and nothing else; every end told by
 * word and sign; a size that a browser can open, also of the largest run.
 */
import { describe, expect, it } from 'vitest';
import type { EffectView } from '../../src/agent/types.js';
import type { ArtifactRecord, AttemptRecord, RunRecords } from '../../src/bundle/records.js';
import type { SlotShown } from '../../src/client/show.js';
import { html, visible } from '../../src/report/html.js';
import { reportHtml } from '../../src/report/page.js';
import { bytes, clip, duration } from '../../src/report/words.js';
import { elementsOf, type Element } from './parse.js';

const HOSTILE = `"'><script>alert(1)</script><img src=x onerror=alert(2)> \u202eexe.txt\u202c \u0007\u{e0041} &amp;`;
const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds)).toISOString();
const DIGEST = 'ab'.repeat(32);

function slot(name: string, more: Partial<SlotShown> = {}): SlotShown {
  return {
    slot: name,
    node: 'n',
    state: 'active',
    gate: null,
    spec: { id: 'main', workerClasses: ['coder'], dispatch: 'queue' },
    retryTime: null,
    deadline: null,
    pendingWorker: null,
    activeWorker: null,
    priorWorker: null,
    reassignReason: null,
    expired: false,
    waitsFor: null,
    epoch: 1,
    counts: { claims: 1, failures: 0, losses: 0, releases: 0 },
    result: null,
    failure: null,
    effects: { count: 0, listed: [] },
    claimFailure: null,
    hold: null,
    ...more,
  };
}

function attempt(of: string, number: number, more: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    attempt: `a-${of}-${number}`,
    slot: of,
    number,
    epoch: number,
    workerClass: 'coder',
    ownerActor: null,
    worker: { id: `w${number}`, status: 'succeeded' },
    lease: { id: `l-${of}-${number}`, status: 'released', deadline: null },
    spec: 'main',
    reassignedBy: null,
    startedAt: at(10 * number),
    endedAt: at(10 * number + 5),
    failure: null,
    node: 'n',
    claimId: 'c',
    commandId: null,
    ttlMs: 1_000,
    maxDurationMs: null,
    claimedAt: at(10 * number),
    predecessor: null,
    staged: null,
    ...more,
  };
}

const artifact = (of: string, name: string, more: Partial<ArtifactRecord> = {}): ArtifactRecord => ({
  attempt: `a-${of}-1`,
  kind: 'source',
  name,
  digest: DIGEST,
  size: 2_048,
  mediaType: 'text/plain',
  tags: [],
  step: null,
  stepRevision: null,
  epoch: 1,
  agentRevision: null,
  derivedFrom: [],
  savedAt: at(1),
  trust: 'committed',
  slot: of,
  number: 1,
  ...more,
});

const effect = (of: string, more: Partial<EffectView> = {}): EffectView => ({
  slot: of,
  name: 'pay',
  instance: null,
  key: 'e-1',
  state: 'committed',
  requestDigest: DIGEST,
  receipt: null,
  handle: null,
  failure: null,
  attempt: `a-${of}-1`,
  epoch: 1,
  resolvedBy: null,
  intentAt: at(1),
  updatedAt: at(2),
  ...more,
});

function records(
  slots: readonly SlotShown[],
  more: Partial<Omit<RunRecords, 'run'>> & { run?: Partial<RunRecords['run']> } = {},
): RunRecords {
  const pin = { ref: 'job@1', digest: DIGEST };
  const revision = { publishedAt: at(0), publishedBy: 'ada', accepted: null };
  return {
    pinned: { package: {}, workflow: {}, binding: {} },
    attached: [],
    attempts: [],
    artifacts: [],
    effects: [],
    commands: [],
    ...more,
    run: {
      format: 'baton-bundle/1',
      exportedAt: at(100),
      snapshot: true,
      source: 'workflow',
      server: true,
      tenant: 'acme',
      run: 'r1',
      workflowId: 'acme/r1',
      status: 'running',
      createdAt: at(0),
      endedAt: null,
      deadline: null,
      failure: null,
      pins: { package: pin, workflow: pin, binding: pin },
      launchDigest: DIGEST,
      input: { topic: 'tea' },
      revisions: { package: revision, workflow: revision, binding: revision },
      slots,
      ...more.run,
    },
  };
}

const reassigned = {
  reason: HOSTILE,
  actor: HOSTILE,
  at: at(8),
  workerClass: HOSTILE,
  fromSpec: 'main',
  toSpec: HOSTILE,
};
const hostile = (): RunRecords =>
  records(
    [
      slot('a', {
        node: HOSTILE,
        waitsFor: HOSTILE,
        reassignReason: HOSTILE,
        state: 'succeeded',
        result: { [HOSTILE]: HOSTILE },
        failure: { code: HOSTILE, message: HOSTILE },
        hold: { reason: HOSTILE, actor: HOSTILE, at: at(1) },
      }),
    ],
    {
      attempts: [
        attempt('a', 1, {
          worker: { id: HOSTILE, status: 'lost' },
          lease: { id: 'l', status: 'expired', deadline: at(14) },
          workerClass: HOSTILE,
          ownerActor: HOSTILE,
          spec: HOSTILE,
          failure: { code: HOSTILE, message: HOSTILE },
          reassignedBy: reassigned,
        }),
      ],
      artifacts: [
        artifact('a', HOSTILE, { mediaType: HOSTILE, tags: [HOSTILE], trust: 'after-last-renewal' }),
      ],
      effects: [
        effect('a', {
          name: HOSTILE,
          instance: HOSTILE,
          receipt: HOSTILE,
          attempt: HOSTILE,
          resolvedBy: { outcome: 'committed', actor: HOSTILE, reason: HOSTILE, at: at(3) },
        }),
        effect('a', { state: 'unresolved', failure: { code: HOSTILE, message: HOSTILE } }),
      ],
      run: { tenant: HOSTILE, run: HOSTILE, input: HOSTILE, failure: { code: HOSTILE, message: HOSTILE } },
    },
  );

/** Elements that a page without script, form, image or frame is made of. */
const HARMLESS = new Set(
  'html head meta title style body header main section h1 h2 h3 p dl dt dd div span a ol li details summary table caption thead tbody tr th td time code br'.split(
    ' ',
  ),
);

describe('hostile texts', () => {
  it('are text: no element, attribute or address but the page’s own', async () => {
    const elements = await elementsOf(reportHtml(hostile()));
    for (const { name, attributes } of elements) {
      expect(HARMLESS, name).toContain(name);
      for (const [attribute, value] of Object.entries(attributes)) {
        expect(attribute).not.toMatch(/^on|^src/i);
        if (attribute === 'href') expect(value).toMatch(/^#/);
        if (attribute === 'style') expect(value).toMatch(/^left:[\d.]+%(;width:[\d.]+%)?$/);
      }
    }
    expect(elements.find(({ name }) => name === 'h1')?.text).toContain('<script>alert(1)</script>');
    const bars = elements.filter(({ attributes }) => attributes.class?.startsWith('bar'));
    expect(bars.map(({ attributes }) => attributes.title)).toEqual([
      expect.stringContaining('onerror=alert(2)'),
    ]);
  });

  it('cannot turn the line around or hide: such characters are written out', () => {
    const page = reportHtml(hostile());
    expect(page).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u0007]|\u{e0041}/u);
    expect(page).toContain('⟨U+202E⟩exe.txt⟨U+202C⟩');
    expect(visible('\u{e0041}\ud800 \u0007\n👩‍🚀')).toBe('⟨U+E0041⟩⟨U+D800⟩ ⟨U+0007⟩\n👩‍🚀');
  });

  it('come through the template escaped, in lists too, and HTML of its own does not', () => {
    expect(html`<p title="${'"'}">${['<', html`<b>${'&'}</b>`, null, false, 1]}</p>`.toString()).toBe(
      '<p title="&quot;">&lt;<b>&amp;</b>1</p>',
    );
  });
});

it('stands by itself: a policy that allows its style alone, and nothing that is fetched', async () => {
  const page = reportHtml(hostile());
  const policy = (await elementsOf(page)).find(({ attributes }) => attributes['http-equiv'])?.attributes
    .content;
  expect(policy).toMatch(/^default-src 'none'; style-src 'unsafe-inline';/);
  expect(page).not.toMatch(/url\(|@import|https?:/);
});

describe('attempts', () => {
  const ended = records([slot('a', { state: 'active' })], {
    attempts: [
      attempt('a', 1, {
        worker: { id: 'w1', status: 'lost' },
        lease: { id: 'l1', status: 'expired', deadline: at(15) },
      }),
      attempt('a', 2, {
        worker: { id: 'w2', status: 'failed' },
        reassignedBy: { ...reassigned, reason: 'w1 is ill', at: at(18) },
      }),
      attempt('a', 3, {
        worker: { id: 'w3', status: 'running' },
        lease: { id: 'l3', status: 'live', deadline: at(120) },
        endedAt: null,
      }),
    ],
  });
  const barsIn = (elements: readonly Element[]) =>
    elements.filter(({ name, attributes }) => name === 'a' && attributes.class);

  it('lie where they were in time, each with its end in words and by a sign', async () => {
    const bars = barsIn(await elementsOf(reportHtml(ended)));
    expect(bars.map(({ attributes, text }) => [attributes.style, text, attributes['aria-label']])).toEqual([
      ['left:10%;width:5%', '1 ⚠ lost', 'Attempt 1 by w1: lost, lease expired, after 5.0s'],
      ['left:20%;width:5%', '2 ✕ failed', 'Attempt 2 by w2: failed, after 5.0s'],
      ['left:30%;width:70%', '3 ▶ running', 'Attempt 3 by w3: running, after 1m 10s'],
    ]);
  });

  it('say who reassigned and why, and links lead to what is there', async () => {
    const elements = await elementsOf(reportHtml(ended));
    const marks = elements.filter(({ attributes }) => attributes.class === 'mark');
    expect(marks.map(({ attributes }) => attributes.style)).toEqual(['left:18%']);
    const row = elements.find(({ attributes }) => attributes.id === 'a-a-2');
    expect(row?.text).toContain('w1 is ill');
    const ids = new Set(elements.map(({ attributes }) => attributes.id));
    for (const { attributes } of elements)
      if (attributes.href) expect(ids).toContain(attributes.href.slice(1));
  });

  it('of which nobody recorded the end, end with their lease, and clocks that differ put none off the page', async () => {
    const overdue = attempt('a', 1, {
      worker: { id: 'w', status: 'lost' },
      lease: { id: 'l', status: 'expired', deadline: at(50) },
      endedAt: null,
      startedAt: at(40),
    });
    const early = attempt('a', 2, { claimedAt: at(-100), startedAt: at(-100), endedAt: at(300) });
    const styles = barsIn(await elementsOf(reportHtml(records([slot('a')], { attempts: [overdue, early] }))));
    expect(styles.map(({ attributes }) => attributes.style)).toEqual([
      'left:35%;width:2.5%',
      'left:0%;width:100%',
    ]);
  });
});

it('says what could not be asked of an open run', () => {
  const page = reportHtml(records([slot('a')], { run: { source: 'store', server: false } }));
  expect(page).toContain('No control worker answered');
  expect(page).toContain('No Temporal server was asked');
  const closed = { snapshot: false, status: 'succeeded', source: 'store', server: false } as const;
  expect(reportHtml(records([slot('a')], { run: closed }))).not.toContain('No Temporal server');
});

it(
  'is a page of at most 15 MB for 2,000 slots with long and hostile texts, and names what it leaves out',
  { timeout: 60_000 },
  async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `slot.${index}`);
    const long = '<'.repeat(4_000);
    const many = <T>(make: (name: string, number: number) => T): T[] =>
      names.flatMap((name) => Array.from({ length: 5 }, (_, index) => make(name, index + 1)));
    const page = reportHtml(
      records(
        names.map((name) => slot(name, { waitsFor: long, failure: { code: 'Broken', message: long } })),
        {
          attempts: many((name, number) =>
            attempt(name, number, {
              failure: { code: 'Broken', message: long },
              reassignedBy: { ...reassigned, reason: long },
            }),
          ),
          artifacts: many((name) => artifact(name, long.slice(0, 256))),
          effects: many((name) => effect(name, { receipt: long })),
          run: { input: long },
        },
      ),
    );
    expect(Buffer.byteLength(page)).toBeLessThan(15_000_000);
    // Not parsed: that takes the parser of these tests a minute, unlike a browser.
    expect(page.match(/<details class="slot" id="slot-\d+" >/g)).toHaveLength(2_000);
    expect(page).toContain('Attempts, the newest 2 of 5');
  },
);

it('writes times, sizes and cuts for people', () => {
  expect([0, 9_940, 59_400, 3_725_000, 90_000_000].map(duration)).toEqual([
    '0.0s',
    '9.9s',
    '59s',
    '1h 2m',
    '1d 1h',
  ]);
  expect([1_023, 1_024, 5 * 1_024 ** 3].map(bytes)).toEqual(['1023 B', '1.0 KiB', '5.0 GiB']);
  expect([clip('👩👩👩', 2), clip('👩👩', 2), clip('', 2)]).toEqual(['👩👩…', '👩👩', '']);
});
