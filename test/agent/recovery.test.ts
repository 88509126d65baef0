import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildHandoff } from '../../src/agent/handoff.js';
import { recoveryMarkdown } from '../../src/agent/recovery.js';
import { testStore, type TestStore } from '../definitions/store.js';
import { handRun, type HandRun } from './run-fixture.js';

let test: TestStore;
let run: HandRun;
beforeEach(async () => {
  test = await testStore();
  run = await handRun(test.store);
});
afterEach(() => test.end());

const markdownOf = async (slot: string): Promise<string> => {
  const { handoff } = await buildHandoff(test.store, { tenant: 'acme', run: 'run-1', slot });
  return recoveryMarkdown(handoff, {
    tenant: 'acme',
    run: 'run-1',
    slot,
    state: 'retry-wait',
    gate: 'reassign',
  });
};

describe('recoveryMarkdown', () => {
  it('says what happened, what is saved and what must be repeated', async () => {
    const first = await run.claim('notes');
    for (const name of ['inventory', 'notes/a', 'notes/b']) await run.save(first.fence, { name, step: name });
    await run.end(first.fence, 'expired');
    const text = await markdownOf('notes');
    expect(text).toContain(
      'Tenant `acme` · run `run-1` · slot `notes` · state `retry-wait`, gate `reassign`',
    );
    for (const ref of ['`report@1`', '`graph@1`', '`team@1`', '`agent` revision `4`', 'attachment prompt'])
      expect(text).toContain(ref);
    expect(text).toMatch(
      /\| 1 \| 1 \| `worker-\d+` \| researcher \| – \| fast \| .* \| lost \| expired \| `LeaseExpired` /,
    );
    expect(text).toContain('| `inventory` | done | 1 | 0 |');
    expect(text).toContain('| `notes` | repeat | – | 2 |');
    expect(text).toContain('- Reuse: `inventory`.\n- Must be repeated: `notes`, `decisions`.');
    expect(text.endsWith('\n')).toBe(true);
  });

  it('lets no text of a person break a table or a code block', async () => {
    const reassign = {
      reason: 'line 1\nline 2 | <b>*x*</b>',
      actor: 'ada',
      at: 5,
      workerClass: 'senior',
      fromSpec: 'fast',
      toSpec: 'senior',
      predecessor: 'a',
    };
    await run.succeed((await run.claim('read.a')).fence, '```\n# not a heading');
    const { fence } = await run.claim('notes', { reassign });
    await run.save(fence, { name: 'a`|b' });
    const text = await markdownOf('notes');
    const rows = text.split('\n').filter((line) => line.startsWith('|'));
    expect(text).toContain('line 1 line 2 \\| \\<b\\>\\*x\\*\\</b\\>');
    expect(rows.some((line) => line.includes('a\\`\\|b'))).toBe(true);
    expect(text).toContain('````json');
    const attempt = rows.find((line) => line.includes('line 1'));
    expect(attempt?.split(/(?<!\\)\|/)).toHaveLength(14);
  });

  it('speaks plainly of a slot that nobody touched, one that is worked on and one that is done', async () => {
    const untouched = await markdownOf('read.a');
    for (const line of [
      'Nobody has worked on this slot.',
      'Nothing is saved.',
      'declares no steps',
      'depends on no other',
      'Start from the beginning.',
    ]) {
      expect(untouched).toContain(line);
    }
    const { fence } = await run.claim('read.a');
    expect(await markdownOf('read.a')).toContain('Attempt #1 holds a live lease');
    await run.succeed(fence, 1);
    expect(await markdownOf('read.a')).toContain('Nothing: attempt #1 succeeded.');
  });
});
