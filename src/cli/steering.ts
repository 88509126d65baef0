/** `baton hold|release-hold|revoke|cancel`: an operator's commands on a slot, each with a reason. */
import type { Command } from 'commander';
import type { ReasonRequest, SlotAnswer, SlotHandle } from '../client/slot-handle.js';
import { action } from './context.js';
import { textInput } from './input.js';
import { print } from './output.js';
import { answerText } from './render.js';

interface Options {
  readonly reason?: string;
  readonly commandId?: string;
}

async function request(options: Options): Promise<ReasonRequest> {
  const reason = (await textInput('reason', options.reason)) ?? '';
  return { reason, ...(options.commandId === undefined ? {} : { commandId: options.commandId }) };
}

const SLOT_COMMANDS: readonly (readonly [
  string,
  string,
  (slot: SlotHandle, request: ReasonRequest) => Promise<SlotAnswer>,
])[] = [
  ['hold', 'keep a slot from being claimed', (slot, why) => slot.hold(why)],
  ['release-hold', 'let a held slot go on from where it was', (slot, why) => slot.releaseHold(why)],
  ['revoke', 'end the active attempt; the slot then waits for a reassign', (slot, why) => slot.revoke(why)],
];

export function registerSteering(program: Command): void {
  for (const [name, description, send] of SLOT_COMMANDS) {
    program
      .command(name)
      .description(description)
      .argument('<run>')
      .argument('<slot>')
      .option('--reason <text>', 'why: text, @FILE or -')
      .option('--command-id <id>', 'makes the command repeatable')
      .action(
        action(async (context, run: string, slot: string, options: Options) => {
          const why = await request(options);
          await print(context, await send((await context.client()).run(run).slot(slot), why), answerText);
        }),
      );
  }
  program
    .command('cancel')
    .description('cancel a slot, or the run with all its slots')
    .argument('<run>')
    .argument('[slot]')
    .option('--reason <text>', 'why: text, @FILE or -')
    .option('--command-id <id>', 'makes the command repeatable')
    .action(
      action(async (context, run: string, slot: string | undefined, options: Options) => {
        const why = await request(options);
        const handle = (await context.client()).run(run);
        await print(
          context,
          await (slot === undefined ? handle.cancel(why) : handle.slot(slot).cancel(why)),
          answerText,
        );
      }),
    );
}
