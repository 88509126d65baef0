/** What the benchmark of effects found, as rows of its table. Microseconds, medians and the middle 80 %. */
import Table from 'cli-table3';
import type { Spread } from '../overhead/statistics.js';
import type { Machine } from '../overhead/machine.js';
import type { KitCost } from './kit.js';
import type { RunCost } from './run.js';

export interface Report {
  readonly kit: KitCost;
  readonly run: RunCost;
  readonly machine: Machine;
  readonly settings: readonly string[];
}

interface Row {
  readonly what: string;
  readonly us: Spread;
  /** What it is compared with. */
  readonly beside: Spread | null;
}

export function rowsOf({ kit, run }: Pick<Report, 'kit' | 'run'>): readonly Row[] {
  return [
    { what: 'owner: bare transaction', us: kit.bareUs, beside: null },
    { what: 'owner: commit by the kit', us: kit.commitUs, beside: kit.bareUs },
    { what: 'owner: the same key again', us: kit.repeatUs, beside: kit.bareUs },
    { what: 'owner: lookup', us: kit.lookupUs, beside: kit.bareUs },
    { what: 'authority check, in process', us: run.checkUs, beside: null },
    { what: 'authority check, over HTTP', us: run.httpCheckUs, beside: run.checkUs },
    { what: 'worker: the owner called directly', us: run.bareUs, beside: null },
    { what: 'worker: ctx.effect around it', us: run.effectUs, beside: run.bareUs },
    { what: 'worker: ctx.effect whose receipt is known', us: run.knownUs, beside: run.bareUs },
    { what: 'worker: ctx.effect, kit and check: all of it', us: run.fullUs, beside: run.bareUs },
  ];
}

const whole = (value: number): string => value.toFixed(0);

export function tableText(rows: readonly Row[]): string {
  const table = new Table({
    head: ['', 'median µs', 'p10', 'p90', 'more µs'],
    colAligns: ['left', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  });
  for (const { what, us, beside } of rows) {
    const more = beside ? whole(us.median - beside.median) : '–';
    table.push([what, whole(us.median), whole(us.p10), whole(us.p90), more]);
  }
  return table.toString();
}
