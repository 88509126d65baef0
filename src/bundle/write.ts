/**
 * Writes a bundle: a folder that is whole, or not there. Bytes are copied piece by piece and hashed on the way; the folder gets
 * its name when all is written.
 */
import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { lstat, mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pMap from 'p-map';
import { BatonError, whyOf } from '../domain/errors.js';
import { canonicalJson } from '../store/canonical.js';
import { infoText, manifestText, type Entry } from './bag.js';
import {
  BAGIT_TEXT,
  bytesPath,
  DECLARATION,
  INFO,
  MANIFEST,
  RECORDS,
  TAG_MANIFEST,
  type RecordName,
} from './layout.js';
import type { RunRecords } from './records.js';

/** Files of bytes that are copied at once. */
const AT_ONCE = 4;

/** What `baton export` prints. */
export interface Exported {
  readonly tenant: string;
  readonly run: string;
  /** The bundle's folder, absolute. */
  readonly path: string;
  /** Stands for the whole bundle: whoever has it from elsewhere knows that nothing at all was changed. */
  readonly digest: string;
  readonly snapshot: boolean;
  readonly exportedAt: string;
  /** Payload files and their bytes. */
  readonly files: number;
  readonly bytes: number;
  readonly attempts: number;
  readonly artifacts: number;
  readonly effects: number;
}

/**
 * @param target folder to be made; its parent is made when it is not there
 * @param bytesOf the bytes of a digest
 * @throws BatonError `InvalidCommand` when something is at `target` already, or it cannot be written; `ArtifactMissing`,
 *   `ArtifactMismatch` when the store's bytes are not what was saved. Nothing is left then.
 */
export async function writeBundle(
  target: string,
  records: RunRecords,
  bytesOf: (digest: string) => Promise<Readable>,
): Promise<Exported> {
  const folder = path.resolve(target);
  await refuseExisting(folder);
  await onDisk(folder, mkdir(path.dirname(folder), { recursive: true }));
  const aside = path.join(
    path.dirname(folder),
    `.${path.basename(folder)}.${randomBytes(6).toString('hex')}.part`,
  );
  try {
    await onDisk(folder, mkdir(aside));
    const written = await writeFiles(aside, records, bytesOf);
    await refuseExisting(folder);
    await onDisk(folder, rename(aside, folder));
    const { tenant, run, snapshot, exportedAt } = records.run;
    const { attempts, artifacts, effects } = records;
    return {
      tenant,
      run,
      path: folder,
      ...written,
      snapshot,
      exportedAt,
      attempts: attempts.length,
      artifacts: artifacts.length,
      effects: effects.length,
    };
  } catch (error) {
    await rm(aside, { recursive: true, force: true }).catch(() => undefined); // the first error is the one to tell
    throw error;
  }
}

async function writeFiles(
  folder: string,
  records: RunRecords,
  bytesOf: (digest: string) => Promise<Readable>,
): Promise<Pick<Exported, 'digest' | 'files' | 'bytes'>> {
  const put = (file: string, content: Readable | Iterable<string>): Promise<Written> =>
    write(folder, file, content);
  const payload: Written[] = [];
  const record = async (name: RecordName, content: Iterable<string>): Promise<void> => {
    payload.push(await put(RECORDS[name], content));
  };
  const { run, pinned, attempts, artifacts, effects, commands } = records;
  await record('run', [`${JSON.stringify(run, null, 2)}\n`]);
  for (const kind of ['package', 'workflow', 'binding'] as const)
    await record(kind, [canonicalJson(pinned[kind])]);
  for (const [name, list] of Object.entries({ attempts, artifacts, effects, commands }))
    await record(name as RecordName, lines(list));

  const copied = await pMap(
    sizesOf(records),
    async ([digest, size]): Promise<Written> => {
      const written = await put(bytesPath(digest), await bytesOf(digest));
      if (written.digest === digest && (size === null || written.size === size)) return written;
      const facts = { digest, actual: written.digest, size: written.size };
      throw BatonError.of('ArtifactMismatch', 'the stored bytes are damaged', facts);
    },
    { concurrency: AT_ONCE },
  );
  payload.push(...copied);

  const bytes = payload.reduce((sum, { size }) => sum + size, 0);
  const tags = [
    await put(DECLARATION, [BAGIT_TEXT]),
    await put(INFO, [infoOf(records, payload.length, bytes)]),
    await put(MANIFEST, [manifestText(payload)]),
  ];
  const { digest } = await put(TAG_MANIFEST, [manifestText(tags)]);
  return { digest, files: payload.length, bytes };
}

const infoOf = ({ run }: RunRecords, files: number, bytes: number): string =>
  infoText({
    'External-Identifier': run.workflowId,
    'External-Description': `Run ${run.run} of tenant ${run.tenant}${run.snapshot ? ', while it was open' : ''}`,
    'Bagging-Date': run.exportedAt.slice(0, 10),
    'Payload-Oxum': `${bytes}.${files}`,
    'Bag-Software-Agent': 'temporal-baton',
    'Baton-Bundle-Format': run.format,
  });

/** One record a line: a list of any length is written without being one text. */
function* lines(list: readonly unknown[]): Generator<string> {
  yield '[';
  for (const [index, item] of list.entries()) yield `${index === 0 ? '' : ','}\n${JSON.stringify(item)}`;
  yield '\n]\n';
}

/** Every digest that a record names, with the size that it states, if any does. */
function sizesOf({
  attached,
  artifacts,
  attempts,
}: RunRecords): readonly (readonly [string, number | null])[] {
  const sizes = new Map<string, number | null>(attached.map((digest) => [digest, null]));
  for (const { staged } of attempts) if (staged?.result != null) sizes.set(staged.result, null);
  for (const { digest, size } of artifacts) sizes.set(digest, size);
  return [...sizes];
}

interface Written extends Entry {
  readonly size: number;
}

async function write(folder: string, file: string, content: Readable | Iterable<string>): Promise<Written> {
  const target = path.join(folder, file);
  await onDisk(target, mkdir(path.dirname(target), { recursive: true }));
  const hash = createHash('sha256');
  let size = 0;
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      size += chunk.byteLength;
      done(null, chunk);
    },
  });
  const source = content instanceof Readable ? content : Readable.from(content);
  await onDisk(target, pipeline(source, count, createWriteStream(target, { flags: 'wx' })));
  return { path: file, digest: hash.digest('hex'), size };
}

async function refuseExisting(folder: string): Promise<void> {
  const found = await lstat(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw unwritable(folder, error);
  });
  if (found)
    throw BatonError.of('InvalidCommand', 'there is something of that name already', {
      field: 'out',
      path: folder,
    });
}

/** What the store says stays as it is; what the disk says is about `--out`. */
async function onDisk<T>(file: string, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw error instanceof BatonError ? error : unwritable(file, error);
  });
}

function unwritable(file: string, error: unknown): BatonError {
  const why = whyOf(error);
  const facts = { field: 'out', path: file };
  return BatonError.of('InvalidCommand', `the bundle cannot be written (${why})`, facts, { cause: error });
}
