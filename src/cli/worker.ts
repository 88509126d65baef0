/** `baton worker`: a control worker on its own, until Ctrl-C or SIGTERM. */
import type { Command } from 'commander';
import { addAuthorityOptions, authorityInput, type AuthorityOptions } from './authority.js';
import { action } from './context.js';
import { write } from './output.js';
import { stopSignal } from './signals.js';

export function registerWorker(program: Command): void {
  addAuthorityOptions(
    program
      .command('worker')
      .description('run a control worker: the run workflows, settling and direct claims'),
  ).action(
    action(async (context, options: AuthorityOptions) => {
      const given = authorityInput(options);
      const { runControl } = await import('./control.js');
      const stop = stopSignal();
      const control = await runControl(context, given);
      try {
        const { address, namespace, authorityUrl: authority } = control;
        const ready = {
          ready: true,
          pid: process.pid,
          address,
          namespace,
          taskQueue: context.taskQueue,
          store: context.shownStore,
          authority,
        };
        const text = `Control worker ready on ${address}, namespace ${namespace}, task queue ${context.taskQueue}, store ${context.shownStore}${authority === null ? '' : `, authority check ${authority}`}. Ctrl-C stops it.`;
        await write(`${context.json ? JSON.stringify(ready) : text}\n`);
        await Promise.race([stop.asked, control.ended]);
      } finally {
        await control.stop();
        stop.dispose();
      }
    }),
  );
}
