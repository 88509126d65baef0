/** `baton complete RUN SLOT --lease TOKEN`: ends an attempt with the slot's result. */
import type { Command } from 'commander';
import { action } from './context.js';
import { jsonInput } from './input.js';
import { print } from './output.js';
import { answerText } from './render.js';

export function registerComplete(program: Command): void {
  program
    .command('complete')
    .description("end the attempt with the slot's result")
    .argument('<run>')
    .argument('<slot>')
    .requiredOption('--lease <token>', 'what `claim` printed')
    .option('--result <json>', 'JSON of at most 64 KiB, @FILE or - (default: null)')
    .option('--command-id <id>', 'makes the command repeatable')
    .action(
      action(
        async (
          context,
          run: string,
          slot: string,
          options: { lease: string; result?: string; commandId?: string },
        ) => {
          const result = await jsonInput('result', options.result);
          const handle = (await context.client()).run(run).slot(slot);
          const answer = await handle.complete(options.lease, {
            ...(result === undefined ? {} : { result }),
            ...(options.commandId === undefined ? {} : { commandId: options.commandId }),
          });
          await print(context, answer, answerText);
        },
      ),
    );
}
