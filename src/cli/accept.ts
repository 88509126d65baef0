/** `baton accept KIND/NAME@REV`: records who accepts a draft. Needs the store only. */
import type { Command } from 'commander';
import { checkId } from '../domain/text.js';
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
        const tenant = checkId('tenant', context.tenant);
        const actor = checkId('actor', context.actor);
        const { accept } = await import('../definitions/publish.js');
        const { accepted, ...revision } = await accept(await context.store(), {
          tenant,
          actor,
          at: Date.now(),
          target,
        });
        const by = accepted && { actor: accepted.actor, at: new Date(accepted.at).toISOString() };
        await print(
          context,
          { ...revision, accepted: by },
          (value) => `${publishedText([value])} accepted by ${by?.actor ?? '–'}`,
        );
      }),
    );
}
