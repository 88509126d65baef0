/** Temporal's history of the demo's run in a few plain fields, to prove what a command did and did not do. */
import type { Client } from '@temporalio/client';

export interface HistoryEvent {
  readonly id: number;
  /** Temporal's own name, for example `ActivityTaskScheduled`. */
  readonly type: string;
  /** Of an activity's scheduling. */
  readonly activityId: string | null;
  readonly activityType: string | null;
  /** Of an update's acceptance. */
  readonly updateId: string | null;
}

/** The whole history of the newest execution. */
export async function readHistory(client: Client, workflowId: string): Promise<HistoryEvent[]> {
  const history = await client.workflow.getHandle(workflowId).fetchHistory();
  return (history.events ?? []).map((event) => {
    const scheduled = event.activityTaskScheduledEventAttributes;
    const accepted = event.workflowExecutionUpdateAcceptedEventAttributes;
    return {
      id: Number(event.eventId ?? 0),
      type: typeName(event as unknown as Record<string, unknown>),
      activityId: scheduled?.activityId ?? null,
      activityType: scheduled?.activityType?.name ?? null,
      updateId: accepted?.acceptedRequest?.meta?.updateId ?? accepted?.protocolInstanceId ?? null,
    };
  });
}

/** Every event carries exactly one field of attributes, named after its type. */
function typeName(event: Record<string, unknown>): string {
  const suffix = 'EventAttributes';
  const field = Object.keys(event).find((key) => key.endsWith(suffix) && event[key] != null);
  if (field === undefined) return 'Unknown';
  return field.charAt(0).toUpperCase() + field.slice(1, -suffix.length);
}

/** Number of events so far, without reading them. */
export async function historyLength(client: Client, workflowId: string): Promise<number> {
  return (await client.workflow.getHandle(workflowId).describe()).historyLength;
}

/** What follows a command's acceptance up to the moment at which the next claim is taken. */
export interface Effects {
  readonly found: boolean;
  /** Event types in order, workflow tasks and the update's own two events left out. */
  readonly events: readonly string[];
  /** Activity ids scheduled in between, with their types. */
  readonly scheduled: readonly { readonly activityId: string; readonly type: string }[];
}

const OWN =
  /^(WorkflowTask|WorkflowExecutionUpdate|UpsertWorkflowSearchAttributes|WorkflowPropertiesModified)/;

/** @param claim activity id of the claim that came after it; what follows that claim is the claimant's doing */
export function effectsOf(history: readonly HistoryEvent[], commandId: string, claim: string): Effects {
  const from = history.findIndex((event) => event.updateId?.startsWith(`${commandId}.`));
  if (from < 0) return { found: false, events: [], scheduled: [] };
  const offer = history.findIndex((event, index) => index > from && event.activityId === claim);
  const between = history
    .slice(from, offer < 0 ? undefined : offer + 1)
    .filter((event) => !OWN.test(event.type));
  return {
    found: true,
    events: between.map((event) =>
      event.activityType ? `${event.type}(${event.activityType})` : event.type,
    ),
    scheduled: between
      .filter((event) => event.activityId !== null)
      .map((event) => ({ activityId: event.activityId ?? '', type: event.activityType ?? '' })),
  };
}
