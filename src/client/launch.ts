/**
 * Launch: resolves package, workflow and binding to revisions once, records the run, then starts its workflow. The row comes
 * first: a crash between the two is repaired by launching again, and a second launch of the same id is told apart by it.
 */
import { randomBytes } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, type SearchAttributePair } from '@temporalio/common';
import { BatonError } from '../domain/errors.js';
import { packPlan } from '../domain/pack-plan.js';
import { createRun } from '../domain/run.js';
import { checkFields, checkId, checkInline } from '../domain/text.js';
import type { Pins, RunPlan } from '../domain/types.js';
import { RUN_WORKFLOW, SEARCH_ATTRIBUTES, workflowIdOf, type RunInput } from '../domain/wire.js';
import { waitingList } from '../domain/waits.js';
import { OFFERS_AT_ONCE } from '../domain/wants.js';
import { resolveLaunch } from '../definitions/resolve.js';
import { digestOf } from '../store/canonical.js';
import type { Json } from '../store/port.js';
import { tracingClient } from '../telemetry/client.js';
import { commanded } from '../telemetry/commands.js';
import { ATTRIBUTES } from '../telemetry/names.js';
import { toBatonError } from './failure.js';
import { runDetails, runSummary } from './run-details.js';
import { uiAddress, type Session } from './session.js';

/** Lowest threshold that leaves a run room to work between two roll-overs. */
export const MIN_ROLL_OVER_EVENTS = 40;

export interface LaunchRequest {
  /** `name` or `name@revision`; without a revision the newest accepted one. */
  readonly package: string;
  /** Instead of the package's own. */
  readonly workflow?: string;
  readonly binding?: string;
  /** Run id, unique in the tenant. Default: `<package>-<random>`. */
  readonly run?: string;
  /** Any JSON, at most 64 KiB. Default null. */
  readonly input?: Json;
  /** History events after which the run continues as new; at least 40. Default: when the server suggests it. */
  readonly rollOverEvents?: number;
}

const FIELDS: readonly (keyof LaunchRequest)[] = [
  'package',
  'workflow',
  'binding',
  'run',
  'input',
  'rollOverEvents',
];

/** The JSON of `baton launch`. */
export interface Launched {
  readonly tenant: string;
  readonly run: string;
  readonly workflowId: string;
  readonly pins: Pins;
  /** The run in Temporal's UI, or null when the UI's address is not known. */
  readonly ui: string | null;
}

/**
 * Starts a run, or answers with the one that exists under the same id with the same content.
 *
 * @throws BatonError `InvalidCommand`, `TooLarge`, `UnknownRevision`, `RevisionNotAccepted`, `RunConflict`, `StoreUnavailable`, …
 */
export function launch(session: Session, request: LaunchRequest): Promise<Launched> {
  const { tenant } = session;
  return commanded('launch', { tenant, run: request.run }, undefined, async (span) => {
    const launched = await resolveAndStart(session, request);
    const { run, pins } = launched;
    span.setAttributes({ [ATTRIBUTES.run]: run, [ATTRIBUTES.package]: pins.package.ref });
    return launched;
  });
}

async function resolveAndStart(session: Session, request: LaunchRequest): Promise<Launched> {
  const { tenant } = session;
  checkFields('a launch', request, FIELDS);
  const input = request.input ?? null;
  checkInline('input', input);
  const rollOverEvents = checkRollOver(request.rollOverEvents);
  const run = request.run === undefined ? makeRunId(request.package) : checkId('run', request.run);
  const store = await session.store();
  const { pins, plan } = await resolveLaunch(store, {
    tenant,
    package: request.package,
    ...(request.workflow === undefined ? {} : { workflow: request.workflow }),
    ...(request.binding === undefined ? {} : { binding: request.binding }),
  });
  const earlier = await store.runs.get(tenant, run);
  const digest = digestOf({ pins, input });
  if (earlier && earlier.digest !== digest) {
    throw BatonError.of('RunConflict', 'the run id is taken by a run with other pins or input', {
      tenant,
      run,
    });
  }
  const row = await store.runs.create({ tenant, run, digest, pins, input, createdAt: Date.now() });
  const workflowId = workflowIdOf(tenant, run);
  const launched: Launched = { tenant, run, workflowId, pins: row.pins, ui: uiAddress(session, workflowId) };
  // A run that has ended is the run that exists: its id is never started again, not even after Temporal's retention.
  if (row.status !== 'running') return launched;
  await start(
    session,
    {
      tenant,
      run,
      pins,
      plan: packPlan(plan),
      taskQueue: session.taskQueue,
      searchAttributes: await attributesForLaunch(session),
      rollOverEvents,
      offersAtOnce: OFFERS_AT_ONCE,
      waitingCommands: true,
      carried: null,
    },
    plan,
  );
  return launched;
}

