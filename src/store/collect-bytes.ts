/**
 * Bytes go that no row refers to. Candidates are found without a lock; each then goes in a transaction that has its bytes to itself
 * and looks again. A put of the same bytes comes before that, and is seen, or after it, and puts them anew; so does a save.
 */
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { BlobPlace, BlobStore } from './blob-port.js';
import { pinnedBytes, referrers, unreferenced } from './byte-references.js';
import { exclusively } from './exclusive.js';
import { storeName } from './meta.js';
import type { CollectedBytes, RetentionStore, Swept } from './retention-port.js';
import type { Db } from './schema.js';
import { abandoned } from './spool.js';

type SweepInput = Parameters<RetentionStore['sweep']>[0];

const PAGE = 200;

/**
 * @param location of the database, which has the small bytes
 * @param large null: it has all of them
 */
export function byteCollection(
  db: Db,
  location: string,
  large: BlobStore | null,
): Pick<RetentionStore, 'sweep'> {
  return {
    async sweep(input) {
      const places: BlobPlace[] = [];
      const skipped: Swept['skipped'][number][] = [];
      for (const place of large?.places ?? []) {
        const others = await othersAt(db, place);
        if (others === 0) places.push(place);
        else
          skipped.push({
            place: place.location,
            why: `${others} other store(s) put there too: give each a prefix of its own`,
          });
      }
      const sweep = new Sweep(db, location, places, skipped.length > 0, input);
      await sweep.run();
      return { bytes: sweep.bytes(), skipped };
    },
  };
}

/** How many other stores have put there: what they refer to is in their own rows. */
async function othersAt(db: Db, { users }: BlobPlace): Promise<number> {
  if (!users) return 0;
  const [own, stores] = await Promise.all([storeName(db), users.stores()]);
  return stores.filter((store) => store !== own).length;
}

class Sweep {
  readonly #found = new Map<string, { objects: number; bytes: number }>();
  #pinned: ReadonlySet<string> = new Set();

  constructor(
    private readonly db: Db,
    private readonly location: string,
    private readonly places: readonly BlobPlace[],
    /** Large bytes may be in a place that is not looked at, and so stay. */
    private readonly smallOnly: boolean,
    private readonly input: SweepInput,
  ) {}

  bytes(): readonly CollectedBytes[] {
    return [...this.#found].map(([place, found]) => ({ place, ...found }));
  }

  async run(): Promise<void> {
    if (!this.input.dryRun) await this.#date();
    // Before the rest: what is published from now on has been put within the time that bytes are kept in any case.
    this.#pinned = await pinnedBytes(this.db);
    await this.#rows();
    for (const place of this.smallOnly ? [] : this.places) await this.#objects(place);
    for (const uploads of new Set(this.places.map((place) => place.uploads))) await this.#uploads(uploads);
    if (!this.input.dryRun) await this.#announcements();
  }

  /** Rows of earlier versions have no time. */
  async #date(): Promise<void> {
    for (let dated = PAGE; dated === PAGE;) {
      const some = this.db.selectFrom('blobs').select('digest').where('put_at', 'is', null).limit(PAGE);
      const update = this.db.updateTable('blobs').set({ put_at: this.input.at }).where('digest', 'in', some);
      dated = Number((await update.executeTakeFirst()).numUpdatedRows);
    }
  }

