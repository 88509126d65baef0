/** Queries of a run's workflow. */
import type { Client } from '@temporalio/client';
import pRetry from 'p-retry';
import { NOT_YET, workflowIdOf } from '../domain/wire.js';

/** @throws what Temporal's client throws; {@link NOT_YET} is asked again until the deadline that the caller has set with `withDeadline` */
export function queryRun<R>(
  client: Client,
  { tenant, run }: { readonly tenant: string; readonly run: string },
  name: string,
  ...args: unknown[]
): Promise<R> {
  const handle = client.workflow.getHandle(workflowIdOf(tenant, run));
  return pRetry(() => handle.query<R, unknown[]>(name, ...args), {
    retries: 20,
    minTimeout: 20,
    maxTimeout: 500,
    shouldRetry: ({ error }) => error.message.includes(NOT_YET),
  });
}
