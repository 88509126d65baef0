/**
 * One run seen by a receiver of OTLP, all of it in processes of its own: launched, reassigned and refused by the command line, run by
 * `baton worker`, done by two hosts of which the first is killed. What is exported is one trace:
 *
 *     launch ─┬─ claim ── attempt (never told: its host was killed) ── step, effect
 *             │    └───── settle: lost
 *             └─ claim ──▶ link to the claim before
 *                  └───── attempt ──▶ link to the claim before ── step, step ── step, effect
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AttemptView } from '../../src/agent/types.js';
import { baton, batonJson, MAIN, type CliOptions } from '../cli/cli.js';
import { documents, spec } from '../support/definitions.js';
import { startReceiver, type ReceivedSpan, type Receiver } from '../support/otlp.js';
import { fixture, keepBetweenTests, startNode, stopAll } from '../support/processes.js';
import { sharedServer } from '../support/server.js';
import { waitFor } from '../support/wait.js';
import type { TracedHostInput } from './fixtures/traced-host.js';

keepBetweenTests();

let cwd: string;
let receiver: Receiver;
let attempts: readonly AttemptView[];
let id: string;
const logs: string[] = [];
const workerLogs: string[] = [];

beforeAll(async () => {
  cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-otel-'));
  id = path.basename(cwd).toLowerCase();
  receiver = await startReceiver();
  const { address } = await sharedServer();
  const common = { TEMPORAL_ADDRESS: address, BATON_TENANT: id, BATON_ACTOR: 'ada', BATON_TASK_QUEUE: id };
  const env = { ...common, TEMPORAL_CONFIG_FILE: '/nonexistent' };
  const cli = (instance: string): CliOptions => ({ cwd, env: { ...common, ...receiver.env(instance) } });
  const launch = [
    spec({ id: 'fast', classes: ['junior'], dispatch: 'queue', ttl: '2s' }),
    spec({ id: 'slow', classes: ['senior'], dispatch: 'queue', ttl: '2s' }),
  ];
  await writeFile(path.join(cwd, 'job.json'), JSON.stringify(documents({ a: { launch } })));
  const worker = await startNode(MAIN, ['worker', '--json'], {
    cwd,
    env: { ...env, ...receiver.env('control') },
    onLine: (line, stream) => stream === 'stderr' && workerLogs.push(line),
  });
  await worker.ready('json', 60_000);
  const host = async (workerClass: string, hang: boolean) => {
    const storeUrl = `sqlite:${path.join(cwd, 'baton.db')}`;
    const input: TracedHostInput = { address, storeUrl, taskQueue: id, workerClass, hang };
    const onLine = (line: string) => void logs.push(line);
    const file = fixture(import.meta.url, 'fixtures/traced-host.ts');
    return startNode(file, [JSON.stringify(input)], { env: receiver.env(workerClass), onLine });
  };

  expect((await baton(['launch', 'job.json', '--run', 'r'], cli('launcher'))).exitCode).toBe(0);
  const first = await host('junior', true);
  await first.ready(/hanging/, 60_000);
  await waitFor(() => named('baton.effect').length > 0 && receiver.total('baton.claims') > 0);
  await waitFor(() => receiver.points('baton.lease.time_left').length > 0);
  first.kill('SIGKILL');
  await first.exited;
  const shown = async () =>
    (await batonJson<{ slots: { state: string; gate: string | null }[] }>(['show', 'r'], cli('reader'))).json
      .slots[0];
  await waitFor(async () => (await shown())?.state === 'retry-wait', { everyMs: 300 });
  const reassign = (workerClass: string, instance: string) =>
    baton(['reassign', 'r', 'a', '--class', workerClass, '--reason', 'its host is gone'], cli(instance));
  expect((await reassign('nobody', 'refused')).exitCode).toBe(3);
  expect((await reassign('senior', 'operator')).exitCode).toBe(0);
  const second = await host('senior', false);
  await waitFor(async () => (await shown())?.state === 'succeeded', { timeoutMs: 60_000, everyMs: 300 });
  attempts = (await batonJson<AttemptView[]>(['attempts', 'r'], cli('reader'))).json;
  await second.stop();
  await worker.stop();
}, 180_000);
afterAll(async () => {
  await stopAll();
  await receiver.close();
  await rm(cwd, { recursive: true, force: true });
});

const named = (name: string): readonly ReceivedSpan[] => receiver.spans.filter((span) => span.name === name);
const one = (name: string, attributes: Record<string, unknown> = {}): ReceivedSpan => {
  const found = named(name).filter((span) =>
    Object.entries(attributes).every(([key, value]) => span.attributes[key] === value),
  );
  expect(found, `${name} ${JSON.stringify(attributes)}`).toHaveLength(1);
  return found[0]!;
};

it('is one trace from the launch to the effects of both hosts, each span below what led to it', () => {
  const [lost, done] = attempts;
  expect([lost?.worker.status, done?.worker.status]).toEqual(['lost', 'succeeded']);
  const root = one('baton.launch');
  expect(root).toMatchObject({ process: 'launcher', service: 'baton-launch' });
  expect(root.parentSpanId ?? '').toBe('');
  expect(root.attributes).toMatchObject({ 'baton.tenant': id, 'baton.run': 'r', 'baton.package': 'job@1' });

  const claims = [1, 2].map((number) => one('baton.claim', { 'baton.number': number }));
  expect(claims.map(({ process }) => process)).toEqual(['junior', 'senior']);
  for (const [index, claim] of claims.entries()) {
    expect(claim.parentSpanId).toBe(root.spanId);
    expect(claim.attributes).toMatchObject({
      'baton.tenant': id,
      'baton.run': 'r',
      'baton.slot': 'a',
      'baton.attempt': attempts[index]?.attempt,
      'baton.epoch': index + 1,
    });
  }
  // The killed host has told nobody of its attempt's end; what it did before is there, and who it belongs to.
  const attempt = one('baton.attempt');
  expect(attempt).toMatchObject({ process: 'senior', parentSpanId: claims[1]?.spanId });
  expect(attempt.attributes).toMatchObject({
    'baton.attempt': done?.attempt,
    'baton.predecessor': lost?.attempt,
    'baton.class': 'senior',
    'baton.agent': 'tester@1',
    'baton.end': 'success',
  });
  const begun = one('baton.step', { 'baton.step': 'inventory', 'baton.attempt': lost?.attempt });
  expect(begun.attributes['baton.step.reused']).toBe(false);
  const reused = one('baton.step', { 'baton.step': 'inventory', 'baton.attempt': done?.attempt });
  expect(reused.attributes['baton.step.reused']).toBe(true);
  const write = one('baton.step', { 'baton.step': 'write' });
  const effect = one('baton.effect', { 'baton.attempt': done?.attempt });
  for (const span of [reused, write, effect]) expect(span.parentSpanId).toBe(attempt.spanId);
  expect(one('baton.step', { 'baton.step': 'write/draft' }).parentSpanId).toBe(write.spanId);
  const before = one('baton.effect', { 'baton.attempt': lost?.attempt });
  expect(before.attributes['baton.effect.key']).toBe(effect.attributes['baton.effect.key']);
  expect(before.parentSpanId).toBe(begun.parentSpanId);

  const all = receiver.spans.filter(({ name }) => !/^baton\.(reassign|publish)$/.test(name));
  expect(new Set(all.map(({ traceId }) => traceId))).toEqual(new Set([root.traceId]));
});

it('links the takeover to what it takes over from, and says what became of that', () => {
  const [claim, takeover] = [1, 2].map((number) => one('baton.claim', { 'baton.number': number }));
  const to = [{ traceId: claim!.traceId, spanId: claim!.spanId }];
  expect(takeover!.links).toMatchObject(to);
  expect(one('baton.attempt').links).toMatchObject(to);
  expect(takeover!.attributes['baton.predecessor']).toBe(attempts[0]?.attempt);
  const loss = one('baton.settle', { 'baton.attempt': attempts[0]?.attempt });
  expect(loss).toMatchObject({ process: 'control', parentSpanId: claim!.spanId });
  expect(loss.status).toMatchObject({ code: 2, message: 'LeaseExpired' });
  expect(loss.attributes).toMatchObject({ 'baton.end': 'expired', 'baton.code': 'LeaseExpired' });
  const success = one('baton.settle', { 'baton.attempt': attempts[1]?.attempt });
  expect(success).toMatchObject({ parentSpanId: takeover!.spanId, status: {} });
});

it('has the reassign of the operator and the one that was refused, by its code', () => {
  const [refused, accepted] = ['refused', 'operator'].map((process) =>
    named('baton.reassign').find((span) => span.process === process),
  );
  expect(refused?.status).toMatchObject({ code: 2, message: 'NoCompatibleLaunchSpec' });
  expect(refused?.attributes).toMatchObject({
    'baton.code': 'NoCompatibleLaunchSpec',
    'baton.class': 'nobody',
  });
  expect(refused?.events).toMatchObject([
    { name: 'exception', attributes: { 'exception.type': 'NoCompatibleLaunchSpec' } },
  ]);
  expect(accepted?.status.code ?? 0).toBe(0);
  expect(accepted?.attributes).toMatchObject({
    'baton.run': 'r',
    'baton.slot': 'a',
    'baton.class': 'senior',
  });
});

it('counts claims, losses, refusals, takeover and what was left of leases, each where it happens', () => {
  expect(receiver.total('baton.claims')).toBe(2);
  expect(receiver.total('baton.claims', { 'baton.class': 'senior', 'baton.takeover': true })).toBe(1);
  expect(receiver.points('baton.losses')).toMatchObject([
    {
      process: 'control',
      value: 1,
      unit: '{attempt}',
      attributes: { 'baton.class': 'junior', 'baton.end': 'expired' },
    },
  ]);
  expect(receiver.points('baton.refusals')).toMatchObject([
    {
      process: 'refused',
      value: 1,
      attributes: { 'baton.code': 'NoCompatibleLaunchSpec', 'baton.command': 'reassign' },
    },
  ]);
  const [takeover] = receiver.points('baton.takeover.duration');
  expect(takeover).toMatchObject({
    process: 'senior',
    unit: 's',
    count: 1,
    attributes: { 'baton.from': 'lost' },
  });
  const between = Date.parse(attempts[1]!.startedAt!) - Date.parse(attempts[0]!.endedAt!);
  expect(takeover!.value).toBeCloseTo(between / 1_000, 1);
  for (const left of receiver.points('baton.lease.time_left')) {
    expect(left.unit).toBe('s');
    expect(left.value / left.count).toBeGreaterThan(0);
    expect(left.value / left.count).toBeLessThan(2);
  }
  expect(receiver.points('baton.effects.unresolved')).toEqual([]);
});

it('exports the metrics of Temporal’s core of a control worker to the same place', () => {
  const core = receiver.raw.filter((text) => text.startsWith('/v1/metrics ') && text.includes('temporal_'));
  expect(core.length).toBeGreaterThan(0);
});

it('exports no payload, token or text of anybody', () => {
  const all = receiver.raw.join('\n');
  expect(all).toContain('baton.effect');
  expect(all).not.toMatch(/payload-of-the|its host is gone/);
});

it('writes log lines with run, slot and attempt, and the trace', () => {
  const lines = logs
    .filter((line) => line.startsWith('log '))
    .map((line) => JSON.parse(line.slice(4)) as Record<string, unknown>);
  const started = lines.filter(({ message }) => message === 'attempt started');
  const { traceId } = one('baton.launch');
  expect(started).toMatchObject(
    attempts.map(({ attempt, number, epoch }) => ({
      ...{ tenant: id, run: 'r', slot: 'a', attempt, number, epoch, trace_id: traceId, level: 'INFO' },
    })),
  );
  expect(lines.find(({ message }) => message === 'attempt ended')).toMatchObject({
    attempt: attempts[1]?.attempt,
    end: 'success',
    span_id: one('baton.attempt').spanId,
  });
  const lost = workerLogs.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lost.find(({ message }) => message === 'attempt lost')).toMatchObject({
    level: 'WARN',
    ...{
      tenant: id,
      run: 'r',
      slot: 'a',
      attempt: attempts[0]?.attempt,
      code: 'LeaseExpired',
      trace_id: traceId,
    },
  });
});
