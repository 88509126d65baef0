/** The one renderer: everything the command line shows to people is made here, from the same values that `--json` prints. */
import Table from 'cli-table3';
import type { ArtifactView, AttemptView, EffectView } from '../agent/types.js';
import type { Verified } from '../bundle/verify.js';
import type { Exported } from '../bundle/write.js';
import type { Claimed } from '../client/claim.js';
import type { Check } from '../client/doctor.js';
import type { Launched } from '../client/launch.js';
import type { RunListed } from '../client/list.js';
import type { EffectAnswer } from '../client/slot-handle.js';
import type { RunShown, SlotShown } from '../client/show.js';
import type { Published } from '../definitions/publish.js';
import { effectLabel, effectsInWords, isOpenEffect } from '../domain/effect.js';
import type { BatonError } from '../domain/errors.js';
import { counted } from '../domain/text.js';
import type { DryRun } from '../domain/wire.js';
import { colours as pc, coloursFor } from './colours.js';

const PLAIN = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/**
 * Control characters of texts that people and agents gave must not reach a terminal as they are, nor those that turn the
 * direction of writing, with which a name shows as another (https://trojansource.codes).
 */
export const clean = (text: string): string =>
  text.replace(
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (char) => {
      const code = char.charCodeAt(0).toString(16);
      return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
    },
  );

export const line = (text: string): string => clean(text).replace(/\n/g, '\\n');
export const or = (value: string | number | null | undefined): string =>
  value === null || value === undefined || value === '' ? '–' : line(String(value));

/** The table of everything that is shown to people: no lines, columns two spaces apart. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const made = new Table({
    head: head.map((name) => pc.dim(name)),
    chars: PLAIN,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  made.push(...rows.map((row) => [...row]));
  return made.toString().replace(/[ \t]+$/gm, '');
}

const STATE_COLOUR: Readonly<Record<string, (text: string) => string>> = {
  succeeded: pc.green,
  active: pc.cyan,
  running: pc.cyan,
  claiming: pc.cyan,
  live: pc.cyan,
  'retry-wait': pc.yellow,
  'on-hold': pc.yellow,
  expired: pc.red,
  lost: pc.red,
  failed: pc.red,
  terminated: pc.red,
  cancelled: pc.magenta,
  revoked: pc.magenta,
  blocked: pc.dim,
};
const state = (name: string): string => (STATE_COLOUR[name] ?? ((text: string) => text))(name);

const slotState = ({ state: name, gate, expired }: SlotShown): string =>
  `${state(name)}${gate ? ` (${gate})` : ''}${expired ? pc.red(' expired') : ''}`;

/** What it waits for, which names open effects where nobody is at work; of other slots they are named here. */
function lastOf({ waitsFor, failure, effects, activeWorker }: SlotShown): string {
  const named = effects.count === 0 || (waitsFor !== null && activeWorker === null);
  const open = named ? null : `outcome not known of ${effectsInWords(effects)}`;
  return [waitsFor ?? failure?.message, open].filter((text) => text != null).join('; ');
}

export function showText(run: RunShown): string {
  const rows = run.slots.map((slot) => {
    const { claims, failures, losses, releases } = slot.counts;
    return [
      slot.slot,
      slotState(slot),
      or(slot.activeWorker ?? slot.pendingWorker),
      or(slot.priorWorker),
      `${slot.spec.id} ${pc.dim(slot.spec.workerClasses.join('|'))}`,
      `${claims}/${failures}/${losses}/${releases}`,
      or(lastOf(slot)),
    ];
  });
  const counts = 'claims/failures/losses/releases';
  return [
    `${pc.bold(run.run)}  ${state(run.status)}  ${pc.dim(`tenant ${run.tenant}`)}`,
    ...(['package', 'workflow', 'binding'] as const).map((kind) =>
      pc.dim(`${kind} ${run.pins[kind].ref} sha256:${run.pins[kind].digest}`),
    ),
    ...(run.deadline && run.status === 'running' ? [pc.dim(`deadline ${run.deadline}`)] : []),
    ...(run.failure ? [pc.red(`${run.failure.code}: ${line(run.failure.message)}`)] : []),
    '',
    table(['slot', 'state', 'worker', 'prior worker', 'spec', counts, 'waits for'], rows),
    ...(run.source === 'store'
      ? ['', pc.yellow('No control worker answers: read from the store; gates are not known.')]
      : []),
  ].join('\n');
}

