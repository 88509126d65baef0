/** The tables as Kysely sees them. Column meanings are those of the rows in port.ts; JSON columns hold JSON text. */
import type { Generated, Kysely } from 'kysely';
import type { EffectState } from '../domain/effect.js';
import type { EndKind, LeaseStatus, RunStatus, WorkerStatus } from '../domain/types.js';
import type { ArtifactKind, RevisionKind, Staged, Verdict } from './port.js';

export interface Tables {
  meta: { name: string; value: Uint8Array };
  revisions: {
    tenant: string;
    kind: RevisionKind;
    name: string;
    revision: number;
    digest: string;
    content: string;
    published_at: number;
    published_by: string;
    accepted_at: number | null;
    accepted_by: string | null;
  };
  runs: {
    tenant: string;
    run: string;
    digest: string;
    pins: string;
    input: string;
    status: RunStatus;
    created_at: number;
    ended_at: number | null;
    /** Its rows are going away, for good; for its readers it is gone already. */
    collecting_at: number | null;
    /** Its rows are gone; this one stays, emptied, so that its id is not used again. */
    collected_at: number | null;
    collected_by: string | null;
  };
  /** Who worked: provenance, kept until a closed run is collected. */
  attempts: {
    tenant: string;
    run: string;
    slot: string;
    attempt: string;
    node: string;
    number: number;
    worker: string;
    worker_class: string;
    worker_status: WorkerStatus;
    owner_actor: string | null;
    spec: string;
    reassign: string | null;
    command_id: string | null;
    claimed_at: number;
    started_at: number | null;
    ended_at: number | null;
    end_kind: EndKind | null;
    failure: string | null;
    result: string | null;
  };
  /** Who may act: authority. */
  leases: {
    tenant: string;
    run: string;
    slot: string;
    attempt: string;
    lease: string;
    epoch: number;
    status: LeaseStatus;
    claim_id: string;
    claim_try: number;
    host_queue: string;
    ttl_ms: number;
    max_duration_ms: number | null;
    deadline: number | null;
    workflow_run_id: string | null;
    activity_id: string | null;
    task_token: Uint8Array | null;
    staged_id: string | null;
    staged_kind: Staged['kind'] | null;
    staged_result: string | null;
    staged_failure: string | null;
  };
  /** Tombstones: claim ids that can never be used again. */
  void_claims: { tenant: string; run: string; claim_id: string; slot: string };
  /** `bytes` null: they are in the object store under that digest. */
  blobs: {
    digest: string;
    size: number;
    bytes: Uint8Array | null;
    /** When they were last put; null: by an earlier version. */
    put_at: number | null;
  };
  /** Large bytes that are on their way to their place, by put. */
  blob_puts: { digest: string; put: string; at: number };
  /** An object store within the database, for engines that several machines use. */
  blob_parts: { digest: string; part: number; bytes: Uint8Array };
  artifacts: {
    seq: Generated<number>;
    tenant: string;
    run: string;
    slot: string;
    attempt: string;
    number: number;
    kind: ArtifactKind;
    name: string;
    digest: string;
    size: number;
    media_type: string;
    step: string | null;
    saved_at: number;
    /** Null only for a row whose lease is gone, which no store of ours allows. */
    epoch: number | null;
    tags: Generated<string>;
    agent_revision: string | null;
    step_revision: string | null;
    derived_from: Generated<string>;
  };
  /** `instance` is '' where there is none. */
  effects: {
    seq: Generated<number>;
    tenant: string;
    run: string;
    slot: string;
    name: string;
    instance: string;
    key: string;
    request_digest: string;
    state: EffectState;
    receipt: string | null;
    handle: string | null;
    failure: string | null;
    attempt: string;
    epoch: number;
    resolved_by: string | null;
    resolved_command: string | null;
    intent_at: number;
    updated_at: number;
  };
  commands: {
    tenant: string;
    run: string;
    command_id: string;
    name: string;
    digest: string;
    answer: string;
    at: number;
  };
  /** `run` null: of no run. */
  audit: {
    seq: Generated<number>;
    tenant: string;
    run: string | null;
    slot: string | null;
    actor: string;
    command: string;
    command_id: string | null;
    verdict: Verdict;
    code: string | null;
    reason: string | null;
    at: number;
  };
}

export type Db = Kysely<Tables>;
