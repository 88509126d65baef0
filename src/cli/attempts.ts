/** `baton attempts RUN [SLOT]`: every attempt, kept for ever. */
import type { Command } from 'commander';
import { action } from './context.js';
import { print } from './output.js';
import { attemptsText } from './render.js';

export function registerAttempts(program: Command): void {
  program
    .command('attempts')
    .description('all attempts with their workers, leases and ends')
    .argument('<run>')
    .argument('[slot]')
    .action(
      action(async (context, run: string, slot: string | undefined) =>
        print(context, await (await context.client()).run(run).attempts(slot), attemptsText),
      ),
    );
}
