/** The control worker's part in Temporal's Worker Versioning. */
import { VersioningBehavior } from '@temporalio/common';
import type { WorkerDeploymentOptions } from '@temporalio/worker';
import { BatonError } from '../domain/errors.js';

/** A Worker Deployment Version of Temporal's. It gets no task before somebody has made it the current one. */
export interface DeploymentVersion {
  /** Not empty, without `.` and `:`, not beginning with `__`. */
  readonly name: string;
  /** Not empty, not beginning with `__`. */
  readonly buildId: string;
}

/**
 * Looks at it before a worker polls as it: the server refuses what is not valid, but only to the poller, which goes on asking, and the worker
 * would look ready and never get a task.
 *
 * @throws BatonError `InvalidCommand` with the field `deployment-name` or `build-id`
 */
export function checkDeployment({ name, buildId }: DeploymentVersion): void {
  checkPart('deployment-name', name, /^(?!__)[^.:]+$/, 'without `.` and `:`');
  checkPart('build-id', buildId, /^(?!__).+$/, 'of at least one character');
}

/** A run lives longer than any version of its worker, and its code replays what older ones began: it always moves to the current version. */
export function versioned(version: DeploymentVersion): WorkerDeploymentOptions {
  checkDeployment(version);
  return {
    version: { deploymentName: version.name, buildId: version.buildId },
    useWorkerVersioning: true,
    defaultVersioningBehavior: VersioningBehavior.AUTO_UPGRADE,
  };
}

function checkPart(field: string, value: string, form: RegExp, words: string): void {
  if (form.test(value)) return;
  throw BatonError.of('InvalidCommand', `\`${field}\` must be a text ${words}, and not begin with \`__\``, {
    field,
    value,
  });
}
