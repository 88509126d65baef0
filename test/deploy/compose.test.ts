/**
 * docker-compose.yml and what it mounts, where no container engine is:
 * - it is valid by the Compose Specification's schema, and what is wrong is not;
 * - versions are pinned, what stays up has health checks, what is mounted is there and says what it is for, who waits for whom makes sense;
 * - commands and variables are those that Baton knows, in the file, in its own head and in the guide;
 * - the shell of the one-shot services does for both databases and the namespace what Temporal's tools are asked for.
 * topology.test.ts runs the same without containers.
 */
import { access, chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import Ajv from 'ajv';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../src/cli/demo/stage.js';

interface Service {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly restart?: string;
  readonly healthcheck?: { readonly test: readonly string[]; readonly [key: string]: unknown };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly profiles?: readonly string[];
}
interface Collector {
  readonly receivers: {
    readonly otlp: { readonly protocols: Readonly<Record<string, { endpoint: string }>> };
  };
  readonly service: {
    readonly pipelines: Readonly<Record<string, { readonly receivers: readonly string[] }>>;
  };
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const root = packageRoot();
const read = (file: string): Promise<string> => readFile(path.join(root, file), 'utf8');
const text = await read('docker-compose.yml');
const compose = parse(text, { merge: true }) as Compose;
const services = Object.entries(compose.services);
/** Those that are up as long as the whole is. */
const staying = services.filter(([, { restart }]) => restart === 'unless-stopped');
const PINNED = /^[a-z0-9./-]+:\d+\.\d+(\.\d+)?[a-z0-9.-]*$/;

const validate = await (async () => {
  // The address of the draft is not the one under which it is known.
  const { $schema: _draft, ...schema } = JSON.parse(await read('test/deploy/compose-spec/schema.json'));
  return new Ajv({ allErrors: true }).compile(schema);
})();
const problemsOf = (document: unknown): readonly string[] => {
  validate(document);
  return (validate.errors ?? []).map(({ dataPath, message }) => `${dataPath} ${message}`);
};
const withService = (name: string, change: object): unknown => {
  const changed = structuredClone(compose) as { services: Record<string, object> };
  Object.assign(changed.services[name]!, change);
  return changed;
};

test('it is valid by the compose schema', () => {
  expect(problemsOf(compose)).toEqual([]);
});

test.each([
  ['a field that no service has', 'temporal', { imagee: 'temporalio/server:1' }],
  ['a condition that does not exist', 'temporal', { depends_on: { postgres: { condition: 'healthy' } } }],
  ['a health check without its name', 'postgres', { healthcheck: { tests: ['CMD', 'true'] } }],
  ['a port of no shape', 'temporal-ui', { ports: [{ from: 8080 }] }],
  ['an environment of lists', 'baton-worker', { environment: { BATON_STORE: ['a'] } }],
])('the schema refuses %s', (_what, name, change) => {
  expect(problemsOf(withService(name, change))).not.toEqual([]);
});

test('it has Temporal with Postgres, its UI, control worker, agent host and collector', () => {
  const names = services.map(([name]) => name);
  expect(names).toEqual(
    expect.arrayContaining([
      ...['postgres', 'temporal', 'temporal-ui', 'otel-collector'],
      ...['baton-worker', 'baton-host', 'baton-setup'],
    ]),
  );
});

test('every image has a version of its own, or is built here', () => {
  for (const [, { image, build }] of services) if (!build) expect(image).toMatch(PINNED);
  expect('postgres:latest').not.toMatch(PINNED);
  expect('temporalio/ui').not.toMatch(PINNED);
});

test('all that stays up has a health check, but for the collector, whose image has no shell', () => {
  const without = staying.filter(([, { healthcheck }]) => !healthcheck).map(([name]) => name);
  expect(without).toEqual(['otel-collector']);
  for (const [, { healthcheck = { test: [] } }] of services)
    for (const [name, value] of Object.entries(healthcheck))
      if (/interval|timeout|period/.test(name)) expect(value, name).toMatch(/^\d+m?s$/);
});

test('each waits for services that can become what it waits for', () => {
  for (const [name, { depends_on: needs = {} }] of services)
    for (const [needed, { condition }] of Object.entries(needs)) {
      const service = compose.services[needed];
      expect(service, `${name} waits for ${needed}`).toBeDefined();
      if (condition === 'service_healthy') expect(service!.healthcheck, needed).toBeDefined();
      const stays = staying.some(([one]) => one === needed);
      expect(stays, `${name} waits for the end of ${needed}`).toBe(
        condition !== 'service_completed_successfully',
      );
    }
  // `up --wait` takes the end of a service for a failure unless another waits for just that.
  const awaited = services.flatMap(([, { depends_on: needs = {} }]) =>
    Object.entries(needs).flatMap(([name, { condition }]) =>
      condition === 'service_completed_successfully' ? [name] : [],
    ),
  );
  const ending = services.filter(([, { restart, profiles }]) => restart !== 'unless-stopped' && !profiles);
  expect(ending.map(([name]) => name).sort()).toEqual(awaited.sort());
});

test('what is mounted is there, and ports are published on this machine alone', async () => {
  for (const [, { volumes = [], ports = [] }] of services) {
    for (const volume of volumes) {
      const [source = ''] = volume.split(':');
      if (source.startsWith('.')) await access(path.join(root, source));
      else expect(Object.keys(compose.volumes)).toContain(source);
    }
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
});

test('what is mounted says what it is for: the collector takes what is sent to it, the server knows its settings', async () => {
  const mounted = async (name: string): Promise<unknown> => {
    const [source = ''] = compose.services[name]!.volumes![0]!.split(':');
    return parse(await read(source));
  };
  const place = (name: string): string => compose.services[name]!.volumes![0]!.split(':')[1]!;
  expect(compose.services['otel-collector']!.command).toEqual([`--config=${place('otel-collector')}`]);
  expect(compose.services['temporal']!.environment!['DYNAMIC_CONFIG_FILE_PATH']).toBe(place('temporal'));
  const { receivers, service } = (await mounted('otel-collector')) as Collector;
  const endpoint = new URL(compose.services['baton-worker']!.environment!['OTEL_EXPORTER_OTLP_ENDPOINT']!);
  expect(endpoint.hostname).toBe('otel-collector');
  expect(receivers.otlp.protocols['http']!.endpoint).toBe(`0.0.0.0:${endpoint.port}`);
  expect(Object.keys(service.pipelines)).toEqual(['traces', 'metrics']);
  for (const pipeline of Object.values(service.pipelines)) expect(pipeline.receivers).toEqual(['otlp']);
  expect(await mounted('temporal')).toEqual({
    'system.forceSearchAttributesCacheRefreshOnRead': [{ value: true }],
    'limit.maxIDLength': [{ value: 255 }],
  });
});

const baton = (...args: string[]): Promise<{ stdout: string }> =>
  execa(process.execPath, [path.join(root, 'dist/src/cli/main.js'), ...args]);

test('commands and variables are those that Baton knows', async () => {
  const globals = (await baton('--help')).stdout;
  const host = await read('examples/compose/host.ts');
  for (const [name, { command, entrypoint, environment, image }] of services) {
    if (image !== compose.services['baton-worker']!.image) continue;
    if (command) {
      const help = (await baton(command[0]!, '--help')).stdout;
      for (const flag of command.filter((word) => word.startsWith('--')))
        expect(help, `${name} ${flag}`).toMatch(new RegExp(`^ +${flag}\\b`, 'm'));
    }
    for (const variable of Object.keys(environment ?? {}).filter((one) => !/^(PG|OTEL_)/.test(one)))
      expect(entrypoint ? host + globals : globals, `${name} ${variable}`).toMatch(
        new RegExp(`\\b${variable}\\b`),
      );
  }
});

test('the commands that are shown for it exist, with services, subcommands and files that exist', async () => {
  const shown = (await Promise.all(['docker-compose.yml', 'docs/operations.md', 'README.md'].map(read)))
    .join('\n')
    .match(/docker compose run --rm .+/g)!;
  expect(shown.length).toBeGreaterThanOrEqual(4);
  const { stdout: help } = await baton('--help');
  for (const line of shown) {
    const [service = '', subcommand = '', ...words] = line
      .replace('docker compose run --rm ', '')
      .split(/[\s`]+/);
    expect(Object.keys(compose.services), line).toContain(service);
    expect(help, line).toMatch(new RegExp(`^  ${subcommand}\\b`, 'm'));
    for (const word of words.filter((one) => one.endsWith('.yaml'))) await access(path.join(root, word));
  }
});

test('both databases and the namespace are made in the order that Temporal asks for', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'baton-test-compose-'));
  try {
    // Say what they were asked for. The namespace is not there yet.
    for (const tool of ['temporal-sql-tool', 'temporal']) {
      const file = path.join(folder, tool);
      await writeFile(file, `#!/bin/sh\necho "$@"\ncase "$*" in *describe*) exit 1;; esac\n`);
      await chmod(file, 0o755);
    }
    const asked = async (name: string): Promise<readonly string[]> => {
      const { entrypoint = [], command = [] } = compose.services[name]!;
      const [shell = '', ...args] = [...entrypoint, ...command.map((line) => line.replaceAll('$$', '$'))];
      const { stdout } = await execa(shell, args, { env: { PATH: folder }, extendEnv: false });
      return stdout.split('\n');
    };
    const schema = '/etc/temporal/schema/postgresql/v12';
    const calls = (database: string, kind: string) => [
      `--db ${database} create`,
      `--db ${database} setup-schema -v 0.0`,
      `--db ${database} update-schema -d ${schema}/${kind}/versioned`,
    ];
    expect(await asked('temporal-schema')).toEqual([
      ...calls('temporal', 'temporal'),
      ...calls('temporal_visibility', 'visibility'),
    ]);
    expect(await asked('temporal-namespace')).toEqual([
      'operator namespace describe --namespace default',
      'operator namespace create --namespace default --retention 30d',
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('the processes of one deployment agree on server, namespace, store and task queue', () => {
  const own = services.filter(([, { image }]) => image === compose.services['baton-worker']!.image);
  expect(own.length).toBeGreaterThanOrEqual(4);
  for (const name of [
    'TEMPORAL_ADDRESS',
    'TEMPORAL_NAMESPACE',
    'BATON_STORE',
    'BATON_TASK_QUEUE',
    'PGPASSWORD',
  ])
    expect(new Set(own.map(([, { environment }]) => environment?.[name])).size, name).toBe(1);
  const { environment: postgres } = compose.services['postgres']!;
  const store = new URL(own[0]![1].environment!['BATON_STORE']!);
  expect([store.username, store.hostname, store.pathname]).toEqual([
    postgres!['POSTGRES_USER'],
    'postgres',
    `/${postgres!['POSTGRES_DB']}`,
  ]);
  // A password in the address would be in messages of others than ours.
  expect(store.password).toBe('');
});
