/** One run, for the caller. Everything here passes the door (door.ts), which may refuse it with `NotAuthorized`. */
import type { Readable } from 'node:stream';
import { handoffMarkdown, type RecoveryOptions } from '../agent/recovery.js';
import type { ArtifactView, AttemptView, EffectView, Handoff } from '../agent/types.js';
import type { Exported } from '../bundle/write.js';
import { checkId } from '../domain/text.js';
import { workflowIdOf } from '../domain/wire.js';
import type { ArtifactRow, Json } from '../store/port.js';
import type { ReadName } from '../access/actions.js';
import { listAudit, type AuditRequest, type AuditView } from './audit.js';
import { sendCommand } from './commands.js';
import { command, look, type Asked } from './door.js';
import { exportRun, reportRun } from './export.js';
import { toBatonError } from './failure.js';
import {
  listArtifactRows,
  listArtifacts,
  listAttempts,
  listEffects,
  readRecovery,
  type RecoveryRead,
} from './history.js';
import { readJson } from './reads.js';
import { RunBytes } from './run-bytes.js';
import { runNotFound, uiAddress, type Session } from './session.js';
import { showRun, type RunShown } from './show.js';
import { slotAnswer, SlotHandle, type ReasonRequest, type SlotAnswer } from './slot-handle.js';

export class RunHandle {
  protected readonly session: Session;
  readonly tenant: string;
  readonly workflowId: string;
  /** The run in Temporal's UI, or null when the UI's address is not known. */
  readonly ui: string | null;
  readonly #bytes: RunBytes;

  constructor(
    session: Session,
    readonly run: string,
  ) {
    checkId('run', run);
    this.session = session;
    this.tenant = session.tenant;
    this.workflowId = workflowIdOf(session.tenant, run);
    this.ui = uiAddress(session, this.workflowId);
    this.#bytes = new RunBytes(session, run);
  }

  slot(name: string): SlotHandle {
    return new SlotHandle(this.session, this.run, name);
  }

  /** The run with its slots. @throws BatonError `RunNotFound`, `TemporalUnavailable`, `StoreUnavailable` */
  show(): Promise<RunShown> {
    return this.#look('show', () => showRun(this.session, this.run));
  }

  /** All attempts, of one slot or of all, oldest epoch first. */
  attempts(slot?: string): Promise<readonly AttemptView[]> {
    return this.#look('attempts', () => listAttempts(this.session, this.run, slot), { slot });
  }

  /** All that was saved, by lost attempts too, in order of saving. */
  artifacts(slot?: string): Promise<readonly ArtifactView[]> {
    return this.#look('artifacts', () => listArtifacts(this.session, this.run, slot), { slot });
  }

  /** Effects and how each stands, in order of their first intent. @throws BatonError `RunNotFound`, `SlotNotFound`, `StoreUnavailable` */
  effects(slot?: string): Promise<readonly EffectView[]> {
    return this.#look('effects', () => listEffects(this.session, this.run, slot), { slot });
  }

  /** Like {@link artifacts}, with media type, step and time of each. */
  artifactRows(slot?: string): Promise<readonly ArtifactRow[]> {
    return this.#look('artifacts', () => listArtifactRows(this.session, this.run, slot), { slot });
  }

