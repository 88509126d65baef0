/** `baton release RUN SLOT --lease TOKEN --reason R`: gives the slot back unfinished. */
import type { Command } from 'commander';
import { action } from './context.js';
import { textInput } from './input.js';
import { print } from './output.js';
import { answerText } from './render.js';

export function registerRelease(program: Command): void {
  program
    .command('release')
    .description('give the slot back unfinished: claimable at once, no budget used up')
    .argument('<run>')
    .argument('<slot>')
    .requiredOption('--lease <token>', 'what `claim` printed')
    .option('--reason <text>', 'why: text, @FILE or -')
    .option('--command-id <id>', 'makes the command repeatable')
    .action(
      action(
        async (
          context,
          run: string,
          slot: string,
          options: { lease: string; reason?: string; commandId?: string },
        ) => {
          const reason = (await textInput('reason', options.reason)) ?? '';
          const handle = (await context.client()).run(run).slot(slot);
          const { commandId } = options;
          await print(
            context,
            await handle.release(options.lease, {
              reason,
              ...(commandId === undefined ? {} : { commandId }),
            }),
            answerText,
          );
        },
      ),
    );
}
