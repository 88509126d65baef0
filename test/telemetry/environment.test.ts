/** What OpenTelemetry's environment variables make the command line do, and what its log lines look like. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { logLine } from '../../src/cli/log-line.js';
import { coreMetrics, exportWanted } from '../../src/cli/telemetry-env.js';
import { baton, MAIN } from '../cli/cli.js';
import { startNode } from '../support/processes.js';
import { sharedServer } from '../support/server.js';
import { waitFor } from '../support/wait.js';

it.each([
  [{}, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
  [{ OTEL_SERVICE_NAME: 'x' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }, true],
  [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://c:4318/v1/metrics' }, true],
  [{ OTEL_TRACES_EXPORTER: 'console' }, true],
  [{ OTEL_TRACES_EXPORTER: 'none' }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_TRACES_EXPORTER: 'none' }, true],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' },
    false,
  ],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'TRUE' }, false],
])('%j: export wanted is %s', (env, wanted) => {
  expect(exportWanted(env)).toBe(wanted);
});

it('sends the metrics of Temporal’s core where ours go', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' };
  const http = { url: 'http://c:4318/v1/metrics', http: true, headers: {}, metricsExportInterval: 60_000 };
  expect(coreMetrics(endpoint)?.otel).toEqual(http);
  expect(
    coreMetrics({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4317',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a=b, tenant = x,broken',
      OTEL_METRIC_EXPORT_INTERVAL: '5000',
    })?.otel,
  ).toEqual({
    url: 'http://c:4317',
    http: false,
    headers: { authorization: 'Bearer a=b', tenant: 'x' },
    metricsExportInterval: 5_000,
  });
  const own = { ...endpoint, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://m/v1/metrics' };
  expect(coreMetrics(own)?.otel.url).toBe('http://m/v1/metrics');
  expect(coreMetrics({ ...endpoint, OTEL_METRICS_EXPORTER: 'none' })).toBeNull();
  expect(coreMetrics({ ...endpoint, OTEL_METRICS_EXPORTER: 'prometheus' })).toBeNull();
  expect(coreMetrics({})).toBeNull();
});

it('writes a log line as text for people and as JSON for machines', () => {
  const meta = { sdkComponent: 'activity', run: 'r', slot: 'a', attempt: 'a-1', error: new Error('no') };
  const entry = { level: 'WARN', message: 'attempt lost', timestampNanos: 1_700_000_000_000_000_000n, meta };
  expect(logLine(entry, false)).toBe('WARN attempt lost: no [run=r slot=a attempt=a-1]');
  expect(JSON.parse(logLine(entry, true))).toEqual({
    ...{ time: '2023-11-14T22:13:20.000Z', level: 'WARN', message: 'attempt lost' },
    ...{ sdkComponent: 'activity', run: 'r', slot: 'a', attempt: 'a-1', error: 'no' },
  });
  expect(logLine({ level: 'INFO', message: 'm', meta: undefined }, false)).toBe('INFO m');
});

it('says what is missing when export is asked for without an SDK, and does its work all the same', async () => {
  const cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-nosdk-'));
  const hooks = `export const resolve = (name, context, next) =>
    name === '@opentelemetry/sdk-node' ? Promise.reject(new Error('not found')) : next(name, context)`;
  const register = `import { register } from 'node:module'; register(${JSON.stringify(js(hooks))});`;
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    NODE_OPTIONS: `--import "${js(register)}"`,
  };
  // No server is asked: the launch fails on what it is told to launch.
  const { exitCode, stdout, stderr } = await baton(['launch', 'nothing@1', '--json'], { cwd, env });
  const asText = await baton(['launch', 'nothing@1'], { cwd, env });
  await rm(cwd, { recursive: true });
  const message = expect.stringContaining('@opentelemetry/sdk-node is not installed') as string;
  expect(JSON.parse(stderr)).toMatchObject({ level: 'WARN', message });
  expect(asText.stderr).toMatch(/^WARN .*@opentelemetry\/sdk-node is not installed/);
  expect(exitCode).not.toBe(0);
  expect(JSON.parse(stdout)).toHaveProperty('error.code');
});

it('says what OpenTelemetry says as the command’s log is: with --json a document a line', async () => {
  const cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-diag-'));
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_LOG_LEVEL: 'debug' };
  const { stderr } = await baton(['launch', 'nothing@1', '--json'], { cwd, env });
  await rm(cwd, { recursive: true });
  const lines = stderr.split('\n').map((line) => JSON.parse(line) as object);
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines)
    expect(line).toEqual({
      time: expect.any(String) as string,
      level: expect.stringMatching(/^[A-Z]+$/) as string,
      message: expect.any(String) as string,
    });
});

it.each([
  ['a document of the log', ['--json'], (line: string) => JSON.parse(line) as unknown],
  ['a line of the log', [], (line: string) => line],
])(
  '%s is what a warning of Node’s or a library’s is in a worker',
  async (_what, flags, read) => {
    const cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-warning-'));
    const warn = `setInterval(() => process.emitWarning('of a library', { code: 'LIB' }), 100).unref();`;
    const { address } = await sharedServer();
    const lines: string[] = [];
    const env = { NODE_OPTIONS: `--import "${js(warn)}"` };
    const worker = await startNode(
      MAIN,
      ['worker', '--address', address, '--task-queue', path.basename(cwd), ...flags],
      {
        ...{ cwd, env },
        onLine: (line, stream) => stream === 'stderr' && lines.push(line),
      },
    );
    await waitFor(() => lines.some((line) => !line.startsWith('(')), { what: 'a line of the log' });
    worker.kill('SIGTERM');
    await worker.exited;
    await rm(cwd, { recursive: true });
    // Before it has a log, a process warns as Node does.
    const logged = lines.filter((line) => !line.startsWith('(')).map(read);
    const entry = { level: 'WARN', message: 'of a library', name: 'Warning', code: 'LIB' };
    for (const line of logged)
      if (flags.length === 0) expect(line).toBe('WARN of a library [code=LIB]');
      else expect(line).toMatchObject(entry);
  },
  60_000,
);

it('does not hold a command up when nobody takes what it exports', async () => {
  const cwd = await mkdtemp(path.join(os.tmpdir(), 'baton-nocollector-'));
  let connections = 0;
  const deaf = createServer(() => (connections += 1));
  await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
  const { port } = deaf.address() as AddressInfo;
  const { address } = await sharedServer();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, TEMPORAL_ADDRESS: address };
  const from = performance.now();
  const { stdout } = await baton(['launch', 'nothing@1', '--json'], { cwd, env });
  const tookMs = performance.now() - from;
  deaf.close();
  await rm(cwd, { recursive: true });
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'UnknownRevision' } });
  expect(connections).toBeGreaterThan(0);
  // An exporter gives up after ten seconds.
  expect(tookMs).toBeLessThan(8_000);
}, 60_000);

const js = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
