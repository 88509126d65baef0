/** An operator's word on an effect is written where the effect is, and nowhere else. */
import { assertAuthorized, AUTHORIZE_ACTIVITY_MS, type Authorize } from '../src/access/authorize.js';
import type { EffectState } from '../src/domain/effect.js';
import type { ResolveEffectInput } from '../src/domain/wire.js';
import type { Store } from '../src/store/port.js';
import { storeWithin, toActivityFailure } from './claims-shared.js';

/**
 * @returns the state that the effect has then
 * @throws `NotAuthorized`, `EffectNotFound` and `EffectNotUnresolved`, final; `StoreUnavailable`, which Temporal repeats
 */
export async function resolveEffect(
  store: Store,
  input: ResolveEffectInput,
  authorize: Authorize | null,
): Promise<EffectState> {
  const { outcome: state, receipt, ...rest } = input;
  const outcome = state === 'committed' ? { state, receipt } : { state };
  const { tenant, run, slot, name: effect, actor } = input;
  const asked = { name: 'resolveEffect', kind: 'command', tenant, run, slot, effect } as const;
  try {
    if (authorize) await assertAuthorized(authorize, asked, actor, AUTHORIZE_ACTIVITY_MS);
    const row = await storeWithin(store.effects.resolve({ ...rest, outcome }), 5_000, 'settling an effect');
    return row.state;
  } catch (error) {
    throw toActivityFailure(error);
  }
}
