/** Where output goes: with `--json` one document on stdout and nothing else, otherwise text. */
import type { Context } from './context.js';

/** Waits until it is written: a pipe may be slow, and the process must not end before. */
export function write(text: string, stream: NodeJS.WriteStream = process.stdout): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => {
      // The reader has gone (`baton list | head -1`): nobody is left to tell.
      if (error && (error as NodeJS.ErrnoException).code !== 'EPIPE') reject(error);
      else resolve();
    });
  });
}

export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

export async function print<T>(context: Context, value: T, text: (value: T) => string): Promise<void> {
  await write(context.json ? jsonText(value) : `${text(value)}\n`);
}
