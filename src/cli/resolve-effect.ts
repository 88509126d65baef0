/** `baton resolve-effect RUN SLOT NAME --committed|--absent --reason R`: settles an effect whose outcome nobody knows. */
import { Option, type Command } from 'commander';
import { BatonError } from '../domain/errors.js';
import { action } from './context.js';
import { jsonInput, textInput } from './input.js';
import { print } from './output.js';
import { effectAnswerText } from './render.js';

interface Options {
  readonly committed?: boolean;
  readonly absent?: boolean;
  readonly receipt?: string;
  readonly instance?: string;
  readonly reason?: string;
  readonly commandId?: string;
}

export function registerResolveEffect(program: Command): void {
  program
    .command('resolve-effect')
    .description('settle an effect whose outcome is not known; ask its owner first, the first word stands')
    .argument('<run>')
    .argument('<slot>')
    .argument('<name>')
    .addOption(new Option('--committed', 'it happened').conflicts('absent'))
    .addOption(
      new Option('--absent', 'it did not happen: a later attempt may send it again').conflicts('receipt'),
    )
    .option('--receipt <json>', 'what its owner gave: JSON of at most 64 KiB, @FILE or - (default: null)')
    .option('--instance <name>', "the effect's instance, if it has one")
    .option('--reason <text>', 'why: text, @FILE or -')
    .option('--command-id <id>', 'makes the command repeatable')
    .action(
      action(async (context, run: string, slot: string, name: string, options: Options) => {
        const { committed, absent, instance, commandId } = options;
        if (!committed && !absent)
          throw BatonError.of('InvalidCommand', 'say `--committed` or `--absent`', { field: 'committed' });
        const receipt = await jsonInput('receipt', options.receipt);
        const answer = await (
          await context.client()
        )
          .run(run)
          .slot(slot)
          .resolveEffect({
            name,
            outcome: committed ? 'committed' : 'absent',
            reason: (await textInput('reason', options.reason)) ?? '',
            ...(receipt === undefined ? {} : { receipt }),
            ...(instance === undefined ? {} : { instance }),
            ...(commandId === undefined ? {} : { commandId }),
          });
        await print(context, answer, effectAnswerText);
      }),
    );
}
