/** Markdown of what an agent is handed: names and blocks of text that other people and agents wrote. */
import { escape, visible } from '../domain/markdown.js';

/** A name. It may hold any character; with one that would break a code span or a table it is given as plain text. */
export const code = (name: string): string =>
  name === '' || /[`|]|^\s|\s$/.test(name) || visible(name) !== name ? escape(name) : `\`${name}\``;

/** A code block whose fence is longer than any run of backticks in it. */
export function block(text: string, language: string): string {
  const shown = visible(text.replace(/\r\n/g, '\n'), '\n\t');
  const longest = (shown.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${shown}\n${fence}`;
}

export const bytesOf = (text: string): number => Buffer.byteLength(text, 'utf8');

/** The first bytes of a text, whole code points only. @returns the text itself when it fits */
export function cut(text: string, maxBytes: number): string {
  if (bytesOf(text) <= maxBytes) return text;
  let size = 0;
  let kept = '';
  for (const char of text) {
    size += bytesOf(char);
    if (size > maxBytes) break;
    kept += char;
  }
  return kept;
}
