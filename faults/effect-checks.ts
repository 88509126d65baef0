/** What must hold of an effect, judged from its owner's own account, the run's record and the run's result. Pure. */
import { digestOf } from '../src/store/canonical.js';
import { WORK } from './definitions.js';
import type { Cell } from './model.js';
import type { OwnerRecord } from './owner.js';
import type { Records } from './records.js';

type Check = (records: Records, cell: Cell) => string | null;

/** What its owner did, and has on record, is one commit under the key that the run's record names. */
export const once: Check = ({ owner, effects }) => {
  if (owner === null) return 'the slot’s effect has no owner';
  const [act] = owner.acts;
  const [recorded] = owner.effects;
  if (owner.acts.length !== 1 || owner.effects.length !== 1 || recorded?.state !== 'committed')
    return `it did so ${owner.acts.length} times, and has ${owner.effects.map(({ state }) => state).join(', ') || 'nothing'} on record`;
  const key = effects.find((row) => row.slot === WORK)?.key;
  return act?.key === key && recorded.key === key ? null : 'it was committed under another key';
};

export const asked: Check = ({ owner, effects, observed }, { calls }) => {
  const made = owner?.calls ?? [];
  // A later sending puts its own attempt into the record.
  const begunBy = observed.effectBefore.attempt ?? effects.find((row) => row.slot === WORK)?.attempt;
  const problems = begunBy === undefined ? ['nobody recorded an intent'] : unasked(made, begunBy);
  const found = made.map(({ call }) => call);
  if (calls !== null && digestOf(found) !== digestOf(calls))
    problems.push(`its owner was called by ${found.join(', ') || 'nobody'}, expected ${calls.join(', ')}`);
  return problems.length > 0 ? problems.join('; ') : null;
};

/**
 * Something may have been sent from the intent on, and may have landed until its owner says that it has not.
 *
 * @param begunBy the attempt that recorded the intent: it alone knows that nothing was sent before
 */
function unasked(calls: OwnerRecord['calls'], begunBy: string): string[] {
  const problems: string[] = [];
  const absent = new Set([begunBy]);
  let committed = false;
  for (const { call, attempt, answer } of calls) {
    if (call === 'lookup') {
      if (answer === 'absent') absent.add(attempt);
      continue;
    }
    if (committed) problems.push(`${attempt} sent it again after it was committed`);
    else if (!absent.has(attempt))
      problems.push(`${attempt} sent it without knowing that it had not happened`);
    absent.clear();
    committed ||= answer === 'committed';
  }
  return problems;
}

export const handed: Check = ({ work, observed }) => {
  const start = work.findLast((line) => line.what === 'start' && line.slot === WORK);
  const given = start?.what === 'start' ? start.effects : [];
  const { effect } = observed.effectBefore;
  const expected = effect === null ? [] : [effect];
  return digestOf(given) === digestOf(expected)
    ? null
    : `it was handed ${given.join(', ') || 'none'}, expected ${expected.join(', ') || 'none'}`;
};

export const receipt: Check = ({ owner, effects, results }) => {
  const rows = effects.filter((row) => row.slot === WORK);
  const [row] = rows;
  if (rows.length !== 1 || row?.state !== 'committed' || row.resolvedBy !== null)
    return `on record: ${rows.map(({ state }) => state).join(', ') || 'nothing'}`;
  const own = digestOf(owner?.effects[0]?.receipt ?? null);
  if (digestOf(row.receipt) !== own) return 'the run’s record has another receipt than the owner';
  const result = results?.[WORK] as Readonly<Record<string, unknown>> | null | undefined;
  return digestOf(result?.['effect'] ?? null) === own
    ? null
    : 'the result has another receipt than the owner';
};
