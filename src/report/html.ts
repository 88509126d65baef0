/**
 * HTML as a tagged template in which every value is escaped unless it is HTML made here. Texts come from agents and operators:
 * none may become an element, an attribute, or turn the line around.
 */

/** HTML that was made by {@link html}; nobody else can make one. */
export class Html {
  readonly #text: string;

  private constructor(text: string) {
    this.#text = text;
  }

  static made(text: string): Html {
    return new Html(text);
  }

  toString(): string {
    return this.#text;
  }
}

type Value = Html | string | number | null | undefined | false | readonly Value[];

/**
 * Values are escaped, lists put together, null, undefined and false left out. Attributes must be in double quotes. Indentation is
 * for the source only: a page of thousands of rows would be mostly that.
 */
export const html = (parts: TemplateStringsArray, ...values: readonly Value[]): Html =>
  Html.made(
    parts.reduce((text, part, at) => text + written(values[at - 1]) + part.replace(INDENT, '\n'), ''),
  );

const INDENT = /\n\s+/g;

function written(value: Value): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.toString();
  if (Array.isArray(value)) return value.map((item: Value) => written(item)).join('');
  return escaped(visible(String(value)));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? '');

/**
 * What cannot be seen and changes what is: control characters, marks that turn the direction of writing around, characters of no
 * width, tags, halves of surrogate pairs. Joiners stay, scripts and emoji need them.
 */
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;

/** The text with such characters written out, as `⟨U+202E⟩`. */
export const visible = (text: string): string =>
  text.replace(
    UNSEEN,
    (char) => `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );
