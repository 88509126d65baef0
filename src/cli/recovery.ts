/** `baton recovery RUN SLOT`: what the next worker will be given, before anybody claims. */
import type { Command } from 'commander';
import { action } from './context.js';
import { integerInput } from './input.js';
import { print, write } from './output.js';

export function registerRecovery(program: Command): void {
  program
    .command('recovery')
    .description('what is done, saved and left to do in a slot, as Markdown')
    .argument('<run>')
    .argument('<slot>')
    .option('--max-bytes <n>', 'size of the Markdown; the newest stays, what is left out is named', '32768')
    .action(
      action(async (context, run: string, slot: string, options: { maxBytes: string }) => {
        const maxBytes = integerInput('max-bytes', options.maxBytes);
        const handle = (await context.client()).run(run);
        if (context.json) return print(context, await handle.recovery(slot), String);
        await write(await handle.recoveryMarkdown(slot, { maxBytes }));
      }),
    );
}
