/** `baton recovery RUN SLOT`: what the next worker will be given, before anybody claims. */
import type { Command } from 'commander';
import { action } from './context.js';
import { print, write } from './output.js';

export function registerRecovery(program: Command): void {
  program
    .command('recovery')
    .description('what is done, saved and left to do in a slot, as Markdown')
    .argument('<run>')
    .argument('<slot>')
    .action(
      action(async (context, run: string, slot: string) => {
        const handle = (await context.client()).run(run);
        const { handoff, state, gate } = await handle.recoveryRead(slot);
        if (context.json) return print(context, handoff, String);
        const { recoveryMarkdown } = await import('../agent/recovery.js');
        await write(
          recoveryMarkdown(handoff, { tenant: context.tenant, run, slot, gate, ...(state ? { state } : {}) }),
        );
      }),
    );
}
