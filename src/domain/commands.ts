/**
 * The commands of a run and what makes one well formed. The same parser runs in the client (before anything is sent) and
 * in the update validator, so a raw update meets the same rules. Unknown fields are refused: a misspelt one must not be
 * ignored.
 */
import * as z from 'zod';
import { refusal, type Refusal } from './errors.js';
import { idProblem, inlineBytes, isBlank, MAX_INLINE_BYTES, MAX_NAME, shown, textProblem } from './text.js';
import type { JsonValue, UpdateName } from './wire.js';

// The workflow sandbox must not compile code at run time.
z.config({ jitless: true });

/** A schema whose problem is a refusal: it rides on the issue, so that code and facts are kept. */
function judged<T>(judge: (field: string, value: unknown) => Refusal | null) {
  return (field: string) =>
    z.custom<T>().superRefine((value, context) => {
      const problem = judge(field, value);
      if (problem) context.addIssue({ code: 'custom', params: { problem } });
    });
}

const required = judged<string>(idProblem);
const optional = judged<string | null | undefined>((field, value) =>
  value == null ? null : idProblem(field, value),
);
/** Blank or absent passes here: a missing reason has its own guard, later in the order (`ReasonRequired`). */
const text = judged<string | null | undefined>((field, value) =>
  value == null ? null : textProblem(field, value),
);

const nameProblem = (field: string, value: unknown): Refusal | null =>
  textProblem(field, value, MAX_NAME) ??
  (isBlank(value as string) ? refusal('InvalidCommand', `\`${field}\` must not be blank`, { field }) : null);
/** Name of an effect, and of its instance: a text of 1 to 256 code points. */
const name = judged<string>(nameProblem);
const optionalName = judged<string | null | undefined>((field, value) =>
  value == null ? null : nameProblem(field, value),
);
const outcome = judged<'committed' | 'absent'>((field, value) =>
  value === 'committed' || value === 'absent'
    ? null
    : refusal('InvalidCommand', `\`${field}\` must be committed or absent`, { field, value: shown(value) }),
);
/** JSON within the limit of inline values. */
const inline = judged<JsonValue | undefined>((field, value) => {
  const size = inlineBytes(value);
  if (size === null) return refusal('InvalidCommand', `\`${field}\` must be JSON`, { field });
  const facts = { field, size, limit: MAX_INLINE_BYTES, unit: 'bytes' };
  return size <= MAX_INLINE_BYTES ? null : refusal('TooLarge', `\`${field}\` is too large`, facts);
});

const address = { tenant: required('tenant'), run: required('run') };
const signed = { actor: required('actor'), commandId: required('commandId') };
const onSlot = { ...address, slot: required('slot') };
const reasoned = z.strictObject({ ...onSlot, reason: text('reason').optional(), ...signed });

// Not exported: the worker shares this module between runs and freezes what it exports, and Zod's objects complete
// themselves on first use.
const COMMAND_SCHEMAS = {
  claim: z.strictObject({
    ...onSlot,
    workerClass: required('workerClass'),
    worker: required('worker'),
    owner: optional('owner').optional(),
    spec: optional('spec').optional(),
    ...signed,
  }),
  reassign: z.strictObject({
    ...onSlot,
    workerClass: required('workerClass'),
    reason: text('reason').optional(),
    ...signed,
  }),
  hold: reasoned,
  releaseHold: reasoned,
  revoke: reasoned,
  cancelSlot: reasoned,
  cancelRun: z.strictObject({ ...address, reason: text('reason').optional(), ...signed }),
  resolveEffect: z
    .strictObject({
      ...onSlot,
      effect: name('effect'),
      instance: optionalName('instance').optional(),
      outcome: outcome('outcome'),
      receipt: inline('receipt').optional(),
      reason: text('reason').optional(),
      ...signed,
    })
    .superRefine((command, context) => {
      if (command.outcome === 'committed' || command.receipt == null) return;
      const what = 'only a committed effect has a `receipt`';
      const problem = refusal('InvalidCommand', what, { field: 'receipt' });
      context.addIssue({ code: 'custom', params: { problem } });
    }),
} as const satisfies Record<UpdateName, z.ZodType>;

export type ClaimCommand = z.infer<typeof COMMAND_SCHEMAS.claim>;
export type ReassignCommand = z.infer<typeof COMMAND_SCHEMAS.reassign>;
export type ReasonedCommand = z.infer<typeof reasoned>;
export type CancelRunCommand = z.infer<typeof COMMAND_SCHEMAS.cancelRun>;
export type ResolveEffectCommand = z.infer<typeof COMMAND_SCHEMAS.resolveEffect>;

/** A well-formed command with its name. */
export type Command =
  | ({ readonly name: 'claim' } & ClaimCommand)
  | ({ readonly name: 'reassign' } & ReassignCommand)
  | ({ readonly name: 'hold' | 'releaseHold' | 'revoke' | 'cancelSlot' } & ReasonedCommand)
  | ({ readonly name: 'cancelRun' } & CancelRunCommand)
  | ({ readonly name: 'resolveEffect' } & ResolveEffectCommand);

export type Parsed =
  { readonly ok: true; readonly command: Command } | { readonly ok: false; readonly refusal: Refusal };

/**
 * First guard of every command.
 *
 * @param name update name
 * @param raw the update's argument as it came
 * @returns the command, or `InvalidCommand` / `TooLarge` naming the first field that is wrong
 */
export function parseCommand(name: UpdateName, raw: unknown): Parsed {
  const result = COMMAND_SCHEMAS[name].safeParse(raw);
  if (result.success) return { ok: true, command: { name, ...result.data } as Command };
  const issue = result.error.issues[0];
  const problem = issue?.code === 'custom' ? (issue.params?.['problem'] as Refusal | undefined) : undefined;
  return { ok: false, refusal: problem ?? shapeProblem(name, raw, issue) };
}

function shapeProblem(name: UpdateName, raw: unknown, issue: z.core.$ZodIssue | undefined): Refusal {
  if (issue?.code === 'unrecognized_keys') {
    const field = shown(issue.keys[0] ?? '');
    return refusal('InvalidCommand', `\`${name}\` has no field \`${field}\``, { field });
  }
  const field = issue?.path.map(String).join('.') ?? '';
  if (field) return refusal('InvalidCommand', `\`${field}\` is wrong`, { field });
  return refusal('InvalidCommand', `\`${name}\` takes one JSON object`, { field: name, value: shown(raw) });
}

/**
 * Short digest of a command's content, to tell a repeat from another command under the same id. Not cryptographic: the
 * workflow sandbox has no such hash, and the sender can only collide with itself.
 *
 * @returns 16 hex digits; absent and null fields count alike
 */
export function commandDigest(command: Command): string {
  const fields = Object.entries(command).filter(([, value]) => value != null);
  return fnv1a64(JSON.stringify(fields.sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** Id of the update that carries a command: a repeat meets the first one's outcome on the server itself. */
export const updateIdOf = (command: Command): string => `${command.commandId}.${commandDigest(command)}`;

function fnv1a64(input: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let index = 0; index < input.length; index += 1) {
    hash = ((hash ^ BigInt(input.charCodeAt(index))) * 0x100000001b3n) & 0xffffffffffffffffn;
  }
  return hash.toString(16).padStart(16, '0');
}
