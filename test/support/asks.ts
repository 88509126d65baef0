/** Everything that a caller can ask of the client, by door and method, with the action that it is judged as. */
import type { ActionName } from '../../src/access/actions.js';
import type { BatonClient } from '../../src/client/client.js';
import { documents } from './definitions.js';

/** Calls one method, about the slot `a` of the given run. */
type Ask = (client: BatonClient, run: string, lease: string) => Promise<unknown>;

const reason = 'a secret reason';
const bytes = { digest: 'd'.repeat(64) };
const because = { reason };
/** In a folder that is not there: nothing is written when nobody refuses. */
const nowhere = '/nonexistent/bundle';

export const CLIENT_ASKS: Readonly<Record<string, readonly [ActionName, Ask]>> = {
  publish: ['publish', (client) => client.publish({ documents: documents({ a: {} }, 'asked') })],
  accept: ['accept', (client) => client.accept('package/nothing@1')],
  launch: ['launch', (client, run) => client.launch({ package: 'nothing', run })],
  list: ['list', (client) => client.list()],
  audit: ['audit', (client) => client.audit()],
  collect: ['collect', (client) => client.collect({ olderThanMs: 1e12 })],
};

export const RUN_ASKS: Readonly<Record<string, readonly [ActionName, Ask]>> = {
  show: ['show', (client, run) => client.run(run).show()],
  attempts: ['attempts', (client, run) => client.run(run).attempts()],
  artifacts: ['artifacts', (client, run) => client.run(run).artifacts()],
  artifactRows: ['artifacts', (client, run) => client.run(run).artifactRows()],
  read: ['artifacts', (client, run) => client.run(run).read(bytes)],
  readStream: ['artifacts', (client, run) => client.run(run).readStream(bytes)],
  effects: ['effects', (client, run) => client.run(run).effects()],
  recovery: ['recovery', (client, run) => client.run(run).recovery('a')],
  recoveryRead: ['recovery', (client, run) => client.run(run).recoveryRead('a')],
  recoveryMarkdown: ['recovery', (client, run) => client.run(run).recoveryMarkdown('a')],
  result: ['result', (client, run) => client.run(run).result()],
  audit: ['audit', (client, run) => client.run(run).audit()],
  export: ['export', (client, run) => client.run(run).export(nowhere)],
  report: ['report', (client, run) => client.run(run).report()],
  cancel: ['cancelRun', (client, run) => client.run(run).cancel(because)],
};

const slot =
  (ask: (slot: ReturnType<ReturnType<BatonClient['run']>['slot']>, lease: string) => Promise<unknown>): Ask =>
  (client, run, lease) =>
    ask(client.run(run).slot('a'), lease);

export const SLOT_ASKS: Readonly<Record<string, readonly [ActionName, Ask]>> = {
  claim: ['claim', slot((a) => a.claim({ workerClass: 'coder', worker: 'w', owner: 'ada' }))],
  reassign: ['reassign', slot((a) => a.reassign({ workerClass: 'coder', reason }))],
  dryRunReassign: ['dryRun', slot((a) => a.dryRunReassign({ workerClass: 'coder', reason }))],
  hold: ['hold', slot((a) => a.hold(because))],
  releaseHold: ['releaseHold', slot((a) => a.releaseHold(because))],
  revoke: ['revoke', slot((a) => a.revoke(because))],
  cancel: ['cancelSlot', slot((a) => a.cancel(because))],
  resolveEffect: ['resolveEffect', slot((a) => a.resolveEffect({ name: 'pay', outcome: 'absent', reason }))],
  heartbeat: ['heartbeat', slot((a, lease) => a.heartbeat(lease))],
  save: ['save', slot((a, lease) => a.save(lease, { kind: 'source', name: 'x', bytes: Buffer.from('x') }))],
  complete: ['complete', slot((a, lease) => a.complete(lease, { result: 'a secret result' }))],
  fail: ['fail', slot((a, lease) => a.fail(lease, { code: 'X', message: 'a secret message' }))],
  release: ['release', slot((a, lease) => a.release(lease, because))],
  show: ['show', slot((a) => a.show())],
  attempts: ['attempts', slot((a) => a.attempts())],
  artifacts: ['artifacts', slot((a) => a.artifacts())],
  effects: ['effects', slot((a) => a.effects())],
  recovery: ['recovery', slot((a) => a.recovery())],
};

/** Of a run or slot, named like `run.show`. */
export const OF_A_RUN: readonly (readonly [string, ActionName, Ask])[] = [
  ...Object.entries(RUN_ASKS).map(([name, [action, ask]]) => [`run.${name}`, action, ask] as const),
  ...Object.entries(SLOT_ASKS).map(([name, [action, ask]]) => [`slot.${name}`, action, ask] as const),
];

export const ASKS: readonly (readonly [string, ActionName, Ask])[] = [
  ...Object.entries(CLIENT_ASKS).map(([name, [action, ask]]) => [`client.${name}`, action, ask] as const),
  ...OF_A_RUN,
];
