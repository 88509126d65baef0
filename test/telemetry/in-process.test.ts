/**
 * What a takeover does not show: runs without an SDK, roll-overs, direct claims and their refusals, effects that nobody can tell of,
 * errors of agents, and Temporal's own interceptors beside ours.
 */
import { context, trace, type Context } from '@opentelemetry/api';
import { metrics as sdkMetrics, NodeSDK, tracing } from '@opentelemetry/sdk-node';
import { Client, type WorkflowClientInterceptor } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { defineAgent, type AgentContext } from '../../src/agent/types.js';
import { BatonClient } from '../../src/client/client.js';
import { BatonError } from '../../src/domain/errors.js';
import { TRACE_HEADER, workflowIdOf } from '../../src/domain/wire.js';
import { startBaton, type Baton } from '../support/baton.js';
import { documents, spec } from '../support/definitions.js';
import { launchNodes, rollOver } from '../support/steps.js';
import { waitFor } from '../support/wait.js';

const spans = new tracing.InMemorySpanExporter();
const meters = new sdkMetrics.InMemoryMetricExporter(sdkMetrics.AggregationTemporality.CUMULATIVE);
const reader = new sdkMetrics.PeriodicExportingMetricReader({
  exporter: meters,
  exportIntervalMillis: 3_600_000,
});
const sdk = new NodeSDK({
  spanProcessors: [new tracing.SimpleSpanProcessor(spans)],
  metricReaders: [reader],
});
let baton: Baton;

const queue = (workerClass: string) => ({
  launch: [spec({ classes: [workerClass], dispatch: 'queue', ttl: '5s' })],
});
const human = { launch: [spec({ classes: ['human'], ttl: '60s' })] };
const history = async (run: string, runId?: string) =>
  (await baton.temporal.workflow.getHandle(workflowIdOf(baton.tenant, run), runId).fetchHistory()).events ??
  [];
const ended = (name: string) => spans.getFinishedSpans().filter((span) => span.name === name);
const spanOf = (name: string) => waitFor(() => ended(name)[0], { what: name });
const points = async (name: string) => {
  await reader.forceFlush();
  const scopes = meters.getMetrics().at(-1)?.scopeMetrics ?? [];
  return scopes
    .flatMap(({ metrics }) => metrics)
    .filter(({ descriptor }) => descriptor.name === name)
    .flatMap(({ dataPoints }) => dataPoints as { attributes: object; value: unknown }[]);
};

beforeEach(async () => {
  spans.reset();
  baton = await startBaton();
});

describe('without an SDK', () => {
  it('adds nothing to a run: no header, and nothing in the answer of a claim', async () => {
    const run = await launchNodes(baton, { a: human });
    await run.slot('a').claim({ workerClass: 'human', worker: 'ann' });
    const events = JSON.stringify(await history(run.run));
    expect(events).toContain('claimSlot');
    expect(events).not.toContain(TRACE_HEADER);
    expect(JSON.stringify(await run.show())).not.toContain('trace');
    const claimed = (await history(run.run)).find((event) => event.activityTaskCompletedEventAttributes);
    const { data } = claimed!.activityTaskCompletedEventAttributes!.result!.payloads![0]!;
    expect(JSON.parse(Buffer.from(data!).toString('utf8'))).not.toHaveProperty('trace');
  });
});

