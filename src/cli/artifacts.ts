/** `baton artifacts RUN [SLOT] [--out DIR]`: what was saved, by lost attempts too. Needs the store only. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import type { RunHandle } from '../client/run-handle.js';
import type { ArtifactView } from '../agent/types.js';
import { action } from './context.js';
import { print } from './output.js';
import { artifactsText } from './render.js';

export function registerArtifacts(program: Command): void {
  program
    .command('artifacts')
    .description('all that was saved, by lost attempts too')
    .argument('<run>')
    .argument('[slot]')
    .option('--out <dir>', 'write the bytes to DIR/ATTEMPT/KIND/NAME')
    .action(
      action(async (context, run: string, slot: string | undefined, options: { out?: string }) => {
        const handle = (await context.offlineClient()).run(run);
        const artifacts = await handle.artifacts(slot);
        if (options.out !== undefined) await writeAll(handle, artifacts, options.out);
        await print(context, artifacts, artifactsText);
      }),
    );
}

/** In order of saving, so that of several with one name the newest is what stays. */
async function writeAll(run: RunHandle, artifacts: readonly ArtifactView[], out: string): Promise<void> {
  for (const artifact of artifacts) {
    const file = path.join(out, artifact.attempt, artifact.kind, fileName(artifact.name));
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, await run.read(artifact));
  }
}

/** Names come from agents: none may lead out of its folder. */
export const fileName = (name: string): string =>
  encodeURIComponent(name).replace(/^\.+$/, (dots) => dots.replaceAll('.', '%2E'));
