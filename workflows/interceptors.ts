/**
 * Passes the trace on through a run: the header that its workflow was started with goes to each of its activities and to its next
 * execution. It reads nothing of it, makes no spans and adds no turn to the workflow, so that a run replays as if it were not there.
 */
import type { Payload } from '@temporalio/common';
import type { WorkflowInterceptors } from '@temporalio/workflow';
import { TRACE_HEADER } from '../src/domain/wire.js';
import { refuseEarlyEvents } from './workflow-time.js';

/** Factory that Temporal calls once for each run; name the module under `interceptors.workflowModules` of a bundle of your own. */
export function interceptors(): WorkflowInterceptors {
  let trace: Payload | undefined;
  /** A header that another interceptor has written is newer than ours. */
  const passedOn = <I extends { readonly headers: Readonly<Record<string, Payload>> }>(input: I): I =>
    trace === undefined || input.headers[TRACE_HEADER] !== undefined
      ? input
      : { ...input, headers: { ...input.headers, [TRACE_HEADER]: trace } };
  return {
    internals: [refuseEarlyEvents()],
    inbound: [
      {
        execute(input, next) {
          trace = input.headers[TRACE_HEADER];
          return next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(passedOn(input)),
        continueAsNew: (input, next) => next(passedOn(input)),
      },
    ],
  };
}
