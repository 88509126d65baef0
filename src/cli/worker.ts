/** `baton worker`: a control worker on its own, until Ctrl-C or SIGTERM. */
import type { Command } from 'commander';
import { addAuthorityOptions, authorityInput, type AuthorityOptions } from './authority.js';
import { action } from './context.js';
import { addDeploymentOptions, deploymentInput, type DeploymentOptions } from './deployment.js';
import { write } from './output.js';
import { stopSignal } from './signals.js';

export function registerWorker(program: Command): void {
  const worker = program
    .command('worker')
    .description('run a control worker: the run workflows, settling and direct claims');
  addDeploymentOptions(addAuthorityOptions(worker)).action(
    action(async (context, options: AuthorityOptions & DeploymentOptions) => {
      const given = { ...authorityInput(options), ...deploymentInput(options) };
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
          deployment: given.deployment ?? null,
        };
        const version = given.deployment
          ? `, version ${given.deployment.name}.${given.deployment.buildId}`
          : '';
        const text = `Control worker ready on ${address}, namespace ${namespace}, task queue ${context.taskQueue}, store ${context.shownStore}${authority === null ? '' : `, authority check ${authority}`}${version}. Ctrl-C stops it.`;
        await write(`${context.json ? JSON.stringify(ready) : text}\n`);
        await Promise.race([stop.asked, control.ended]);
      } finally {
        await control.stop();
        stop.dispose();
      }
    }),
  );
}
