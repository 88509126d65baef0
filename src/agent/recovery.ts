/** `baton recovery` as Markdown: what happened to a slot, what is saved, and what its next worker must do. Pure. */
import { savedItems } from './step-plan.js';
import type { AttemptView, Handoff, PlanStep } from './types.js';

export interface RecoveryHeading {
  readonly run: string;
  readonly slot: string;
  readonly tenant?: string | undefined;
  /** State and gate of the slot, when the asker knows them. */
  readonly state?: string | undefined;
  readonly gate?: string | null | undefined;
}

/** The whole report; ends with a newline. Texts of people are escaped, so that none can break a table. */
export function recoveryMarkdown(handoff: Handoff, heading: RecoveryHeading): string {
  const sections = [
    title(heading),
    pins(handoff),
    section('Input', json(handoff.input)),
    section('Upstream results', upstream(handoff)),
    section('Attempts', attempts(handoff.attempts)),
    section('Saved artifacts', artifacts(handoff)),
    section('Plan', plan(handoff)),
    section('Next', next(handoff)),
  ];
  return `${sections.join('\n\n')}\n`;
}

function title({ tenant, run, slot, state, gate }: RecoveryHeading): string {
  const where = [
    ...(tenant === undefined ? [] : [`Tenant ${code(tenant)}`]),
    `run ${code(run)}`,
    `slot ${code(slot)}`,
    ...(state === undefined ? [] : [`state ${code(state)}${gate ? `, gate ${code(gate)}` : ''}`]),
  ].join(' · ');
  return `# Recovery of ${code(slot)}\n\n${where.charAt(0).toUpperCase()}${where.slice(1)}`;
}

function pins({ pins: pinned, agent, attachments }: Handoff): string {
  const rows = (['package', 'workflow', 'binding'] as const).map((kind) => [
    kind,
    code(pinned[kind].ref),
    code(pinned[kind].digest),
  ]);
  const extra = attachments.map(({ kind, name, digest }) => [`attachment ${kind}`, code(name), code(digest)]);
  const agentRow = ['agent', `${code(agent.name)} revision ${code(agent.revision)}`, ''];
  return section('Pinned at launch', table(['what', 'name', 'sha256'], [...rows, agentRow, ...extra]));
}

function upstream({ upstream: results }: Handoff): string {
  const entries = Object.entries(results);
  if (entries.length === 0) return 'This node depends on no other.';
  return entries
    .map(([node, value]) => `${code(node)}:\n\n${value === null ? 'No result.' : json(value)}`)
    .join('\n\n');
}

function attempts(all: readonly AttemptView[]): string {
  if (all.length === 0) return 'Nobody has worked on this slot.';
  return table(
    [
      '#',
      'epoch',
      'worker',
      'class',
      'owner',
      'spec',
      'started',
      'ended',
      'end',
      'lease',
      'why',
      'reassigned by',
    ],
    all.map((attempt) => [
      String(attempt.number),
      String(attempt.epoch),
      code(attempt.worker.id),
      attempt.workerClass,
      attempt.ownerActor ?? '–',
      attempt.spec,
      attempt.startedAt ?? '–',
      attempt.endedAt ?? '–',
      attempt.worker.status,
      attempt.lease.status,
      attempt.failure === null ? '–' : `${code(attempt.failure.code)} ${escape(attempt.failure.message)}`,
      reassigned(attempt),
    ]),
  );
}

function reassigned({ reassignedBy }: AttemptView): string {
  if (reassignedBy === null) return '–';
  const { actor, reason, fromSpec, toSpec } = reassignedBy;
  return `${escape(actor)}: ${escape(reason)} (${fromSpec} → ${toSpec})`;
}

function artifacts({ artifacts: saved, attempts: all }: Handoff): string {
  if (saved.length === 0) return 'Nothing is saved.';
  const numbers = new Map(all.map((attempt) => [attempt.attempt, attempt.number]));
  return table(
    ['attempt #', 'kind', 'name', 'bytes', 'sha256'],
    saved.map((row) => [
      String(numbers.get(row.attempt) ?? '–'),
      row.kind,
      code(row.name),
      String(row.size),
      code(row.digest),
    ]),
  );
}

function plan(handoff: Handoff): string {
  if (handoff.plan === null) return 'This node declares no steps.';
  return table(
    ['step', 'status', 'by attempt #', 'items saved'],
    handoff.plan.map((step) => [
      code(step.step),
      step.status,
      by(step, handoff.attempts),
      String(items(step, handoff)),
    ]),
  );
}

const by = (step: PlanStep, all: readonly AttemptView[]): string =>
  String(all.find((attempt) => attempt.attempt === step.by)?.number ?? '–');

const items = (step: PlanStep, { artifacts: saved }: Handoff): number =>
  savedItems(
    step.step,
    saved.map((row) => row.name),
  );

/** What the next worker must do, in one or two sentences. */
function next({ plan: steps, attempts: all, artifacts: saved }: Handoff): string {
  const working = all.find((attempt) => attempt.endedAt === null && attempt.worker.status === 'running');
  const done = all.find((attempt) => attempt.worker.status === 'succeeded');
  if (done !== undefined) return `Nothing: attempt #${done.number} succeeded.`;
  const holder =
    working === undefined
      ? ''
      : `Attempt #${working.number} holds a live lease; this is how it stands now.\n\n`;
  const names = (status: PlanStep['status']) =>
    (steps ?? [])
      .filter((step) => step.status === status)
      .map((step) => code(step.step))
      .join(', ');
  if (steps === null) {
    const what =
      saved.length === 0
        ? 'Start from the beginning.'
        : `Build on the ${saved.length} saved artifacts; do the rest.`;
    return holder + what;
  }
  const lines = [
    ...(names('done') === '' ? [] : [`Reuse: ${names('done')}.`]),
    ...(names('repeat') === ''
      ? ['Nothing is to be repeated; only the result is missing.']
      : [`Must be repeated: ${names('repeat')}.`]),
    ...(names('ambiguous') === '' ? [] : [`Outcome unknown, ask its owner first: ${names('ambiguous')}.`]),
  ];
  return holder + lines.map((line) => `- ${line}`).join('\n');
}

const section = (name: string, body: string): string => `## ${name}\n\n${body}`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** JSON as a code block whose fence is longer than any run of backticks in it. */
function json(value: unknown): string {
  const text = JSON.stringify(value, null, 2);
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}json\n${text}\n${fence}`;
}

/** Text of a person in a table cell: one line, and nothing that Markdown reads as markup. */
const escape = (text: string): string => text.replace(/\s+/g, ' ').replace(/[\\`*_|<>[\]]/g, '\\$&');

/** A name in a table cell. Step and artifact names may hold any character, so a backtick or bar gets plain text. */
const code = (name: string): string => (/[`|\n\r]/.test(name) ? escape(name) : `\`${name}\``);
