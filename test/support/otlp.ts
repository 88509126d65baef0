/** A receiver of OTLP over HTTP, as a collector is one: spans and metrics of any number of processes, as they came over the wire. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 2 is an error. */
  readonly status: { readonly code?: number; readonly message?: string };
  readonly events: readonly {
    readonly name: string;
    readonly attributes: Readonly<Record<string, unknown>>;
  }[];
  /** `service.instance.id` of the process. */
  readonly process: string;
  readonly service: string;
}

export interface ReceivedPoint {
  readonly name: string;
  readonly unit: string;
  readonly process: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of a counter its value, of a histogram its sum. */
  readonly value: number;
  /** Of a histogram. */
  readonly count: number;
}

export interface Receiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** All that came, as text: for what must not be in it. */
  readonly raw: readonly string[];
  /** Newest value of each metric, set of attributes and process. */
  points(name: string): readonly ReceivedPoint[];
  /** Sum over all processes of a counter's points with these attributes. */
  total(name: string, attributes?: Readonly<Record<string, unknown>>): number;
  /** Environment of a process that exports here. @param instance names it */
  env(instance: string): Record<string, string>;
  close(): Promise<void>;
}

interface Value {
  stringValue?: string;
  intValue?: string | number;
  doubleValue?: number;
  boolValue?: boolean;
}
type Pairs = readonly { key: string; value: Value }[] | undefined;
interface Point {
  attributes?: Pairs;
  asDouble?: number;
  asInt?: string | number;
  sum?: number;
  count?: string | number;
}
interface Metric {
  name: string;
  unit: string;
  sum?: { dataPoints: Point[] };
  gauge?: { dataPoints: Point[] };
  histogram?: { dataPoints: Point[] };
}
interface Resource {
  resource: { attributes: Pairs };
}
type Wire = Omit<ReceivedSpan, 'attributes' | 'links' | 'events' | 'process' | 'service'> & {
  attributes?: Pairs;
  links?: ReceivedSpan['links'];
  events?: { name: string; attributes?: Pairs }[];
};

const record = (pairs: Pairs): Record<string, unknown> =>
  Object.fromEntries(
    (pairs ?? []).map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? value.doubleValue ?? Number(value.intValue),
    ]),
  );

export async function startReceiver(): Promise<Receiver> {
  const spans: ReceivedSpan[] = [];
  const raw: string[] = [];
  const latest = new Map<string, ReceivedPoint>();
  const who = ({ resource }: Resource) => {
    const { 'service.instance.id': process, 'service.name': service } = record(resource.attributes);
    return { process: String(process), service: String(service) };
  };
  const takeSpans = (body: { resourceSpans?: (Resource & { scopeSpans: { spans: Wire[] }[] })[] }) => {
    for (const resource of body.resourceSpans ?? [])
      for (const { attributes, links, events, ...span } of resource.scopeSpans.flatMap(
        (scope) => scope.spans,
      ))
        spans.push({
          ...span,
          ...who(resource),
          attributes: record(attributes),
          links: links ?? [],
          events: (events ?? []).map((event) => ({ name: event.name, attributes: record(event.attributes) })),
        });
  };
  const takeMetrics = (body: {
    resourceMetrics?: (Resource & { scopeMetrics: { metrics: Metric[] }[] })[];
  }) => {
    for (const resource of body.resourceMetrics ?? [])
      for (const { name, unit, ...data } of resource.scopeMetrics.flatMap((scope) => scope.metrics))
        for (const point of (data.sum ?? data.gauge ?? data.histogram)?.dataPoints ?? []) {
          const attributes = record(point.attributes);
          const { process } = who(resource);
          const value = point.sum ?? point.asDouble ?? Number(point.asInt);
          const key = JSON.stringify([process, name, attributes]);
          latest.set(key, { name, unit, process, attributes, value, count: Number(point.count ?? 0) });
        }
  };
  const server = createServer((request, response) => {
    void buffer(request).then((sent) => {
      const bytes = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      raw.push(`${request.url} ${bytes.toString('latin1')}`);
      if (request.headers['content-type']?.includes('json')) {
        const body = JSON.parse(bytes.toString('utf8')) as object;
        takeSpans(body);
        takeMetrics(body);
      }
      response.writeHead(200, { 'content-type': request.headers['content-type'] ?? '' }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const points = (name: string) => [...latest.values()].filter((point) => point.name === name);
  return {
    url,
    spans,
    raw,
    points,
    total: (name, attributes = {}) =>
      points(name)
        .filter((point) =>
          Object.entries(attributes).every(([key, value]) => point.attributes[key] === value),
        )
        .reduce((sum, { value }) => sum + value, 0),
    env: (instance) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_RESOURCE_ATTRIBUTES: `service.instance.id=${instance}`,
      OTEL_LOGS_EXPORTER: 'none',
      // Soon: what a killed process has not sent is lost.
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_METRIC_EXPORT_INTERVAL: '200',
      OTEL_METRIC_EXPORT_TIMEOUT: '150',
    }),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
