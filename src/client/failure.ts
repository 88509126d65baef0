/**
 * The only place where Temporal's errors become Baton's. Errors of the run's own code carry their Baton code as the type of
 * an ApplicationFailure somewhere in the chain of causes; everything else is about the server, the network or time.
 */
import {
  ActivityCompletionError,
  isGrpcServiceError,
  QueryNotRegisteredError,
  QueryRejectedError,
  ServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import {
  ApplicationFailure,
  CancelledFailure,
  NamespaceNotFoundError,
  TerminatedFailure,
} from '@temporalio/common';
import { BatonError, isErrorCode, type ErrorDetails } from '../domain/errors.js';

/** gRPC status numbers that matter here. */
export const GRPC = {
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unavailable: 14,
  unauthenticated: 16,
} as const;

function* causes(error: unknown): Generator {
  for (let at = error, depth = 0; at !== undefined && at !== null && depth < 20; depth += 1) {
    yield at;
    at = (at as { cause?: unknown }).cause;
  }
}

/** gRPC status of an error or of one of its causes, or null. */
export function grpcStatus(error: unknown): number | null {
  for (const at of causes(error)) if (isGrpcServiceError(at)) return at.code;
  return null;
}

/** The refusal that a run's workflow or activity threw, or null when the error is of another kind. */
export function refusalIn(error: unknown): BatonError | null {
  for (const at of causes(error)) {
    if (at instanceof BatonError) return at;
    if (at instanceof ApplicationFailure && isErrorCode(at.type)) {
      const details = (at.details?.[0] ?? {}) as ErrorDetails;
      return new BatonError(at.type, at.message, details, { cause: error });
    }
  }
  return null;
}

/** True when the server did not know the workflow, or said that its execution is over. */
export const isNotFound = (error: unknown): boolean => {
  for (const at of causes(error)) if (at instanceof WorkflowNotFoundError) return true;
  return grpcStatus(error) === GRPC.notFound;
};

/** True when the call ran into its deadline: the server may still carry it out. */
export function isTimeout(error: unknown): boolean {
  for (const at of causes(error)) if (at instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return true;
  const status = grpcStatus(error);
  return status === GRPC.deadlineExceeded || status === GRPC.cancelled;
}

/**
 * Translates any error of a Temporal call.
 *
 * @param error what was thrown
 * @param facts what it was about; becomes part of message and details
 */
export function toBatonError(error: unknown, facts: ErrorDetails = {}): BatonError {
  const known = refusalIn(error);
  if (error instanceof WorkflowFailedError) return runFailed(error, known, facts);
  if (known) return known;
  const chain = [...causes(error)];
  const namespace = chain.find((at) => at instanceof NamespaceNotFoundError);
  if (namespace)
    return wrap('TemporalUnavailable', 'the server has no such namespace', error, {
      ...facts,
      namespace: namespace.namespace,
    });
  if (error instanceof WorkflowUpdateFailedError)
    return wrap('Internal', `the command failed in the run: ${text(chain.at(-1))}`, error, facts);
  if (isNotFound(error)) return wrap('RunNotFound', 'no such run', error, facts);
  if (error instanceof QueryNotRegisteredError || error instanceof QueryRejectedError) {
    return wrap('Internal', `the run cannot be asked: ${text(error)}`, error, facts);
  }
  // It carries no gRPC status: whether the server took the beat or the end is not known.
  if (error instanceof ActivityCompletionError)
    return wrap('OutcomeUnknown', `Temporal did not acknowledge it (${error.message})`, error, facts);
  const status = grpcStatus(error);
  if (status !== null) return serverError(status, error, facts);
  return wrap(
    'Internal',
    text(chain.find((at) => at instanceof Error && !(at instanceof ServiceError)) ?? error),
    error,
    facts,
  );
}

function serverError(status: number, error: unknown, facts: ErrorDetails): BatonError {
  const said = [...causes(error)].find((at) => isGrpcServiceError(at));
  const reason = said && isGrpcServiceError(said) ? said.details || said.message : text(error);
  switch (status) {
    case GRPC.deadlineExceeded:
    case GRPC.cancelled:
      return wrap('TemporalUnavailable', 'the Temporal server did not answer in time', error, facts);
    case GRPC.failedPrecondition:
      return wrap('RollingOver', `the run cannot take it at this moment (${reason})`, error, facts);
    case GRPC.invalidArgument:
      return wrap('InvalidCommand', `the Temporal server refused the request (${reason})`, error, facts);
    default:
      return wrap(
        'TemporalUnavailable',
        `the Temporal server answered with an error (${reason})`,
        error,
        facts,
      );
  }
}

/** `result()` of a run that did not succeed. A cancel or terminate is a failure of the run too, told apart by `status`. */
function runFailed(error: WorkflowFailedError, known: BatonError | null, facts: ErrorDetails): BatonError {
  const status =
    error.cause instanceof CancelledFailure
      ? 'cancelled'
      : error.cause instanceof TerminatedFailure
        ? 'terminated'
        : 'failed';
  const why = known?.message ?? (error.cause ? text(error.cause) : text(error));
  const details = { ...facts, status, ...(known ? { ...known.details, cause: known.code } : {}) };
  return new BatonError('RunFailed', `the run is ${status}: ${why}`, details, { cause: error });
}

function wrap(code: BatonError['code'], what: string, cause: unknown, facts: ErrorDetails): BatonError {
  return BatonError.of(code, what, facts, { cause });
}

const text = (error: unknown): string => (error instanceof Error ? error.message : String(error));
