/** `baton audit [RUN]`: what was commanded, by whom, and what became of it; refusals too. Needs the store only. */
import type { Command } from 'commander';
import type { AuditRequest } from '../client/audit.js';
import { BatonError } from '../domain/errors.js';
import { checkId } from '../domain/text.js';
import { action } from './context.js';
import { durationInput, integerInput } from './input.js';
import { print } from './output.js';
import { auditText } from './render-audit.js';

interface Options {
  readonly by?: string;
  readonly refused?: boolean;
  readonly since?: string;
  readonly limit: string;
  readonly before?: string;
}

export function registerAudit(program: Command): void {
  program
    .command('audit')
    .description('commands with their verdicts, newest first; those that were refused leave no other trace')
    .argument('[run]')
    .option('--by <actor>', 'only commands of this actor')
    .option('--refused', 'only what was refused')
    .option(
      '--since <time>',
      'not before: a time like 2026-01-31T12:00:00Z, or a duration back from now like 2h',
    )
    .option('--limit <n>', 'most entries, up to 1000', '100')
    .option('--before <entry>', 'only entries before this number: the next page')
    .action(
      action(async (context, run: string | undefined, options: Options) => {
        const request = requestOf(options);
        const client = await context.offlineClient();
        const entries = await (run === undefined ? client.audit(request) : client.run(run).audit(request));
        await print(context, entries, auditText);
      }),
    );
}

function requestOf({ by, refused, since, limit, before }: Options): AuditRequest {
  return {
    ...(by === undefined ? {} : { actor: checkId('by', by) }),
    ...(refused === true ? { verdict: 'refused' } : {}),
    ...(since === undefined ? {} : { since: timeInput(since) }),
    ...(before === undefined ? {} : { before: integerInput('before', before) }),
    limit: integerInput('limit', limit),
  };
}

/** A time with its date; anything else is a duration, counted back from now. */
function timeInput(value: string): Date {
  if (!/^\d{4}-\d{2}-\d{2}/.test(value)) return new Date(Date.now() - durationInput('since', value));
  const time = new Date(value);
  if (!Number.isNaN(time.getTime())) return time;
  throw BatonError.of('InvalidCommand', '`since` is no time', { field: 'since', value });
}
