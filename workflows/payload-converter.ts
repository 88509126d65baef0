/**
 * The payload converter of the run workflow: Temporal's own, except that a payload which it cannot read becomes a text
 * instead of an error. Anybody may complete an activity or send an update with such a payload, and an error thrown while
 * Temporal hands it over fails the workflow task for ever.
 */
import { defaultPayloadConverter, type PayloadConverter } from '@temporalio/common';

/** No command, no staged id and no answer of an activity: whoever gets it refuses it. */
const UNREADABLE = '(a payload that cannot be read)';

export const payloadConverter: PayloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload<T>(payload: Parameters<PayloadConverter['fromPayload']>[0]): T {
    try {
      return defaultPayloadConverter.fromPayload<T>(payload);
    } catch {
      return UNREADABLE as T;
    }
  },
};
