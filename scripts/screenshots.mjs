/**
 * Takes the README's pictures of the Temporal UI into docs/images: the test of the UI makes a real run and, told to, a picture
 * where it has just checked what is in it. Fails when it had no browser, or a picture is too large to be looked at on the way.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import UPNG from 'upng-js';

const MOST_BYTES = 150 * 1024;
/** A UI has few; with all of its shades a picture takes three times as many bytes. */
const COLOURS = 256;
const root = fileURLToPath(new URL('..', import.meta.url));
const folder = path.join(root, 'docs/images');

await mkdir(folder, { recursive: true });
for (const name of await readdir(folder)) if (name.endsWith('.png')) await rm(path.join(folder, name));
const { exitCode } = await execa('vitest', ['run', 'test/ui/temporal-ui.test.ts'], {
  cwd: root,
  preferLocal: true,
  stdio: 'inherit',
  reject: false,
  env: { BATON_SCREENSHOTS: folder },
});
if (exitCode !== 0) process.exit(1);
const taken = await readdir(folder);
if (taken.length === 0) throw new Error('no picture was taken: is there a Chromium?');
for (const name of taken) {
  const file = path.join(folder, name);
  const picture = UPNG.decode(await readFile(file));
  const small = Buffer.from(UPNG.encode(UPNG.toRGBA8(picture), picture.width, picture.height, COLOURS));
  await writeFile(file, small);
  const size = small.length;
  if (size > MOST_BYTES) throw new Error(`docs/images/${name} has ${size} bytes, more than ${MOST_BYTES}`);
  console.log(`docs/images/${name}: ${size} bytes`);
}
