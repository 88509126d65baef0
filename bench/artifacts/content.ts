/** Input files of the artifact benchmark. */
import { createCipheriv } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const PIECE = 64 * 1024;

/** Fills a file with bytes that nothing compresses, other ones for each turn, piece by piece. */
export async function fillFile(file: string, size: number, turn: number): Promise<void> {
  const key = Buffer.alloc(32, `turn ${turn} `);
  const cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
  function* pieces(): Generator<Buffer> {
    for (let at = 0; at < size; at += PIECE) yield cipher.update(Buffer.alloc(Math.min(PIECE, size - at)));
  }
  await pipeline(Readable.from(pieces()), createWriteStream(file));
}