/** One line for each slot, for logs: no colour by itself, no table. */
export function slotLine(run: RunShown, slot: SlotShown): string {
  const worker = slot.activeWorker ?? slot.pendingWorker;
  const waits = slot.waitsFor ? `  waits for ${line(slot.waitsFor)}` : '';
  return `${run.run}  ${run.status}  ${slot.slot}  ${slotState(slot)}${worker ? `  ${line(worker)}` : ''}${waits}`;
}

export function attemptsText(attempts: readonly AttemptView[]): string {
  if (attempts.length === 0) return 'No attempts.';
  const rows = attempts.map((attempt) => [
    attempt.slot,
    String(attempt.number),
    String(attempt.epoch),
    `${line(attempt.worker.id)} ${state(attempt.worker.status)}`,
    attempt.workerClass,
    `${state(attempt.lease.status)}${attempt.lease.deadline ? pc.dim(` ${attempt.lease.deadline}`) : ''}`,
    attempt.spec,
    or(attempt.ownerActor),
    or(attempt.failure ? `${attempt.failure.code}: ${attempt.failure.message}` : null),
    or(attempt.reassignedBy ? `${attempt.reassignedBy.actor}: ${attempt.reassignedBy.reason}` : null),
  ]);
  return table(
    [
      'slot',
      'no.',
      'epoch',
      'worker',
      'class',
      'lease, deadline',
      'spec',
      'owner',
      'failure',
      'reassigned by',
    ],
    rows,
  );
}

export function artifactsText(artifacts: readonly ArtifactView[]): string {
  if (artifacts.length === 0) return 'Nothing saved.';
  const rows = artifacts.map(({ attempt, kind, name, digest, size, mediaType, tags, trust }) => [
    attempt,
    kind,
    line(name),
    `sha256:${digest}`,
    String(size),
    line(mediaType),
    line(tags.join(', ')),
    trust === 'committed' ? trust : pc.yellow(trust),
  ]);
  return table(['attempt', 'kind', 'name', 'digest', 'bytes', 'type', 'tags', 'trust'], rows);
}

export function effectsText(effects: readonly EffectView[]): string {
  if (effects.length === 0) return 'No effects.';
  const rows = effects.map((effect) => {
    const { slot, state: stands, receipt, failure, resolvedBy, attempt, key } = effect;
    const why = failure ? `${failure.code}: ${failure.message}` : null;
    return [
      slot,
      line(effectLabel(effect)),
      isOpenEffect(stands) ? pc.yellow(stands) : stands,
      or(receipt === null ? why : JSON.stringify(receipt)),
      or(resolvedBy ? `${resolvedBy.outcome}, says ${resolvedBy.actor}: ${resolvedBy.reason}` : null),
      attempt,
      pc.dim(key),
    ];
  });
  return table(['slot', 'effect', 'state', 'receipt or failure', 'settled by', 'attempt', 'key'], rows);
}

export const effectAnswerText = (answer: EffectAnswer): string =>
  `${line(effectLabel(answer.effect))}: ${answer.effect.state}\n${answerText(answer)}`;

export function listText(runs: readonly RunListed[]): string {
  if (runs.length === 0) return 'No runs.';
  return table(
    ['run', 'status', 'started'],
    runs.map((run) => [run.run, state(run.status), run.startedAt]),
  );
}

export const publishedText = (published: readonly Published[]): string =>
  published.map(({ kind, ref, digest }) => `${kind} ${pc.bold(ref)} sha256:${digest}`).join('\n');

export function launchedText({ tenant, run, workflowId, pins, ui }: Launched): string {
  return [
    `${pc.bold(run)}  ${pc.dim(`tenant ${tenant}, workflow ${workflowId}`)}`,
    ...(['package', 'workflow', 'binding'] as const).map(
      (kind) => `${kind} ${pins[kind].ref} ${pc.dim(`sha256:${pins[kind].digest}`)}`,
    ),
    ...(ui ? [ui] : []),
  ].join('\n');
}

