/** Every error of Temporal's becomes one of the table; a refusal keeps its code and facts however deep it is wrapped. */
import { expect, it } from 'vitest';
import {
  ActivityCompletionError,
  ServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  NamespaceNotFoundError,
  RetryState,
  TerminatedFailure,
} from '@temporalio/common';
import { isNotFound, isTimeout, refusalIn, toBatonError } from '../../src/client/failure.js';
import { BatonError } from '../../src/domain/errors.js';

const refused = ApplicationFailure.create({
  type: 'SlotNotFound',
  message: 'no slot',
  details: [{ slot: 's' }],
});
const grpc = (code: number): ServiceError =>
  new ServiceError('failed', {
    cause: Object.assign(new Error(`${code} said`), { code, details: 'said', metadata: {} }),
  });
const deep = new ActivityFailure(
  'activity',
  'claimSlot',
  '1',
  RetryState.NON_RETRYABLE_FAILURE,
  'w',
  refused,
);

it.each([
  ['a refused update', new WorkflowUpdateFailedError('x', refused), 'SlotNotFound'],
  ['a refusal inside an activity failure', new WorkflowUpdateFailedError('x', deep), 'SlotNotFound'],
  [
    'a failure of another type',
    new WorkflowUpdateFailedError('x', ApplicationFailure.create({ type: 'Odd', message: 'odd' })),
    'Internal',
  ],
  ['an absent workflow', new WorkflowNotFoundError('x', 'a/b', undefined), 'RunNotFound'],
  [
    'an absent namespace',
    new ServiceError('x', { cause: new NamespaceNotFoundError('n') }),
    'TemporalUnavailable',
  ],
  ['a server that is away', grpc(14), 'TemporalUnavailable'],
  ['a call that took too long', grpc(4), 'TemporalUnavailable'],
  ['a failed workflow task', grpc(9), 'RollingOver'],
  ['no permission', grpc(7), 'TemporalUnavailable'],
  ['a bad request', grpc(3), 'InvalidCommand'],
  ['an end that Temporal may not have taken', new ActivityCompletionError('x'), 'OutcomeUnknown'],
  ['our own error', BatonError.of('StaleLease', 'x'), 'StaleLease'],
  ['anything else', new TypeError('boom'), 'Internal'],
  ['no error at all', 'boom', 'Internal'],
])('%s is %s', (_what, error, code) => expect(toBatonError(error).code).toBe(code));

it('keeps message, facts and cause of a refusal', () => {
  const error = toBatonError(new WorkflowUpdateFailedError('x', deep));
  expect(error).toMatchObject({ message: 'no slot', details: { slot: 's' } });
  expect(error.cause).toBeInstanceOf(WorkflowUpdateFailedError);
});

it.each([
  [
    'failed',
    ApplicationFailure.create({ type: 'RunFailed', message: 'slot s failed', details: [{ failed: [] }] }),
  ],
  ['cancelled', new CancelledFailure('x')],
  ['terminated', new TerminatedFailure('x')],
])('a run that was %s is RunFailed with that status', (status, cause) => {
  const error = toBatonError(new WorkflowFailedError('x', cause, RetryState.NON_RETRYABLE_FAILURE), {
    run: 'r',
  });
  expect(error).toMatchObject({ code: 'RunFailed', details: { run: 'r', status } });
});

it('tells not found, too late and refused apart', () => {
  expect(isNotFound(grpc(5))).toBe(true);
  expect(isNotFound(grpc(9))).toBe(false);
  expect(isTimeout(new WorkflowUpdateRPCTimeoutOrCancelledError('x'))).toBe(true);
  expect(isTimeout(grpc(4))).toBe(true);
  expect(refusalIn(grpc(9))).toBeNull();
});
