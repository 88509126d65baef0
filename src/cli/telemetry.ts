/**
 * Export of traces and metrics by OpenTelemetry's own environment variables, with the SDK that is installed beside this package.
 * Nothing of it is loaded unless a variable asks for it, and no command fails for it.
 */
import { writeLog } from './log-line.js';
import { exportWanted, isRegistered } from './telemetry-env.js';

export interface Telemetry {
  /** Sends what is left; gives up after a while when nobody takes it. */
  stop(): Promise<void>;
}

const NONE: Telemetry = { stop: () => Promise.resolve() };
/** A collector that is not there must not hold up a command that is done. */
const FLUSH_LIMIT_MS = 2_000;

/**
 * @param command whose process this is; its service is `baton-<command>` unless `OTEL_SERVICE_NAME` names it
 * @param json what is to be said of the export is said as the command's log is: a JSON document a line
 */
export async function startTelemetry(command: string, json: boolean, env = process.env): Promise<Telemetry> {
  if (!exportWanted(env) || isRegistered()) return NONE;
  const [sdk, { diag, DiagLogLevel }] = await Promise.all([
    import('@opentelemetry/sdk-node').catch(() => null),
    import('@opentelemetry/api'),
  ]);
  if (!sdk) {
    sayer(json)('WARN', MISSING);
    return NONE;
  }
  const named =
    env['OTEL_SERVICE_NAME'] || /(^|,)\s*service\.name=/.test(env['OTEL_RESOURCE_ATTRIBUTES'] ?? '');
  const { envDetector, hostDetector } = sdk.resources;
  const node = new sdk.NodeSDK({
    // Not the process: its attributes have the command line, and a holder's has its lease token.
    resourceDetectors: [envDetector, hostDetector],
    ...(named ? {} : { serviceName: `baton-${command}` }),
  });
  // Standard output is the command's own.
  const level = env['OTEL_LOG_LEVEL']?.toUpperCase() as keyof typeof DiagLogLevel | undefined;
  diag.setLogger(loggerOf(sayer(json)), {
    logLevel: DiagLogLevel[level ?? 'ERROR'],
    suppressOverrideMessage: true,
  });
  node.start();
  return {
    async stop() {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, FLUSH_LIMIT_MS)));
      await Promise.race([node.shutdown().catch(() => undefined), late]);
      clearTimeout(timer);
    },
  };
}

const MISSING =
  'the environment asks for OpenTelemetry export, and @opentelemetry/sdk-node is not installed: nothing is exported. ' +
  'Run `npm install @opentelemetry/sdk-node`, or set OTEL_SDK_DISABLED=true.';

type Say = (level: string, text: unknown) => void;

const sayer =
  (json: boolean): Say =>
  (level, text) => {
    const [line = ''] = String(text).split('\n');
    writeLog({ level, message: line.slice(0, 500) }, json);
  };

const loggerOf = (say: Say) => ({
  error: (text: string) => say('ERROR', text),
  warn: (text: string) => say('WARN', text),
  info: (text: string) => say('INFO', text),
  debug: (text: string) => say('DEBUG', text),
  verbose: (text: string) => say('TRACE', text),
});
