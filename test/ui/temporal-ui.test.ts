/**
 * What a person finds in the Temporal UI, read in a real Chromium from the real UI of a real run: summary and details; the slot
 * table; summaries of activities and timers; commands by name; the attempt at work with its progress; pins; search attributes that
 * `doctor --fix` registered; and the saved queries of the README, typed in.
 *
 * With `BATON_SCREENSHOTS=<folder>` it also takes the README's pictures: `npm run screenshots`.
 */
import path from 'node:path';
import type { Browser, FrameLocator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { noChromium, openBrowser } from '../support/browser.js';
import { quiet } from '../host/lab.js';
import { savedQueries } from '../support/saved-queries.js';
import { HELD, PROGRESS, REASON, tellStory, type Story } from './story.js';

const SEEN_MS = 20_000;
const { BATON_SCREENSHOTS } = process.env;
describe.skipIf(noChromium !== null)(
  noChromium === null ? 'the run in the Temporal UI' : `skipped: ${noChromium}`,
  () => {
    let story: Story;
    let browser: Browser;
    let page: Page;

    beforeAll(async () => {
      quiet();
      story = await tellStory();
      browser = await openBrowser();
    }, 180_000);

    afterAll(async () => {
      await browser?.close();
      await story?.close();
    }, 60_000);

    beforeEach(async () => {
      page = await browser.newPage({ timezoneId: 'UTC' });
      page.setDefaultTimeout(SEEN_MS);
    });

    afterEach(() => page.close());

    const tab = async (name: RegExp, height = 900): Promise<void> => {
      await page.setViewportSize({ width: 1280, height });
      await page.goto(story.run.ui ?? '');
      await page.locator('a').filter({ hasText: name }).click();
    };
    const shot = async (name: string): Promise<void> => {
      if (BATON_SCREENSHOTS === undefined) return;
      await page.screenshot({ path: path.join(BATON_SCREENSHOTS, `${name}.png`), animations: 'disabled' });
    };
    /** Text of the first element that has it: the UI keeps copies of some for narrow screens. */
    const seen = (text: string | RegExp, within: Page | FrameLocator = page) =>
      within.getByText(text).locator('visible=true').first().waitFor();
    const frames = () => page.locator('iframe');
    const textOf = async (index: number, until: string): Promise<string> => {
      const frame = frames().nth(index).contentFrame();
      await frame.getByText(until).first().waitFor();
      return frame.locator('body').innerText();
    };

    test('has a summary, and details with pins, nodes and agents', async () => {
      await tab(/^User Metadata/);
      expect((await textOf(0, 'market-report')).trim()).toBe('market-report@1 for acme');
      const details = await textOf(1, 'depends on');
      const { pins } = story.run;
      for (const { ref, digest } of [pins.package, pins.workflow, pins.binding])
        expect(details).toContain(`${ref} ${digest.slice(0, 12)}`);
      expect(details).toMatch(/^summary\tsummary\tresearch, figures\twriter-agent@4$/m);
      // Nothing is wider than its column.
      const scrolls = await frames()
        .nth(1)
        .contentFrame()
        .locator('html')
        .evaluate((html) => html.scrollWidth - html.clientWidth);
      expect(scrolls).toBe(0);
    });

    test('has the slot table in its current details', async () => {
      await tab(/^User Metadata/, 960);
      const details = await textOf(2, 'waits for');
      expect(details).toContain('running · 1 of 7 slots over · tenant acme · market-report@1');
      const rows = details.split('\n').filter((line) => line.includes('\t'));
      expect(rows).toEqual([
        'slot\tstate\tclass and worker\tattempts\twaits for; last reassign',
        expect.stringMatching(/^sources\tsucceeded\thuman: ann\t1\t$/),
        `research\tactive\tsenior-researcher: vera-1\t2 (1 lost)\tvera-1 to finish; reassigned by ada: ${REASON}`,
        'figures\tretry-wait (reassign)\tanalyst, after host-8\t1 (1 lost)\ta reassign (manual retry)',
        `interviews\ton-hold\thuman\t0\trelease-hold (held by ada: ${HELD})`,
        expect.stringMatching(
          /^prices\tretry-wait \(time\)\tbuyer, after cleo\t1 \(1 failed\)\ta direct claim by buyer, from 20/,
        ),
        'publish\tretry-wait (reassign)\tpublisher, after press-1\t1 (1 failed)\ta reassign (manual retry); outcome not known of publish: intent',
        'summary\tblocked\twriter\t0\tnodes research, figures',
      ]);
      expect(details).toContain('Progress of attempts at work is under Pending Activities.');
      await shot('slots');
    });

    test('has its attempts, timers and commands readable in the list of events', async () => {
      await tab(/^History/);
      await page.getByTestId('compact').click();
      const rows = page.getByTestId('event-summary-row');
      await rows.filter({ hasText: 'reassign' }).first().waitFor();
      const row = (...texts: readonly string[]) =>
        texts
          .reduce((found, hasText) => found.filter({ hasText }), page.locator('[data-testid$="summary-row"]'))
          .first()
          .waitFor();
      await row('performAttempt', 'research attempt 1 by host-7 (researcher)');
      await row(
        'performAttempt',
        `research attempt 2 by vera-1 (senior-researcher), reassigned by ada: ${REASON}`,
      );
      await row('claimSlot', 'offer research to senior-researcher');
      await row('settle', 'record the end of research attempt 1: expired');
      await row('settle', 'record the end of prices attempt 1: failure');
      await row('Timer', 'next retry or deadline at 20');
      await row('Update', 'reassign', '{"slot":"research","state":"retry-wait"');
      await row('Update', 'hold', '{"slot":"interviews","state":"on-hold"');
      await page.mouse.move(640, 5);
      await page.getByText('Event History', { exact: true }).scrollIntoViewIfNeeded();
      await shot('events');
    });

    test('has the attempt at work among its pending activities, with the progress', async () => {
      await tab(/^Pending Activities/, 580);
      await seen('work:research:2');
      await seen('Heartbeat Details');
      const text = await page.locator('.cm-content').last().innerText();
      expect(JSON.parse(text)).toEqual(PROGRESS);
      await shot('progress');
    });

    test('has the pins in its memo', async () => {
      await tab(/^Memo/);
      await seen('"fields"');
      const text = await page.locator('.cm-content').last().innerText();
      expect(JSON.parse(text)).toEqual({
        fields: { tenant: 'acme', run: 'tea', pins: story.run.pins },
      });
    });

    test('has the search attributes that `doctor --fix` registered', async () => {
      await tab(/^Search Attributes/);
      await seen('"indexedFields"');
      const text = await page.locator('.cm-content').last().innerText();
      expect(JSON.parse(text)).toMatchObject({
        indexedFields: {
          BatonTenant: 'acme',
          BatonPackage: 'market-report@1',
          BatonStatus: 'running',
          BatonWaiting: [
            'unresolved-effects',
            'reassign',
            'release-hold',
            'figures:analyst',
            'prices:buyer',
            'publish:publisher',
          ],
        },
      });
    });

    test('is found by each saved query of the README as it is typed in, and the other run is not', async () => {
      const queries = await savedQueries();
      expect(queries).toHaveLength(6);
      await page.setViewportSize({ width: 1280, height: 600 });
      const list = `${story.uiUrl}/namespaces/default/workflows`;
      for (const query of queries) {
        await page.goto(list);
        // Both are listed: what a query leaves out is left out by it.
        await page.getByRole('link', { name: story.other.workflowId }).waitFor();
        await page.getByTestId('toggle-manual-query').click();
        await page.getByTestId('manual-search-input').fill(query);
        await page.getByTestId('manual-search-button').click();
        await page.getByRole('link', { name: story.other.workflowId }).waitFor({ state: 'detached' });
        await page.getByRole('link', { name: story.run.workflowId, exact: true }).waitFor();
        await seen('1 Workflow');
      }
      await page.goto(`${list}?query=${encodeURIComponent(queries[0] ?? '')}`);
      await page.getByRole('link', { name: story.run.workflowId, exact: true }).waitFor();
      await shot('waiting');
    });
  },
);
