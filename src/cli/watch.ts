/** `baton watch RUN`: live in a terminal, a line a change elsewhere, NDJSON with `--json`. Ends with the run. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { RunShown } from '../client/show.js';
import { BatonError } from '../domain/errors.js';
import { action } from './context.js';
import { durationInput } from './input.js';
import { write } from './output.js';
import { showText, slotLine } from './render.js';
import { stopSignal } from './signals.js';

export function registerWatch(program: Command): void {
  program
    .command('watch')
    .description('follow a run until it ends')
    .argument('<run>')
    .option('--every <duration>', 'time between two looks', '1s')
    .action(
      action(async (context, run: string, options: { every: string }) => {
        const every = durationInput('every', options.every);
        const handle = (await context.client()).run(run);
        const live = !context.json && process.stdout.isTTY;
        const screen = live ? await liveScreen() : context.json ? jsonLines() : plainLines();
        const stop = stopSignal();
        const stopped = new AbortController();
        void stop.asked.then(() => stopped.abort());
        try {
          for (let first = true; !stopped.signal.aborted; first = false) {
            const shown = await look(() => handle.show(), first);
            if (shown) await screen.show(shown);
            if (shown && shown.status !== 'running') break;
            await sleep(every, undefined, { signal: stopped.signal }).catch(() => undefined);
          }
        } finally {
          screen.done();
          stop.dispose();
        }
      }),
    );
}

/** A server that is away for a moment does not end a watch that has begun. */
async function look(show: () => Promise<RunShown>, first: boolean): Promise<RunShown | null> {
  try {
    return await show();
  } catch (error) {
    const passing =
      error instanceof BatonError &&
      (error.code === 'TemporalUnavailable' || error.code === 'StoreUnavailable');
    if (first || !passing) throw error;
    return null;
  }
}

interface Screen {
  show(run: RunShown): Promise<void>;
  done(): void;
}

async function liveScreen(): Promise<Screen> {
  const { default: logUpdate } = await import('log-update');
  return {
    show: (run) => Promise.resolve(logUpdate(showText(run))),
    done: () => logUpdate.done(),
  };
}

function jsonLines(): Screen {
  let last = '';
  return {
    async show(run) {
      const text = JSON.stringify(run);
      if (text !== last) await write(`${text}\n`);
      last = text;
    },
    done: () => undefined,
  };
}

/** Only what has changed, so that a log tells the run's story. */
function plainLines(): Screen {
  const last = new Map<string, string>();
  let status = '';
  return {
    async show(run) {
      for (const slot of run.slots) {
        const text = slotLine(run, slot);
        if (last.get(slot.slot) !== text) await write(`${new Date().toISOString()}  ${text}\n`);
        last.set(slot.slot, text);
      }
      if (run.status !== status && run.status !== 'running')
        await write(`${new Date().toISOString()}  ${run.run}  ${run.status}\n`);
      status = run.status;
    },
    done: () => undefined,
  };
}
