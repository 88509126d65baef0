/**
 * Recorded runs replay with the built bundle: an open run must survive an upgrade of its control worker. When a change of
 * the workflow fails here, it needs Temporal's `patched`; a history is never recorded anew to make it pass.
 */
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { beforeAll, describe, expect, it } from 'vitest';
import { historyNames, readHistory, replay } from '../support/histories.js';
import { current } from '../support/versions.js';

const names = await historyNames();

beforeAll(() => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
});

describe('replay of recorded runs', () => {
  it('has a history of each kind of run', () => {
    expect(names).toEqual([
      'direct-expiry-reassign',
      'hold-revoke-cancel',
      'offers-temporal-cancel',
      'policies-deadlines',
      'queue-success',
      'roll-over-1',
      'roll-over-2',
      'roll-over-3',
      'waiting-commands',
    ]);
  });

  it.each(names)('%s replays', async (name) => {
    await replay(current, await readHistory(name));
  });

  /** What a workflow would do that schedules, or names, its activities in another way than the recorded one. */
  it.each([
    ['an activity of another type', 'activityType', { name: 'another' }],
    ['an activity with another id', 'activityId', 'another'],
  ])('fails for a workflow that would need %s', async (_what, field, value) => {
    const recorded = await readHistory('queue-success');
    const events = structuredClone(recorded.history.events) as Record<string, Record<string, unknown>>[];
    const scheduled = events.find((event) => event['activityTaskScheduledEventAttributes']);
    scheduled!['activityTaskScheduledEventAttributes']![field] = value;
    await expect(replay(current, { ...recorded, history: { events } })).rejects.toBeInstanceOf(
      DeterminismViolationError,
    );
  });

  it('fails for a workflow that would end otherwise', async () => {
    const recorded = await readHistory('hold-revoke-cancel');
    const events = recorded.history.events.filter((event) => !event['timerStartedEventAttributes']);
    const ended = events.findIndex((event) => event['activityTaskCompletedEventAttributes']);
    const cut = [...events.slice(0, ended), ...events.slice(ended + 1)];
    await expect(replay(current, { ...recorded, history: { events: cut } })).rejects.toThrow();
  });
});
