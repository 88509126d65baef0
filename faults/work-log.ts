/**
 * What agents did, by their own account: a file to which every agent process appends a line for each start, step and end.
 * Its order is the order of events over all processes: each line is one append.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

export type WorkLine = { readonly pid: number; readonly at: number } & (
  | {
      readonly what: 'start';
      readonly slot: string;
      readonly attempt: string;
      readonly epoch: number;
      readonly number: number;
      readonly run: string;
      readonly tenant: string;
      /** Digest of the pins that the agent was given. */
      readonly pins: string;
      /** Earlier attempts, as its handoff names them. */
      readonly predecessors: readonly string[];
      /** States of the slot's effects, as its handoff has them. */
      readonly effects: readonly string[];
    }
  | { readonly what: 'step'; readonly slot: string; readonly attempt: string; readonly step: string }
  /** `told`: the signal fired; the agent must do nothing from there on. */
  | { readonly what: 'told' | 'end'; readonly slot: string; readonly attempt: string }
  /** Written by whoever killed the process, after its death. */
  | { readonly what: 'killed' }
);

type Unstamped<T> = T extends unknown ? Omit<T, 'pid' | 'at'> : never;

/** @param pid of the agent's process; default this one's */
export function writeWork(file: string, line: Unstamped<WorkLine>, pid = process.pid): void {
  appendFileSync(file, `${JSON.stringify({ ...line, pid, at: Date.now() })}\n`);
}

export function readWork(file: string): readonly WorkLine[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as WorkLine);
}
