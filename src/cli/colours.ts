/**
 * Colours, for each stream by itself: a terminal gets them unless NO_COLOR is set, a file or pipe only with FORCE_COLOR. (The
 * library by itself also colours pipes wherever CI is set, which breaks scripts that read our output there.)
 */
import pc from 'picocolors';

export type Colours = ReturnType<typeof pc.createColors>;

/**
 * @param stream where the text will go
 * @param env variables that decide; default the process's own
 */
export function coloursFor(stream: { readonly isTTY?: boolean }, env = process.env): Colours {
  const { NO_COLOR, FORCE_COLOR, TERM } = env;
  const forced = FORCE_COLOR !== undefined && !['', '0', 'false'].includes(FORCE_COLOR);
  return pc.createColors(!NO_COLOR && (forced || (stream.isTTY === true && TERM !== 'dumb')));
}

/** Colours of stdout. */
export const colours = coloursFor(process.stdout);
