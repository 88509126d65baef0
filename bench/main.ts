/** `npm run bench -- NAME`: every benchmark is one command that prints a table and can write JSON. */
import { Command, CommanderError } from 'commander';
import { registerArtifacts } from './artifacts/command.js';
import { registerEffects } from './effects/command.js';
import { registerOverhead } from './overhead/command.js';
import { registerSteps } from './steps/command.js';

const program = new Command('bench')
  .description('Benchmarks of temporal-baton, each against the same work done without it.')
  .usage('NAME [options]');
registerOverhead(program);
registerArtifacts(program);
registerSteps(program);
registerEffects(program);

for (const command of [program, ...program.commands]) command.exitOverride().allowExcessArguments(false);

try {
  if (process.argv.length > 2) await program.parseAsync(process.argv);
  else program.outputHelp();
} catch (error) {
  // Help and version are answers; whatever else commander throws is wrong usage, and told by it already.
  if (!(error instanceof CommanderError)) console.error(error);
  process.exitCode = error instanceof CommanderError ? (error.exitCode === 0 ? 0 : 2) : 1;
}
// Everything that was started has been ended by now. At once: a call that was interrupted would go on trying.
process.exit();
