/**
 * The hook that says who may do what, and how it is asked: whatever is not a plain yes is a refusal, an error and silence
 * too. It is asked before anything is looked at, so its answer is the same whether there is such a run or not.
 */
import { BatonError } from '../domain/errors.js';
import { recordable } from '../domain/text.js';
import type { ActionAsked } from './actions.js';
import { within } from './within.js';

/** `true`: allowed. Otherwise why not, in words for the one who asked. */
export type AuthorizeAnswer = true | { readonly refused: string };

/**
 * Says whether an actor may do something. Called for every command and read, a repeated one too, at each door that has it.
 * It must answer within its time (5 s in the client, 2 s in a control worker); an error, a late or any other answer refuses.
 *
 * @param command what is asked for, without what it carries
 * @param actor who asks, as the client was told: Baton does not know who that really is
 */
export type Authorize = (command: ActionAsked, actor: string) => AuthorizeAnswer | Promise<AuthorizeAnswer>;

/** Longest time for an answer of the hook in a client, in milliseconds. */
export const AUTHORIZE_MS = 5_000;
/** In a control worker: an activity that asks must still write within its five seconds. */
export const AUTHORIZE_ACTIVITY_MS = 2_000;
/** Code points of a refusal's reason that are shown and kept. */
const MAX_REASON = 500;

/**
 * @param timeoutMs longest wait for the hook, in milliseconds
 * @throws BatonError `NotAuthorized` unless the hook says yes; `details.cause` is `policy failed` when it said nothing of the kind
 */
export async function assertAuthorized(
  authorize: Authorize,
  command: ActionAsked,
  actor: string,
  timeoutMs: number,
): Promise<void> {
  let answer: unknown;
  try {
    const late = (): Error => new Error(`the policy did not answer within ${timeoutMs} ms`);
    // Called inside of a promise: a hook that throws at once is one that failed too.
    const asked = Promise.resolve().then(() => authorize(Object.freeze({ ...command }), actor));
    answer = await within(asked, timeoutMs, late);
  } catch (error) {
    throw failed(command, actor, error);
  }
  if (answer === true) return;
  const refused: unknown = (answer as { refused?: unknown } | null | undefined)?.refused;
  if (typeof refused !== 'string') {
    throw failed(command, actor, new Error('the policy answered neither true nor { refused }'));
  }
  throw notAuthorized(command, actor, recordable(refused.replace(/[.\s]+$/, ''), MAX_REASON));
}

/** The error's own text is not shown: it may hold the address or the answer of a service that the policy asked. */
const failed = (command: ActionAsked, actor: string, cause: unknown): BatonError =>
  notAuthorized(command, actor, 'the policy failed', { cause: 'policy failed' }, cause);

function notAuthorized(
  { name, tenant, run, slot }: ActionAsked,
  actor: string,
  why: string,
  more: Readonly<Record<string, string>> = {},
  cause?: unknown,
): BatonError {
  const where = { tenant, ...(run === undefined ? {} : { run }), ...(slot === undefined ? {} : { slot }) };
  const facts = { command: name, actor, ...where, ...more };
  const what = `${actor} may not ${name}${why === '' ? '' : `: ${why}`}`;
  return BatonError.of('NotAuthorized', what, facts, cause === undefined ? undefined : { cause });
}
