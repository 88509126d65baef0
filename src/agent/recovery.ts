/**
 * The handoff as Markdown, for a model or a person: what is pinned, who worked and how it ended, what is decided, saved, done and
 * left to do. Bounded in size, the newest first. `baton recovery` and `ctx.handoffMarkdown` print it.
 */
import { BatonError } from '../domain/errors.js';
import { head, row } from '../domain/markdown.js';
import type { Store } from '../store/port.js';
import { fit, type Part } from './fit.js';
import { block, code, cut } from './markdown.js';
import { next } from './recovery-next.js';
import { artifactParts, attemptPart, effectPart, planPart, whereOf } from './recovery-parts.js';
import type { ArtifactView, Handoff } from './types.js';

export interface RecoveryHeading {
  readonly run: string;
  readonly slot: string;
  readonly tenant?: string | undefined;
  /** State and gate of the slot, when the asker knows them. */
  readonly state?: string | undefined;
  readonly gate?: string | null | undefined;
}

export interface RecoveryOptions {
  /** Size of the document in bytes of UTF-8. Default 32 KiB, at least 8 KiB. */
  readonly maxBytes?: number | undefined;
}

export const DEFAULT_MAX_BYTES = 32 * 1024;
const LEAST_BYTES = 8 * 1024;
/** Decisions whose texts are read, newest first, and how much of each. */
const TEXTS = 50;
const TEXT_BYTES = 64 * 1024;

/**
 * Reads the texts of the newest decisions and gives the document.
 *
 * @throws BatonError `InvalidCommand` for a `maxBytes` below 8 KiB, `StoreUnavailable`. A decision whose bytes are gone or
 *   damaged is said to be so: the rest is worth as much as before.
 */
export async function handoffMarkdown(
  store: Store,
  handoff: Handoff,
  heading: RecoveryHeading,
  options: RecoveryOptions = {},
): Promise<string> {
  const decisions = handoff.artifacts.filter(isShownText).slice(-TEXTS);
  const texts = new Map<string, string>();
  for (const { digest } of decisions) texts.set(digest, await textOf(store, digest));
  return recoveryMarkdown(handoff, heading, { ...options, texts });
}

const isShownText = ({ kind, mediaType, size }: ArtifactView): boolean =>
  kind === 'decision' && size <= TEXT_BYTES && /^(text\/|application\/(.+\+)?json\b)/.test(mediaType);

async function textOf(store: Store, digest: string): Promise<string> {
  try {
    return new TextDecoder().decode(await store.artifacts.readBytes(digest));
  } catch (error) {
    const { code: why } = error as { code?: string };
    if (why === 'ArtifactMissing' || why === 'ArtifactMismatch') return `(${why}: its bytes cannot be had)`;
    throw error;
  }
}

/** The whole document; ends with a newline. Pure. @param options `texts`: of decisions, by digest */
export function recoveryMarkdown(
  handoff: Handoff,
  heading: RecoveryHeading,
  options: RecoveryOptions & { readonly texts?: ReadonlyMap<string, string> } = {},
): string {
  const { maxBytes = DEFAULT_MAX_BYTES, texts = new Map<string, string>() } = options;
  if (!Number.isSafeInteger(maxBytes) || maxBytes < LEAST_BYTES) {
    const facts = { field: 'maxBytes', value: maxBytes, least: LEAST_BYTES };
    throw BatonError.of('InvalidCommand', '`maxBytes` must be a whole number from 8192', facts);
  }
  const part = maxBytes >> 3;
  const parts: readonly Part[] = [
    { ...whole, heading: title(heading), items: [] },
    pins(handoff),
    {
      ...whole,
      rank: 3,
      heading: '## Input',
      items: [json(handoff.input, part)],
      rest: 'value (see --json)',
    },
    upstream(handoff, part),
    attemptPart(handoff),
    effectPart(handoff),
    ...artifactParts(handoff, texts),
    planPart(handoff),
    { ...whole, heading: `## Next\n\n${next(handoff, part)}`, items: [] },
  ];
  return fit(parts, maxBytes);
}

const whole = { between: '\n\n', rest: 'entries', rank: 1 } as const;

function title(heading: RecoveryHeading): string {
  const text = whereOf(heading);
  return `# Recovery of ${code(heading.slot)}\n\n${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function pins({ pins: pinned, agent, attachments }: Handoff): Part {
  const rows = (['package', 'workflow', 'binding'] as const).map((kind) =>
    row([kind, code(pinned[kind].ref), code(pinned[kind].digest)]),
  );
  const agentRow = row(['agent', `${code(agent.name)} revision ${code(agent.revision)}`, '']);
  return {
    heading: '## Pinned at launch',
    before: [head(['what', 'name', 'sha256']), ...rows, agentRow].join('\n'),
    items: attachments.map(({ kind, name, digest }) => row([`attachment ${kind}`, code(name), code(digest)])),
    between: '\n',
    rest: 'attachments',
    rank: 2,
  };
}

function upstream({ upstream: results }: Handoff, maxBytes: number): Part {
  return {
    ...whole,
    heading: '## Upstream results',
    items: Object.entries(results).map(
      ([node, value]) => `${code(node)}:\n\n${value === null ? 'No result.' : json(value, maxBytes)}`,
    ),
    rest: 'upstream results (see --json)',
    empty: 'This node depends on no other.',
    rank: 3,
  };
}

function json(value: unknown, maxBytes: number): string {
  const text = JSON.stringify(value, null, 2);
  const shown = cut(text, maxBytes);
  const note = shown === text ? '' : `\n\nCut; the whole value is in the JSON of \`baton recovery --json\`.`;
  return `${block(shown, 'json')}${note}`;
}
