/**
 * `temporal-baton/testing`: the crash explorer, a store in memory and a Temporal server of one's own, for tests of agents and
 * callers. Loads no native worker into the test's process.
 */
import { openStore } from '../store/open.js';
import type { Store } from '../store/port.js';

/** A store that is gone when it is closed. It is of this process alone: hosts in other processes need a file. */
export const memoryStore = (): Promise<Store> => openStore('sqlite::memory:');

export { connect, type ConnectOptions, type TemporalConnection } from '../server/connect.js';
export { ensureServer, type EnsureServerOptions, type TemporalServer } from '../server/find.js';
export { watchStore, type StoreCall } from './watch-store.js';
export { exploreCrashes } from './crash/explore.js';
export { crashReportMarkdown, crashReportText } from './crash/text.js';
export type {
  AgentModule,
  CommittedEffect,
  CrashCell,
  CrashPoint,
  CrashPointKind,
  CrashReport,
  EffectAsked,
  ExploreOptions,
  RepeatedStep,
} from './crash/types.js';
