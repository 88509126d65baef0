/** Effects against the attempts that recorded them, and the accepted commands. Pure. */
import { effectKey } from '../../effects/key.js';
import type { Problems } from '../problems.js';
import { teller, type Checked, type Tell } from './checked.js';

export function checkEffects({ records }: Checked, problems: Problems): void {
  const { effects, attempts, run } = records;
  if (!effects) return;
  const tell = teller(problems, 'effects');
  const workers = attempts && new Map(attempts.map((attempt) => [attempt.attempt, attempt]));
  const keys = new Set<string>();
  for (const [at, effect] of effects.entries()) {
    const { slot, name, instance, key, attempt, epoch } = effect;
    const say: Tell = (field, message) => tell(`[${at}].${field}`, `${name} of slot ${slot}: ${message}`);
    const by = workers?.get(attempt);
    if (workers && !by) say('attempt', `there is no attempt ${attempt}`);
    if (by && by.slot !== slot) say('attempt', `${attempt} is of slot ${by.slot}`);
    if (by && by.epoch !== epoch) say('epoch', `is ${epoch}, ${attempt} has ${by.epoch}`);
    if (keys.has(key)) say('key', 'is there twice');
    keys.add(key);
    if (run && key !== effectKey({ tenant: run.tenant, run: run.run, slot, name, instance }))
      say('key', 'is not that of tenant, run, slot, name and instance');
  }
}

export function checkCommands({ records }: Checked, problems: Problems): void {
  const tell = teller(problems, 'commands');
  const known = new Set<string>();
  for (const [at, { commandId }] of (records.commands ?? []).entries()) {
    if (known.has(commandId)) tell(`[${at}].commandId`, `${commandId} is there twice`);
    known.add(commandId);
  }
}
