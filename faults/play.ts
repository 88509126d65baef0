/** Plays one cell: brings a run to the point, lets the fault strike, lets everybody go on, and gives the records. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LaunchedRun } from '../src/client/client.js';
import type { Child } from '../src/server/processes.js';
import { digestOf } from '../src/store/canonical.js';
import { hasEffect, needsSuccessor, rollsOver } from './cells.js';
import { NOISE, SECOND, WORK } from './definitions.js';
import { withEnds, type AtEnd } from './ends.js';
import type { Cell } from './model.js';
import { PLACED, reach } from './points.js';
import { nothingObserved, rawRows, readRecords, type Observed, type Records } from './records.js';
import type { RestartableServer } from './server.js';
import { Stage } from './stage.js';
import { until } from './until.js';

/** Beyond the patience of a store that waits for another writer (5 s). */
const OUTAGE_MS = 6_500;
const RESULT_MS = 90_000;
const REASON = 'the fault matrix took its worker away';

/**
 * @param root folder for the cell's own, which is removed
 * @param outer ends the cell's processes when all is ended
 */
export function play(cell: Cell, server: RestartableServer, root: string, outer?: AtEnd): Promise<Records> {
  return withEnds(async (atEnd) => {
    const stage = await Stage.open(server, cell, root, atEnd);
    return new Play(stage, cell).run();
  }, outer);
}

class Play {
  control!: Child;
  host!: Child;
  private readonly observed: Observed = nothingObserved();
  private launched!: LaunchedRun;
  private successor: Child | null = null;
  private readonly dead = new Set<Child>();

  constructor(
    private readonly stage: Stage,
    private readonly cell: Cell,
  ) {}

  async run(): Promise<Records> {
    const { stage, cell, observed } = this;
    const { who, halt } = PLACED[cell.point];
    [this.control, this.host, this.successor] = await Promise.all([
      stage.control(who === 'control' ? halt : null),
      stage.host(who === 'host' ? halt : null),
      needsSuccessor(cell) ? stage.successor() : null,
    ]);
    this.launched = await stage.launch();
    await reach(cell.point, stage, this.launched, this);
    observed.savedBefore = await stage.store.artifacts.list(stage.tenant, this.launched.run);
    const [lease] = rawRows(stage.storeFile).leases;
    observed.leaseBefore = lease === undefined ? null : (JSON.parse(lease) as { status: string }).status;
    const [effect] = await stage.store.effects.list(stage.tenant, this.launched.run, WORK);
    observed.effectBefore = {
      effect: effect?.state ?? null,
      attempt: effect?.attempt ?? null,
      commits: stage.owner()?.acts.length ?? 0,
    };
    if (cell.must.includes('unsettled')) await this.reassignTooEarly();
    if (cell.must.includes('timer')) observed.retryTime = (await this.slot()).retryTime;
    if (cell.point === 'retry-wait, reassigned and not claimed') await this.reassign();
    await this.strike();
    const results = await this.result();
    return readRecords(stage, this.launched, results, observed);
  }

  private async strike(): Promise<void> {
    const { stage, cell } = this;
    if (cell.victim === 'store') {
      const unlock = stage.lockStore();
      return this.during(async () => {
        await sleep(OUTAGE_MS);
        unlock();
      });
    }
    if (cell.victim === 'agent host') await this.kill(this.host);
    if (cell.victim === 'control worker') {
      await this.kill(this.control);
      const restart = async (): Promise<void> => void (this.control = await stage.control());
      if (hasEffect(cell.point)) return this.during(restart);
      await restart();
    }
    if (cell.victim === 'Temporal server') {
      await stage.server.kill();
      if (hasEffect(cell.point)) return this.during(() => stage.server.restart());
      await stage.server.restart();
    }
    return this.goOn();
  }

  /** Everybody goes on into the outage: the operator too, and the agent whose effect needs what is away. */
  private async during(outage: () => Promise<void>): Promise<void> {
    const goingOn = this.goOn();
    goingOn.catch(() => undefined);
    await outage();
    return goingOn;
  }

  private async goOn(): Promise<void> {
    const { stage, cell, observed } = this;
    const { who } = PLACED[cell.point];
    if (who !== null && !this.dead.has(this[who])) this[who].write('go\n');
    await stage.openGate();
    if (cell.must.includes('reassign') && observed.afterReassign === null) await this.reassign();
    this.successor?.write('go\n');
    if (rollsOver(cell.point)) await this.endNoise();
  }

  private async kill(child: Child): Promise<void> {
    this.dead.add(child);
    await this.stage.kill(child);
  }

  /** Waits until the slot waits for an operator; the rows are compared before anybody may claim. */
  private async reassign(): Promise<void> {
    const { stage, observed } = this;
    await until('the slot waits for an operator', async () => {
      const { state, gate, ending } = await this.slot();
      return state === 'retry-wait' && gate === 'reassign' && ending === null ? true : null;
    });
    observed.beforeReassign = rawRows(stage.storeFile);
    await this.launched.slot(WORK).reassign({ workerClass: SECOND, reason: REASON });
    observed.afterReassign = rawRows(stage.storeFile);
  }

  private async reassignTooEarly(): Promise<void> {
    const { stage, observed } = this;
    const digest = async (): Promise<string> =>
      digestOf([(await stage.state(this.launched.run)).state, rawRows(stage.storeFile)]);
    const before = await digest();
    const code = await this.launched
      .slot(WORK)
      .reassign({ workerClass: SECOND, reason: REASON })
      .then(() => 'accepted')
      .catch((error: unknown) => (error as { code?: string }).code ?? String(error));
    observed.unsettled = { code, unchanged: (await digest()) === before };
  }

  /** Cancelled, the optional slot does not keep the run from its end. Not before the run has continued as new. */
  private async endNoise(): Promise<void> {
    await until('the noise to end', async () => {
      const { state, rollingOver } = await this.stage.state(this.launched.run);
      if (rollingOver) return null;
      if (state.slots[NOISE]?.state === 'cancelled') return true;
      await this.launched.slot(NOISE).cancel({ reason: 'the history is full' });
      return true;
    });
  }

  private async slot() {
    const { state } = await this.stage.state(this.launched.run);
    const slot = state.slots[WORK];
    if (!slot) throw new Error(`the run has no slot ${WORK}`);
    return slot;
  }

  private async result(): Promise<Records['results']> {
    const result = this.launched.result().catch((error: unknown) => {
      if ((error as { code?: string }).code === 'RunFailed') return null;
      throw error;
    });
    const late = sleep(RESULT_MS, undefined, { ref: false }).then(() => {
      throw new Error(`the run has not ended within ${RESULT_MS / 1_000} s`);
    });
    for (const outcome of [result, late]) outcome.catch(() => undefined);
    return Promise.race([result, late]);
  }
}
