/** `baton export RUN [--out DIR]`: a run with all that belongs to it, for `baton verify`. Needs the store only. */
import type { Command } from 'commander';
import { action } from './context.js';
import { print } from './output.js';
import { exportedText } from './render.js';

export function registerExport(program: Command): void {
  program
    .command('export')
    .description('write a run as a bundle that can be checked: pins, attempts, artifacts, effects')
    .argument('<run>')
    .option('--out <dir>', 'folder to make; there must be none of that name (default: ./RUN.bundle)')
    .action(
      action(async (context, run: string, options: { out?: string }) => {
        const handle = (await context.offlineClient()).run(run);
        await print(context, await handle.export(options.out ?? `${run}.bundle`), exportedText);
      }),
    );
}
