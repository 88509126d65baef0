/** Effects, as far as the run has to do with them: an operator's word on one is carried to the store. */
import { CancellationScope } from '@temporalio/workflow';
import { EFFECT_STATES, isOpenEffect, type EffectState } from '../src/domain/effect.js';
import type { ErrorDetails } from '../src/domain/errors.js';
import type { ResolveEffectInput } from '../src/domain/wire.js';
import { settledEffect } from './activities.js';
import { settledOutside } from './failures.js';
import type { Machine } from './machine.js';

/** @throws what the store refused with; `CompletedOutside` when somebody else has completed the activity */
export async function resolveEffect(machine: Machine, input: ResolveEffectInput): Promise<EffectState> {
  const { slot, name, outcome, actor } = input;
  const activity = settledEffect(`${outcome}: effect ${name.slice(0, 60)} of ${slot}, says ${actor}`);
  const scope = new CancellationScope({ cancellable: false, parent: machine.detached });
  const state: unknown = await scope.run(() => activity.resolveEffect(input));
  if (!isState(state)) throw settledOutside();
  return state;
}

/** Whether a refusal of the store means that the effect has an outcome already. */
export function isSettledEffect({ code, details }: { code: string; details: ErrorDetails }): boolean {
  const state: unknown = details['state'];
  return code === 'EffectNotUnresolved' && isState(state) && !isOpenEffect(state);
}

const isState = (value: unknown): value is EffectState =>
  (EFFECT_STATES as readonly unknown[]).includes(value);
