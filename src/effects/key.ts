/** The idempotency key of an effect: the same for every attempt of a slot, so that its owner knows it again. */
import { digestOf } from '../store/canonical.js';

export interface EffectName {
  readonly tenant: string;
  readonly run: string;
  readonly slot: string;
  readonly name: string;
  /** Null: the only one of its name. */
  readonly instance: string | null;
}

/** @returns `e-` and the sha256 of the canonical JSON of what names the effect; no attempt is in it */
export const effectKey = ({ tenant, run, slot, name, instance }: EffectName): string =>
  `e-${digestOf({ tenant, run, slot, name, instance })}`;
