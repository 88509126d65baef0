/** Licence texts, expressions and the policy that sorts them. Pure: no file is read here. */
import parseExpression from 'spdx-expression-parse';
import correct from 'spdx-correct';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import type { LicenceClass } from './types.js';

const policySchema = z.strictObject({
  classes: z.strictObject({
    permissive: z.array(z.string()),
    'weak-copyleft': z.array(z.string()),
    'strong-copyleft': z.array(z.string()),
    restricted: z.array(z.string()),
  }),
  ask: z.array(z.enum(['permissive', 'weak-copyleft', 'strong-copyleft', 'restricted', 'unknown'])),
});
export type Policy = z.infer<typeof policySchema>;

/** Reads the pinned policy; throws with the field when it is not one. */
export const parsePolicy = (yaml: string): Policy => policySchema.parse(parseYaml(yaml));

/** Kindest first; the order that AND and OR compare by. */
const STRICTNESS: readonly LicenceClass[] = [
  'permissive',
  'weak-copyleft',
  'strong-copyleft',
  'restricted',
  'unknown',
  'unread',
];
const SORTED = ['permissive', 'weak-copyleft', 'strong-copyleft', 'restricted'] as const;

/** What a package.json says, as one text: `license`, its old object form, or the old `licenses` list (a choice). */
export function statedLicence(manifest: Record<string, unknown>): string | null {
  const one = (value: unknown): string | null => {
    if (typeof value === 'string') return value.trim() === '' ? null : value.trim();
    if (typeof value === 'object' && value !== null && 'type' in value) return one(value.type);
    return null;
  };
  const list = (value: unknown): string | null => {
    if (!Array.isArray(value)) return null;
    const known = value.map(one).filter((entry): entry is string => entry !== null);
    if (known.length < 2) return known[0] ?? null;
    return `(${known.map((entry) => asSpdx(entry)?.expression ?? entry).join(' OR ')})`;
  };
  return (
    one(manifest['license']) ??
    list(manifest['license']) ??
    list(manifest['licenses']) ??
    one(manifest['licenses'])
  );
}

/**
 * The SPDX expression that a stated licence stands for, or null. `UNLICENSED`, `SEE LICENSE IN …` and the like stand
 * for none: correcting them would turn "no rights" into the public domain.
 */
export function asSpdx(stated: string): { expression: string; corrected: boolean } | null {
  if (/^(un-?licen[cs]ed|none|proprietary|commercial|custom|see licen[cs]e\b.*)$/i.test(stated.trim()))
    return null;
  if (parses(stated)) return { expression: stated, corrected: false };
  const better = correct(stated);
  return better !== null && parses(better) ? { expression: better, corrected: true } : null;
}

function parses(expression: string): boolean {
  try {
    parseExpression(expression);
    return true;
  } catch {
    return false;
  }
}

/** SPDX ids named in an expression. */
export function idsOf(expression: string): string[] {
  const walk = (node: parseExpression.Info): string[] =>
    'conjunction' in node ? [...walk(node.left), ...walk(node.right)] : [node.license];
  return [...new Set(walk(parseExpression(expression)))];
}

/** Class of a whole expression: of a choice the kindest, of a combination the strictest. */
export function classify(expression: string, policy: Policy): LicenceClass {
  const walk = (node: parseExpression.Info): LicenceClass => {
    if (!('conjunction' in node)) return classOf(node.license, policy);
    const sides = [walk(node.left), walk(node.right)].sort(
      (a, b) => STRICTNESS.indexOf(a) - STRICTNESS.indexOf(b),
    );
    return (node.conjunction === 'or' ? sides[0] : sides[1]) as LicenceClass;
  };
  return walk(parseExpression(expression));
}

function classOf(id: string, policy: Policy): LicenceClass {
  const fits = (pattern: string): boolean =>
    pattern.endsWith('*') ? id.startsWith(pattern.slice(0, -1)) : id === pattern;
  // An exact name wins over a pattern, wherever each stands.
  return (
    SORTED.find((name) => policy.classes[name].includes(id)) ??
    SORTED.find((name) => policy.classes[name].some(fits)) ??
    'unknown'
  );
}

