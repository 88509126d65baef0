/** The machine that was measured on: without it the figures say little. */
import os from 'node:os';

export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGiB: number;
  readonly platform: string;
  readonly nodeVersion: string;
  /** Null where no Temporal server took part. */
  readonly serverVersion: string | null;
  /** One-minute load averages before and after: other work on the machine shows here. */
  readonly load: { readonly before: number; readonly after: number };
}

export const loadNow = (): number => Math.round((os.loadavg()[0] ?? 0) * 100) / 100;

export function machineOf(serverVersion: string | null, loadBefore: number): Machine {
  return {
    cores: os.availableParallelism(),
    cpu: os.cpus()[0]?.model ?? 'unknown',
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    platform: `${os.platform()} ${os.release()} ${os.arch()}`,
    nodeVersion: process.version,
    serverVersion,
    load: { before: loadBefore, after: loadNow() },
  };
}

export const machineText = ({
  cores,
  cpu,
  memoryGiB,
  platform,
  nodeVersion,
  serverVersion,
  load,
}: Machine): string =>
  `${cores} cores (${cpu}), ${memoryGiB} GiB, ${platform}, Node ${nodeVersion}, ${serverVersion === null ? '' : `Temporal ${serverVersion}, `}load ${load.before} → ${load.after}`;
