/** `baton fail RUN SLOT --lease TOKEN --code C --message M`: reports that the work failed. */
import type { Command } from 'commander';
import { action } from './context.js';
import { textInput } from './input.js';
import { print } from './output.js';
import { answerText } from './render.js';

export function registerFail(program: Command): void {
  program
    .command('fail')
    .description('end the attempt as failed; the retry policy decides what the slot waits for')
    .argument('<run>')
    .argument('<slot>')
    .requiredOption('--lease <token>', 'what `claim` printed')
    .requiredOption('--code <code>', 'short name of the kind of failure')
    .requiredOption('--message <text>', 'what failed: text, @FILE or -')
    .option('--command-id <id>', 'makes the command repeatable')
    .action(
      action(
        async (
          context,
          run: string,
          slot: string,
          options: { lease: string; code: string; message: string; commandId?: string },
        ) => {
          const message = await textInput('message', options.message);
          const handle = (await context.client()).run(run).slot(slot);
          const { code, commandId } = options;
          const answer = await handle.fail(options.lease, {
            code,
            message,
            ...(commandId === undefined ? {} : { commandId }),
          });
          await print(context, answer, answerText);
        },
      ),
    );
}
