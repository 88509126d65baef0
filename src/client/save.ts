/** What an outside holder saves under its lease. Needs server and store, not the control worker. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { withSource } from '../agent/content.js';
import { agentRevisionOf, checkDerivedFrom, checkTags, checkWord, missingFrom } from '../agent/provenance.js';
import type { ArtifactView } from '../agent/types.js';
import { artifactView, attemptView } from '../agent/views.js';
import { loadPlan } from '../definitions/resolve.js';
import { BatonError, whyOf } from '../domain/errors.js';
import { checkId } from '../domain/text.js';
import type { Stored } from '../store/blob-port.js';
import { ARTIFACT_KINDS, type ArtifactKind, type ArtifactRef, type ArtifactStore } from '../store/port.js';
import { fenceOf, liveAttempt, type Holder } from './authority.js';
import { commandIdOf } from './commands.js';
import { firstAnswer } from './first-answer.js';
import { activeAnswer, checkHolder, type HolderAnswer } from './holder.js';
import { runRow, type Session } from './session.js';

export interface SaveAnswer extends HolderAnswer {
  readonly artifact: ArtifactView;
}

export interface SaveRequest extends Holder {
  readonly kind: ArtifactKind;
  readonly name: string;
  /** Bytes, a stream, or the path of a file; the last two are read piece by piece, whatever their size. */
  readonly bytes: Uint8Array | Readable | { readonly file: string };
  /** Default `application/octet-stream`. */
  readonly mediaType?: string;
  /** Up to 32, each of up to 128 code points. */
  readonly tags?: readonly string[];
  /** Artifacts of this run that it was made from. */
  readonly derivedFrom?: readonly ArtifactRef[];
  readonly commandId?: string;
}

/**
 * @throws BatonError as `heartbeat`; `ArtifactMissing` when `derivedFrom` names nothing of this run, `ArtifactMismatch` when a
 *   file changes while it is read. Bytes of a refused save are kept nowhere that anybody can reach.
 */
export const save = (session: Session, request: SaveRequest): Promise<SaveAnswer> =>
  withSource(request.bytes, () => saveOf(session, request));

async function saveOf(session: Session, request: SaveRequest): Promise<SaveAnswer> {
  const { run, slot, lease } = checkHolder(request);
  const { kind } = request;
  const name = checkId('name', request.name);
  if (!ARTIFACT_KINDS.includes(kind)) {
    throw BatonError.of('InvalidCommand', `\`kind\` must be one of ${ARTIFACT_KINDS.join(', ')}`, {
      field: 'kind',
      value: kind,
    });
  }
  const mediaType = checkWord('mediaType', request.mediaType ?? 'application/octet-stream');
  const tags = checkTags(request.tags ?? []);
  const derivedFrom = checkDerivedFrom(request.derivedFrom ?? []);
  const commandId = commandIdOf(request.commandId);
  const { artifacts, attempts } = await session.store();
  const source = await sourceOf(artifacts, request.bytes);
  // Absent fields are left out: a command of an earlier version keeps its digest.
  const more = {
    ...(tags.length > 0 ? { tags } : {}),
    ...(derivedFrom.length > 0 ? { derivedFrom: derivedFrom.map((ref) => ({ ...ref })) } : {}),
  };
  const content = { slot, lease, kind, name, mediaType, bytes: source.digest, ...more };
  return firstAnswer(session, { name: 'save', run, commandId, content }, async () => {
    const { row } = await liveAttempt(session, request);
    await checkOfRun(session, run, derivedFrom);
    const stored = await source.put();
    if (stored.digest !== source.digest) {
      const facts = { name, expected: source.digest, actual: stored.digest };
      throw BatonError.of('ArtifactMismatch', 'the file changed while it was read', facts);
    }
    const agentRevision = await agentOf(session, run, row.node);
    const saved = await artifacts.save({
      fence: fenceOf(row),
      kind,
      name,
      ...stored,
      mediaType,
      step: null,
      tags,
      derivedFrom,
      agentRevision,
      at: Date.now(),
    });
    const by = (await attempts.get(session.tenant, run, row.attempt)) ?? row;
    return {
      ...activeAnswer(commandId, slot, row.attempt),
      artifact: artifactView(saved, { view: attemptView(by), ttlMs: by.ttlMs }),
    };
  });
}

/** `name@revision` of the agent that a node of a run is bound to; null for a node that the pinned plan does not have. */
export async function agentOf(session: Session, run: string, node: string): Promise<string | null> {
  const { pins } = await runRow(session, run);
  const { nodes } = await loadPlan(await session.store(), session.tenant, pins);
  const found = nodes.find((candidate) => candidate.node === node);
  return found === undefined ? null : agentRevisionOf(found.agent);
}

interface Source {
  readonly digest: string;
  put(): Promise<Stored>;
}

/** The digest is part of the command, so it comes first: a file is read twice, a stream is put before the lease is looked at. */
async function sourceOf(artifacts: ArtifactStore, bytes: SaveRequest['bytes']): Promise<Source> {
  if (bytes instanceof Uint8Array) {
    const digest = createHash('sha256').update(bytes).digest('hex');
    return { digest, put: () => artifacts.putBytes(bytes) };
  }
  if ('file' in bytes) {
    const { file } = bytes;
    const hash = createHash('sha256');
    try {
      for await (const piece of createReadStream(file)) hash.update(piece as Uint8Array);
    } catch (error) {
      throw unreadable(file, error);
    }
    return { digest: hash.digest('hex'), put: () => artifacts.putStream(createReadStream(file)) };
  }
  const stored = await artifacts.putStream(bytes);
  return { digest: stored.digest, put: () => Promise.resolve(stored) };
}

function unreadable(file: string, error: unknown): BatonError {
  const why = whyOf(error);
  const facts = { field: 'file', file };
  return BatonError.of('InvalidCommand', `\`file\` cannot be read (${why})`, facts, { cause: error });
}

async function checkOfRun(session: Session, run: string, refs: readonly ArtifactRef[]): Promise<void> {
  if (refs.length === 0) return;
  const rows = await (await session.store()).artifacts.list(session.tenant, run);
  const lost = missingFrom(rows, refs);
  if (lost === undefined) return;
  throw BatonError.of('ArtifactMissing', 'the run has no artifact with that digest', { run, ...lost });
}
