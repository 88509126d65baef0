/** What an agent shows to an effect owner: for tests that ask on an attempt's behalf. */
import { fenceOf } from '../../src/client/authority.js';
import { authorityToken } from '../../src/effects/token.js';
import type { Fence } from '../../src/store/port.js';
import type { Baton } from './baton.js';

/** Fence and authority token of the slot's newest attempt. */
export async function newestAuthority(
  baton: Baton,
  run: string,
  slot = 'a',
): Promise<{ fence: Fence; token: string }> {
  const fence = fenceOf((await baton.store.attempts.newest(baton.tenant, run, slot))!);
  return { fence, token: authorityToken(await baton.store.key(), fence) };
}
