/** `baton publish FILE…`: documents become revisions. Needs the store only. */
import type { Command } from 'commander';
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
        const client = await context.offlineClient();
        await print(context, await client.publish({ files, draft: options.draft === true }), publishedText);
      }),
    );
}
