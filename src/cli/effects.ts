/** `baton effects RUN [SLOT]`: what was done outside, and what nobody knows of it. Needs the store only. */
import type { Command } from 'commander';
import { action } from './context.js';
import { print } from './output.js';
import { effectsText } from './render.js';

export function registerEffects(program: Command): void {
  program
    .command('effects')
    .description('all effects with their states, receipts and keys')
    .argument('<run>')
    .argument('[slot]')
    .action(
      action(async (context, run: string, slot: string | undefined) =>
        print(context, await (await context.offlineClient()).run(run).effects(slot), effectsText),
      ),
    );
}
