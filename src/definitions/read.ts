/** Reads definition files: YAML or JSON, several documents in one file, attachments by paths relative to the file. */
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { BatonError, whyOf } from '../domain/errors.js';
import { sha256 } from '../store/canonical.js';
import type { Json, RevisionKind } from '../store/port.js';
import { LIMITS } from './fields.js';
import { parseDocument } from './parse.js';
import { invalid, type Source } from './problems.js';
import type { BindingDocument } from './schema.js';

/** A checked document, ready to be published. */
export interface Definition {
  readonly kind: RevisionKind;
  readonly name: string;
  /** The revision number that the document states, or null. */
  readonly revision: number | null;
  /** What is stored and digested: normalised, attachments by digest, without the revision number. */
  readonly content: Json;
  /** Bytes of the attachments that the content names. */
  readonly attachments: readonly Uint8Array[];
  readonly source: Source;
}

/**
 * Reads the definition files in their order. A document that is a list stands for its items, so that a JSON file can
 * hold several. Throws `InvalidCommand` naming file, document and field; nothing is written anywhere.
 */
export async function readDefinitions(files: readonly string[]): Promise<readonly Definition[]> {
  const definitions: Definition[] = [];
  for (const file of files) {
    const text = await readText(file, LIMITS.fileBytes, { file, field: 'FILE' });
    for (const [index, raw] of documentsOf(text, file).entries()) {
      definitions.push(await definitionOf(raw, { file, document: index + 1 }, dirname(resolve(file))));
    }
  }
  return definitions;
}

/**
 * Checks one document given as data.
 *
 * @param folder where relative `file`s of attachments are looked for; default: the working directory
 */
export async function definitionOf(
  raw: unknown,
  source: Source = { file: null, document: 1 },
  folder = process.cwd(),
): Promise<Definition> {
  const document = parseDocument(raw, source);
  const { revision = null, ...rest } = document;
  const { kind, name } = document;
  if (rest.kind !== 'binding') {
    return { kind, name, revision, content: plain(rest), attachments: [], source };
  }
  const { nodes, attachments } = await loadAttachments(rest.nodes, source, folder);
  return { kind, name, revision, content: plain({ ...rest, nodes }), attachments, source };
}

async function loadAttachments(nodes: BindingDocument['nodes'], source: Source, folder: string) {
  const attachments: Uint8Array[] = [];
  const loaded: Record<string, Json> = {};
  for (const [node, binding] of Object.entries(nodes)) {
    const stored: Json[] = [];
    for (const [index, { kind, name, file, text }] of binding.attachments.entries()) {
      const field = `nodes.${node}.attachments[${index}].${file === undefined ? 'text' : 'file'}`;
      const content =
        text ??
        (await readText(resolve(folder, file ?? ''), LIMITS.attachmentBytes, { ...facts(source), field }));
      const bytes = new TextEncoder().encode(content);
      checkAttachment(content, bytes, source, field);
      attachments.push(bytes);
      stored.push({ kind, name, digest: sha256(bytes), size: bytes.byteLength });
    }
    loaded[node] = plain({ ...binding, attachments: stored });
  }
  return { nodes: loaded, attachments };
}

function checkAttachment(content: string, bytes: Uint8Array, source: Source, field: string): void {
  if (bytes.byteLength > LIMITS.attachmentBytes) {
    const what = `has ${bytes.byteLength} bytes, the limit is ${LIMITS.attachmentBytes}`;
    throw invalid(source, [{ field, what, oversize: true }]);
  }
  if (content.includes('\0') || /\p{Surrogate}/u.test(content)) {
    throw invalid(source, [{ field, what: 'is no text: it has a NUL character or a lone surrogate' }]);
  }
}

/** A regular file's UTF-8 text, byte for byte (a byte order mark stays). @param limit in bytes */
export async function readText(path: string, limit: number, where: Record<string, unknown>): Promise<string> {
  const refuse = (what: string, cause?: unknown) => {
    const error = BatonError.of('InvalidCommand', `${path} ${what}`, where);
    return cause === undefined ? error : new BatonError(error.code, error.message, error.details, { cause });
  };
  let bytes: Uint8Array;
  try {
    const found = await stat(path);
    if (!found.isFile()) throw refuse('is not a file');
    if (found.size > limit)
      throw BatonError.of('TooLarge', `${path} is too large`, { ...where, size: found.size, limit });
    bytes = await readFile(path);
  } catch (error) {
    if (error instanceof BatonError) throw error;
    const why = whyOf(error);
    throw refuse(why === 'ENOENT' ? 'does not exist' : `cannot be read (${why})`, error);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw refuse('is not UTF-8 text', error);
  }
}

/** The documents of a YAML or JSON text. @param file for messages @throws BatonError `InvalidCommand`, `TooLarge` */
export function documentsOf(text: string, file: string): readonly unknown[] {
  const documents: unknown[] = [];
  for (const [index, document] of parse(text, file).entries()) {
    const problem = document.errors[0] ?? document.warnings[0];
    const source = { file, document: index + 1 };
    if (problem !== undefined)
      throw invalid(source, [{ field: '', what: `cannot be read: ${problem.message.trimEnd()}` }]);
    let value: unknown;
    try {
      value = document.toJS({ maxAliasCount: 100 });
    } catch (cause) {
      throw invalid(source, [{ field: '', what: `cannot be read: ${(cause as Error).message}` }]);
    }
    // A `---` at the end of a file, or one with comments only, starts no document.
    if (value !== null) documents.push(...(Array.isArray(value) ? (value as unknown[]) : [value]));
  }
  if (documents.length === 0)
    throw BatonError.of('InvalidCommand', `${file} has no document`, { file, field: 'FILE' });
  if (documents.length > LIMITS.documents) {
    throw BatonError.of('TooLarge', `${file} has too many documents`, {
      file,
      size: documents.length,
      limit: LIMITS.documents,
    });
  }
  return documents;
}

function parse(text: string, file: string) {
  try {
    // stringKeys: no key may become a text that nobody wrote. YAML 1.2 core makes no dates of unquoted texts.
    return [...parseAllDocuments(text, { uniqueKeys: true, stringKeys: true, logLevel: 'error' })];
  } catch (cause) {
    throw invalid({ file, document: 1 }, [
      { field: '', what: `cannot be read: ${(cause as Error).message}` },
    ]);
  }
}

const facts = (source: Source): Record<string, unknown> => ({ ...source });

/** Drops fields that are undefined, as JSON does. */
const plain = (value: object): { readonly [key: string]: Json } =>
  JSON.parse(JSON.stringify(value)) as { [key: string]: Json };
