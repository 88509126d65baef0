/** `baton show RUN`: a run with its slots. */
import type { Command } from 'commander';
import { action } from './context.js';
import { print } from './output.js';
import { showText } from './render.js';

export function registerShow(program: Command): void {
  program
    .command('show')
    .description('a run with its slots: state, who works, what each waits for')
    .argument('<run>')
    .action(
      action(async (context, run: string) =>
        print(context, await (await context.client()).run(run).show(), showText),
      ),
    );
}
