/** The report as a browser has it: opened from a file in a real Chromium. What the text of the page promises is in page.test.ts. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunRecords } from '../../src/bundle/records.js';
import { reportHtml } from '../../src/report/page.js';
import { noChromium, openBrowser } from '../support/browser.js';
import { artifact, at, attempt, effect, hostile, reassigned, records, slot } from './records.js';

const NARROW = 380;
const WIDE = 1_280;

describe.skipIf(noChromium !== null)(
  noChromium === null ? 'the report in a browser' : `skipped: ${noChromium}`,
  () => {
    let folder: string;
    let browser: Browser;
    let page: Page;
    /** Whatever a page that only shows text would never cause. */
    let seen: string[];

    beforeAll(async () => {
      folder = await mkdtemp(path.join(os.tmpdir(), 'baton-test-report-'));
      browser = await openBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await rm(folder, { recursive: true, force: true });
    });
    beforeEach(async () => {
      seen = [];
      page = await browser.newPage();
      page.on('dialog', (dialog) => {
        seen.push(`dialog ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on('console', (message) => seen.push(`console ${message.text()}`));
      page.on('pageerror', (error) => seen.push(`error ${error.message}`));
      page.on('popup', () => seen.push('popup'));
    });
    afterEach(() => page.close());

    const open = async (of: RunRecords, width = WIDE): Promise<string> => {
      const file = path.join(folder, 'report.html');
      await writeFile(file, reportHtml(of));
      const url = pathToFileURL(file).href;
      page.on('request', (request) => {
        if (request.url() !== url) seen.push(`request ${request.url()}`);
      });
      await page.setViewportSize({ width, height: 900 });
      await page.goto(url, { waitUntil: 'load' });
      return url;
    };

    it('shows hostile texts as text: nothing runs, asks, opens, or is refused by the page’s policy', async () => {
      const url = await open(hostile());
      for (const details of await page.locator('details:not([open]) > summary').all()) await details.click();
      await page.locator('a.bar').first().click();
      await expect.poll(() => page.url()).toBe(`${url}#a-a-1`);
      expect(await page.locator('h1').innerText()).toContain('<script>alert(1)</script>');
      expect(seen).toEqual([]);
    });

    const story = records([slot('draft'), slot('review', { state: 'blocked' })], {
      attempts: [
        attempt('draft', 1, {
          worker: { id: 'w1', status: 'lost' },
          lease: { id: 'l1', status: 'expired', deadline: at(15) },
        }),
        attempt('draft', 2, {
          reassignedBy: { ...reassigned, reason: 'w1 is ill', actor: 'ada', at: at(18) },
          endedAt: at(90),
        }),
      ],
    });

    it('has attempts where they were in time, of different colours, and a mark for the reassign between them', async () => {
      await open(story);
      const boxOf = async (selector: string) => {
        const box = await page.locator(selector).first().boundingBox();
        if (box === null) throw new Error(`${selector} is not on the page`);
        return box;
      };
      const [track, lost, done, mark] = [
        await boxOf('.track'),
        await boxOf('.bar.lost'),
        await boxOf('.bar.succeeded'),
        await boxOf('.mark'),
      ];
      // 10 to 15 s, 20 to 90 s and 18 s, of 100.
      expect((lost.x - track.x) / track.width).toBeCloseTo(0.1, 2);
      expect((done.x - track.x) / track.width).toBeCloseTo(0.2, 2);
      expect(done.width / track.width).toBeCloseTo(0.7, 2);
      expect((mark.x + mark.width / 2 - track.x) / track.width).toBeCloseTo(0.18, 1);
      const colour = (selector: string) =>
        page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).backgroundColor`);
      expect(await colour('.bar.lost')).not.toBe(await colour('.bar.succeeded'));
      await page.locator('.bar.succeeded').click();
      await page.getByText('w1 is ill').first().waitFor();
    });

    const long = 'w'.repeat(128);
    const endless = records([slot(long, { node: long, result: long, waitsFor: long })], {
      attempts: [
        attempt(long, 1, { worker: { id: long, status: 'failed' }, failure: { code: long, message: long } }),
      ],
      artifacts: [artifact(long, long)],
      effects: [effect(long, { name: long })],
      run: { run: long, tenant: long, input: long },
    });

    it.each([WIDE, NARROW])(
      'is never wider than a window of %i pixels, with hostile or long texts either',
      async (width) => {
        for (const of of [story, hostile(), endless]) {
          await open(of, width);
          const [needed, given] = await page
            .locator('html')
            .evaluate((root) => [root.scrollWidth, root.clientWidth] as const);
          expect(needed).toBeLessThanOrEqual(given);
        }
      },
    );
  },
);
