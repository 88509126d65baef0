/**
 * The three kinds of document that `publish` reads (design, section 9), strict: an unknown field is refused by its
 * path. Parsing normalises (durations to milliseconds, defaults written out), so that documents that mean the same are
 * stored as the same content. What is stored is parsed by the same schemas when it is read back.
 */
import { z } from 'zod';
import { count, duration, id, json, LIMITS, reference, text } from './fields.js';

const unique = <T>(what: string, key: (item: T) => string) =>
  [
    (items: readonly T[]): boolean => new Set(items.map(key)).size === items.length,
    `names the same ${what} twice`,
  ] as const;

const ids = z.array(id);
const revision = count(1, LIMITS.revision).optional();

const MINUTE = 60_000;

const lease = z.strictObject({
  /** Heartbeat timeout. */
  ttl: duration(LIMITS.ttlMin, LIMITS.ttlMax).default(MINUTE),
  /** Longest an attempt may take; null for no limit. */
  maxDuration: z
    .union([z.null(), duration(1, LIMITS.durationMax)], { error: 'is no duration from 1ms to 366d' })
    .default(null),
});

const backoff = z
  .strictObject({
    initial: duration(0, LIMITS.durationMax).default(5_000),
    factor: z.number().min(1, 'must be at least 1').max(1_000, 'must be at most 1000').default(2),
    max: duration(0, LIMITS.durationMax).optional(),
  })
  // A stated first wait above the default longest one raises that one; only a stated contradiction is an error.
  .transform((value) => ({ ...value, max: value.max ?? Math.max(5 * MINUTE, value.initial) }))
  .refine((value) => value.max >= value.initial, { error: 'is shorter than initial', path: ['max'] });

const retry = z.strictObject({
  mode: z.enum(['auto', 'manual'], { error: 'must be auto or manual' }).default('auto'),
  backoff: backoff.prefault({}),
  failures: count(0, 1_000_000).default(3),
  losses: count(0, 1_000_000).default(5),
  onExhausted: z.enum(['wait', 'fail'], { error: 'must be wait or fail' }).default('wait'),
});

const launchSpec = z.strictObject({
  id,
  workerClasses: ids
    .min(1)
    .max(LIMITS.classes)
    .refine(...unique('worker class', (name: string) => name)),
  dispatch: z.enum(['queue', 'direct'], { error: 'must be queue or direct' }).default('queue'),
  lease: lease.prefault({}),
  retry: retry.prefault({}),
});

const launch = z
  .array(launchSpec)
  .min(1)
  .max(LIMITS.specs)
  .refine(...unique('specification id', (spec: { id: string }) => spec.id));

/** A policy that reassigns by itself; `to` must be admitted by a specification of the node. */
const escalation = z.strictObject({
  name: id,
  after: z
    .strictObject({
      losses: count(1, 1_000_000).optional(),
      failures: count(1, 1_000_000).optional(),
    })
    .refine((after) => (after.losses === undefined) !== (after.failures === undefined), {
      error: 'needs one of losses and failures',
    }),
  to: id,
  reason: text(LIMITS.text).optional(),
});

const escalate = z
  .array(escalation)
  .max(LIMITS.specs)
  .refine(...unique('policy', (policy: { name: string }) => policy.name));

type BoundNode = { launch: z.output<typeof launch>; escalate?: z.output<typeof escalate> | undefined };

/** What a policy says must be possible on its node, or it would never act and nobody would notice. */
function checkEscalations({ launch: specs, escalate: policies = [] }: BoundNode, ctx: z.RefinementCtx): void {
  const admitted = new Set(specs.flatMap((spec) => spec.workerClasses));
  policies.forEach(({ to, after }, index) => {
    const at = (field: string, message: string): void =>
      ctx.addIssue({ code: 'custom', path: ['escalate', index, field], message });
    if (!admitted.has(to)) at('to', `is a class that no launch specification of the node admits: ${to}`);
    for (const count of ['losses', 'failures'] as const) {
      const largest = Math.max(...specs.map((spec) => spec.retry[count]));
      const wanted = after[count];
      if (wanted !== undefined && wanted > Math.max(1, largest))
        at('after', `is never reached: no specification allows more than ${largest} ${count}`);
    }
  });
}

const agent = z.strictObject({
  name: text(LIMITS.shortText),
  // YAML reads an unquoted 4 as a number; 1.10 would become 1.1 and is refused.
  revision: z
    .unknown()
    .transform((value) => (typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value))
    .pipe(z.string({ error: 'must be a text: quote it' }))
    .pipe(text(LIMITS.shortText)),
});

const attachmentId = { kind: id, name: text(LIMITS.shortText) };

const attachmentInput = z
  .strictObject({ ...attachmentId, file: z.string().min(1).optional(), text: z.string().optional() })
  .refine((value) => (value.file === undefined) !== (value.text === undefined), 'needs one of file and text');

const attachmentStored = z.strictObject({ ...attachmentId, digest: z.string(), size: z.number() });

const bindingWith = <A extends z.ZodType<{ kind: string; name: string }>>(attachment: A) =>
  z.strictObject({
    kind: z.literal('binding'),
    name: id,
    revision,
    workflow: reference,
    nodes: z.record(
      id,
      z
        .strictObject({
          agent,
          attachments: z
            .array(attachment)
            .max(LIMITS.attachments)
            .refine(
              ...unique('attachment', (item: { kind: string; name: string }) => `${item.kind}\0${item.name}`),
            )
            .default([]),
          launch,
          escalate: escalate.optional(),
        })
        .superRefine(checkEscalations),
    ),
  });

export const packageSchema = z.strictObject({
  kind: z.literal('package'),
  name: id,
  revision,
  /** What the run is for, in words. */
  outcome: text(LIMITS.text),
  content: json.default({}),
  /** What launch takes unless told otherwise. */
  workflow: reference.optional(),
  binding: reference.optional(),
});

const deadline = duration(LIMITS.ttlMin, LIMITS.durationMax);

const node = z.strictObject({
  node: id,
  dependsOn: ids.default([]),
  optional: z.boolean().default(false),
  /** Time each slot has from when it first opens. */
  deadline: deadline.optional(),
  steps: z
    .array(text(LIMITS.shortText))
    .min(1)
    .max(LIMITS.steps)
    .refine(...unique('step', (name: string) => name))
    .optional(),
  slots: z
    .union([ids.min(1), count(1, LIMITS.slots)], {
      error: `must be a list of ids, or a whole number from 1 to ${LIMITS.slots}`,
    })
    .optional(),
});

export const workflowSchema = z.strictObject({
  kind: z.literal('workflow'),
  name: id,
  revision,
  /** Time a run has from its start. */
  deadline: deadline.optional(),
  nodes: z.array(node).min(1).max(LIMITS.slots),
});

/** A binding as it is written: attachments by file or text. */
export const bindingSchema = bindingWith(attachmentInput);
/** A binding as it is stored: attachments by digest. */
export const storedBindingSchema = bindingWith(attachmentStored);

export type PackageDocument = z.output<typeof packageSchema>;
export type WorkflowDocument = z.output<typeof workflowSchema>;
export type WorkflowNode = WorkflowDocument['nodes'][number];
export type BindingDocument = z.output<typeof bindingSchema>;
export type StoredBinding = z.output<typeof storedBindingSchema>;
