/** Payload codecs of the user's for the command line: an ES module, named by `--codec` or BATON_CODEC. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { PayloadCodec } from '@temporalio/common';
import { BatonError } from '../domain/errors.js';

/**
 * Loads the module's `payloadCodecs`: an array, or a function that gives one (a promise too), for keys that come from a service.
 *
 * @param named a path, relative to `folder`, or a package that is installed there
 * @throws BatonError `InvalidCommand` when there is no such module, or it exports no codecs
 */
export async function loadCodecs(named: string, folder = process.cwd()): Promise<readonly PayloadCodec[]> {
  const codecs = await exported(named, folder).catch((error: unknown) => {
    const message = error instanceof Error ? error.message : String(error);
    throw refused(named, `cannot be loaded: ${message}`, error);
  });
  if (Array.isArray(codecs) && codecs.length > 0 && codecs.every(isCodec)) return codecs;
  throw refused(
    named,
    'does not export `payloadCodecs`, an array of objects with `encode` and `decode` or a function that gives it',
  );
}

async function exported(named: string, folder: string): Promise<unknown> {
  const file = path.resolve(folder, named);
  const found = existsSync(file) ? file : createRequire(path.join(folder, 'package.json')).resolve(named);
  const module = (await import(pathToFileURL(found).href)) as { payloadCodecs?: unknown };
  const { payloadCodecs } = module;
  return typeof payloadCodecs === 'function' ? (payloadCodecs as () => unknown)() : payloadCodecs;
}

const isCodec = (value: unknown): value is PayloadCodec =>
  typeof value === 'object' &&
  value !== null &&
  typeof Reflect.get(value, 'encode') === 'function' &&
  typeof Reflect.get(value, 'decode') === 'function';

const refused = (codec: string, why: string, cause?: unknown): BatonError =>
  new BatonError(
    'InvalidCommand',
    `the codec module ${why} [codec=${codec}]. Correct --codec or BATON_CODEC.`,
    { field: 'codec', codec },
    { cause },
  );
