/** `baton demo`: a real job on a real Temporal server, with a host killed in the middle of it. */
import type { Command } from 'commander';
import { action } from './context.js';

interface Options {
  readonly project?: string;
  readonly keep?: boolean;
}

/** Adds `demo` to the program. */
export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description('a dependency report whose host is killed half way; shows and checks the hand-over')
    .option('--project <dir>', 'project to report on; needs a package-lock.json (default: this project)')
    .option('--keep', 'leave server, workers and store running to look at, until Ctrl-C')
    .action(
      action(async (context, options: Options) => {
        const { runDemo } = await import('./demo/run.js');
        process.exitCode = await runDemo(context, options);
      }),
    );
}
