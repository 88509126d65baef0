/** Which bytes of the store are a run's to read: it keeps them by digest alone, for all tenants together. */
import { loadPlan } from '../definitions/resolve.js';
import { BatonError } from '../domain/errors.js';
import { runRow, type Session } from './session.js';

export class RunBytes {
  readonly #session: Session;
  readonly #run: string;
  /** Digests never leave a run but with it; whoever has seen its bytes may see them once more then, if they are still there. */
  #known: ReadonlySet<string> = new Set();

  constructor(session: Session, run: string) {
    this.#session = session;
    this.#run = run;
  }

  /** @throws BatonError `RunNotFound`; `ArtifactMissing` for what the run neither saved nor was pinned to, whoever else has it */
  async assertHas(digest: string): Promise<void> {
    if (this.#known.has(digest)) return;
    const { tenant } = this.#session;
    const store = await this.#session.store();
    const { pins } = await runRow(this.#session, this.#run);
    const saved = await store.artifacts.list(tenant, this.#run);
    this.#known = new Set(saved.map((row) => row.digest));
    if (this.#known.has(digest)) return;
    // Last: what was saved is to be had though the pins are damaged.
    const { nodes } = await loadPlan(store, tenant, pins);
    if (nodes.some(({ attachments }) => attachments.some((one) => one.digest === digest))) return;
    const facts = { run: this.#run, digest };
    throw BatonError.of('ArtifactMissing', 'the run has no artifact with that digest', facts);
  }
}
