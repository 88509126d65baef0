/**
 * A lock between processes of one machine. It is an exclusive SQLite transaction, because the kernel gives that up when
 * its holder dies, in whatever way; a lock file would have to be guessed stale.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';

const POLL_MS = 200;

/**
 * Runs `work` while no other process runs anything under the same lock file.
 * @param onWait called once when somebody else holds the lock
 */
export async function withLock<T>(file: string, work: () => Promise<T>, onWait?: () => void): Promise<T> {
  const db = new Database(file, { timeout: 0 });
  try {
    let told = false;
    while (!tryBegin(db)) {
      if (!told) onWait?.();
      told = true;
      await sleep(POLL_MS);
    }
    return await work();
  } finally {
    db.close();
  }
}

function tryBegin(db: Database.Database): boolean {
  try {
    db.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
}
