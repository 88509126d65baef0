/**
 * Markdown of texts that other people and agents wrote. None of them may end a table or a code block, start markup, or hide
 * what it says: invisible characters are spelled out.
 */

/** A line of Markdown: one line, and nothing that is read as markup. */
export const escape = (text: string): string =>
  visible(text.replace(/\s+/g, ' ')).replace(/[\\`*_~|<>[\]]/g, '\\$&');

/** A name. It may hold any character; with one that would break a code span or a table it is given as plain text. */
export const code = (name: string): string =>
  name === '' || /[`|]|^\s|\s$/.test(name) || visible(name) !== name ? escape(name) : `\`${name}\``;

/** Control, format (direction marks among them) and line separator characters as `\u{…}`. */
const visible = (text: string, except = ''): string =>
  text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) =>
    except.includes(char) ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );

/** A code block whose fence is longer than any run of backticks in it. */
export function block(text: string, language: string): string {
  const shown = visible(text.replace(/\r\n/g, '\n'), '\n\t');
  const longest = (shown.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${shown}\n${fence}`;
}

export const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
export const head = (cells: readonly string[]): string => `${row(cells)}\n${row(cells.map(() => '---'))}`;

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
