/** The control worker as a command runs it: connected, polling, and stopped when told. Shared by `worker` and `dev`. */
import type { Context } from './context.js';
import { BatonError } from '../domain/errors.js';
import type { AuthorityEndpoint } from '../host/control.js';
import type { DeploymentVersion } from '../host/deployment.js';
import { writeLog, type LogEntry } from './log-line.js';
import { coreMetrics } from './telemetry-env.js';

export interface RunningControl {
  readonly address: string;
  readonly namespace: string;
  /** Base address of the authority check, or null. */
  readonly authorityUrl: string | null;
  /** Rejects when the worker ends by itself. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** @param given `address` of a server that was found, `plain` when it was started here; `authority` where the authority check is to listen */
export async function runControl(
  context: Context,
  given: {
    readonly address?: string;
    readonly plain?: boolean;
    readonly authority?: AuthorityEndpoint;
    readonly deployment?: DeploymentVersion;
  } = {},
): Promise<RunningControl> {
  const { address, authority, deployment } = given;
  const [
    { loadConnection, connect },
    { NativeConnection, Runtime, DefaultLogger, makeTelemetryFilterString },
    { startControlWorker },
  ] = await Promise.all([
    import('../server/connect.js'),
    import('@temporalio/worker'),
    import('../host/control.js'),
  ]);
  const metrics = coreMetrics(process.env);
  const log = (entry: LogEntry): void => writeLog(entry, context.json);
  logWarnings(log);
  // stdout belongs to the command's own output, and signals are handled by the command.
  Runtime.install({
    logger: new DefaultLogger('WARN', log),
    // Otherwise the native side of the SDK writes its own log to stdout.
    telemetryOptions: {
      logging: { filter: makeTelemetryFilterString({ core: 'WARN' }), forward: {} },
      ...(metrics ? { metrics } : {}),
    },
    shutdownSignals: [],
  });
  // A development server that was just started speaks no TLS, whatever is configured for others.
  const started = address === undefined ? {} : { address, ...(given.plain ? { tls: false } : {}) };
  const options = { ...(await context.connectOptions()), ...started };
  // Says at once, and in our words, when no server answers.
  await (await connect(options)).close();
  const loaded = loadConnection(options);
  const store = await context.store();
  const connection = await NativeConnection.connect(loaded.options);
  const worker = await startControlWorker({
    connection,
    namespace: loaded.namespace,
    store,
    taskQueue: context.taskQueue,
    dataConverter: { payloadCodecs: [...loaded.payloadCodecs] },
    ...(authority ? { authority } : {}),
    ...(deployment ? { deployment } : {}),
    ...(context.policy === undefined ? {} : { policy: context.policy }),
  }).catch(async (error: unknown) => {
    // A port that is taken is told at once, and not after the connection's own end.
    await connection.close();
    throw error;
  });
  let stopping = false;
  const ended = worker.run().then(() => {
    if (!stopping)
      throw BatonError.of('Internal', 'the control worker stopped by itself', {
        taskQueue: context.taskQueue,
      });
  });
  // Looked at by the command; without this a failure during its other waits would end the process.
  ended.catch(() => undefined);
  return {
    address: loaded.address,
    namespace: loaded.namespace,
    authorityUrl: worker.authorityUrl,
    ended,
    async stop() {
      stopping = true;
      await worker.shutdown();
      await ended.catch(() => undefined);
      await connection.close();
    },
  };
}

/** Node's warnings, ours of the audit among them, are lines of the same log: in Node's own form they would break whoever reads it. */
function logWarnings(log: (entry: LogEntry) => void): void {
  // None: this process was told not to print warnings.
  if (process.listenerCount('warning') === 0) return;
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message, code }: Error & { code?: string }) => {
    log({ level: 'WARN', message, meta: code === undefined ? { name } : { name, code } });
  });
}