  /**
   * Bytes of an artifact or attachment of this run, digest checked.
   *
   * @throws BatonError `RunNotFound`, `ArtifactMissing` (for bytes of others too), `ArtifactMismatch`
   */
  async read({ digest }: { readonly digest: string }): Promise<Uint8Array> {
    return this.#look('artifacts', async () => {
      await this.#bytes.assertHas(digest);
      return (await this.session.store()).artifacts.readBytes(digest);
    });
  }

  /**
   * Like {@link read}, piece by piece. A damaged artifact's stream fails at its end with `ArtifactMismatch` instead of ending.
   *
   * @throws BatonError `RunNotFound`, `ArtifactMissing`
   */
  async readStream({ digest }: { readonly digest: string }): Promise<Readable> {
    return this.#look('artifacts', async () => {
      await this.#bytes.assertHas(digest);
      return (await this.session.store()).artifacts.readStream(digest);
    });
  }

  /**
   * {@link recovery} as Markdown for a model or a person, at most `maxBytes` (default 32 KiB, at least 8 KiB).
   *
   * @throws BatonError `RunNotFound`, `SlotNotFound`, `PinsDamaged`, `InvalidCommand`, `TemporalUnavailable`, `StoreUnavailable`
   */
  async recoveryMarkdown(slot: string, options: RecoveryOptions = {}): Promise<string> {
    const { handoff, state, gate } = await this.recoveryRead(slot);
    const { tenant, run } = this;
    const where = { tenant, run, slot, gate, ...(state ? { state } : {}) };
    return handoffMarkdown(await this.session.store(), handoff, where, options);
  }

  /** What the next worker of a slot would be given. */
  async recovery(slot: string): Promise<Handoff> {
    return (await this.recoveryRead(slot)).handoff;
  }

  /** Like {@link recovery}, with the slot's state when a control worker answers. */
  recoveryRead(slot: string): Promise<RecoveryRead> {
    return this.#look('recovery', () => readRecovery(this.session, this.run, slot), { slot });
  }

  /**
   * What was commanded in this run, by whom, and what became of it, newest first; see {@link BatonClient.audit}.
   *
   * @throws BatonError `RunNotFound`, `InvalidCommand`, `StoreUnavailable`
   */
  audit(request: AuditRequest = {}): Promise<readonly AuditView[]> {
    return this.#look('audit', () => listAudit(this.session, request, this.run));
  }

  /**
   * Writes the run with all that belongs to it (pins, attempts, artifacts with their bytes, effects) to a new folder, a BagIt bag
   * that {@link verifyBundle} checks. Of open runs too, as they stand; without a control worker, and without a server, from the store.
   *
   * @throws BatonError `RunNotFound`, `InvalidCommand` (something of that name is there), `PinsDamaged`, `ArtifactMissing`,
   *   `ArtifactMismatch`, `StoreUnavailable`; no folder is left then
   */
  export(folder: string): Promise<Exported> {
    return this.#look('export', () => exportRun(this.session, this.run, folder));
  }

  /**
   * The run as one HTML page that needs nothing else: attempts on a time line, reassigns, artifacts, effects. Texts are escaped
   * and cut; of inputs, results and receipts it has the beginning, of artifacts no byte. 15 MB at most.
   *
   * @throws BatonError `RunNotFound`, `PinsDamaged`, `StoreUnavailable`
   */
  report(): Promise<string> {
    return this.#look('report', () => reportRun(this.session, this.run));
  }

  /** Cancels every slot and with them the run. */
  async cancel({ reason, commandId }: ReasonRequest): Promise<SlotAnswer> {
    const { run } = this;
    const answer = await command(this.session, 'cancelRun', { run, commandId }, () =>
      sendCommand(this.session, 'cancelRun', { run, reason, commandId }),
    );
    return slotAnswer(answer);
  }

  /**
   * Waits for the end of the run, without limit, over roll-overs and restarts of server and workers.
   *
   * @returns the result of each slot; null for a failed optional one
   * @throws BatonError `RunFailed` with `details.status` (failed, cancelled, terminated); `RunNotFound`
   */
  result(): Promise<Readonly<Record<string, Json>>> {
    return this.#look('result', () => this.#result());
  }

  async #result(): Promise<Readonly<Record<string, Json>>> {
    const { client, tenant } = this.session;
    const handle = client.workflow.getHandle(this.workflowId);
    // The digests are in the workflow's own result: asking the closed run for its state would replay all of its history.
    let ended: { readonly results: Readonly<Record<string, string | null>> };
    try {
      ended = (await handle.result()) as typeof ended;
    } catch (error) {
      throw toBatonError(error, { tenant, run: this.run });
    }
    if (this.session.hasStore && (await (await this.session.store()).retention.isCollected(tenant, this.run)))
      throw runNotFound(this.session, this.run);
    const results = Object.entries(ended.results).map(
      async ([slot, digest]) => [slot, await readJson(this.session, digest)] as const,
    );
    return Object.fromEntries(await Promise.all(results));
  }

  #look<T>(name: ReadName, work: () => Promise<T>, more: Asked = {}): Promise<T> {
    return look(this.session, name, { run: this.run, ...more }, work);
  }
}
