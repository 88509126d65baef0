/**
 * The names under which Baton is seen in traces, metrics and logs. One word means the same in all three. Values are ids, names and
 * codes; never what an agent works on, what it answered, nor a token.
 */

/** Instrumentation scope of all spans and metrics. */
export const SCOPE = 'temporal-baton';

export const ATTRIBUTES = {
  tenant: 'baton.tenant',
  run: 'baton.run',
  slot: 'baton.slot',
  attempt: 'baton.attempt',
  /** The attempt's number in its slot, from 1. */
  number: 'baton.number',
  epoch: 'baton.epoch',
  worker: 'baton.worker',
  workerClass: 'baton.class',
  /** Error code of the table, or the agent's own. */
  code: 'baton.code',
  /** How an attempt ended. */
  end: 'baton.end',
  /** Attempt that this one takes over from. */
  predecessor: 'baton.predecessor',
  command: 'baton.command',
  commandId: 'baton.command_id',
  package: 'baton.package',
  agent: 'baton.agent',
  step: 'baton.step',
  stepRevision: 'baton.step.revision',
  /** True when the saved result of an earlier attempt was given back and nothing ran. */
  stepReused: 'baton.step.reused',
  effect: 'baton.effect',
  effectInstance: 'baton.effect.instance',
  effectKey: 'baton.effect.key',
} as const;

/** What identifies the work that a span or a log line is about. Absent and null values are left out. */
export interface Facts {
  readonly tenant?: string | undefined;
  readonly run?: string | undefined;
  readonly slot?: string | undefined;
  readonly attempt?: string | undefined;
  readonly number?: number | undefined;
  readonly epoch?: number | undefined;
  readonly worker?: string | undefined;
  readonly workerClass?: string | undefined;
}

const FACTS = ['tenant', 'run', 'slot', 'attempt', 'number', 'epoch', 'worker', 'workerClass'] as const;

/** Facts as span attributes. */
export function attributesOf(facts: Facts): Record<string, string | number> {
  const named = FACTS.map((fact) => [ATTRIBUTES[fact], facts[fact]] as const);
  return Object.fromEntries(named.filter((one): one is [(typeof one)[0], string | number] => one[1] != null));
}