describe('with an SDK', () => {
  beforeAll(() => sdk.start());
  afterAll(() => sdk.shutdown());

  it('keeps one trace over continue-as-new', async () => {
    const host = await baton.startHost([defineAgent({ workerClass: 'late', run: async () => 1 })]);
    const run = await launchNodes(
      baton,
      { noise: human, first: human, then: { ...queue('late'), dependsOn: ['first'] } },
      { rollOverEvents: 40 },
    );
    await rollOver(baton, run);
    const { lease } = await run.slot('first').claim({ workerClass: 'human', worker: 'ann' });
    await run.slot('first').complete(lease.token);
    const attempt = await spanOf('baton.attempt');
    const [launch] = ended('baton.launch');
    const claim = ended('baton.claim').find((span) => span.attributes['baton.class'] === 'late');
    expect(claim?.parentSpanContext?.spanId).toBe(launch?.spanContext().spanId);
    expect(attempt.parentSpanContext?.spanId).toBe(claim?.spanContext().spanId);
    expect(attempt.spanContext().traceId).toBe(launch?.spanContext().traceId);
    await host.shutdown();
  });

  it('has each command of a holder, counts its refusals by code, and times the takeover by hand', async () => {
    const run = await launchNodes(baton, { a: human });
    const slot = run.slot('a');
    const ann = await slot.claim({ workerClass: 'human', worker: 'ann', commandId: 'claim-1' });
    await slot.heartbeat(ann.lease.token);
    await slot.release(ann.lease.token, { reason: 'lunch' });
    await waitFor(async () => (await slot.show()).gate === 'open');
    const bob = await slot.claim({ workerClass: 'human', worker: 'bob' });
    await expect(slot.complete(ann.lease.token)).rejects.toMatchObject({ code: 'StaleLease' });
    await expect(slot.complete(ann.lease.token, { result: 'x'.repeat(70_000) })).rejects.toMatchObject({
      code: 'TooLarge',
    });
    await expect(slot.releaseHold({ reason: 'no hold' })).rejects.toBeInstanceOf(BatonError);
    const refusals = await points('baton.refusals');
    expect(refusals).toMatchObject([
      { value: 1, attributes: { 'baton.code': 'StaleLease', 'baton.command': 'complete' } },
      { value: 1, attributes: { 'baton.command': 'releaseHold' } },
    ]);
    expect(ended('baton.release-hold')).toHaveLength(1);
    await slot.complete(bob.lease.token);
    expect(ended('baton.request-claim')[0]?.attributes).toMatchObject({ 'baton.command_id': 'claim-1' });
    expect(ended('baton.complete').map(({ status }) => status.message)).toEqual([
      'StaleLease',
      'TooLarge',
      undefined,
    ]);
    expect(ended('baton.heartbeat')).toHaveLength(1);
    const [takeover] = await points('baton.takeover.duration');
    expect(takeover).toMatchObject({
      attributes: { 'baton.class': 'human', 'baton.from': 'released' },
      value: { count: 1 },
    });
    const text = JSON.stringify(
      spans.getFinishedSpans().map(({ attributes, events }) => [attributes, events]),
    );
    expect(text).not.toContain(ann.lease.token);
    expect(text).not.toContain('lunch');
  });

  it('counts an effect that nobody can tell of once, and marks the attempt by code without its words', async () => {
    let asked = 0;
    const agent = defineAgent({
      workerClass: 'payer',
      run: async (ctx: AgentContext) => {
        const pay = () =>
          ctx.effect('pay', {
            request: { card: 'secret-card' },
            perform: () => Promise.reject(new Error('secret-words of the bank')),
            lookup: () => {
              asked += 1;
              return { state: 'unknown' };
            },
          });
        await pay().catch(() => undefined);
        await pay();
      },
    });
    await baton.startHost([agent]);
    await launchNodes(baton, { a: { launch: [spec({ classes: ['payer'], dispatch: 'queue', ttl: '5s' })] } });
    const attempt = await spanOf('baton.attempt');
    expect(asked).toBeGreaterThan(1);
    expect(attempt.status.message).toBe('EffectUnresolved');
    expect(attempt.attributes).toMatchObject({ 'baton.end': 'failure', 'baton.code': 'EffectUnresolved' });
    expect(ended('baton.effect').map(({ status }) => status.message)).toEqual([
      'EffectUnresolved',
      'EffectUnresolved',
    ]);
    expect(await points('baton.effects.unresolved')).toMatchObject([
      { value: 1, attributes: { 'baton.effect': 'pay' } },
    ]);
    const text = JSON.stringify(
      spans.getFinishedSpans().map(({ attributes, events, status }) => [attributes, events, status]),
    );
    expect(text).not.toContain('secret');
  });

  it('runs an agent within its attempt’s span, and in a trace that the caller of launch has begun', async () => {
    let seen: Context | undefined;
    await baton.startHost([
      defineAgent({
        workerClass: 'own',
        run: async (ctx) => {
          await ctx.step('ask', () =>
            trace.getTracer('users').startActiveSpan('model.call', (span) => span.end()),
          );
          seen = context.active();
        },
      }),
    ]);
    const root = trace.getTracer('users').startSpan('http.request');
    await context.with(trace.setSpan(context.active(), root), () => launchNodes(baton, { a: queue('own') }));
    root.end();
    const attempt = await spanOf('baton.attempt');
    expect(trace.getSpan(seen!)?.spanContext().spanId).toBe(attempt.spanContext().spanId);
    const [step] = ended('baton.step');
    expect(ended('model.call')[0]?.parentSpanContext?.spanId).toBe(step?.spanContext().spanId);
    expect(ended('baton.launch')[0]?.parentSpanContext?.spanId).toBe(root.spanContext().spanId);
    expect(attempt.spanContext().traceId).toBe(root.spanContext().traceId);
  });

  it('keeps the interceptors that a client has already, of Temporal’s old style too', async () => {
    await baton.as().publish({ documents: documents({ a: human }) });
    const connection = baton.temporal.connection;
    for (const style of ['new', 'old']) {
      const called: string[] = [];
      const own: WorkflowClientInterceptor = {
        startWithDetails: (input, next) => {
          called.push(style);
          return next(input);
        },
      };
      const workflow = style === 'new' ? [own] : { calls: [() => own] };
      const temporal = new Client({ connection, interceptors: { workflow } });
      const { tenant, store, taskQueue } = baton;
      const client = new BatonClient(temporal, { tenant, actor: 'ada', store, taskQueue });
      const run = await client.launch({ package: 'job' });
      expect(called).toEqual([style]);
      const [started] = await history(run.run);
      const header = started?.workflowExecutionStartedEventAttributes?.header?.fields ?? {};
      expect(Object.keys(header)).toEqual([TRACE_HEADER]);
    }
  });
});
