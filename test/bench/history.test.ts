/** Counting on recorded histories: one attempt of a run that succeeded at once, and a bare workflow of three activities. */
import { readFileSync } from 'node:fs';
import proto from '@temporalio/proto';
import { expect, test } from 'vitest';
import { eventsBeyondTheRun, phases, span, timeOf, type HistoryEvent } from '../../bench/overhead/history.js';

const { EventType } = proto.temporal.api.enums.v1;

interface Recorded {
  readonly type: keyof typeof EventType;
  readonly seconds: number;
  readonly nanos: number;
}

function recorded(name: string): HistoryEvent[] {
  const text = readFileSync(new URL(`histories/${name}.json`, import.meta.url), 'utf8');
  return (JSON.parse(text) as Recorded[]).map(({ type, seconds, nanos }) => ({
    eventType: EventType[type],
    eventTime: proto.google.protobuf.Timestamp.fromObject({ seconds, nanos }),
  }));
}

test('an attempt that succeeds at once costs what three activities cost', () => {
  const attempt = recorded('attempt');
  // Start, first task (3), end; the rest is the attempt's but for three upserts.
  expect(attempt.length).toBe(26);
  expect(eventsBeyondTheRun(attempt)).toBe(18);
  expect(eventsBeyondTheRun(recorded('bare3'))).toBe(18);
});

test('phases name each activity and add up to the time from start to end', () => {
  const events = recorded('attempt');
  const found = phases(events);
  expect([...found.keys()]).toEqual([
    'first task',
    ...[1, 2, 3].flatMap((i) => [`wait ${i}`, `work ${i}`, `task ${i}`]),
  ]);
  const { startedAt, endedAt } = span(events);
  const sum = [...found.values()].reduce((a, b) => a + b, 0);
  expect(sum).toBeCloseTo(endedAt - startedAt, 2);
  expect(Math.min(...found.values())).toBeGreaterThanOrEqual(0);
});

test('a history without an end has no span', () => {
  const events = recorded('attempt');
  expect(() => span(events.slice(0, -1))).toThrow(RangeError);
  expect(timeOf({ eventTime: null })).toBe(0);
});
