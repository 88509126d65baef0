/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-call -- a change of any one field of the records, whatever its type */
import { describe, expect, it } from 'vitest';
import { failing } from './demo-facts.js';

/** One more attempt of the class, lost though its host lives, before the one at that place among the rows. */
function accident(f: any, at: number, attempt: string, recorded = true): void {
  const heir = f.end.rows[at];
  const row = {
    ...heir,
    attempt,
    workerStatus: 'lost',
    leaseStatus: 'expired',
    claimId: `run:claim:${attempt}`,
  };
  f.end.rows.splice(at, 0, row);
  for (const later of f.end.rows.slice(at + 1)) {
    if (later.slot !== heir.slot) continue;
    later.number = Number(later.number) + 1;
    later.epoch = Number(later.epoch) + 1;
  }
  if (heir.slot === 'notes') {
    f.end.shown.slots[0].counts = { claims: 3, failures: 0, losses: 2, releases: 0 };
  }
  if (recorded)
    f.accidents.push({ slot: heir.slot, attempt, worker: heir.worker, workerClass: heir.workerClass });
}

/** Before the kill: the researcher's first attempt is lost after one note, its second one is killed. */
function lostBefore(f: any): void {
  accident(f, 0, 'a0');
  f.waiting.attempts.splice(0, 1, f.end.rows[0], f.end.rows[1]);
  f.waiting.state.slots.notes.counts = { claims: 2, failures: 0, losses: 2, releases: 0 };
  f.end.artifacts.unshift({ slot: 'notes', attempt: 'a0', step: 'w', name: 'w' });
  f.packages = 4;
  f.killed.saved = 2;
  f.end.shown.slots[0].result.reused = 2;
}

/** After the reassign: the successor is lost after one note, and its own host goes on with the last. */
function lostAfter(f: any): void {
  const [, successor] = f.end.rows;
  f.end.rows.splice(2, 0, { ...successor, attempt: 'a3', number: 3, epoch: 3 });
  f.end.rows[1] = { ...successor, workerStatus: 'lost', leaseStatus: 'expired' };
  f.accidents.push({ slot: 'notes', attempt: 'a2', worker: 's-1', workerClass: 'senior-researcher' });
  f.end.artifacts[2].attempt = 'a3';
  f.end.shown.slots[0].counts = { claims: 3, failures: 0, losses: 2, releases: 0 };
  f.end.shown.slots[0].result = { reused: 2, written: 1 };
}

describe('checks of the demo, on a machine on which leases expired by accident', () => {
  it.each<[string, (facts: any) => void]>([
    ['before the kill', lostBefore],
    ['after the reassign', lostAfter],
    [
      'before and after',
      (f) => {
        lostAfter(f);
        lostBefore(f);
        f.end.shown.slots[0].result.reused = 3;
        f.end.shown.slots[0].counts = { claims: 4, failures: 0, losses: 3, releases: 0 };
      },
    ],
    ['of the publisher before it sent', (f) => accident(f, 2, 'p0', false)],
    [
      'of the publisher before it sent, whose heir asked first',
      (f) => {
        accident(f, 2, 'p0', false);
        const asked = { path: '/publications/lookup', key: 'e-1', status: 200 };
        f.published.ownerAtKill.requests.unshift(asked);
        f.published.ownerAtEnd.requests.unshift(asked);
      },
    ],
  ])('all hold: %s', (_, change) => {
    expect(failing(change)).toEqual([]);
  });

  it.each<[string, string, (facts: any) => void]>([
    [
      'a loss that nobody knows of',
      'a worker of the other class',
      (f) => {
        lostAfter(f);
        f.accidents = [];
      },
    ],
    [
      'an accident that was none',
      'a worker of the other class',
      (f) => {
        lostAfter(f);
        f.end.rows[1].workerStatus = 'succeeded';
      },
    ],
    [
      'the one that finished is not the last',
      'a worker of the other class',
      (f) => {
        lostAfter(f);
        f.end.rows[2].workerStatus = 'lost';
      },
    ],
    [
      'a note saved before the kill was forgotten',
      'the successor reused',
      (f) => {
        lostBefore(f);
        f.end.artifacts.shift();
      },
    ],
    [
      'the heir did a note of the lost one again',
      'it repeated only the rest',
      (f) => {
        lostAfter(f);
        f.end.artifacts.push({ slot: 'notes', attempt: 'a3', step: 'y' });
      },
    ],
    [
      'a loss was not counted',
      'its lease expired',
      (f) => {
        lostBefore(f);
        f.waiting.state.slots.notes.counts.losses = 1;
      },
    ],
    [
      'a claim was not counted',
      'the run succeeded',
      (f) => {
        lostAfter(f);
        f.end.shown.slots[0].counts.claims = 2;
      },
    ],
  ])('%s', (_, name, change) => {
    expect(failing(change).some((failed) => failed.startsWith(name))).toBe(true);
  });
});
