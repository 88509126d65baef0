/** What the demo says while it works: a live line in a terminal, plain lines elsewhere, stderr when stdout is for JSON. */
import { createLogUpdate } from 'log-update';
import { coloursFor, type Colours } from '../colours.js';

/** Shortest time between two plain progress lines, in milliseconds. */
const PLAIN_EVERY_MS = 2_000;

export class Reporter {
  readonly #stream: NodeJS.WriteStream;
  readonly #colours: Colours;
  readonly #live: ReturnType<typeof createLogUpdate> | null;
  readonly #start = performance.now();
  #lastPlain = 0;

  /** @param json true keeps stdout free for the one document */
  constructor(json: boolean) {
    this.#stream = json ? process.stderr : process.stdout;
    this.#colours = coloursFor(this.#stream);
    this.#live = this.#stream.isTTY ? createLogUpdate(this.#stream) : null;
  }

  /** A line that stays. */
  say(text: string): void {
    this.#live?.clear();
    this.#stream.write(`${text}\n`);
  }

  /** A line that stays, with the time since the demo began. */
  step(text: string): void {
    const seconds = ((performance.now() - this.#start) / 1_000).toFixed(1).padStart(6);
    this.say(`${this.#colours.dim(`${seconds} s`)}  ${text}`);
  }

  /** A line about work under way: replaced by the next one in a terminal, thinned out elsewhere. */
  progress(text: string): void {
    if (this.#live) return this.#live(`${' '.repeat(10)}${text}`);
    const now = performance.now();
    if (now - this.#lastPlain < PLAIN_EVERY_MS) return;
    this.#lastPlain = now;
    this.step(text);
  }

  /** Removes the live line. */
  done(): void {
    this.#live?.clear();
  }
}

/** `████░░░░ 120 of 300` */
export function bar(done: number, total: number, width = 24): string {
  const filled = total === 0 ? 0 : Math.min(width, Math.round((done / total) * width));
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${done} of ${total}`;
}
