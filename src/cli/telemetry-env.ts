/** What OpenTelemetry's environment variables say, for the parts that its SDK does not read itself. */
import { trace } from '@opentelemetry/api';

type Env = Readonly<Record<string, string | undefined>>;

const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT';
const EXPORTERS = ['OTEL_TRACES_EXPORTER', 'OTEL_METRICS_EXPORTER'] as const;

/** Whether the environment asks for any export. Empty variables count as unset, as OpenTelemetry has it. */
export function exportWanted(env: Env): boolean {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  const endpoint = [ENDPOINT, 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT'];
  if (endpoint.some((name) => env[name])) return EXPORTERS.some((name) => env[name] !== 'none');
  return EXPORTERS.some((name) => env[name] && env[name] !== 'none');
}

/** Whether somebody has registered an SDK before, by `node --import` for example: it stays as it is. */
export function isRegistered(): boolean {
  const span = trace.getTracer('temporal-baton').startSpan('probe');
  return span.spanContext().traceId !== '0'.repeat(32);
}

export interface CoreMetrics {
  readonly otel: {
    readonly url: string;
    readonly http: boolean;
    readonly headers: Record<string, string>;
    readonly metricsExportInterval: number;
  };
}

/** Where the metrics of Temporal's native core go: where ours go. Null when metrics are not exported by OTLP. */
export function coreMetrics(env: Env): CoreMetrics | null {
  const exporter = env['OTEL_METRICS_EXPORTER'] || 'otlp';
  if (!exportWanted(env) || !exporter.split(',').includes('otlp')) return null;
  const of = (name: string) => env[`OTEL_EXPORTER_OTLP_METRICS_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`];
  const http = of('PROTOCOL') !== 'grpc';
  const base = (env[ENDPOINT] || `http://localhost:${http ? 4318 : 4317}`).replace(/\/+$/, '');
  const own = env['OTEL_EXPORTER_OTLP_METRICS_ENDPOINT'];
  return {
    otel: {
      url: own || (http ? `${base}/v1/metrics` : base),
      http,
      headers: headersIn(of('HEADERS') ?? ''),
      metricsExportInterval: Number(env['OTEL_METRIC_EXPORT_INTERVAL']) || 60_000,
    },
  };
}

/** `key=value,key=value`, percent-encoded. */
function headersIn(text: string): Record<string, string> {
  const pairs = text.split(',').map((pair) => pair.split(/=(.*)/s).map((part) => part.trim()));
  return Object.fromEntries(pairs.flatMap(([key, value]) => (key && value ? [[key, decoded(value)]] : [])));
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
