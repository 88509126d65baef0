/**
 * The commands and where each is registered. Command files are light: what is heavy they import in their action, so that
 * `baton show` does not pay for what `baton dev` needs.
 */
import { Command } from 'commander';
import { addGlobalOptions } from './context.js';
import { registerAccept } from './accept.js';
import { registerArtifacts } from './artifacts.js';
import { registerAttempts } from './attempts.js';
import { registerAudit } from './audit.js';
import { registerClaim } from './claim.js';
import { registerComplete } from './complete.js';
import { registerDev } from './dev.js';
import { registerDoctor } from './doctor.js';
import { registerEffects } from './effects.js';
import { registerExport } from './export.js';
import { registerFail } from './fail.js';
import { registerGc } from './gc.js';
import { registerHeartbeat } from './heartbeat.js';
import { registerLaunch } from './launch.js';
import { registerList } from './list.js';
import { registerPublish } from './publish.js';
import { registerReassign } from './reassign.js';
import { registerRecovery } from './recovery.js';
import { registerRelease } from './release.js';
import { registerReport } from './report.js';
import { registerResolveEffect } from './resolve-effect.js';
import { registerSave } from './save.js';
import { registerShow } from './show.js';
import { registerSteering } from './steering.js';
import { registerVerify } from './verify.js';
import { registerWatch } from './watch.js';
import { registerWorker } from './worker.js';

/** @param args the command line, to see whether the demo is asked for: it alone brings modules of its own at start-up */
export async function buildProgram(args: readonly string[]): Promise<Command> {
  const program = new Command('baton')
    .description('Durable work across agent lifecycles, on Temporal.')
    .version(await packageVersion(), '--version', 'print the version')
    .configureHelp({ showGlobalOptions: true })
    // Otherwise commander would take `baton frobnicate` for a wish to see the help.
    .action((_options: unknown, command: Command) => {
      const unknown = command.args[0];
      if (unknown !== undefined)
        command.error(`error: unknown command '${unknown}'`, { code: 'commander.unknownCommand' });
      command.outputHelp();
    });
  addGlobalOptions(program);
  const wanted = args.find((arg) => !arg.startsWith('-'));
  if (
    wanted === 'demo' ||
    wanted === 'help' ||
    args.includes('--help') ||
    args.includes('-h') ||
    args.length === 0
  ) {
    const { registerDemo } = await import('./demo.js');
    registerDemo(program);
  }
  for (const register of [
    registerDev,
    registerWorker,
    registerPublish,
    registerAccept,
    registerLaunch,
    registerList,
    registerShow,
    registerWatch,
    registerAttempts,
    registerArtifacts,
    registerEffects,
    registerRecovery,
    registerAudit,
    registerReport,
    registerExport,
    registerVerify,
    registerClaim,
    registerHeartbeat,
    registerSave,
    registerComplete,
    registerFail,
    registerRelease,
    registerReassign,
    registerSteering,
    registerResolveEffect,
    registerDoctor,
    registerGc,
  ]) {
    register(program);
  }
  program.helpCommand('help [command]', 'help for a command');
  // Last, for subcommands inherit it: only for the unknown command above.
  return program.allowExcessArguments();
}

async function packageVersion(): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  // From source and from dist the package file is at different depths.
  for (const up of ['../../package.json', '../../../package.json']) {
    try {
      const found = JSON.parse(await readFile(new URL(up, import.meta.url), 'utf8')) as {
        name?: string;
        version?: string;
      };
      if (found.name === 'temporal-baton' && found.version) return found.version;
    } catch {
      continue;
    }
  }
  return 'unknown';
}