  /** Bytes that have a row. */
  async #rows(): Promise<void> {
    for (let after = ''; ;) {
      const page = await this.db
        .selectFrom('blobs')
        .select(['digest', 'size'])
        .select((eb) => eb('bytes', 'is', null).as('outside'))
        .where('put_at', '<', this.input.before)
        .where('digest', '>', after)
        .orderBy('digest')
        .limit(PAGE)
        .execute();
      const unused = await this.#unused(page.map(({ digest }) => digest));
      for (const { digest, size, outside } of page) {
        if (!unused.has(digest)) continue;
        if (!outside) await this.#take(digest, [{ place: this.location, size }], []);
        else if (!this.smallOnly) await this.#takeLarge(digest);
      }
      after = page.at(-1)?.digest ?? '';
      if (page.length < PAGE) return;
    }
  }

  async #takeLarge(digest: string): Promise<void> {
    const sizes: Located[] = [];
    for (const place of this.places) {
      const size = await place.has(digest);
      if (size !== null) sizes.push({ place: place.location, size });
    }
    await this.#take(digest, sizes, this.places);
  }

  /** Objects without a row: their put was killed before it wrote one. */
  async #objects(place: BlobPlace): Promise<void> {
    let page: string[] = [];
    const done = async (): Promise<void> => {
      const rows = await this.db.selectFrom('blobs').select('digest').where('digest', 'in', page).execute();
      const known = new Set(rows.map(({ digest }) => digest));
      const unused = await this.#unused(page.filter((digest) => !known.has(digest)));
      for (const digest of unused) await this.#takeLarge(digest);
      page = [];
    };
    for await (const { digest, at } of place.list()) {
      if (at >= this.input.before) continue;
      page.push(digest);
      if (page.length === PAGE) await done();
    }
    if (page.length > 0) await done();
  }

  async #unused(digests: readonly string[]): Promise<ReadonlySet<string>> {
    const { before, without } = this.input;
    const used = await referrers(this.db, digests, { before, without: without ?? new Set() });
    return new Set(digests.filter((digest) => !used.has(digest) && !this.#pinned.has(digest)));
  }

  /** @param from where large bytes may be; empty for small ones */
  async #take(digest: string, sizes: readonly Located[], from: readonly BlobPlace[]): Promise<void> {
    if (this.input.dryRun) return this.#count(sizes);
    const began = performance.now();
    // Outside of the transaction an object would go that somebody has put again since. Done twice it is the same.
    const taken = await exclusively(this.db, ['bytes', digest], (trx) => this.#remove(trx, digest, from));
    if (taken) this.#count(sizes);
    // With SQLite, whoever writes has waited for a bucket: they get as much time as this took.
    const took = performance.now() - began;
    if (took > 10) await sleep(took);
  }

  async #remove(trx: Db, digest: string, from: readonly BlobPlace[]): Promise<boolean> {
    const { before } = this.input;
    const { rows } = await sql`select 1 where ${unreferenced(digest, before)}`.execute(trx);
    if (rows.length === 0) return false;
    const row = trx.deleteFrom('blobs').where('digest', '=', digest).where('put_at', '<', before);
    const { numDeletedRows } = await row.executeTakeFirst();
    // Another collection may have taken them since they were found, and has counted them.
    const there = numDeletedRows > 0n || (await isIn(from, digest));
    for (const place of from) await place.remove(digest, trx);
    await trx.deleteFrom('blob_puts').where('digest', '=', digest).execute();
    return there;
  }

  /** Of this machine: what other machines have left there, they remove with their next upload. */
  async #uploads(directory: string): Promise<void> {
    for (const { file, size } of await abandoned(directory)) {
      if (!this.input.dryRun) await rm(file, { force: true });
      this.#count([{ place: directory, size }]);
    }
  }

  /** Of killed puts; what they left was found above. */
  async #announcements(): Promise<void> {
    for (let gone = PAGE; gone === PAGE;) {
      const { numAffectedRows } = await sql`delete from blob_puts where put in (
        select put from blob_puts where at < ${this.input.before} limit ${PAGE})`.execute(this.db);
      gone = Number(numAffectedRows ?? 0n);
    }
  }

  #count(located: readonly Located[]): void {
    for (const { place, size } of located) {
      const { objects, bytes } = this.#found.get(place) ?? { objects: 0, bytes: 0 };
      this.#found.set(place, { objects: objects + 1, bytes: bytes + size });
    }
  }
}

interface Located {
  readonly place: string;
  readonly size: number;
}

async function isIn(places: readonly BlobPlace[], digest: string): Promise<boolean> {
  for (const place of places) if ((await place.has(digest)) !== null) return true;
  return false;
}
