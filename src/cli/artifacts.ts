/** `baton artifacts RUN [SLOT] [--out DIR]`: what was saved, by lost attempts too. Needs the store only. */
import type { Command } from 'commander';
import { writeArtifacts } from './artifact-files.js';
import { action } from './context.js';
import { print } from './output.js';
import { artifactsText } from './render.js';

export function registerArtifacts(program: Command): void {
  program
    .command('artifacts')
    .description('all that was saved, by lost attempts too')
    .argument('<run>')
    .argument('[slot]')
    .option('--out <dir>', 'write the bytes to DIR/ATTEMPT/KIND/NAME, earlier versions to NAME@1…')
    .action(
      action(async (context, run: string, slot: string | undefined, options: { out?: string }) => {
        const handle = (await context.offlineClient()).run(run);
        const artifacts = await handle.artifacts(slot);
        if (options.out !== undefined) await writeArtifacts(handle, artifacts, options.out);
        await print(context, artifacts, artifactsText);
      }),
    );
}
