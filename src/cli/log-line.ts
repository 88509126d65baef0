/** A line of the log of `baton worker` and `baton dev`, on standard error. */

export interface LogEntry {
  readonly level: string;
  readonly message: string;
  readonly timestampNanos?: bigint;
  readonly meta?: unknown;
}

/** Of Temporal's own fields, those that tell what a line is about; ours say the rest. */
const SHOWN = [
  'tenant',
  'run',
  'slot',
  'attempt',
  'workerClass',
  'code',
  'end',
  'workflowId',
  'trace_id',
] as const;

/** @param json one JSON document a line, with every field; otherwise text with the most telling ones */
export function logLine({ level, message, timestampNanos, meta }: LogEntry, json: boolean): string {
  const fields = (typeof meta === 'object' && meta !== null ? meta : {}) as Record<string, unknown>;
  const { error } = fields;
  const why = error instanceof Error ? error.message : undefined;
  if (json) {
    const time = timestampNanos === undefined ? new Date() : new Date(Number(timestampNanos / 1_000_000n));
    const line = { time: time.toISOString(), level, message, ...fields, ...(why ? { error: why } : {}) };
    return JSON.stringify(line, (_key, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    );
  }
  const about = SHOWN.flatMap((name) => {
    const value = fields[name];
    return typeof value === 'string' ? [`${name}=${value}`] : [];
  });
  return [
    `${level} ${message}${why ? `: ${why}` : ''}`,
    ...(about.length > 0 ? [`[${about.join(' ')}]`] : []),
  ].join(' ');
}

/** Standard output is the command's own. */
export const writeLog = (entry: LogEntry, json: boolean): void =>
  void process.stderr.write(`${logLine(entry, json)}\n`);
