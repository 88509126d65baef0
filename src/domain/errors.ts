/**
 * The one table of error codes: what each means, what the caller should do next, whether repeating may help and
 * which exit code the CLI gives it. README and CLI are made from it. Imports nothing.
 */

/** 1 failed · 2 wrong usage · 3 refused by a rule. */
export type ExitCode = 1 | 2 | 3;

interface CodeInfo {
  readonly exit: ExitCode;
  /** True when the same request may succeed later without anybody changing anything. */
  readonly retry: boolean;
  readonly meaning: string;
  readonly next: string;
}

const refused = (meaning: string, next: string): CodeInfo => ({ exit: 3, retry: false, meaning, next });
const usage = (meaning: string, next: string): CodeInfo => ({ exit: 2, retry: false, meaning, next });
const failed = (meaning: string, next: string, retry = true): CodeInfo => ({ exit: 1, retry, meaning, next });

export const ERROR_CODES = {
  InvalidCommand: usage('The command is not well formed.', 'Correct the field that is named.'),
  TooLarge: usage(
    'A text or value is over its limit.',
    'Shorten it, or save it as an artifact and pass its name.',
  ),
  RunNotFound: refused(
    'The tenant has no such run.',
    'Check --tenant, --store and the run id with `baton list`.',
  ),
  RunClosed: refused('The run is over.', 'Launch a new run.'),
  RunMismatch: refused(
    'The command names another run than the one it was sent to.',
    'Send it to the run it names.',
  ),
  SlotNotFound: refused('The run has no such slot.', 'See the slots with `baton show RUN`.'),
  SlotNotInRetryWait: refused(
    'The slot is not waiting after a bad end.',
    'Wait until the attempt is over, or see `baton show RUN`.',
  ),
  NoPriorWorker: refused(
    'Nobody has worked on the slot yet.',
    'Let a worker claim it; there is nothing to take over.',
  ),
  WorkerNotTerminal: refused('The prior worker has not ended.', 'Wait for its end or revoke it.'),
  LeaseNotTerminal: refused(
    'The end of the prior lease is not recorded in the store yet.',
    'Repeat in a moment; check the control worker if it stays.',
  ),
  ReasonRequired: refused('A reason is required and must not be blank.', 'Pass --reason with a text.'),
  OwnerActorMismatch: refused(
    'The prior worker is owned by another actor.',
    'Ask the owner to give the command.',
  ),
  NotAuthorized: refused(
    'The policy does not let the actor do that.',
    'Ask whoever keeps the policy, or give the command as another actor.',
  ),
  NoCompatibleLaunchSpec: refused(
    'No launch specification of the slot admits that worker class.',
    'Name a class that one of the specifications admits.',
  ),
  SlotNotClaimable: refused(
    'The slot cannot be claimed now.',
    'See what it waits for with `baton show RUN`.',
  ),
  WorkerClassNotAdmitted: refused(
    'The selected specification does not admit that worker class.',
    'Claim as an admitted class, or reassign first.',
  ),
  AlreadyLeased: refused(
    'Another lease of the slot is provisional, live or not settled.',
    'Wait for its end, or revoke it.',
  ),
  StaleLease: refused(
    'The lease gives no authority: unknown, ended, or superseded.',
    'Stop work on it; claim again if the slot is open.',
  ),
  CompletedOutside: refused(
    'The activity was completed by somebody who is not the lease holder.',
    'Look at who used Temporal’s tools on it; reassign or let it retry.',
  ),
  ArtifactMissing: refused(
    'A named artifact or its bytes are not in the store.',
    'Save it first, then complete.',
  ),
  ArtifactMismatch: refused(
    'The bytes differ from the stated digest or size.',
    'Save the right bytes, then complete.',
  ),
  CompletionConflict: refused(
    'The attempt was completed with another result.',
    'The first completion stands; nothing to do.',
  ),
  PinsDamaged: refused(
    'Pinned content is missing or its digest does not match.',
    'Restore the store; nothing falls back to another revision.',
  ),
  UnknownRevision: refused('No such revision.', 'Publish it, or name one that exists.'),
  RevisionConflict: refused(
    'The revision exists with other content.',
    'Publish under the next revision number.',
  ),
  RevisionNotAccepted: refused(
    'Nobody has accepted that revision.',
    'Accept it with `baton accept KIND/NAME@REV`.',
  ),
  RunConflict: refused('The run id is taken by a run with other content.', 'Choose another run id.'),
  CommandConflict: refused('The command id was used for another command.', 'Use a fresh command id.'),
  EffectConflict: refused(
    'The effect’s key was used for another request.',
    'Send the first request again, or use another instance.',
  ),
  EffectRejected: refused(
    'The effect’s owner said no, for good.',
    'See the failure it gave; another try needs another instance.',
  ),
  EffectUnresolved: refused(
    'Whether an effect happened is not known.',
    'Ask its owner, then settle it with `baton resolve-effect`.',
  ),
  EffectNotFound: refused('The slot has no such effect.', 'See its effects with `baton effects RUN SLOT`.'),
  EffectNotUnresolved: refused(
    'The effect has an outcome, or its worker is still at it.',
    'See its state with `baton effects RUN SLOT`.',
  ),
  AuthorityUnsettled: failed(
    'Whether an attempt has authority cannot be told at this moment.',
    'Ask again; nothing was done.',
  ),
  RollingOver: failed('The run is being continued as new.', 'Repeat; the client does so by itself.'),
  OutcomeUnknown: failed(
    'No answer in time; the command may still be carried out.',
    'Repeat it with the same command id: that is safe.',
  ),
  StoreUnavailable: failed('The store does not answer.', 'Check --store and the database, then repeat.'),
  TemporalUnavailable: failed(
    'No Temporal server answers.',
    'Check --address and --namespace, or start one with `baton dev`.',
  ),
  HostFull: failed('The host has no room for another agent.', 'Nothing: the offer stays out.'),
  RunFailed: failed(
    'The run failed because a slot failed.',
    'See the slot’s failure with `baton attempts RUN`.',
    false,
  ),
  AgentError: failed('The agent threw an error.', 'See its message.', false),
  Internal: failed('An unexpected error.', 'Report it with the message.', false),
} as const satisfies Record<string, CodeInfo>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Failure codes of attempts that no worker reported (design: "Failure codes that no worker reported"). */
export const END_CODES = [
  'LeaseExpired',
  'MaxDuration',
  'Released',
  'Revoked',
  'Cancelled',
  'CompletedOutside',
] as const;

