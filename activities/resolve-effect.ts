/** An operator's word on an effect is written where the effect is, and nowhere else. */
import type { EffectState } from '../src/domain/effect.js';
import type { ResolveEffectInput } from '../src/domain/wire.js';
import type { Store } from '../src/store/port.js';
import { storeWithin, toActivityFailure } from './claims-shared.js';

/**
 * @returns the state that the effect has then
 * @throws `EffectNotFound` and `EffectNotUnresolved`, final; `StoreUnavailable`, which Temporal repeats
 */
export async function resolveEffect(store: Store, input: ResolveEffectInput): Promise<EffectState> {
  const { outcome: state, receipt, ...rest } = input;
  const outcome = state === 'committed' ? { state, receipt } : { state };
  try {
    const row = await storeWithin(store.effects.resolve({ ...rest, outcome }), 5_000, 'settling an effect');
    return row.state;
  } catch (error) {
    throw toActivityFailure(error);
  }
}
