/** The report as a browser's parser would see it: elements, attributes and texts. Prettier's HTML parser, which refuses what is left open. */
import { parsers } from 'prettier/plugins/html';

interface Node {
  readonly kind: string;
  readonly name?: string;
  readonly value?: string;
  readonly attrs?: readonly { readonly name: string; readonly value: string | null }[];
  readonly children?: readonly Node[];
}

export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** Of it and of all inside. */
  readonly text: string;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
const decoded = (text: string): string =>
  text.replace(/&(#?\w+);/g, (_, name: string) => ENTITIES[name] ?? '?');

const textOf = (node: Node): string =>
  node.kind === 'text' ? decoded(node.value ?? '') : (node.children ?? []).map(textOf).join(' ');

/** All elements, in order. */
export async function elementsOf(html: string): Promise<readonly Element[]> {
  const root = (await parsers.html.parse(html, { parser: 'html', filepath: 'x.html' } as never)) as Node;
  const found: Element[] = [];
  const walk = (node: Node): void => {
    if (node.kind === 'element') {
      const attributes = Object.fromEntries(
        (node.attrs ?? []).map(({ name, value }) => [name, decoded(value ?? '')]),
      );
      found.push({ name: node.name ?? '', attributes, text: textOf(node).replace(/\s+/g, ' ').trim() });
    }
    node.children?.forEach(walk);
  };
  walk(root);
  return found;
}
