/**
 * A real Chromium of the machine, for tests that look at what people see: `CHROMIUM` names it, else it is looked for on the
 * PATH. Without one such tests are skipped, with the reason in their name.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { chromium, type Browser } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
/**
 * No sandbox: it needs rights that containers do not give. No colours at the edges of letters: pictures take half the bytes. The
 * rest keeps it from asking anything of other machines.
 */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-lcd-text',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const found = findChromium();

/** Why there is no Chromium on this machine, or null: for `skipIf`, so that a skipped test says why. */
export const noChromium: string | null = found
  ? null
  : `no Chromium: CHROMIUM is not set, and none of ${NAMES.join(', ')} is on the PATH`;

export async function openBrowser(): Promise<Browser> {
  if (found === null) throw new Error(noChromium ?? '');
  return chromium.launch({ executablePath: found, args: FLAGS });
}

function findChromium(): string | null {
  const { CHROMIUM, PATH = '' } = process.env;
  if (CHROMIUM) return CHROMIUM;
  const folders = PATH.split(path.delimiter).filter((folder) => folder !== '');
  const places = NAMES.flatMap((name) => folders.map((folder) => path.join(folder, name)));
  return places.find((place) => existsSync(place)) ?? null;
}
