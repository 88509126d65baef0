/**
 * What the explorer's processes tell their parent: one JSON line at a time, written at once, so that a process that kills
 * itself has said everything before. Not stdout, which is the agent's.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { ErrorCode } from '../../domain/errors.js';

export type HostRecord =
  /** The agents are loaded. */
  | { readonly kind: 'agents'; readonly classes: readonly string[] }
  /** The control workers are made. */
  | { readonly kind: 'ready' }
  /** The process cannot do what it is for. */
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string }
  /** A step's function is about to run. */
  | { readonly kind: 'step'; readonly slot: string; readonly step: string }
  /** The point is reached; the next thing that happens to the process is SIGKILL. */
  | { readonly kind: 'kill' };

export const appendRecord = (file: string, record: HostRecord): void =>
  appendFileSync(file, `${JSON.stringify(record)}\n`);

/** All records of the processes that wrote to the file; none when nobody did. */
export function readRecords(file: string): readonly HostRecord[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  // The last one has no end of line while it is being written.
  return lines.slice(0, -1).map((line) => JSON.parse(line) as HostRecord);
}

export type RecordOf<K extends HostRecord['kind']> = Extract<HostRecord, { kind: K }>;

export const recordsOf = <K extends HostRecord['kind']>(
  records: readonly HostRecord[],
  kind: K,
): readonly RecordOf<K>[] => records.filter((record): record is RecordOf<K> => record.kind === kind);
