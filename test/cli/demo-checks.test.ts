/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-call -- a change of any one field of the records, whatever its type */
import { describe, expect, it } from 'vitest';
import { effectsOf } from '../../src/cli/demo/history.js';
import { event, failing, HISTORY, scheduled } from './demo-facts.js';

describe('checks of the demo', () => {
  it('all hold on records of a demo that went well', () => {
    expect(failing(() => undefined)).toEqual([]);
  });

  it.each<[string, string, (facts: any) => void]>([
    [
      'the host ended by itself',
      'the first host was killed',
      (f) => (f.killed.exit = { code: 0, signal: null }),
    ],
    ['all notes were saved before', 'the first host was killed', (f) => (f.killed.saved = 3)],
    ['the lease stayed live', 'its lease expired', (f) => (f.waiting.attempts[0].leaseStatus = 'live')],
    ['a failure was counted', 'its lease expired', (f) => (f.waiting.state.slots.notes.counts.failures = 1)],
    ['the wrong reassign went through', 'a reassign to a class', (f) => (f.refused.code = 'accepted')],
    ['the refusal changed a row', 'the refusal changed nothing', (f) => (f.refused.after.digest = 'e')],
    ['the refusal left an event', 'the refusal changed nothing', (f) => (f.refused.after.events = 41)],
    [
      'the refused command is in history',
      'the refusal changed nothing',
      (f) => f.end.history.push(event(8, 'WorkflowExecutionUpdateAccepted', { updateId: 'wrong.ff' })),
    ],
    [
      'no record of the reassign',
      'the right reassign is recorded',
      (f) => (f.end.attempts[0].reassignedBy = null),
    ],
    [
      'the reassign started an attempt',
      'it reopened the slot',
      (f) => f.end.history.splice(4, 0, scheduled(9, 'performAttempt', 'x')),
    ],
    ['the reassign is not in history', 'it reopened the slot', (f) => f.end.history.splice(1, 1)],
    ['the gate stayed shut', 'it reopened the slot', (f) => (f.reassign.answer.gate = 'reassign')],
    ['the epoch was used again', 'a worker of the other class', (f) => (f.end.rows[1].epoch = 1)],
    [
      'a third attempt',
      'a worker of the other class',
      (f) => f.end.rows.push({ ...f.end.rows[1], attempt: 'a4' }),
    ],
    [
      'the successor wrote a note again',
      'it repeated only the rest',
      (f) => f.end.artifacts.push({ slot: 'notes', attempt: 'a2', step: 'x' }),
    ],
    [
      'the agent says that it reused less',
      'the successor reused',
      (f) => (f.end.shown.slots[0].result.reused = 0),
    ],
    ['a note is missing', 'it repeated only the rest', (f) => f.end.artifacts.splice(1, 1)],
    ['other pins at the end', 'the pins are', (f) => (f.end.shown.pins.binding.ref = 'b@2')],
    ['the dead worker was rewritten', 'the dead worker', (f) => (f.end.rows[0].workerStatus = 'failed')],
    [
      'the publishing host ended by itself',
      'the publishing host was killed',
      (f) => (f.published.killed.exit = { code: 0, signal: null }),
    ],
    [
      'the publisher had not committed yet',
      'the publishing host was killed',
      (f) => (f.published.ownerAtKill.publications = []),
    ],
    [
      'the answer was not lost',
      'the publishing host was killed',
      (f) => (f.published.ownerAtKill.requests[0].status = 200),
    ],
    [
      'the successor sent again',
      'the successor asked',
      (f) => f.published.ownerAtEnd.requests.push({ path: '/publications', key: 'e-1', status: 200 }),
    ],
    ['the successor did not ask', 'the successor asked', (f) => f.published.ownerAtEnd.requests.splice(1, 1)],
    [
      'it asked by another key',
      'the successor asked',
      (f) => (f.published.ownerAtEnd.requests[1].key = 'e-2'),
    ],
    [
      'it was published twice',
      'by the publisher’s own count',
      (f) => f.published.ownerAtEnd.publications.push({ id: 6, digest: 'r' }),
    ],
    ['something else is served', 'by the publisher’s own count', (f) => (f.published.served = 'x')],
    [
      'the run has another receipt',
      'the run’s record and result',
      (f) => (f.end.shown.slots[2].result.publication = 6),
    ],
    [
      'the effect is the successor’s',
      'the run’s record and result',
      (f) => (f.published.ownerAtEnd.effects[0].attempt = 'p2'),
    ],
    [
      'the run has no receipt on record',
      'the run’s record and result',
      (f) => (f.published.recorded[0].state = 'intent'),
    ],
    [
      'its record is of another key',
      'the run’s record and result',
      (f) => (f.published.recorded[0].key = 'e-2'),
    ],
    [
      'its record has another receipt',
      'the run’s record and result',
      (f) => (f.published.recorded[0].receipt = {}),
    ],
    [
      'it has two records',
      'the run’s record and result',
      (f) => f.published.recorded.push(f.published.recorded[0]),
    ],
    ['a third one published', 'the run’s record and result', (f) => f.end.rows.push(f.end.rows[3])],
    ['Temporal says that it failed', 'the run succeeded', (f) => (f.end.temporalStatus = 'FAILED')],
    ['another file on disk', 'the report on disk', (f) => (f.report.digest = 'x')],
  ])('%s', (_, name, change) => {
    expect(failing(change).some((failed) => failed.startsWith(name))).toBe(true);
  });
});

describe('what a command did, by history', () => {
  it('ends at the next claim and leaves workflow tasks out', () => {
    expect(effectsOf(HISTORY, 'right', 'claim:notes:4').events).toEqual(['ActivityTaskScheduled(claimSlot)']);
    expect(effectsOf(HISTORY, 'rig', 'claim:notes:4').found).toBe(false);
  });
});
