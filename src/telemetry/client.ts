/** Temporal's interceptor on the side of the client: a launch writes its span into the header of the run's workflow. */
import {
  WorkflowClient,
  type Client,
  type WorkflowClientInterceptor,
  type WorkflowClientOptions,
} from '@temporalio/client';
import { withTrace } from './headers.js';
import { traceIds } from './trace.js';

const writesTrace: WorkflowClientInterceptor = {
  startWithDetails: (input, next) => next({ ...input, headers: withTrace(input.headers) }),
};

/** The client's own workflow client with our interceptor behind its own; itself where nothing is traced. */
export function tracingClient(client: Client): Pick<WorkflowClient, 'start'> {
  if (!traceIds()) return client.workflow;
  const { interceptors, ...options } = client.workflow.options;
  return new WorkflowClient({
    ...options,
    connection: client.connection,
    interceptors: after(interceptors, writesTrace),
  });
}

type Interceptors = WorkflowClientOptions['interceptors'];

/** Interceptors of Temporal's old style, which it still takes: made anew for each call. */
interface Factories {
  readonly calls?: readonly (() => WorkflowClientInterceptor)[];
}

function after(own: Interceptors, ours: WorkflowClientInterceptor): NonNullable<Interceptors> {
  if (own === undefined || Array.isArray(own)) return [...(own ?? []), ours];
  const old = own as unknown as Factories;
  const both: Factories = { ...old, calls: [...(old.calls ?? []), () => ours] };
  return both as unknown as NonNullable<Interceptors>;
}
