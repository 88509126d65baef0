/** What is launched: the user's definitions with a short lease, and which of the plan's slots the agents can do. */
import { publish } from '../../definitions/publish.js';
import { definitionOf, readDefinitions, type Definition } from '../../definitions/read.js';
import { resolveLaunch } from '../../definitions/resolve.js';
import { BatonError } from '../../domain/errors.js';
import type { PlanNode } from '../../domain/types.js';
import type { Json, Store } from '../../store/port.js';
import type { CrashReport, ExploreOptions } from './types.js';

export const TENANT = 'crash-explorer';
export const ACTOR = 'crash-explorer';

/**
 * Reads the definitions, each lease with the TTL.
 *
 * @throws BatonError `InvalidCommand`, `TooLarge` as `publish` does, before anything is started
 */
export async function readAll(
  { files = [], documents = [] }: Pick<ExploreOptions, 'files' | 'documents'>,
  ttlMs: number,
): Promise<readonly Definition[]> {
  const definitions = [...(await readDefinitions(files))];
  for (const [index, raw] of documents.entries())
    definitions.push(await definitionOf(raw, { file: null, document: index + 1 }));
  if (definitions.length === 0)
    throw BatonError.of('InvalidCommand', 'there is nothing to launch: give `files` or `documents`', {
      field: 'documents',
    });
  return definitions.map((definition) =>
    definition.kind === 'binding'
      ? { ...definition, content: withTtl(definition.content as unknown as BindingContent, ttlMs) }
      : definition,
  );
}

/** A binding as `definitionOf` has checked and normalised it. */
interface BindingContent {
  readonly nodes: Readonly<Record<string, { readonly launch: readonly { readonly lease: object }[] }>>;
}

function withTtl(content: BindingContent, ttlMs: number): Json {
  const nodes = Object.entries(content.nodes).map(([name, node]) => {
    const launch = node.launch.map((spec) => ({ ...spec, lease: { ...spec.lease, ttl: ttlMs } }));
    return [name, { ...node, launch }] as const;
  });
  return { ...content, nodes: Object.fromEntries(nodes) };
}

export interface ExploredPlan {
  /** Node of each slot that is explored. */
  readonly nodeOf: ReadonlyMap<string, string>;
  readonly skipped: CrashReport['skipped'];
}

/**
 * Publishes, and finds the slots that the agents can bring to an end.
 *
 * @throws BatonError `InvalidCommand` when there is none, `UnknownRevision` and the like for the package
 */
export async function planFor(
  store: Store,
  definitions: readonly Definition[],
  packageRef: string,
  classes: readonly string[],
): Promise<ExploredPlan> {
  await publish(store, { tenant: TENANT, actor: ACTOR, at: Date.now(), definitions });
  const { plan } = await resolveLaunch(store, { tenant: TENANT, package: packageRef });
  const reasons = new Map<string, string>();
  // A node comes after those that it depends on only where the file says so, so the search is repeated while it finds some.
  for (let found = -1; found !== reasons.size;) {
    found = reasons.size;
    for (const node of plan.nodes) {
      const why = reasons.get(node.node) ?? whyNot(node, classes, reasons);
      if (why !== null) reasons.set(node.node, why);
    }
  }
  const explored = plan.nodes.filter(({ node }) => !reasons.has(node));
  const skipped = plan.nodes.flatMap(({ node, slots }) => {
    const why = reasons.get(node);
    return why === undefined ? [] : slots.map((slot) => ({ slot, why }));
  });
  if (explored.length === 0) {
    const list = skipped.map(({ slot, why }) => `${slot} ${why}`).join('; ');
    throw BatonError.of('InvalidCommand', `the package has no slot for these agents: ${list}`, {
      field: 'package',
      package: packageRef,
      classes: classes.join(', '),
    });
  }
  return {
    nodeOf: new Map(explored.flatMap(({ node, slots }) => slots.map((slot) => [slot, node] as const))),
    skipped,
  };
}

/** A slot is offered first to the first class of its first specification. */
function whyNot(
  { launch, dependsOn }: PlanNode,
  classes: readonly string[],
  reasons: ReadonlyMap<string, string>,
): string | null {
  const [spec] = launch;
  const workerClass = spec?.workerClasses[0] ?? '';
  if (spec?.dispatch === 'direct') return 'is claimed directly, not offered to hosts';
  if (!classes.includes(workerClass))
    return `is for worker class ${workerClass}, which none of the agents is`;
  const missing = dependsOn.find((node) => reasons.has(node));
  return missing === undefined ? null : `depends on ${missing}, which is not explored`;
}
