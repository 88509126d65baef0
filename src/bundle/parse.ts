/** Reads a bundle's records back: of each only what the checks need, and nothing is taken for granted. */
import { z } from 'zod';
import { EFFECT_STATES } from '../domain/effect.js';
import { LEASE_STATUSES, SLOT_STATES, WORKER_STATUSES } from '../domain/types.js';
import { ARTIFACT_KINDS } from '../store/port.js';
import { FORMAT, RECORDS, type RecordName } from './layout.js';
import type { Problems } from './problems.js';

const text = z.string();
const whole = z.int().nonnegative();
const digest = z.string().regex(/^[0-9a-f]{64}$/, 'must be a sha256 in lower-case hex');
const time = z.iso.datetime();
const failure = z.object({ code: text, message: text });
const pin = z.object({ ref: text, digest });

const run = z.object({
  format: z.literal(FORMAT),
  exportedAt: time,
  snapshot: z.boolean(),
  source: z.enum(['workflow', 'store']),
  tenant: text,
  run: text,
  workflowId: text,
  status: z.enum(['running', 'succeeded', 'failed', 'cancelled', 'terminated']),
  createdAt: time,
  endedAt: time.nullable(),
  pins: z.object({ package: pin, workflow: pin, binding: pin }),
  launchDigest: digest,
  input: z.unknown(),
  slots: z.array(
    z.object({
      slot: text,
      node: text,
      state: z.enum(SLOT_STATES),
      spec: z.object({ id: text }),
      epoch: whole.nullable(),
      result: z.unknown(),
    }),
  ),
});

const attempt = z.object({
  attempt: text,
  slot: text,
  node: text,
  number: whole,
  epoch: whole,
  workerClass: text,
  worker: z.object({ id: text, status: z.enum(WORKER_STATUSES) }),
  lease: z.object({ id: text, status: z.enum(LEASE_STATUSES), deadline: time.nullable() }),
  spec: text,
  reassignedBy: z.object({ reason: text, actor: text, at: time, workerClass: text, toSpec: text }).nullable(),
  predecessor: text.nullable(),
  claimedAt: time,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  failure: failure.nullable(),
  staged: z
    .object({ kind: z.enum(['completion', 'failure', 'release']), result: digest.nullable() })
    .nullable(),
});

const artifact = z.object({
  attempt: text,
  slot: text,
  number: whole,
  epoch: whole,
  kind: z.enum(ARTIFACT_KINDS),
  name: text,
  digest,
  size: whole,
  agentRevision: text.nullable(),
  derivedFrom: z.array(z.object({ attempt: text, digest })),
  savedAt: time,
});

const effect = z.object({
  slot: text,
  name: text,
  instance: text.nullable(),
  key: text,
  state: z.enum(EFFECT_STATES),
  attempt: text,
  epoch: whole,
  intentAt: time,
  updatedAt: time,
});

const command = z.object({ commandId: text, name: text, digest: text, at: time });

const SCHEMAS = {
  run,
  // Their digests are what counts, and their own schemas judge them after that.
  package: z.record(z.string(), z.unknown()),
  workflow: z.record(z.string(), z.unknown()),
  binding: z.record(z.string(), z.unknown()),
  attempts: z.array(attempt),
  artifacts: z.array(artifact),
  effects: z.array(effect),
  commands: z.array(command),
} as const satisfies Record<RecordName, z.ZodType>;

export type Parsed = { readonly [K in RecordName]: z.output<(typeof SCHEMAS)[K]> };

/** Problems of one file that are told one by one. */
const TOLD = 20;

/** @returns null, and a problem, for a record that is not there or cannot be read */
export function parseRecord<K extends RecordName>(
  name: K,
  contents: ReadonlyMap<string, Buffer>,
  problems: Problems,
): Parsed[K] | null {
  const file = RECORDS[name];
  const content = contents.get(file);
  // Missing or changed: told already.
  if (content === undefined) return null;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(content));
  } catch (error) {
    problems.add('malformed', file, `is no JSON: ${(error as Error).message}`);
    return null;
  }
  const parsed = (SCHEMAS[name] as unknown as z.ZodType<Parsed[K]>).safeParse(value);
  if (parsed.success) return parsed.data;
  for (const issue of parsed.error.issues.slice(0, TOLD))
    problems.add('malformed', file, issue.message, fieldOf(issue.path));
  return null;
}

/** `[2].lease.status`, as one would write it after the parsed document. */
const fieldOf = (path: readonly PropertyKey[]): string | null =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '') || null;
