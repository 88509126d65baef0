/** Facts about the store itself: its secret key, and the machine that it lives on. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { sha256 } from './canonical.js';
import { unavailable } from './engine-errors.js';
import type { Db } from './schema.js';

const KEY = 'key';
const MACHINE = 'machine';
/** Set to 1 for one start after the file was moved to another machine on purpose. */
export const MOVED_VARIABLE = 'BATON_STORE_MOVED';

/** Records the value unless one is there (another process may be first), and returns the one that counts. */
async function recordOnce(db: Db, name: string, value: Uint8Array): Promise<Uint8Array> {
  const read = (): Promise<{ value: Uint8Array } | undefined> =>
    db.selectFrom('meta').select('value').where('name', '=', name).executeTakeFirst();
  const known = await read();
  if (known) return known.value;
  await db
    .insertInto('meta')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  return (await read())?.value ?? value;
}

/** @returns 32 random bytes, made once for the store whoever asks first. */
export async function storeKey(db: Db): Promise<Uint8Array> {
  return new Uint8Array(await recordOnce(db, KEY, randomBytes(32)));
}

/** @returns what tells this store from others, in public: nothing of its key can be learned from it. */
export async function storeName(db: Db): Promise<string> {
  return sha256(`name:${Buffer.from(await storeKey(db)).toString('hex')}`).slice(0, 32);
}

/** @returns what tells this machine from others: a digest, so that the machine's id itself is not given away. */
export async function machineId(): Promise<string> {
  const id = await readFile('/etc/machine-id', 'utf8').then(
    (text) => text.trim(),
    () => '',
  );
  return sha256(id === '' ? `hostname:${hostname()}` : `machine-id:${id}`);
}

/**
 * Refuses a second machine: SQLite's locks do not hold across a network file system, so two machines could both
 * believe that they hold a slot.
 * @throws BatonError `StoreUnavailable`
 */
export async function checkMachine(db: Db, location: string, machine: string, moved: boolean): Promise<void> {
  const mine = Buffer.from(machine, 'utf8');
  if (moved) {
    await db
      .insertInto('meta')
      .values({ name: MACHINE, value: mine })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: mine }))
      .execute();
    return;
  }
  const recorded = await recordOnce(db, MACHINE, mine);
  if (Buffer.compare(recorded, mine) !== 0) {
    throw unavailable(
      'this SQLite store belongs to another machine, and SQLite is for the processes of one machine (Postgres is for several); ' +
        `if the file was moved here and nobody uses it there any more, start once with ${MOVED_VARIABLE}=1`,
      undefined,
      { store: location },
    );
  }
}
