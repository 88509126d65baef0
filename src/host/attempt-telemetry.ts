/** How one attempt is seen from outside: its span, its lines in the log and its measurements. It decides nothing. */
import type { Logger } from '@temporalio/common';
import type { Handoff } from '../agent/types.js';
import type { Failure } from '../domain/types.js';
import type { PerformInput } from '../domain/wire.js';
import { logFields } from '../telemetry/logs.js';
import { recordTakeover, recordTimeLeft } from '../telemetry/metrics.js';
import { ATTRIBUTES, attributesOf, type Facts } from '../telemetry/names.js';
import { about, codeOf, endSpan, startSpan } from '../telemetry/trace.js';
import type { Outcome } from './outcome.js';

/** As `baton.end` names them; what became of a lease that is over is for its settle to say. */
const ENDS = {
  completion: 'success',
  failure: 'failure',
  release: 'released',
  revoked: 'revoked',
  over: 'over',
} as const;

export class AttemptTelemetry {
  readonly #facts: Facts & { readonly workerClass: string };
  readonly #span;
  readonly #fields: Record<string, unknown>;

  constructor(
    { attempt, priorTrace, ...work }: PerformInput,
    private readonly logger: Logger,
  ) {
    this.#facts = { ...work, ...attempt };
    // Where no claim has left a trace the attachment's own context is the next best: the run's.
    const above = { parent: attempt.trace, link: priorTrace };
    this.#span = startSpan('baton.attempt', { attributes: attributesOf(this.#facts), ...above });
    this.#fields = logFields(this.#facts, this.#span);
    logger.info('attempt started', this.#fields);
  }

  /** Runs the agent: all spans that are made meanwhile are below the attempt's, and ours say which attempt it is. */
  within<T>(work: () => T): T {
    return about(this.#facts, this.#span, work);
  }

  handedOver({ attempts }: Handoff, agentRevision: string, startedAt: number | null): void {
    const before = attempts.at(-1);
    this.#span.setAttribute(ATTRIBUTES.agent, agentRevision);
    if (before) this.#span.setAttribute(ATTRIBUTES.predecessor, before.attempt);
    recordTakeover(this.#facts.workerClass, before, startedAt);
  }

  renewed(leftMs: number): void {
    recordTimeLeft(this.#facts.workerClass, leftMs);
  }

  reattached(): void {
    this.#span.addEvent('baton.reattached');
  }

  warn(message: string, more: Record<string, unknown>): void {
    this.logger.warn(message, { ...this.#fields, ...more });
  }

  /** Said before it is told to anybody: the store may be away for long. */
  failed({ code, message }: Failure, what = 'agent failed'): void {
    this.warn(`${what}: ${message}`, { code });
  }

  /** @param refused code, when the end was not taken any more */
  ended(outcome: Outcome, refused: string | null): void {
    const end = ENDS[outcome.kind];
    const failure = outcome.kind === 'failure' ? outcome.failure : null;
    if (refused !== null) this.warn('lease ended before the attempt’s end was acknowledged', { end });
    else this.logger.info('attempt ended', { ...this.#fields, end });
    this.#end(end, refused ?? failure?.code);
  }

  /** The end could not be told. */
  notTold(outcome: Outcome, error: unknown): void {
    const end = ENDS[outcome.kind];
    this.warn('attempt’s end could not be told', { end, error });
    this.#end(end, codeOf(error));
  }

  #end(end: string, code: string | undefined): void {
    this.#span.setAttribute(ATTRIBUTES.end, end);
    endSpan(this.#span, code);
  }
}
