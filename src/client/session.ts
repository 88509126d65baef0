/**
 * What every operation of a client needs: the Temporal client, whose tenant and actor it speaks for, the store and how
 * long to wait. Built once by {@link BatonClient}; nothing else holds state.
 */
import type { Client } from '@temporalio/client';
import { ACCESS_OF_PLUGIN, type Access } from '../access/options.js';
import { BatonError } from '../domain/errors.js';
import type { RunRow, Store } from '../store/port.js';

/** Key under which a plugin on the Temporal client offers its store: a function `() => Promise<Store>`. */
export const STORE_OF_PLUGIN = Symbol.for('temporal-baton.store');

export interface Session {
  readonly client: Client;
  readonly tenant: string;
  readonly actor: string;
  readonly taskQueue: string;
  /** Longest wait for one command's answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Base address of Temporal's UI, or null when unknown. */
  readonly ui: string | null;
  /** True when operations that can do without the store may use it. */
  readonly hasStore: boolean;
  /** The hook that every command and read is judged by, or null. */
  readonly access: Access;
  store(): Promise<Store>;
}

/** The store that a BatonPlugin put on this Temporal client, or null. */
export function storeOfPlugins(client: Client): (() => Promise<Store>) | null {
  const plugins = (client.options as { plugins?: readonly object[] }).plugins ?? [];
  for (const plugin of plugins) {
    const offered: unknown = Reflect.get(plugin, STORE_OF_PLUGIN);
    if (typeof offered === 'function') return () => Promise.resolve(offered.call(plugin) as Promise<Store>);
  }
  return null;
}

/** The hook of a BatonPlugin on this Temporal client; without one everything is allowed. */
export function accessOfPlugins(client: Client): Access | undefined {
  const plugins = (client.options as { plugins?: readonly object[] }).plugins ?? [];
  for (const plugin of plugins) {
    const offered: unknown = Reflect.get(plugin, ACCESS_OF_PLUGIN);
    if (typeof offered === 'function') return offered as Access;
  }
  return undefined;
}

/** The same answer for every run that the tenant does not have, whether another tenant has it or nobody. */
export const runNotFound = (session: Session, run: string): BatonError =>
  BatonError.of('RunNotFound', 'no such run', { tenant: session.tenant, run });

/** The run's row, or `RunNotFound`. */
export async function runRow(session: Session, run: string): Promise<RunRow> {
  const row = await (await session.store()).runs.get(session.tenant, run);
  if (!row) throw runNotFound(session, run);
  return row;
}

/** Address of the run in Temporal's UI, or null when the UI's own is unknown. */
export function uiAddress(session: Session, workflowId: string): string | null {
  if (!session.ui) return null;
  const namespace = encodeURIComponent(session.client.options.namespace);
  return `${session.ui.replace(/\/+$/, '')}/namespaces/${namespace}/workflows/${encodeURIComponent(workflowId)}`;
}
