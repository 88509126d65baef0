/** How the hook is asked: only a plain yes is one; an error, silence and any other answer refuse, and say nothing of their cause. */
import { expect, it, test } from 'vitest';
import { assertAuthorized, type Authorize, type AuthorizeAnswer } from '../../src/access/authorize.js';

const command = { name: 'hold', kind: 'command', tenant: 'acme', run: 'r', slot: 's' } as const;
const ask = (authorize: Authorize, timeoutMs = 200) => assertAuthorized(authorize, command, 'eve', timeoutMs);

test('it is given the command, frozen, and the actor; `true` lets pass', async () => {
  let given: unknown;
  await ask((...args) => ((given = args), Promise.resolve(true)));
  expect(given).toEqual([command, 'eve']);
  expect(Object.isFrozen((given as [object])[0])).toBe(true);
});

test('a refusal has its reason in message and code, bounded', async () => {
  const error = await ask(() => ({ refused: 'not on Fridays.' })).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'NotAuthorized',
    message: expect.stringMatching(
      /^eve may not hold: not on Fridays \[command=hold actor=eve .*run=r slot=s\]\. /,
    ),
    details: { command: 'hold', actor: 'eve', tenant: 'acme', run: 'r', slot: 's' },
  });
  expect((error as { details: object }).details).not.toHaveProperty('cause');
  const long = await ask(() => ({ refused: 'x'.repeat(100_000) })).catch((thrown: unknown) => thrown);
  expect((long as Error).message.length).toBeLessThan(1_000);
});

const wrong =
  (answer: unknown): Authorize =>
  () =>
    answer as AuthorizeAnswer;
it.each<[string, Authorize]>([
  [
    'throws',
    () => {
      throw new Error('password=hunter2');
    },
  ],
  ['rejects', () => Promise.reject(new Error('password=hunter2'))],
  ['rejects with nothing', () => Promise.reject(undefined)],
  ['never answers', () => new Promise(() => undefined)],
  ['answers nothing', wrong(undefined)],
  ['answers null', wrong(null)],
  ['answers false', wrong(false)],
  ['answers a text', wrong('yes')],
  ['answers 1', wrong(1)],
  ['answers an empty object', wrong({})],
  ['answers a reason that is no text', wrong({ refused: true })],
])('a hook that %s refuses, and its own words are not shown', async (_what, authorize) => {
  const from = performance.now();
  const error = await ask(authorize).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'NotAuthorized', details: { cause: 'policy failed' } });
  expect(JSON.stringify([(error as Error).message, (error as { details: object }).details])).not.toContain(
    'hunter2',
  );
  expect(performance.now() - from).toBeLessThan(2_000);
});
