/** `baton gc --older-than 30d [--dry-run]`: takes closed runs and unused bytes out of the store. */
import type { Command } from 'commander';
import { BatonError } from '../domain/errors.js';
import { MIN_GRACE_MS } from '../store/retention-port.js';
import { action } from './context.js';
import { durationInput } from './input.js';
import { print } from './output.js';
import { collectText } from './render-gc.js';

interface Options {
  readonly olderThan: string;
  readonly grace: string;
  readonly dryRun?: boolean;
}

export function registerGc(program: Command): void {
  program
    .command('gc')
    .description('remove closed runs of the tenant, and bytes that nothing refers to')
    .requiredOption('--older-than <duration>', 'only runs that ended longer ago, like 30d')
    .option('--grace <duration>', 'keep bytes that were put more recently, at least 1h', '1d')
    .option('--dry-run', 'tell what would go, and change nothing')
    .action(
      action(async (context, { olderThan, grace, dryRun = false }: Options) => {
        const request = {
          olderThanMs: ageInput('older-than', olderThan),
          graceMs: graceInput(grace),
          dryRun,
        };
        await print(context, await (await context.client()).collect(request), collectText);
      }),
    );
}

function graceInput(value: string): number {
  const graceMs = ageInput('grace', value);
  if (graceMs >= MIN_GRACE_MS) return graceMs;
  throw BatonError.of('InvalidCommand', '`grace` must be at least 1h', { field: 'grace', value });
}

/** Elsewhere a bare number is seconds; here it would be meant as days, and what goes does not come back. */
function ageInput(field: string, value: string): number {
  if (/^[\d.]+$/.test(value))
    throw BatonError.of(
      'InvalidCommand',
      `\`${field}\` needs a unit, like ${Number(value) > 0 ? value : 30}d`,
      { field, value },
    );
  const age = durationInput(field, value);
  if (age <= Date.now()) return age;
  throw BatonError.of('InvalidCommand', `\`${field}\` reaches back behind 1970`, { field, value });
}
