/** What became of an agent's work, and how it is told: first staged in the store, then as the end of the lease's activity. */
import { ApplicationFailure } from '@temporalio/common';
import type { AsyncCompletionClient } from '@temporalio/client';
import { FAILED, RELEASED, REVOKED } from '../../activities/claims-shared.js';
import { BatonError } from '../domain/errors.js';
import { isId, MAX_INLINE_BYTES, recordable } from '../domain/text.js';
import type { Failure } from '../domain/types.js';
import type { PerformResult } from '../domain/wire.js';
import { jsonBytes } from '../agent/content.js';
import { stepOf } from '../agent/step-errors.js';
import type { Fence, Staged, Store } from '../store/port.js';

export type Outcome =
  | { readonly kind: 'completion'; readonly bytes: Uint8Array }
  | { readonly kind: 'failure'; readonly failure: Failure }
  | { readonly kind: 'release'; readonly failure: Failure }
  | { readonly kind: 'revoked'; readonly why: string }
  | { readonly kind: 'over' };

type Reporter = Pick<AsyncCompletionClient, 'complete' | 'fail'>;

/** What an agent returned, as an outcome: a result that is no JSON or too large is a failed attempt. */
export function outcomeOf(result: unknown): Outcome {
  try {
    const bytes = jsonBytes(result);
    if (bytes.byteLength <= MAX_INLINE_BYTES) return { kind: 'completion', bytes };
    const facts = { size: bytes.byteLength, limit: MAX_INLINE_BYTES, unit: 'bytes' };
    throw BatonError.of('TooLarge', 'the agent’s result is too large', facts);
  } catch (error) {
    return { kind: 'failure', failure: failureOf(error) };
  }
}

/**
 * What an agent threw, as a failure: its own string code if it has one, else `AgentError`; the message names the step that it
 * came out of, and is cut to the limit.
 */
export function failureOf(error: unknown): Failure {
  const code: unknown = (error as { code?: unknown } | null)?.code;
  const said = error instanceof Error ? error.message || error.name : String(error);
  const step = stepOf(error);
  const text = step === undefined ? said : `step ${step}: ${said}`;
  return {
    code: isId(code) ? code : 'AgentError',
    message: recordable(text) || 'the agent threw an error without a message',
  };
}

/**
 * Puts the result's bytes under the attempt (a completion only) and stages the outcome. Safe to repeat.
 *
 * @param agentRevision `name@revision` of the agent, recorded with the result
 */
export async function stage(
  store: Store,
  fence: Fence,
  outcome: Outcome,
  agentRevision: string | null,
): Promise<Staged | null> {
  switch (outcome.kind) {
    case 'completion': {
      const { digest, size } = await store.artifacts.putBytes(outcome.bytes);
      const row = {
        fence,
        kind: 'result',
        name: 'result',
        digest,
        size,
        mediaType: 'application/json',
        step: null,
        agentRevision,
      } as const;
      await store.artifacts.save({ ...row, at: Date.now() });
      return store.attempts.stage({ fence, kind: 'completion', result: digest, failure: null });
    }
    case 'failure':
    case 'release':
      return store.attempts.stage({ fence, kind: outcome.kind, result: null, failure: outcome.failure });
    default:
      return null;
  }
}

/** Ends the lease's activity by its token with what was staged. */
export function tell(
  reporter: Reporter,
  outcome: Outcome,
  staged: Staged | null,
): (taskToken: Uint8Array) => Promise<void> {
  const fail = (type: string, message: string) => (token: Uint8Array) =>
    reporter.fail(
      token,
      ApplicationFailure.create({ type, message, nonRetryable: true, details: staged ? [staged.id] : [] }),
    );
  switch (outcome.kind) {
    case 'completion': {
      const result: PerformResult = { staged: staged?.id ?? '' };
      return (token) => reporter.complete(token, result);
    }
    case 'failure':
      return fail(FAILED, `${outcome.failure.code}: ${outcome.failure.message}`);
    case 'release':
      return fail(RELEASED, outcome.failure.message);
    case 'revoked':
      return fail(REVOKED, outcome.why);
    case 'over':
      return () => Promise.resolve();
  }
}