/** Answer of any command that changes something. */
export function answerText(answer: {
  commandId: string;
  slot: string | null;
  state: string;
  gate: string | null;
  retryTime: string | null;
  lease?: { deadline: string | null };
  artifact?: ArtifactView;
}): string {
  const { commandId, slot, gate, retryTime, lease, artifact } = answer;
  const notes = [
    ...(retryTime ? [`claimable from ${retryTime}`] : []),
    ...(lease?.deadline ? [`lease until ${lease.deadline}`] : []),
    ...(artifact
      ? [`${artifact.kind} ${line(artifact.name)} ${artifact.size} bytes sha256:${artifact.digest}`]
      : []),
  ];
  const where = `${slot ?? 'run'}: ${state(answer.state)}${gate ? ` (${gate})` : ''}`;
  return [where, ...notes, pc.dim(`command ${commandId}`)].join('\n');
}

export function claimedText(claimed: Claimed): string {
  const { slot, number, epoch, attempt, lease, handoff } = claimed;
  return [
    `${slot}: ${state('active')}  attempt ${number} (${attempt}), epoch ${epoch}`,
    `lease token ${pc.bold(lease.token)}  ${pc.dim(`beat at least every ${lease.ttlSeconds} s`)}`,
    `handoff: ${counted(handoff.attempts.length, 'earlier attempt')}, ${counted(handoff.artifacts.length, 'artifact')}; all of it with --json or \`baton recovery\``,
    pc.dim(`command ${claimed.commandId}`),
  ].join('\n');
}

export function dryRunText({ verdicts, accepted, spec }: DryRun): string {
  const rows = verdicts.map(({ code, passed, message }) => [
    passed ? pc.green('pass') : pc.red('refuse'),
    code,
    or(message),
  ]);
  const end = accepted ? pc.green(`would be accepted; specification ${spec}`) : pc.red('would be refused');
  return `${table(['', 'guard', 'why'], rows)}\n${end}`;
}

export function checksText(checks: readonly Check[]): string {
  const mark = { ok: pc.green('ok'), warning: pc.yellow('warn'), failed: pc.red('fail') } as const;
  return table(
    ['', 'check', ''],
    checks.map(({ check, status, message, fixed }) => [
      mark[status],
      check,
      `${line(message)}${fixed ? pc.green(' (fixed)') : ''}`,
    ]),
  );
}

export function exportedText(done: Exported): string {
  const { path, run, snapshot, digest } = done;
  return [
    pc.bold(line(path)),
    `${run}${snapshot ? ', still open' : ''}: ${contentsOf(done)}`,
    `sha256:${digest}`,
    pc.dim('Keep the digest elsewhere; `baton verify` takes it as --digest.'),
  ].join('\n');
}

/** What is in a bundle; of what could not be read there is no number. */
function contentsOf(of: Pick<Verified, 'attempts' | 'artifacts' | 'effects' | 'files' | 'bytes'>): string {
  const many = (count: number | null, one: string): string =>
    count === null ? `– ${one}s` : counted(count, one);
  const records = [many(of.attempts, 'attempt'), many(of.artifacts, 'artifact'), many(of.effects, 'effect')];
  return `${records.join(', ')}; ${counted(of.files, 'file')}, ${counted(of.bytes, 'byte')}`;
}

export function verifiedText(verdict: Verified): string {
  const { ok, path, tenant, run, status, snapshot, exportedAt, digest, problems, problemCount } = verdict;
  const about = `${or(run)} of tenant ${or(tenant)}, ${or(status)}${snapshot ? ' (still open)' : ''}, exported ${or(exportedAt)}`;
  const rows = problems.map(({ kind, file, field, message }) => [
    pc.red(kind),
    `${line(file)}${field === null ? '' : ` ${line(field)}`}`,
    line(message),
  ]);
  const more = problemCount - problems.length;
  return [
    `${ok ? pc.green('verified') : pc.red('NOT VERIFIED')}  ${line(path)}`,
    about,
    contentsOf(verdict),
    ...(digest === null ? [] : [`${ok ? '' : 'the manifest alone: '}sha256:${digest}`]),
    ...(ok ? [] : ['', table(['', 'where', counted(problemCount, 'problem')], rows)]),
    ...(more > 0 ? [`and ${more} more`] : []),
  ].join('\n');
}

export const reportedText = ({ file, bytes }: { file: string; bytes: number }): string =>
  `${pc.bold(line(file))}  ${pc.dim(`${bytes} bytes`)}`;

/** Goes to stderr. */
export const errorText = ({ code, message }: BatonError): string =>
  `${coloursFor(process.stderr).red(code)}: ${clean(message)}`;
