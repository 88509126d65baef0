/** `baton report RUN [--out FILE]`: one page for people who have neither Baton nor Temporal. Needs the store only. */
import { randomBytes } from 'node:crypto';
import { open, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { BatonError, whyOf } from '../domain/errors.js';
import { action } from './context.js';
import { print, write } from './output.js';
import { reportedText } from './render.js';

export function registerReport(program: Command): void {
  program
    .command('report')
    .description('a run as one HTML page: attempts on a time line, reassigns, artifacts, effects')
    .argument('<run>')
    .option(
      '--out <file>',
      'where to write it, in place of an earlier report; - is stdout (default: ./RUN.html)',
    )
    .action(
      action(async (context, run: string, options: { out?: string }) => {
        if (options.out === '-' && context.json) {
          const facts = { field: 'out' };
          throw BatonError.of('InvalidCommand', '`--out -` is the page itself, so it excludes --json', facts);
        }
        const file = path.resolve(options.out ?? `${run}.html`);
        if (options.out !== '-') await checkPlace(file);
        const html = await (await context.offlineClient()).run(run).report();
        if (options.out === '-') return write(html);
        await replace(file, html);
        await print(context, { run, file, bytes: Buffer.byteLength(html) }, reportedText);
      }),
    );
}

/** Of a file only the beginning is looked at: that is where a report says what it is. */
const BEGINNING = 1_024;

/** What is there may be anything, a store of runs too: only an earlier report gives way. */
async function checkPlace(file: string): Promise<void> {
  const { GENERATOR } = await import('../report/page.js');
  let why: string | null = null;
  try {
    if (!(await stat(file)).isFile()) why = 'is no file';
    else if (!(await beginningOf(file)).includes(GENERATOR))
      why = 'is no report: remove it, or choose another';
  } catch (error) {
    const found = whyOf(error);
    if (found !== 'ENOENT') why = `cannot be read (${found})`;
  }
  if (why !== null)
    throw BatonError.of('InvalidCommand', `what \`out\` names ${why}`, { field: 'out', file });
}

async function beginningOf(file: string): Promise<string> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(BEGINNING), 0, BEGINNING, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Whole or not at all: who looks at the page while it is made anew sees the one before. */
async function replace(file: string, text: string): Promise<void> {
  const aside = path.join(
    path.dirname(file),
    `.${path.basename(file)}.${randomBytes(6).toString('hex')}.part`,
  );
  try {
    await writeFile(aside, text, { flag: 'wx' });
    await rename(aside, file);
  } catch (error) {
    await rm(aside, { force: true });
    const why = whyOf(error);
    const facts = { field: 'out', file };
    throw BatonError.of('InvalidCommand', `the report cannot be written (${why})`, facts, { cause: error });
  }
}
