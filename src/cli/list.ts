/** `baton list`: the tenant's runs, newest first. */
import type { Command } from 'commander';
import { action } from './context.js';
import { print } from './output.js';
import { listText } from './render.js';

export function registerList(program: Command): void {
  program
    .command('list')
    .description("the tenant's runs, newest first")
    .action(action(async (context) => print(context, await (await context.client()).list(), listText)));
}
