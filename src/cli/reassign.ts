/** `baton reassign RUN SLOT --class C --reason R`: opens a waiting slot for a successor, or says which guard would refuse. */
import type { Command } from 'commander';
import { action } from './context.js';
import { textInput } from './input.js';
import { print } from './output.js';
import { answerText, dryRunText } from './render.js';

interface Options {
  readonly class: string;
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly commandId?: string;
}

export function registerReassign(program: Command): void {
  program
    .command('reassign')
    .description('open a slot in retry-wait for a worker of another or the same class')
    .argument('<run>')
    .argument('<slot>')
    .requiredOption('--class <class>', 'worker class that is to take over')
    .option('--reason <text>', 'why: text, @FILE or -')
    .option('--dry-run', 'print the verdict of each guard and change nothing')
    .option('--command-id <id>', 'makes the command repeatable')
    .action(
      action(async (context, run: string, slot: string, options: Options) => {
        // A missing reason is judged by its own guard, in its place in the order.
        const reason = (await textInput('reason', options.reason)) ?? '';
        const { class: workerClass, commandId } = options;
        const handle = (await context.client()).run(run).slot(slot);
        if (options.dryRun === true)
          return print(context, await handle.dryRunReassign({ workerClass, reason }), dryRunText);
        const answer = await handle.reassign({
          workerClass,
          reason,
          ...(commandId === undefined ? {} : { commandId }),
        });
        await print(context, answer, answerText);
      }),
    );
}
