/** Queries of a run's workflow. */
import type { Client } from '@temporalio/client';
import pRetry from 'p-retry';
import { NOT_YET, OF_CLOSED, workflowIdOf } from '../domain/wire.js';
import { describeExecution } from './lease-view.js';

/** @throws what Temporal's client throws; {@link NOT_YET} is asked again until the deadline that the caller has set with `withDeadline` */
export function queryRun<R>(
  client: Client,
  of: { readonly tenant: string; readonly run: string },
  name: string,
  ...args: unknown[]
): Promise<R> {
  const handle = client.workflow.getHandle(workflowIdOf(of.tenant, of.run));
  let asked = name;
  return pRetry(() => handle.query<R, unknown[]>(asked, ...args), {
    retries: 20,
    minTimeout: 20,
    maxTimeout: 500,
    shouldRetry: async ({ error }) => {
      if (!error.message.includes(NOT_YET)) return false;
      // The task will never come.
      if ((await describeExecution(client, of))?.running === false) asked = `${OF_CLOSED}${name}`;
      return true;
    },
  });
}
