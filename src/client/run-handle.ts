/** One run, for the caller. */
import type { Readable } from 'node:stream';
import { handoffMarkdown, type RecoveryOptions } from '../agent/recovery.js';
import type { ArtifactView, AttemptView, EffectView, Handoff } from '../agent/types.js';
import { checkId } from '../domain/text.js';
import { workflowIdOf } from '../domain/wire.js';
import type { ArtifactRow, Json } from '../store/port.js';
import { sendCommand } from './commands.js';
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
import { uiAddress, type Session } from './session.js';
import { showRun, type RunShown } from './show.js';
import { slotAnswer, SlotHandle, type ReasonRequest, type SlotAnswer } from './slot-handle.js';

export class RunHandle {
  protected readonly session: Session;
  readonly tenant: string;
  readonly workflowId: string;
  /** The run in Temporal's UI, or null when the UI's address is not known. */
  readonly ui: string | null;

  constructor(
    session: Session,
    readonly run: string,
  ) {
    checkId('run', run);
    this.session = session;
    this.tenant = session.tenant;
    this.workflowId = workflowIdOf(session.tenant, run);
    this.ui = uiAddress(session, this.workflowId);
  }

  slot(name: string): SlotHandle {
    return new SlotHandle(this.session, this.run, name);
  }

  /** The run with its slots. @throws BatonError `RunNotFound`, `TemporalUnavailable`, `StoreUnavailable` */
  show(): Promise<RunShown> {
    return showRun(this.session, this.run);
  }

  /** All attempts, of one slot or of all, oldest epoch first. */
  attempts(slot?: string): Promise<readonly AttemptView[]> {
    return listAttempts(this.session, this.run, slot);
  }

  /** All that was saved, by lost attempts too, in order of saving. */
  artifacts(slot?: string): Promise<readonly ArtifactView[]> {
    return listArtifacts(this.session, this.run, slot);
  }

  /** Effects and how each stands, in order of their first intent. @throws BatonError `RunNotFound`, `SlotNotFound`, `StoreUnavailable` */
  effects(slot?: string): Promise<readonly EffectView[]> {
    return listEffects(this.session, this.run, slot);
  }

  /** Like {@link artifacts}, with media type, step and time of each. */
  artifactRows(slot?: string): Promise<readonly ArtifactRow[]> {
    return listArtifactRows(this.session, this.run, slot);
  }

  /** Bytes of an artifact, digest checked. @throws BatonError `ArtifactMissing`, `ArtifactMismatch` */
  async read(artifact: { readonly digest: string }): Promise<Uint8Array> {
    return (await this.session.store()).artifacts.readBytes(artifact.digest);
  }

  /**
   * Like {@link read}, piece by piece. A damaged artifact's stream fails at its end with `ArtifactMismatch` instead of ending.
   *
   * @throws BatonError `ArtifactMissing`
   */
  async readStream(artifact: { readonly digest: string }): Promise<Readable> {
    return (await this.session.store()).artifacts.readStream(artifact.digest);
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
    return readRecovery(this.session, this.run, slot);
  }

  /** Cancels every slot and with them the run. */
  async cancel({ reason, commandId }: ReasonRequest): Promise<SlotAnswer> {
    return slotAnswer(await sendCommand(this.session, 'cancelRun', { run: this.run, reason, commandId }));
  }

  /**
   * Waits for the end of the run, without limit, over roll-overs and restarts of server and workers.
   *
   * @returns the result of each slot; null for a failed optional one
   * @throws BatonError `RunFailed` with `details.status` (failed, cancelled, terminated); `RunNotFound`
   */
  async result(): Promise<Readonly<Record<string, Json>>> {
    const { client, tenant } = this.session;
    const handle = client.workflow.getHandle(this.workflowId);
    // The digests are in the workflow's own result: asking the closed run for its state would replay all of its history.
    let ended: { readonly results: Readonly<Record<string, string | null>> };
    try {
      ended = (await handle.result()) as typeof ended;
    } catch (error) {
      throw toBatonError(error, { tenant, run: this.run });
    }
    const results = Object.entries(ended.results).map(
      async ([slot, digest]) => [slot, await readJson(this.session, digest)] as const,
    );
    return Object.fromEntries(await Promise.all(results));
  }
}
