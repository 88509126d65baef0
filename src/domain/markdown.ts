/**
 * Markdown of texts that other people and agents wrote. None of them may end a table, start markup, or hide what it says:
 * invisible characters are spelled out. Pure.
 */

/** A line of Markdown: one line, and nothing that is read as markup. */
export const escape = (text: string): string =>
  visible(text.replace(/\s+/g, ' ')).replace(/[\\`*_~|<>[\]]/g, '\\$&');

/** Control, format (direction marks among them) and line separator characters as `\u{…}`. */
export const visible = (text: string, except = ''): string =>
  text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) =>
    except.includes(char) ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );

export const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
export const head = (cells: readonly string[]): string => `${row(cells)}\n${row(cells.map(() => '---'))}`;

/** The first code points of a text, and a mark where some are left out. Never half a character, which no URL can carry. */
export function brief(text: string, most: number): string {
  const points = Array.from(text.slice(0, 2 * most + 2));
  return points.length > most ? `${points.slice(0, most).join('')}…` : text;
}
