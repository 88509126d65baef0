/** Node `report`: the Markdown that a person reads, from the notes and the pinned template. Pure. */
import type { Inventory, Note } from './types.js';

/** What the notes node hands on: the head of the inventory and every note. */
export interface Notes {
  readonly about: Omit<Inventory, 'packages'>;
  readonly notes: readonly Note[];
}

/**
 * Fills the template's `{{names}}`.
 *
 * @param prompt paragraph that introduces the open questions
 * @throws Error when the template names something that the report does not have
 */
export function renderReport(template: string, prompt: string, input: Notes): string {
  const parts: Record<string, string> = {
    project: cell(input.about.name),
    summary: summary(input),
    decisions: decisions(input.notes, prompt),
    licences: licences(input.notes),
    freshness: freshness(input),
    packages: packages(input.notes),
  };
  return template.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const part = parts[name];
    if (part === undefined) throw new Error(`the report's template names {{${name}}}, which does not exist`);
    return part;
  });
}

/** Text from packages goes into tables: no pipes, no line breaks, no markup of its own. */
const cell = (value: string): string => value.replace(/\s+/g, ' ').replace(/[|<>`[\]*\\]/g, '\\$&');
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
const plural = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`;
const day = (iso: string | null): string => iso?.slice(0, 10) ?? 'unknown';

function summary({ about, notes }: Notes): string {
  const count = (test: (note: Note) => boolean): number => notes.filter(test).length;
  const direct = count((note) => note.package.direct);
  const open = count((note) => note.questions.length > 0);
  return [
    `${plural(notes.length, 'package')}, ${direct} of them direct, ${count((note) => note.package.dev)} for development only;`,
    `${count((note) => note.presence !== 'absent')} are installed here.`,
    open === 0 ? 'None needs a decision.' : `**${plural(open, 'package')} for a person to decide.**`,
    `Lock version ${about.lockfileVersion}, written ${day(about.lockWritten)}.`,
  ].join(' ');
}

function decisions(notes: readonly Note[], prompt: string): string {
  const rows = notes.flatMap((note) =>
    note.questions.map((question) => [cell(note.package.id), question.code, cell(question.text)]),
  );
  return rows.length === 0
    ? 'Nothing.'
    : `${prompt.trim()}\n\n${table(['package', 'why', 'what was found'], rows)}`;
}

function licences(notes: readonly Note[]): string {
  const groups = new Map<string, { class: string; count: number; corrected: number }>();
  for (const { licence } of notes) {
    const name = licence.expression ?? (licence.stated === null ? '(none stated)' : licence.stated);
    const group = groups.get(name) ?? { class: licence.class, count: 0, corrected: 0 };
    groups.set(name, {
      ...group,
      count: group.count + 1,
      corrected: group.corrected + (licence.corrected ? 1 : 0),
    });
  }
  const rows = [...groups]
    .sort((a, b) => b[1].count - a[1].count || (a[0] < b[0] ? -1 : 1))
    .map(([name, group]) => [cell(name), group.class, String(group.count), String(group.corrected)]);
  const unread = notes.filter((note) => note.licence.class === 'unread').length;
  const hint = `\n\n${plural(unread, 'package')} could not be read: not installed, and the lock states no licence. Run \`npm ci\` and report again.`;
  return table(['licence', 'class', 'packages', 'corrected to SPDX'], rows) + (unread > 0 ? hint : '');
}

function freshness({ about, notes }: Notes): string {
  const several = new Map<string, string[]>();
  for (const note of notes) {
    if (note.package.otherVersions.length === 0) continue;
    several.set(note.package.name, [...(several.get(note.package.name) ?? []), note.package.version]);
  }
  const dated = notes
    .filter((note) => note.released !== null)
    .sort((a, b) => ((a.released ?? '') < (b.released ?? '') ? -1 : 1));
  const count = (test: (note: Note) => boolean): string => String(notes.filter(test).length);
  const facts = table(
    ['what', 'value'],
    [
      ['lock written', day(about.lockWritten)],
      ['tree installed', day(about.installed)],
      ['deprecated packages', count((note) => note.package.deprecated !== null)],
      ['names at several versions', String(several.size)],
      [`packages that do not accept Node ${about.node}`, count((note) => note.engines?.accepts === false)],
      ['packages with install scripts', count((note) => note.package.installScript)],
      ['not from a registry', count((note) => note.package.origin !== 'registry')],
      ['locked but installed at another version', count((note) => note.presence === 'other version')],
      [
        'optional and not installed here',
        count((note) => note.presence === 'absent' && note.package.optional),
      ],
      [
        'required and not installed here',
        count((note) => note.presence === 'absent' && !note.package.optional),
      ],
      ['release dates found in changelogs', `${dated.length} of ${notes.length}`],
    ],
  );
  const oldest = dated.slice(0, 10).map((note) => [cell(note.package.id), note.released ?? '']);
  const versions = [...several].map(([name, found]) => [cell(name), found.join(', ')]);
  return [
    facts,
    ...(versions.length > 0 ? [`### Several versions\n\n${table(['package', 'versions'], versions)}`] : []),
    ...(oldest.length > 0
      ? [`### Oldest by their own changelog\n\n${table(['package', 'released'], oldest)}`]
      : []),
  ].join('\n\n');
}

function packages(notes: readonly Note[]): string {
  const rows = notes.map(({ package: listed, licence, presence, content }) => [
    cell(listed.name),
    cell(listed.version),
    cell(licence.expression ?? licence.stated ?? '–'),
    listed.direct ? 'direct' : listed.dev ? 'dev' : '',
    presence === 'installed' ? '' : presence,
    content === null ? '' : content.digest.slice('sha256:'.length, 'sha256:'.length + 12),
  ]);
  return table(['package', 'version', 'licence', 'role', 'here', 'content sha256'], rows);
}
