/**
 * The control worker: runs the run workflow from the prebuilt bundle, and the activities that need no host (settling,
 * direct claims and their attachments).
 */
import { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import type { NativeConnection } from '@temporalio/worker';
import { makeClaimSlot } from '../../activities/claim-slot.js';
import { makeControlActivities } from '../../activities/control.js';
import { makePerformAttempt } from '../../activities/perform-attempt.js';
import { accessOf, type AccessOptions } from '../access/options.js';
import { builtFile } from '../client/built.js';
import { batonClientOver, clientConverter, hasCodecs, workerConverter } from '../client/converter.js';
import { DEFAULT_TASK_QUEUE } from '../domain/wire.js';
import { startAuthorityServer } from '../effects/authority-server.js';
import { authorityCheck } from '../effects/check.js';
import type { Store } from '../store/port.js';
import { versioned, type DeploymentVersion } from './deployment.js';
import { createInnerWorker, stopWorker, type Running } from './workers.js';

/** The hook is asked before direct claims and settled effects, which this worker carries out, whoever sent them. */
export interface ControlWorkerOptions extends AccessOptions {
  readonly connection: NativeConnection;
  /** Default `default`. */
  readonly namespace?: string;
  readonly store: Store;
  /** Default `baton`. */
  readonly taskQueue?: string;
  /** Default: one over `connection`. */
  readonly client?: Client;
  /** Its codecs and external storage are used for the runs' payloads, which stay plain JSON before them. Default: none. */
  readonly dataConverter?: Pick<DataConverter, 'payloadCodecs' | 'externalStorage'>;
  /** Serves the authority check over HTTP, for effect owners in other processes. Default: not. */
  readonly authority?: AuthorityEndpoint;
  /** Takes part in Temporal's Worker Versioning, as this version. Default: not; see docs/upgrading.md before the first use. */
  readonly deployment?: DeploymentVersion;
  /** Runs kept in memory; another run's task replays its history first. Default: what Temporal's SDK takes for the memory. */
  readonly maxCachedWorkflows?: number;
}

/** Where the authority check listens. */
export interface AuthorityEndpoint {
  /** 0 takes a free one. */
  readonly port: number;
  /** Default `127.0.0.1`: this machine alone. */
  readonly host?: string;
}

export interface ControlWorker extends Running {
  /** Base address of the authority check, for `httpAuthority`; null when it is not served. */
  readonly authorityUrl: string | null;
}

/**
 * Makes a control worker; it polls once `run()` is called. Any number of them may serve one task queue.
 *
 * @throws BatonError `Internal` when the workflow bundle has not been built, `InvalidCommand` when the authority check cannot
 *   listen where it is asked to, or the policy file or the deployment version is not valid
 */
export async function startControlWorker(options: ControlWorkerOptions): Promise<ControlWorker> {
  const { connection, store, namespace = 'default', taskQueue = DEFAULT_TASK_QUEUE } = options;
  const client = options.client
    ? batonClientOver(options.client)
    : new Client({
        connection,
        namespace,
        dataConverter: clientConverter(options.dataConverter),
      });
  const dataConverter = workerConverter(options.dataConverter);
  // Read now: a worker that only finds out at a claim that its policy is not valid would refuse them all.
  const authorize = await accessOf(options)();
  const version = options.deployment && versioned(options.deployment);
  const endpoint = options.authority
    ? await startAuthorityServer({ ...options.authority, check: authorityCheck({ store, client }) })
    : null;
  const worker = await createInnerWorker({
    connection,
    namespace,
    taskQueue,
    // Texts of failures are encoded by the workflow's own converter, which is part of its bundle.
    workflowBundle: {
      codePath: builtFile(
        hasCodecs(options.dataConverter) ? 'workflow-bundle-encoded.js' : 'workflow-bundle.js',
      ),
    },
    ...(dataConverter ? { dataConverter } : {}),
    activities: {
      ...makeControlActivities({ store, client, authorize }),
      claimSlot: makeClaimSlot({ store, authorize }),
      performAttempt: makePerformAttempt({ store }),
    },
    maxConcurrentActivityTaskExecutions: 200,
    ...(version ? { workerDeploymentOptions: version } : {}),
    ...(options.maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows: options.maxCachedWorkflows }),
    shutdownForceTime: '15s',
    // A run whose control worker was killed is answered by another one after this time, not after Temporal's ten seconds.
    stickyQueueScheduleToStartTimeout: '3s',
  }).catch(async (error: unknown) => {
    await endpoint?.close();
    throw error;
  });
  let running: Promise<void> | undefined;
  // A Worker may end by itself, by a signal that Temporal's runtime handles or a fatal error.
  const run = (): Promise<void> => (running ??= worker.run().finally(() => endpoint?.close()));
  return {
    authorityUrl: endpoint?.url ?? null,
    run,
    async shutdown() {
      // A Worker that never ran would keep the connection from closing.
      const ended = run();
      stopWorker(worker);
      await ended.catch(() => undefined);
    },
  };
}
