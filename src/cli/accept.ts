/** `baton accept KIND/NAME@REV`: records who accepts a draft. Needs the store only. */
import type { Command } from 'commander';
import { action } from './context.js';
import { print } from './output.js';
import { publishedText } from './render.js';

export function registerAccept(program: Command): void {
  program
    .command('accept')
    .description('accept a draft, so that it can be launched; the first acceptance stands')
    .argument('<kind/name@rev>', 'package/NAME@REV, workflow/NAME@REV or binding/NAME@REV')
    .action(
      action(async (context, target: string) => {
        const { accepted, ...revision } = await (await context.offlineClient()).accept(target);
        const by = accepted && { actor: accepted.actor, at: new Date(accepted.at).toISOString() };
        await print(
          context,
          { ...revision, accepted: by },
          (value) => `${publishedText([value])} accepted by ${by?.actor ?? '–'}`,
        );
      }),
    );
}
