#!/usr/bin/env node
/** `baton`: the one place that reads argv and sets the exit code. 0 done, 1 failed, 2 wrong usage, 3 refused by a rule. */
import type { Command } from 'commander';
import { asBatonError, errorDocument, exitCodeOf, isAskedFor } from './errors.js';
import { jsonText, write } from './output.js';
import { buildProgram } from './program.js';

async function main(args: readonly string[]): Promise<number> {
  // Read here too: a command line that cannot be parsed must still be answered in the form that was asked for.
  const json = args.includes('--json');
  try {
    const program = await buildProgram(args);
    makeThrow(program);
    await program.parseAsync([...args], { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (isAskedFor(error)) return 0;
    const problem = asBatonError(error);
    if (json) {
      await write(jsonText(errorDocument(problem)));
    } else {
      const { errorText } = await import('./render.js');
      await write(`${errorText(problem)}\n`, process.stderr);
      if (process.env['BATON_DEBUG']) await write(`${causes(problem)}\n`, process.stderr);
    }
    return exitCodeOf(problem);
  }
}

/** Errors are thrown instead of printed and exited on, for every command. */
function makeThrow(command: Command): void {
  command
    .exitOverride((error) => {
      throw Object.assign(error, { usage: usageOf(command) });
    })
    .configureOutput({ writeErr: () => undefined });
  for (const sub of command.commands) makeThrow(sub);
}

/** How the command is called: `baton gc`. */
const usageOf = (command: Command): string =>
  command.parent ? `${usageOf(command.parent)} ${command.name()}` : command.name();

function causes(error: unknown): string {
  const lines: string[] = [];
  for (let at = error; at instanceof Error && lines.length < 20; at = at.cause)
    lines.push(at.stack ?? at.message);
  return lines.join('\ncaused by: ');
}

let told = false;
// A stream whose reader has gone (`baton list | head -1`) also emits the error, which would end the process with a stack trace. What was asked
// for is done all the same; a command that goes on until it is told to stop is told.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    if (stream === process.stdout && process.listenerCount('SIGTERM') > 0 && !told) {
      told = true;
      process.kill(process.pid, 'SIGTERM');
    }
  });
const code = await main(process.argv.slice(2));
process.exitCode = code;
// Connections are closed by now; a library's leftover timer must not keep a finished command on the screen.
setTimeout(() => process.exit(code), 500).unref();