const MANY_SLOTS = 500;
const LONG_TASK = '30s';

async function start(session: Session, input: RunInput, plan: RunPlan): Promise<void> {
  const { client, tenant } = session;
  const { run, pins } = input;
  const values = { BatonTenant: tenant, BatonPackage: pins.package.ref, BatonStatus: 'running' };
  const attributes: SearchAttributePair[] = Object.entries(values)
    .filter(([name]) => input.searchAttributes.includes(name))
    .map(([name, value]) => ({ key: defineSearchAttributeKey(name, SearchAttributeType.KEYWORD), value }));
  if (input.searchAttributes.includes('BatonWaiting')) {
    const key = defineSearchAttributeKey('BatonWaiting', SearchAttributeType.KEYWORD_LIST);
    attributes.push({
      key,
      value: waitingList(createRun({ ...input, plan }, Date.now()), { commands: true }),
    });
  }
  try {
    await client.withDeadline(Date.now() + session.timeoutMs, () =>
      tracingClient(client).start(RUN_WORKFLOW, {
        workflowId: workflowIdOf(tenant, run),
        taskQueue: input.taskQueue,
        args: [input],
        // A large run that has to be replayed may need more than Temporal's ten seconds on a busy machine.
        ...(slotsOf(plan) > MANY_SLOTS ? { workflowTaskTimeout: LONG_TASK } : {}),
        workflowIdConflictPolicy: 'USE_EXISTING',
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        memo: { tenant, run, pins },
        staticSummary: runSummary(input),
        staticDetails: runDetails(input, plan),
        ...(attributes.length > 0 ? { typedSearchAttributes: attributes } : {}),
      }),
    );
  } catch (error) {
    // Closed under the same id: it was launched with this content, for the row says so.
    if (error instanceof WorkflowExecutionAlreadyStartedError) return;
    throw toBatonError(error, { tenant, run });
  }
}

const slotsOf = (plan: RunPlan): number => plan.nodes.reduce((sum, { slots }) => sum + slots.length, 0);

const known = new WeakMap<object, { at: number; names: Promise<readonly string[]> }>();
/** Attributes are registered once in a namespace's life; a client that launches often need not ask each time. */
const KNOWN_MS = 30_000;

function attributesForLaunch(session: Session): Promise<readonly string[]> {
  const last = known.get(session.client);
  if (last && performance.now() - last.at < KNOWN_MS) return last.names;
  const names = registeredAttributes(session);
  known.set(session.client, { at: performance.now(), names });
  return names;
}

/** Which of Baton's search attributes the namespace has: only those may be set, since an unknown one would hang the run. */
export async function registeredAttributes(session: Session): Promise<readonly string[]> {
  const { client } = session;
  const ask = client.connection as {
    operatorService?: { listSearchAttributes(req: object): Promise<{ customAttributes?: object | null }> };
  };
  try {
    const found = await client.withDeadline(Date.now() + 5_000, async () =>
      ask.operatorService?.listSearchAttributes({ namespace: client.options.namespace }),
    );
    const custom = Object.keys(found?.customAttributes ?? {});
    return SEARCH_ATTRIBUTES.filter((name) => custom.includes(name));
  } catch {
    // Listing needs rights that a client may lack. Attributes are optional; a launch is not stopped for them.
    return [];
  }
}

function checkRollOver(value: number | undefined): number | null {
  if (value === undefined) return null;
  if (Number.isInteger(value) && value >= MIN_ROLL_OVER_EVENTS) return value;
  throw BatonError.of(
    'InvalidCommand',
    `\`rollOverEvents\` must be a whole number of at least ${MIN_ROLL_OVER_EVENTS}`,
    {
      field: 'rollOverEvents',
      value,
    },
  );
}

function makeRunId(packageRef: string): string {
  const name = packageRef.replace(/@.*$/, '').slice(0, 110);
  return checkId('run', `${name}-${randomBytes(4).toString('hex')}`);
}
