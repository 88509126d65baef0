/**
 * Encrypts everything that Temporal keeps, with AES-256-GCM and your keys: the server, its database and its UI see ciphertext.
 *
 *     export ENCRYPTION_KEYS="2026b:$(openssl rand -base64 32),2026a:<the old one>"
 *     baton worker --codec dist/examples/encryption/codec.js        # and the same for every caller and host
 *
 * The first key encrypts; every payload carries the id of its key, and all keys of the list decrypt. To rotate, put the new key
 * last everywhere, then first everywhere, and take the old one out when no run within Temporal's retention needs it.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { ValueError, type Payload, type PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';

const { Payload: PayloadProto } = proto.temporal.api.common.v1;
const ENCODING = 'binary/encrypted';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const text = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('utf8');
const bytes = (value: string): Uint8Array => Buffer.from(value, 'utf8');

export class EncryptionCodec implements PayloadCodec {
  readonly #keys: ReadonlyMap<string, Buffer>;
  readonly #current: string;

  /** @param keys `id:base64` of 32 bytes each, with commas between; the first encrypts */
  constructor(keys: string) {
    const read = keys.split(',').map((entry): [string, Buffer] => {
      const [id = '', encoded = ''] = entry.trim().split(/:(.*)/s);
      const key = Buffer.from(encoded, 'base64');
      // The id alone: a message must never show a key, not even a wrong one.
      if (id === '' || key.length !== 32) throw new ValueError(`key '${id}' is not id:base64 of 32 bytes`);
      return [id, key];
    });
    this.#keys = new Map(read);
    this.#current = read[0]?.[0] ?? '';
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => this.#encrypt(payload));
  }

  /** What is in clear stays as it is: runs that were launched before the codec go on. */
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) =>
      text(payload.metadata?.['encoding']) === ENCODING ? this.#decrypt(payload) : payload,
    );
  }

  #encrypt(payload: Payload): Payload {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key(this.#current), iv);
    // Bound to its key's id, so that neither can be exchanged.
    cipher.setAAD(bytes(this.#current));
    const sealed = Buffer.concat([cipher.update(PayloadProto.encode(payload).finish()), cipher.final()]);
    return {
      metadata: { encoding: bytes(ENCODING), 'encryption-key-id': bytes(this.#current) },
      data: Buffer.concat([iv, cipher.getAuthTag(), sealed]),
    };
  }

  #decrypt({ metadata, data }: Payload): Payload {
    const id = text(metadata?.['encryption-key-id']);
    const all = Buffer.from(data ?? []);
    const decipher = createDecipheriv('aes-256-gcm', this.#key(id), all.subarray(0, IV_BYTES));
    decipher.setAAD(bytes(id));
    decipher.setAuthTag(all.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const opened = Buffer.concat([decipher.update(all.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
    return PayloadProto.decode(opened);
  }

  #key(id: string): Buffer {
    const key = this.#keys.get(id);
    if (!key) throw new ValueError(`no encryption key '${id}': add it to ENCRYPTION_KEYS`);
    return key;
  }
}

/** What `--codec` loads; a function, so that the keys are asked for when they are needed. */
export const payloadCodecs = (): PayloadCodec[] => {
  const keys = process.env['ENCRYPTION_KEYS'];
  if (!keys) throw new ValueError('ENCRYPTION_KEYS is not set');
  return [new EncryptionCodec(keys)];
};