export type ErrorDetails = Readonly<Record<string, unknown>>;

/** Why a command was refused; a value, so that rules can return it without throwing. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
}

export function refusal(code: ErrorCode, what: string, facts: ErrorDetails = {}): Refusal {
  const shown = Object.entries(facts).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const next = ERROR_CODES[code].next;
  return {
    code,
    message: `${what}${shown.length > 0 ? ` [${shown.join(' ')}]` : ''}. ${next}`,
    details: facts,
  };
}

/** The only error class of the package. Match by `code`: errors cross processes, so `instanceof` is not reliable. */
export class BatonError extends Error {
  override readonly name = 'BatonError';

  /**
   * @param code a code of {@link ERROR_CODES}
   * @param message what failed, facts in brackets, the next step
   * @param details the facts as data
   */
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details: ErrorDetails = {},
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }

  static from(value: Refusal, options?: { cause?: unknown }): BatonError {
    return new BatonError(value.code, value.message, value.details, options);
  }

  /** Builds message and next step from facts: `BatonError.of('SlotNotFound', 'no slot of that name', { run, slot })`. */
  static of(
    code: ErrorCode,
    what: string,
    facts: ErrorDetails = {},
    options?: { cause?: unknown },
  ): BatonError {
    return BatonError.from(refusal(code, what, facts), options);
  }
}

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_CODES, value);
}

/** Why a call of the operating system failed: its code, like `ENOENT`, else the error itself. */
export const whyOf = (error: unknown): string => String((error as { readonly code?: unknown }).code ?? error);
