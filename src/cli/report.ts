/** `baton report RUN [--out FILE]`: one page for people who have neither Baton nor Temporal. Needs the store only. */
import { randomBytes } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { BatonError } from '../domain/errors.js';
import { action } from './context.js';
import { print, write } from './output.js';
import { reportedText } from './render.js';

export function registerReport(program: Command): void {
  program
    .command('report')
    .description('a run as one HTML page: attempts on a time line, reassigns, artifacts, effects')
    .argument('<run>')
    .option('--out <file>', 'where to write it, in place of what is there; - is stdout (default: ./RUN.html)')
    .action(
      action(async (context, run: string, options: { out?: string }) => {
        if (options.out === '-' && context.json) {
          const facts = { field: 'out' };
          throw BatonError.of('InvalidCommand', '`--out -` is the page itself, so it excludes --json', facts);
        }
        const html = await (await context.offlineClient()).run(run).report();
        if (options.out === '-') return write(html);
        const file = path.resolve(options.out ?? `${run}.html`);
        await replace(file, html);
        await print(context, { run, file, bytes: Buffer.byteLength(html) }, reportedText);
      }),
    );
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
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    const facts = { field: 'out', file };
    throw BatonError.of('InvalidCommand', `the report cannot be written (${why})`, facts, { cause: error });
  }
}
