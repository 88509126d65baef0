/** Activities of the control queue: they write down what the run has decided, and are repeated until they have. */
import type { Client } from '@temporalio/client';
import type { Authorize } from '../src/access/authorize.js';
import { leaseDeadlines } from '../src/client/lease-view.js';
import type { Activities } from '../src/domain/wire.js';
import type { Store } from '../src/store/port.js';
import { resolveEffect } from './resolve-effect.js';
import { settleAttempt } from './settle.js';

export type ControlActivities = Pick<
  Activities,
  'settle' | 'voidClaim' | 'closeRun' | 'leaseDeadlines' | 'resolveEffect'
>;

/**
 * @param store where attempts and runs are recorded
 * @param client asks Temporal for the last beats of outside holders
 * @param authorize asked before an effect is settled, also by a command that came past the client; null allows all
 */
export function makeControlActivities({
  store,
  client,
  authorize,
}: {
  store: Store;
  client: Client;
  authorize: Authorize | null;
}): ControlActivities {
  return {
    settle: (input) => settleAttempt(store, input),
    voidClaim: (input) => store.attempts.voidClaim(input),
    resolveEffect: (input) => resolveEffect(store, input, authorize),
    closeRun: (input) => store.runs.close(input),
    leaseDeadlines: (input) => leaseDeadlines(client, input),
  };
}
