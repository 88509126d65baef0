/** Addresses of stores: what is read from them, what is refused, and that no password is told. */
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open.js';
import { shownAddress, storePlace } from '../../src/store/location.js';

describe('addresses', () => {
  it('reads a Postgres address: what is for people has neither password nor options', () => {
    expect(storePlace('postgresql://u:secret@h:5433/db?sslmode=disable&poolSize=3')).toEqual({
      engine: 'postgres',
      url: 'postgresql://u:secret@h:5433/db?sslmode=disable',
      location: 'postgresql://u@h:5433/db',
      poolSize: 3,
      statementTimeoutMs: 15_000,
      connectTimeoutMs: 5_000,
    });
    expect(storePlace('postgres:///db?host=/run/postgresql&connectTimeoutMs=200')).toMatchObject({
      location: 'postgresql:///run/postgresql/db',
      connectTimeoutMs: 200,
    });
  });

  it.each([
    ['postgres://u:se#cret@h/db', /%-encoded/],
    ['postgres://u:12#secret@h/db', /%-encoded/],
    ['postgres://u:12?secret@h/db', /%-encoded/],
    ['postgres://u:12/secret@h/db', /%-encoded/],
    ['postgres://u:secret@h:port/db', /well formed/],
    ['postgres://u:secret@h/db?poolSize=0', /poolSize/],
    ['postgres://u:secret@h/db?poolSize=many', /poolSize/],
    ['postgres://u:secret@h/db?statementTimeoutMs=1.5', /statementTimeoutMs/],
    ['mysql://u:secret@h/db', /no engine/],
  ])('refuses %j and does not repeat it', async (address, why) => {
    const error: unknown = await openStore(address).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'InvalidCommand',
      details: { field: 'store' },
      message: expect.stringMatching(why),
    });
    const { message, stack, cause } = error as Error;
    expect(JSON.stringify([message, stack, cause, error])).not.toMatch(/secret|cret@|u:12/);
    if (address.startsWith('postgres')) expect(shownAddress(address)).not.toMatch(/secret|cret@|u:12/);
  });

  it('is unavailable, and does not tell the password, where no Postgres answers', async () => {
    const error: unknown = await openStore('postgres://u:secret@127.0.0.1:9/db').catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({
      code: 'StoreUnavailable',
      details: { store: 'postgresql://u@127.0.0.1:9/db', engineCode: 'ECONNREFUSED' },
    });
    const { message, stack, cause } = error as Error;
    expect(JSON.stringify([message, stack, error]) + String((cause as Error).stack)).not.toContain('secret');
  });
});
