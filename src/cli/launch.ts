/** `baton launch FILE|NAME`: a file's documents are published first, then the package in it is launched. */
import { existsSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import { BatonError } from '../domain/errors.js';
import { action } from './context.js';
import { integerInput, jsonInput } from './input.js';
import { print } from './output.js';
import { launchedText } from './render.js';

interface Options {
  readonly workflow?: string;
  readonly binding?: string;
  readonly run?: string;
  readonly input?: string;
  readonly rollOverEvents?: string;
}

export function registerLaunch(program: Command): void {
  program
    .command('launch')
    .description('start a run; repeated with the same run id and content it answers with the run that exists')
    .argument('<file|name>', 'a definition file, or NAME[@REV] of a published package')
    .option('--workflow <ref>', "NAME[@REV], instead of the package's")
    .option('--binding <ref>', "NAME[@REV], instead of the package's")
    .option('--run <id>', 'run id (default: made up)')
    .option('--input <json>', 'input of the run: JSON, @FILE or -')
    .option('--roll-over-events <n>', 'history events after which the run continues as new, at least 40')
    .action(
      action(async (context, target: string, options: Options) => {
        const input = await jsonInput('input', options.input);
        const rollOverEvents =
          options.rollOverEvents === undefined
            ? undefined
            : integerInput('roll-over-events', options.rollOverEvents);
        const client = await context.client();
        const refs = isFile(target) ? await publishFile(client, target) : { package: target };
        const { launched } = await client.launch({
          ...refs,
          ...(options.workflow === undefined ? {} : { workflow: options.workflow }),
          ...(options.binding === undefined ? {} : { binding: options.binding }),
          ...(options.run === undefined ? {} : { run: options.run }),
          ...(input === undefined ? {} : { input }),
          ...(rollOverEvents === undefined ? {} : { rollOverEvents }),
        });
        await print(context, launched, launchedText);
      }),
    );
}

/** A name has no slash and no file ending; a file that is missing must not be taken for an unknown package. */
const isFile = (target: string): boolean =>
  /\.(ya?ml|json)$/i.test(target) ||
  target.includes('/') ||
  (existsSync(target) && statSync(target).isFile());

/**
 * What is launched is what the file says: where its package names a workflow or binding without a revision and the file holds
 * one of that name, the revision that this file has become, and not one that somebody published since.
 */
async function publishFile(
  client: import('../client/client.js').BatonClient,
  file: string,
): Promise<{ package: string; workflow?: string; binding?: string }> {
  const { readDefinitions } = await import('../definitions/read.js');
  const definitions = await readDefinitions([file]);
  const packages = definitions.filter(({ kind }) => kind === 'package');
  const [only] = packages;
  if (!only || packages.length > 1) {
    throw BatonError.of(
      'InvalidCommand',
      `a file to launch must hold one package, this one holds ${packages.length}`,
      { field: 'file', file },
    );
  }
  const published = await client.publish({ definitions });
  const ofFile = (kind: 'package' | 'workflow' | 'binding', name: unknown): string | undefined =>
    published.findLast((one) => one.kind === kind && one.name === name)?.ref;
  const content = only.content as { workflow?: unknown; binding?: unknown };
  const [workflow, binding] = [ofFile('workflow', content.workflow), ofFile('binding', content.binding)];
  return {
    package: ofFile('package', only.name) ?? only.name,
    ...(workflow === undefined ? {} : { workflow }),
    ...(binding === undefined ? {} : { binding }),
  };
}
