/** Reads histories: how many events an attempt cost, and where the time of a run went. */
import proto from '@temporalio/proto';

export type HistoryEvent = proto.temporal.api.history.v1.IHistoryEvent;

const { EventType } = proto.temporal.api.enums.v1;

/** Events of the run itself, not of an attempt: its start and end, the deadline timer, what the UI is told. */
const OF_THE_RUN: ReadonlySet<unknown> = new Set([
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
  EventType.EVENT_TYPE_TIMER_STARTED,
  EventType.EVENT_TYPE_TIMER_FIRED,
  EventType.EVENT_TYPE_TIMER_CANCELED,
  EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
]);
const TASK_EVENTS: ReadonlySet<unknown> = new Set([
  EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED,
  EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED,
]);

/**
 * Events beyond the run's own: without start and end, the first workflow task, timers and attribute upserts. In the history
 * of a run with one attempt these are the attempt's.
 */
export function eventsBeyondTheRun(events: readonly HistoryEvent[]): number {
  const firstTask = firstTaskOf(events);
  return events.filter((event) => !OF_THE_RUN.has(event.eventType) && !firstTask.has(event)).length;
}

/** The first of each kind of workflow task event: the task that starts the run. */
function firstTaskOf(events: readonly HistoryEvent[]): ReadonlySet<HistoryEvent> {
  const kinds = [...TASK_EVENTS].map((type) => events.find((event) => event.eventType === type));
  return new Set(kinds.filter((event) => event !== undefined));
}

/**
 * Milliseconds by the server's clock, in order: `first task` (start to first activity scheduled), then for each activity
 * `wait` (scheduled to taken by a worker), `work` (taken to completed) and `task` (completed to the next activity scheduled, or
 * to the end of the run). They add up to the time from start to end.
 */
export function phases(events: readonly HistoryEvent[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const marks = events.flatMap((event) => {
    const name = MARKS.get(event.eventType ?? 0);
    return name === undefined ? [] : [{ name, at: timeOf(event) }];
  });
  let activity = 0;
  marks.forEach((mark, i) => {
    const next = marks[i + 1];
    if (!next) return;
    if (mark.name === 'wait') activity += 1;
    found.set(mark.name === 'first task' ? mark.name : `${mark.name} ${activity}`, next.at - mark.at);
  });
  return found;
}

/** What begins with each kind of event. */
const MARKS: ReadonlyMap<number, string> = new Map([
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, 'first task'],
  [EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, 'wait'],
  [EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED, 'work'],
  [EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, 'task'],
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, 'end'],
]);

/** Time of an event by the server's clock, in milliseconds since the epoch with a fraction. */
export function timeOf({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1_000 + (eventTime?.nanos ?? 0) / 1e6;
}

/** From the start of a run to its end. @throws RangeError when the history has no end */
export function span(events: readonly HistoryEvent[]): {
  readonly startedAt: number;
  readonly endedAt: number;
} {
  const started = events.find((e) => e.eventType === EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED);
  const ended = events.find((e) => e.eventType === EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED);
  if (!started || !ended) throw new RangeError('the history is not that of a run that completed');
  return { startedAt: timeOf(started), endedAt: timeOf(ended) };
}
