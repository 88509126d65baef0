/** `baton heartbeat RUN SLOT --lease TOKEN`: extends a lease by its TTL. */
import type { Command } from 'commander';
import { action } from './context.js';
import { jsonInput } from './input.js';
import { print } from './output.js';
import { answerText } from './render.js';

export function registerHeartbeat(program: Command): void {
  program
    .command('heartbeat')
    .description('extend a lease by its TTL')
    .argument('<run>')
    .argument('<slot>')
    .requiredOption('--lease <token>', 'what `claim` printed')
    .option('--progress <json>', "shown in Temporal's UI: JSON, @FILE or -")
    .option('--command-id <id>', 'makes the command repeatable')
    .action(
      action(
        async (
          context,
          run: string,
          slot: string,
          options: { lease: string; progress?: string; commandId?: string },
        ) => {
          const progress = await jsonInput('progress', options.progress);
          const handle = (await context.client()).run(run).slot(slot);
          const answer = await handle.heartbeat(options.lease, {
            ...(progress === undefined ? {} : { progress }),
            ...(options.commandId === undefined ? {} : { commandId: options.commandId }),
          });
          await print(context, answer, answerText);
        },
      ),
    );
}
