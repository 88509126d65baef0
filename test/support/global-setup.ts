/**
 * One Temporal server and one Postgres for the whole suite, started when the first test asks for it, so that a run of pure tests
 * pays nothing. Test processes ask over a local port, whose address they get by vitest's `inject`.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { NoPostgres, startPostgres, type Postgres } from './postgres.js';
import { ensureServer, resolveTemporalCli, type TemporalServer } from '../../src/server/find.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Ask with GET; `/server` answers {@link SharedServer}, `/cli` the path of `temporal`, `/postgres` {@link SharedPostgres}. */
    temporalDesk: string;
  }
}

export interface SharedServer {
  readonly address: string;
  readonly uiUrl: string | null;
  readonly namespace: string;
}

/** Its superuser's database, or why there is none on this machine. */
export type SharedPostgres = { readonly url: string } | { readonly missing: string };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const onProgress = (message: string) => console.error(`[test server] ${message}`);
  let cli: Promise<string> | undefined;
  let server: Promise<TemporalServer> | undefined;
  let postgres: Promise<Postgres> | undefined;
  const answers: Record<string, () => Promise<unknown>> = {
    '/cli': () => (cli ??= resolveTemporalCli({ onProgress })),
    '/server': async () => {
      server ??= ensureServer({ preferExisting: false, onProgress });
      const { address, uiUrl } = await server;
      return { address, uiUrl, namespace: 'default' } satisfies SharedServer;
    },
    '/postgres': () =>
      (postgres ??= startPostgres()).then(
        ({ url }): SharedPostgres => ({ url }),
        (error: unknown): SharedPostgres => {
          if (error instanceof NoPostgres) return { missing: error.message };
          throw error;
        },
      ),
  };
  const desk = createServer((request, response) => {
    const answer = answers[request.url ?? ''];
    if (answer === undefined) return response.writeHead(404).end();
    answer().then(
      (value) => response.end(JSON.stringify(value)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
    return undefined;
  });
  await new Promise<void>((resolve) => desk.listen(0, '127.0.0.1', resolve));
  project.provide('temporalDesk', `http://127.0.0.1:${(desk.address() as AddressInfo).port}`);
  return async () => {
    desk.closeAllConnections();
    await new Promise((resolve) => desk.close(resolve));
    for (const started of [server, postgres])
      await started?.then(
        (running) => running.stop(),
        () => undefined,
      );
  };
}
