/** `baton publish FILE…`: documents become revisions. Needs the store only. */
import type { Command } from 'commander';
import { checkId } from '../domain/text.js';
import { action } from './context.js';
import { print } from './output.js';
import { publishedText } from './render.js';

export function registerPublish(program: Command): void {
  program
    .command('publish')
    .description('publish packages, workflows and bindings; equal content gives the revision that exists')
    .argument('<file...>', 'YAML or JSON, several documents in one file')
    .option('--draft', 'store without accepting: launches refuse it until `baton accept`')
    .action(
      action(async (context, files: string[], options: { draft?: boolean }) => {
        const tenant = checkId('tenant', context.tenant);
        const actor = checkId('actor', context.actor);
        const { publish } = await import('../definitions/publish.js');
        const draft = options.draft === true;
        await print(
          context,
          await publish(await context.store(), { tenant, actor, at: Date.now(), files, draft }),
          publishedText,
        );
      }),
    );
}
