/** `baton save RUN SLOT --lease TOKEN --kind K --name N FILE|-`: saves an artifact under a live lease. */
import path from 'node:path';
import type { Command } from 'commander';
import type { ArtifactKind } from '../store/port.js';
import { action } from './context.js';
import { print } from './output.js';
import { answerText } from './render.js';

interface Options {
  readonly lease: string;
  readonly kind: string;
  readonly name: string;
  readonly mediaType?: string;
  readonly tag: readonly string[];
  readonly commandId?: string;
}

export function registerSave(program: Command): void {
  program
    .command('save')
    .description('save an artifact under a live lease')
    .argument('<run>')
    .argument('<slot>')
    .argument('<file>', 'a file, or - for standard input')
    .requiredOption('--lease <token>', 'what `claim` printed')
    .requiredOption('--kind <kind>', 'result, decision, source or checkpoint')
    .requiredOption('--name <name>', 'name of the artifact')
    .option('--media-type <type>', "media type (default: by the file's ending)")
    .option('--tag <tag>', 'a tag; may be given several times', (tag, tags: string[]) => [...tags, tag], [])
    .option('--command-id <id>', 'makes the command repeatable')
    .action(
      action(async (context, run: string, slot: string, file: string, options: Options) => {
        const { lease, kind, name, mediaType = mediaTypeOf(file), tag, commandId } = options;
        const handle = (await context.client()).run(run).slot(slot);
        const answer = await handle.save(lease, {
          kind: kind as ArtifactKind,
          name,
          // Piece by piece: an artifact may be larger than memory.
          bytes: file === '-' ? process.stdin : { file },
          mediaType,
          tags: tag,
          ...(commandId === undefined ? {} : { commandId }),
        });
        await print(context, answer, answerText);
      }),
    );
}

const TYPES: Readonly<Record<string, string>> = {
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.txt': 'text/plain',
  '.html': 'text/html',
  '.csv': 'text/csv',
};
const mediaTypeOf = (file: string): string =>
  TYPES[path.extname(file).toLowerCase()] ?? 'application/octet-stream';
