/** Temporal's interceptor on the side of the activities: what they do happens in the context that their run was launched in. */
import { context } from '@opentelemetry/api';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { traceIn } from './headers.js';
import { logFields } from './logs.js';
import type { Facts } from './names.js';

/** For the Workers that run Baton's activities. Every log line of an activity then says which run, slot and attempt it is about. */
export const activityInterceptors: ActivityInterceptorsFactory = () => {
  let about: Facts = {};
  return {
    inbound: {
      execute(input, next) {
        about = factsIn(input.args[0]);
        return context.with(traceIn(input.headers), () => next(input));
      },
    },
    outbound: {
      // Temporal's `attempt` is its try of the activity, and ours has one place in the log with run and slot.
      getLogAttributes: (input, next) => next({ ...input, ...logFields(about) }),
    },
  };
};

/** All our activities take one object with tenant, run and slot, and either the attempt or its id. */
function factsIn(input: unknown): Facts {
  if (typeof input !== 'object' || input === null) return {};
  const { attempt, ...rest } = input as Omit<Facts, 'attempt'> & { readonly attempt?: string | Facts };
  return typeof attempt === 'object' ? { ...rest, ...attempt } : { ...rest, attempt };
}
