/**
 * Activity `claimSlot`: its completion in history is the claim. On a class queue it runs on the host that took the offer;
 * on the control queue it serves a direct claim. It checks the pins before it writes, so that a damaged revision is never
 * handed to a worker, and writes provisional rows only: authority comes with the attachment.
 */
import { activityInfo } from '@temporalio/activity';
import { assertAuthorized, AUTHORIZE_ACTIVITY_MS, type Authorize } from '../src/access/authorize.js';
import { BatonError } from '../src/domain/errors.js';
import type { Activities, ClaimSlotInput } from '../src/domain/wire.js';
import type { AttemptRef } from '../src/domain/types.js';
import type { Store } from '../src/store/port.js';
import { countRefusal } from '../src/telemetry/metrics.js';
import { ATTRIBUTES, attributesOf } from '../src/telemetry/names.js';
import { traced, traceparentOf } from '../src/telemetry/trace.js';
import { verifyPins } from '../src/definitions/resolve.js';
import {
  claimIdOf,
  storeWithin,
  toActivityFailure,
  type HostPort,
  type TakenPlace,
} from './claims-shared.js';

/** Below the activity's start-to-close of 5 s, so that a hanging store is told as what it is. */
const STORE_LIMIT_MS = 4_000;

/**
 * @param options.store where the rows go
 * @param options.host the host that takes offers; absent on a control worker, which serves direct claims only
 * @param options.authorize asked before a direct claim, also one that came past the client; null allows all
 * @returns the activity. It fails with type = code: `StoreUnavailable` and `HostFull` are retried by Temporal,
 *   `PinsDamaged`, `AlreadyLeased`, `StaleLease`, `NotAuthorized` are not.
 */
export function makeClaimSlot(options: {
  store: Store;
  host?: HostPort;
  authorize?: Authorize | null;
}): Activities['claimSlot'] {
  const { store, host, authorize = null } = options;
  return async function claimSlot(input) {
    const claim = async (): Promise<AttemptRef> => {
      if (input.direct) {
        if (authorize) await assertMayClaim(authorize, input, input.direct);
        return writeClaim(store, input, { ...input.direct, hostQueue: activityInfo().taskQueue });
      }
      if (!host)
        throw new BatonError('Internal', 'an offer to a worker class came to a worker that hosts no agents');
      return claimForHost(store, input, host);
    };
    try {
      return await inClaimSpan(input, claim);
    } catch (error) {
      countRefusal(error, 'claimSlot');
      throw toActivityFailure(error);
    }
  };
}

async function assertMayClaim(
  authorize: Authorize,
  { tenant, run, slot, workerClass }: ClaimSlotInput,
  { actor, owner }: NonNullable<ClaimSlotInput['direct']>,
): Promise<void> {
  if (actor === undefined) {
    const what = 'a run of an earlier version does not say who claims; claim again';
    throw BatonError.of('NotAuthorized', what, { tenant, run, slot });
  }
  const where = { name: 'claim', kind: 'command', tenant, run, slot, class: workerClass } as const;
  const command = { ...where, ...(owner === null ? {} : { owner }) };
  await assertAuthorized(authorize, command, actor, AUTHORIZE_ACTIVITY_MS);
}

/** The attempt carries the span's context, for whatever belongs below it or comes after it, in whichever process. */
function inClaimSpan(input: ClaimSlotInput, claim: () => Promise<AttemptRef>): Promise<AttemptRef> {
  const { reassign, priorTrace } = input;
  const predecessor = reassign ? { [ATTRIBUTES.predecessor]: reassign.predecessor } : {};
  const attributes = { ...attributesOf(input), ...predecessor };
  return traced('baton.claim', { attributes, link: priorTrace }, async (span) => {
    const attempt = await claim();
    span.setAttributes(attributesOf(attempt));
    const trace = traceparentOf(span);
    return trace === undefined ? attempt : { ...attempt, trace };
  });
}

async function claimForHost(store: Store, input: ClaimSlotInput, host: HostPort): Promise<AttemptRef> {
  const place: TakenPlace = host.take(claimIdOf(activityInfo()), input.workerClass);
  try {
    const claimant = { worker: place.worker, owner: host.owner, commandId: null, hostQueue: host.hostQueue };
    const attempt = await writeClaim(store, input, claimant);
    place.keep(attempt);
    return attempt;
  } catch (error) {
    place.giveBack();
    throw error;
  }
}

interface Claimant {
  readonly worker: string;
  readonly owner: string | null;
  readonly commandId: string | null;
  readonly hostQueue: string;
}

async function writeClaim(store: Store, input: ClaimSlotInput, claimant: Claimant): Promise<AttemptRef> {
  const info = activityInfo();
  const claim = async (): Promise<AttemptRef> => {
    await verifyPins(store, input.tenant, input.pins, input.node);
    return store.attempts.claim({
      tenant: input.tenant,
      run: input.run,
      slot: input.slot,
      node: input.node,
      claimId: claimIdOf(info),
      try: info.attempt,
      worker: claimant.worker,
      workerClass: input.workerClass,
      ownerActor: claimant.owner ?? input.inheritedOwner,
      spec: input.spec.id,
      lastEpoch: input.lastEpoch,
      lastNumber: input.lastNumber,
      hostQueue: claimant.hostQueue,
      ttlMs: input.spec.lease.ttlMs,
      maxDurationMs: input.spec.lease.maxDurationMs,
      reassign: input.reassign,
      commandId: claimant.commandId,
      at: info.currentAttemptScheduledTimestampMs,
    });
  };
  return storeWithin(claim(), STORE_LIMIT_MS, `claim of slot ${input.slot}`);
}
