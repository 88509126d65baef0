/** A Temporal server of the matrix's own, with a data file, that can be killed and comes back on the same port. */
import type { Client } from '@temporalio/client';
import { connect } from '../src/server/connect.js';
import { startDevServer, type DevServer } from '../src/server/dev-server.js';
import { resolveTemporalCli } from '../src/server/temporal-cli.js';
import type { AtEnd } from './ends.js';

export interface RestartableServer {
  readonly address: string;
  readonly client: Client;
  /** SIGKILL; returns once the process is gone. */
  kill(): Promise<void>;
  /** The same data file, the same port. */
  restart(): Promise<void>;
}

export async function startServer(
  dataFile: string,
  atEnd: AtEnd,
  onProgress: (message: string) => void,
): Promise<RestartableServer> {
  const cli = await resolveTemporalCli({ onProgress });
  const start = (port?: number): Promise<DevServer> =>
    startDevServer({ cli, dataFile, port, ui: false, searchAttributes: true });
  let server = await start();
  atEnd(() => server.stop());
  const { address, port } = server;
  // Never closed: it ends with this process. What an interruption leaves behind is repeated by a timer of the client's, which
  // throws on a closed connection, past every catch.
  const connection = await connect({ address, namespace: 'default', env: {} });
  return {
    address,
    client: connection.client,
    kill: () => server.kill(),
    restart: async () => {
      server = await start(port);
    },
  };
}
