/**
 * The report: one page that stands by itself, in which what agents and operators wrote is text and nothing else; every end told by
 * word and sign; a size that a browser can open, also of the largest run.
 */
import { describe, expect, it } from 'vitest';
import { html, visible } from '../../src/report/html.js';
import { reportHtml } from '../../src/report/page.js';
import { bytes, clip, duration } from '../../src/report/words.js';
import { elementsOf, type Element } from './parse.js';
import { artifact, at, attempt, effect, hostile, reassigned, records, slot } from './records.js';

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
