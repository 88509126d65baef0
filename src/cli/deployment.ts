/** Options of `baton worker` for Temporal's Worker Versioning, under the names that Temporal's own tools have for them. */
import { Option, type Command } from 'commander';
import { BatonError } from '../domain/errors.js';
import { checkDeployment, type DeploymentVersion } from '../host/deployment.js';

export interface DeploymentOptions {
  readonly deploymentName?: string;
  readonly buildId?: string;
}

/** Adds the options to a command. Temporal's Worker Controller sets the variables in what it starts. */
export function addDeploymentOptions(command: Command): Command {
  const variable = (name: string): string | undefined => process.env[name] || undefined;
  return command
    .addOption(
      new Option(
        '--deployment-name <name>',
        'Worker Deployment that this control worker is a version of (TEMPORAL_DEPLOYMENT_NAME; default: unversioned)',
      ).default(variable('TEMPORAL_DEPLOYMENT_NAME')),
    )
    .addOption(
      new Option('--build-id <id>', 'its version (TEMPORAL_WORKER_BUILD_ID)').default(
        variable('TEMPORAL_WORKER_BUILD_ID'),
      ),
    );
}

/** What `runControl` takes of them. @throws BatonError `InvalidCommand`: one half of a version, or a part that Temporal refuses, would get no task, silently */
export function deploymentInput(options: DeploymentOptions): { deployment?: DeploymentVersion } {
  const { deploymentName: name, buildId } = options;
  if (name === undefined && buildId === undefined) return {};
  if (name !== undefined && buildId !== undefined) {
    const deployment = { name, buildId };
    checkDeployment(deployment);
    return { deployment };
  }
  const [given, missing] =
    name === undefined ? ['build-id', 'deployment-name'] : ['deployment-name', 'build-id'];
  throw BatonError.of('InvalidCommand', `\`${given}\` needs \`${missing}\``, { field: given });
}
