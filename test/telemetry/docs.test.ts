/** The observability guide names each metric with its unit and each attribute, and the example's collector takes what is sent. */
import { readFile } from 'node:fs/promises';
import { metrics } from '@opentelemetry/api';
import { metrics as sdkMetrics } from '@opentelemetry/sdk-node';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { BatonError } from '../../src/domain/errors.js';
import * as measured from '../../src/telemetry/metrics.js';
import { ATTRIBUTES } from '../../src/telemetry/names.js';

const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

test('the table of metrics is the one in code', async () => {
  const exporter = new sdkMetrics.InMemoryMetricExporter(sdkMetrics.AggregationTemporality.CUMULATIVE);
  const reader = new sdkMetrics.PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  metrics.setGlobalMeterProvider(new sdkMetrics.MeterProvider({ readers: [reader] }));
  measured.countClaim('c', true);
  measured.countLoss('c', 'expired');
  measured.countRefusal(BatonError.of('StaleLease', 'no'), 'save');
  measured.countRefusal(BatonError.of('StoreUnavailable', 'no refusal by a rule'), 'save');
  measured.recordTakeover('c', { worker: { status: 'lost' }, endedAt: new Date(0).toISOString() }, 2_000);
  measured.recordTakeover('c', undefined, 2_000);
  measured.countUnresolved('pay');
  measured.recordTimeLeft('c', 1_500);
  await reader.forceFlush();
  const made = exporter.getMetrics()[0]!.scopeMetrics.flatMap(({ metrics: all }) => all);
  const points = made.map(({ descriptor, dataPoints }) => {
    expect(dataPoints).toHaveLength(1);
    const { value, attributes } = dataPoints[0]!;
    const named = Object.keys(attributes).map((name) => `\`${name}\``);
    const shape = typeof value === 'number' ? 'counter' : 'histogram';
    return [`\`${descriptor.name}\``, shape, `\`${descriptor.unit}\``, named.join(', ')];
  });
  const guide = await read('docs/observability.md');
  const table = /<!-- metrics[^>]*-->\n\n([\s\S]*?)\n\n<!-- \/metrics -->/
    .exec(guide)?.[1]
    ?.split('\n')
    .slice(2);
  const rows = table?.map((row) => row.split('|').map((cell) => cell.trim()));
  expect(rows?.map(([, name, shape, unit, , attributes]) => [name, shape, unit, attributes])).toEqual(points);
  const sums = Object.fromEntries(
    made.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints[0]!.value]),
  );
  expect(sums['baton.takeover.duration']).toMatchObject({ sum: 2, count: 1 });
  expect(sums['baton.lease.time_left']).toMatchObject({ sum: 1.5 });
});

test('the guide names every attribute', async () => {
  const guide = await read('docs/observability.md');
  for (const name of Object.values(ATTRIBUTES)) expect(guide, name).toContain(`\`${name}\``);
});

interface Collector {
  readonly receivers: {
    readonly otlp: { readonly protocols: Record<string, { readonly endpoint: string }> };
  };
  readonly processors: Record<string, unknown>;
  readonly exporters: Record<string, { readonly endpoint?: string }>;
  readonly service: {
    readonly pipelines: Record<string, Record<'receivers' | 'processors' | 'exporters', readonly string[]>>;
  };
}

test('the example’s collector has a pipeline for traces and one for metrics, and each of their parts', async () => {
  const config = parse(await read('examples/observability/otel-collector.yaml')) as Collector;
  expect(Object.keys(config.service.pipelines)).toEqual(['traces', 'metrics']);
  const used = { receivers: new Set<string>(), processors: new Set<string>(), exporters: new Set<string>() };
  for (const pipeline of Object.values(config.service.pipelines)) {
    expect(pipeline.processors[0]).toBe('memory_limiter');
    for (const kind of ['receivers', 'processors', 'exporters'] as const)
      for (const part of pipeline[kind]) used[kind].add(part);
  }
  // None is named that is not there, and none is there that is not used.
  for (const kind of ['receivers', 'processors', 'exporters'] as const)
    expect([...used[kind]].sort()).toEqual(Object.keys(config[kind]).sort());
  // Where OpenTelemetry's SDKs send by default.
  const ports = Object.entries(config.receivers.otlp.protocols).map(([name, { endpoint }]) => [
    name,
    endpoint,
  ]);
  expect(ports).toEqual([
    ['http', '127.0.0.1:4318'],
    ['grpc', '127.0.0.1:4317'],
  ]);
});
