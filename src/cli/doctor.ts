/** `baton doctor [--fix]`: looks at server, namespace, search attributes, store, control worker and left-over rows. */
import type { Command } from 'commander';
import type { Check } from '../client/doctor.js';
import { BatonError } from '../domain/errors.js';
import { action, type Context } from './context.js';
import { print } from './output.js';
import { checksText } from './render.js';

export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check everything a run needs')
    .option('--fix', 'register search attributes, settle rows of runs that were terminated or reset')
    .action(
      action(async (context, options: { fix?: boolean }) => {
        const checks = await examine(context, options.fix === true);
        const ok = checks.every(({ status }) => status !== 'failed');
        await print(context, { ok, checks }, (value) => checksText(value.checks));
        if (!ok) process.exitCode = 1;
      }),
    );
}

async function examine(context: Context, fix: boolean): Promise<readonly Check[]> {
  const store = await attempt('store', async () => {
    const { engine, location } = (await context.store()).describe();
    return `${engine} at ${location}`;
  });
  const policy = await policyCheck(context);
  // Without a store there is nothing to settle and no client to make; the server can be looked at all the same.
  if (store.status === 'failed' || policy?.status === 'failed') {
    const { connect } = await import('../server/connect.js');
    const server = await attempt('server', async () => {
      const connected = await connect(await context.connectOptions());
      await connected.close();
      return withSecurity(connected);
    });
    return [server, store, ...(policy ? [policy] : [])];
  }
  let client;
  let server: Check;
  try {
    client = await context.client();
    server = await attempt('server', async () => {
      const { loadConnection } = await import('../server/connect.js');
      return withSecurity(loadConnection(await context.connectOptions()));
    });
  } catch (error) {
    return [failed('server', error), store];
  }
  const { examineServer } = await import('../client/doctor.js');
  return [server, store, ...(policy ? [policy] : []), ...(await examineServer(client, { fix }))];
}

/** Null without a policy. One that is not valid refuses every command, the doctor's own looks too. */
async function policyCheck({ policy }: Context): Promise<Check | null> {
  if (policy === undefined) return null;
  return attempt('policy', async () => {
    const { loadPolicy } = await import('../access/policy.js');
    await loadPolicy(policy);
    return policy;
  });
}

const withSecurity = ({ address, security }: { address: string; security: readonly string[] }): string =>
  `${address}${security.length === 0 ? '' : ` (${security.join(', ')})`}`;

async function attempt(check: string, work: () => Promise<string>): Promise<Check> {
  try {
    return { check, status: 'ok', message: await work(), fixed: false };
  } catch (error) {
    return failed(check, error);
  }
}

function failed(check: string, error: unknown): Check {
  if (!(error instanceof BatonError)) throw error;
  return { check, status: 'failed', message: error.message, fixed: false };
}
