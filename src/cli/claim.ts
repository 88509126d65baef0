/** `baton claim RUN SLOT`: takes a direct slot for a worker that is no Temporal worker. */
import type { Command } from 'commander';
import { action } from './context.js';
import { print } from './output.js';
import { claimedText } from './render.js';

interface Options {
  readonly class: string;
  readonly worker: string;
  readonly owner?: string;
  readonly spec?: string;
  readonly commandId?: string;
}

export function registerClaim(program: Command): void {
  program
    .command('claim')
    .description('claim a direct slot; prints the lease token and the handoff')
    .argument('<run>')
    .argument('<slot>')
    .requiredOption('--class <class>', 'worker class')
    .requiredOption('--worker <id>', 'id of the worker that takes the slot')
    .option('--owner <actor>', "owner of the worker (default: the predecessor's)")
    .option('--spec <id>', 'launch specification; another than the selected one only from `open`')
    .option('--command-id <id>', 'makes the command repeatable')
    .action(
      action(async (context, run: string, slot: string, options: Options) => {
        const { class: workerClass, worker, owner, spec, commandId } = options;
        const handle = (await context.client()).run(run).slot(slot);
        const claimed = await handle.claim({
          workerClass,
          worker,
          ...(owner === undefined ? {} : { owner }),
          ...(spec === undefined ? {} : { spec }),
          ...(commandId === undefined ? {} : { commandId }),
        });
        await print(context, claimed, claimedText);
      }),
    );
}