/** Phrases that a licence's own text carries, in plain lower-case words. Every phrase of a rule must be there. */
const TEXTS: readonly { id: string; all: readonly string[]; none?: readonly string[] }[] = [
  { id: 'Apache-2.0', all: ['apache license', 'version 2 0'] },
  { id: 'MPL-2.0', all: ['mozilla public license', 'version 2 0'] },
  { id: 'AGPL-3.0', all: ['gnu affero general public license', 'version 3'] },
  { id: 'LGPL-3.0', all: ['gnu lesser general public license', 'version 3'] },
  { id: 'LGPL-2.1', all: ['gnu lesser general public license', 'version 2 1'] },
  { id: 'GPL-3.0', all: ['gnu general public license version 3 29 june 2007', 'terms and conditions'] },
  { id: 'GPL-2.0', all: ['gnu general public license version 2 june 1991'] },
  {
    id: 'MIT',
    all: [
      'permission is hereby granted free of charge to any person obtaining a copy',
      'permission notice shall be included in all copies or substantial portions',
    ],
  },
  {
    id: 'MIT-0',
    all: ['permission is hereby granted free of charge to any person obtaining a copy'],
    none: ['shall be included in all copies'],
  },
  {
    id: 'ISC',
    all: [
      'permission to use copy modify and or distribute this software for any purpose',
      'permission notice appear in all copies',
    ],
  },
  {
    id: '0BSD',
    all: [
      'permission to use copy modify and or distribute this software for any purpose with or without fee is hereby granted',
    ],
    none: ['permission notice appear in all copies'],
  },
  {
    id: 'BSD-3-Clause',
    all: ['redistribution and use in source and binary forms', 'endorse or promote products derived'],
  },
  {
    id: 'BSD-2-Clause',
    all: [
      'redistribution and use in source and binary forms',
      'redistributions in binary form must reproduce',
    ],
    none: ['endorse or promote products derived'],
  },
  { id: 'Unlicense', all: ['this is free and unencumbered software released into the public domain'] },
  { id: 'CC0-1.0', all: ['cc0 1 0 universal'] },
  {
    id: 'CC-BY-4.0',
    all: ['attribution 4 0 international'],
    none: ['sharealike', 'noncommercial 4 0', 'noderivatives'],
  },
  { id: 'BlueOak-1.0.0', all: ['blue oak model license'] },
  { id: 'Python-2.0', all: ['python software foundation license version 2'] },
  {
    id: 'Zlib',
    all: [
      'this software is provided as is without any express or implied warranty',
      'altered source versions must be plainly marked',
    ],
  },
  { id: 'WTFPL', all: ['do what the fuck you want to public license'] },
  { id: 'EPL-2.0', all: ['eclipse public license', 'v 2 0'] },
  { id: 'BSL-1.0', all: ['boost software license version 1 0'] },
];

/** SPDX ids whose text a licence file carries; several when it carries several, none when it is not a known text. */
export function textsIn(content: string): string[] {
  // "and/or" is written with a slash or without the "or" part; words alone are compared, so that layout does not matter.
  const words = content
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, ' ')
    .replace('use copy modify and distribute', 'use copy modify and or distribute');
  return TEXTS.filter(
    (rule) =>
      rule.all.every((phrase) => words.includes(phrase)) &&
      !(rule.none ?? []).some((phrase) => words.includes(phrase)),
  ).map((rule) => rule.id);
}

/** Whether a file's text is one that the expression names, versions and `-only` or `-or-later` aside. */
export function agrees(expression: string, looksLike: readonly string[]): boolean {
  const family = (id: string): string => id.replace(/-(only|or-later)$/, '').replace(/\+$/, '');
  const named = new Set(idsOf(expression).map(family));
  // X11 and MIT differ by one sentence, and ISC by one word from its older forms.
  if (named.has('X11')) named.add('MIT');
  return looksLike.some((id) => named.has(id));
}
