/** Reads what the matrix judges from a history of Temporal. Pure. */
import proto from '@temporalio/proto';
import type { RunInput } from '../src/domain/wire.js';
import type { Events } from './records.js';

const { WorkflowTaskFailedCause } = proto.temporal.api.enums.v1;

/** The run that an execution was started with; null when it cannot be read. */
export function startedWith(events: Events): RunInput | null {
  const data = events[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0]?.data;
  return data ? (JSON.parse(Buffer.from(data).toString('utf8')) as RunInput) : null;
}

/** Failed workflow tasks, other than by a race with new events, which is no fault. */
export function failedTasks(events: Events): string[] {
  return events.flatMap(({ workflowTaskFailedEventAttributes: failed }) =>
    !failed || failed.cause === WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND
      ? []
      : [`${WorkflowTaskFailedCause[failed.cause ?? 0] ?? 'failed'}: ${failed.failure?.message ?? ''}`],
  );
}
