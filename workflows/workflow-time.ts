/**
 * Keeps events from being worked through at the time of an earlier workflow task.
 *
 * A query that comes to a worker without the run in its memory is given the history as it is. Where that ends with events whose workflow task
 * has not begun (the control worker was away, a lease ended meanwhile), Temporal's SDK works them through for the query, at the time of the task
 * before, and keeps what came of it for the task that comes. The run would then remember the attempt as ended before its time, and decide by
 * that what a replay, which has the right time, does not: the task of the replay fails, again and again.
 *
 * A run that was terminated before the task stays so for ever: who knows that it is closed says so in the query's name, and is answered.
 */
import type { ActivateInput, WorkflowInternalsInterceptor } from '@temporalio/workflow';
import { NOT_YET, OF_CLOSED } from '../src/domain/wire.js';

/** Events that every first task has before it: the run's start, the task's schedule and its start. */
const FIRST_TASK = 3;

/**
 * Lets no more come of such an activation than itself: the query behind it is answered with {@link NOT_YET}, which makes Temporal take the run out
 * of the worker's memory and writes no event. A replay, which asks nothing, may end with such events.
 */
export function refuseEarlyEvents(): WorkflowInternalsInterceptor {
  let last: { readonly length: number; readonly time: string } | undefined;
  let early = false;
  return {
    activate(input, next) {
      const { timestamp, historyLength, jobs } = input.activation;
      const closed = isOfClosedRun(jobs);
      if (early && !closed) throw new Error(NOT_YET);
      if (!jobs?.some(({ queryWorkflow }) => queryWorkflow)) {
        const length = Number(historyLength);
        // To the nanosecond: each task has a start of its own. What comes of a task's own commands has the length of before too.
        const time = `${String(timestamp?.seconds)}.${String(timestamp?.nanos)}`;
        early = last === undefined ? length < FIRST_TASK : length > last.length && time === last.time;
        last = { length, time };
      }
      next(input);
    },
  };
}

type Jobs = ActivateInput['activation']['jobs'];

/** Takes the mark off, so that the query is found under its own name. */
function isOfClosedRun(jobs: Jobs): boolean {
  let marked = false;
  for (const { queryWorkflow } of jobs ?? []) {
    if (!queryWorkflow?.queryType?.startsWith(OF_CLOSED)) continue;
    queryWorkflow.queryType = queryWorkflow.queryType.slice(OF_CLOSED.length);
    marked = true;
  }
  return marked;
}
