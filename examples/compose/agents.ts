/**
 * The agent of docker-compose.yml. Put yours in its place. Its input is `text`, and `seconds` that it takes over it: time to kill its
 * host and to see another go on.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { defineAgent, type AgentContext } from '../../src/agent/types.js';

interface Count {
  readonly words: number;
  readonly mostUsed: string | null;
}

export const counter = defineAgent({
  workerClass: 'counter',
  places: 4,
  run: (ctx) => (ctx.node === 'report' ? report(ctx) : count(ctx)),
});

async function count(ctx: AgentContext): Promise<Count> {
  const { text, seconds = 0 } = (ctx.input ?? {}) as { text?: unknown; seconds?: number };
  if (typeof text !== 'string') throw new TypeError('the input needs a `text`');
  const words = await ctx.step('words', () => text.toLowerCase().match(/\p{L}+/gu) ?? []);
  const mostUsed = await ctx.step('most-used', async () => {
    await sleep(seconds * 1_000, undefined, { signal: ctx.signal });
    const uses = new Map<string, number>();
    for (const word of words) uses.set(word, (uses.get(word) ?? 0) + 1);
    return [...uses].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
  });
  return { words: words.length, mostUsed };
}

async function report(ctx: AgentContext): Promise<{ report: string }> {
  const { words, mostUsed } = ctx.upstream['count'] as unknown as Count;
  const content = `${words} words; the most used one is ${mostUsed ?? 'none'}.\n`;
  await ctx.save({ kind: 'result', name: 'report.txt', content });
  return { report: content.trim() };
}
