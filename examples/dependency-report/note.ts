/** Node `notes`, one package: what its files say and which questions they leave to a person. */
import { access } from 'node:fs/promises';
import path from 'node:path';
import semver from 'semver';
import { licenceFiles, readContent, releaseDate, type Content } from './files.js';
import { agrees, asSpdx, classify, statedLicence, type Policy } from './licence.js';
import { packageJson } from './lock.js';
import type { Licence, LicenceFile, Listed, Note, Question } from './types.js';

/**
 * Looks at one package.
 *
 * @param project absolute folder of the project
 * @param policy the pinned licence policy
 * @param node version of Node.js that `engines` is held against
 */
export async function noteOf(
  project: string,
  listed: Listed,
  policy: Policy,
  options: { node: string; signal?: AbortSignal },
): Promise<Note> {
  const present: string[] = [];
  for (const place of listed.places) {
    const folder = path.join(project, place);
    if (
      await access(path.join(folder, 'package.json')).then(
        () => true,
        () => false,
      )
    )
      present.push(folder);
  }
  const folder = present[0];
  const manifest = folder === undefined ? {} : await packageJson(folder);
  const contents: Content[] = [];
  // Local packages are the project's own folders, with builds and data in them; only what came from outside is hashed.
  if (listed.origin !== 'local')
    for (const one of present) contents.push(await readContent(one, options.signal));
  const installed = typeof manifest['version'] === 'string' ? manifest['version'] : null;
  const sameVersion = installed === null || listed.origin !== 'registry' || installed === listed.version;
  const presence = folder === undefined ? 'absent' : sameVersion ? 'installed' : 'other version';
  const licence = licenceOf(
    listed,
    manifest,
    folder === undefined ? null : await licenceFiles(folder),
    policy,
  );
  const engines =
    listed.engines === null
      ? null
      : {
          range: listed.engines,
          accepts: semver.satisfies(options.node, listed.engines, { includePrerelease: true }),
        };
  const questions: Question[] = [
    ...(folder !== undefined && Object.keys(manifest).length === 0
      ? [{ code: 'unreadable' as const, text: `Its package.json cannot be read: ${folder}.` }]
      : []),
    ...(listed.origin === 'local' && manifest['private'] === true ? [] : licenceQuestions(licence, policy)),
    ...(listed.deprecated === null
      ? []
      : [{ code: 'deprecated' as const, text: `Its authors say: ${listed.deprecated}` }]),
    ...(presence === 'other version'
      ? [
          {
            code: 'version-differs' as const,
            text: `The lock wants ${listed.version}, installed is ${String(installed)}.`,
          },
        ]
      : []),
    ...(new Set(contents.map((content) => content.digest)).size > 1
      ? [{ code: 'content-differs' as const, text: `Its ${present.length} copies differ from each other.` }]
      : []),
    ...(engines !== null && !engines.accepts && presence !== 'absent'
      ? [{ code: 'engines' as const, text: `It wants Node ${engines.range}, this is ${options.node}.` }]
      : []),
  ];
  const released = folder === undefined ? null : await releaseDate(folder, listed.version);
  return { package: listed, presence, licence, released, engines, content: contents[0] ?? null, questions };
}

/** The licence from the first of package.json, lock and licence file that states one. `files` null: not installed. */
function licenceOf(
  listed: Listed,
  manifest: Record<string, unknown>,
  files: readonly LicenceFile[] | null,
  policy: Policy,
): Licence {
  const byFile = [...new Set((files ?? []).flatMap((file) => file.looksLike))];
  const own = statedLicence(manifest);
  const stated = own ?? listed.licence ?? (byFile.length > 0 ? byFile.join(' AND ') : null);
  if (stated === null) {
    const unread = files === null;
    const none = { stated, expression: null, corrected: false, from: 'nowhere' as const, files: files ?? [] };
    return { ...none, class: unread ? 'unread' : 'unknown' };
  }
  const spdx = asSpdx(stated);
  return {
    stated,
    expression: spdx?.expression ?? null,
    corrected: spdx?.corrected ?? false,
    from: own !== null ? 'package.json' : listed.licence !== null ? 'lock' : 'licence file',
    class: spdx === null ? 'unknown' : classify(spdx.expression, policy),
    files: files ?? [],
  };
}

function licenceQuestions(licence: Licence, policy: Policy): Question[] {
  if (licence.class === 'unread') return [];
  if (licence.stated === null)
    return [{ code: 'licence-missing', text: 'It states no licence and carries no known text of one.' }];
  if (licence.expression === null)
    return [{ code: 'licence-unknown', text: `"${licence.stated}" is no SPDX expression; read its terms.` }];
  const questions: Question[] = [];
  if (policy.ask.some((name) => name === licence.class)) {
    const text =
      licence.class === 'unknown'
        ? `The policy does not know ${licence.expression}.`
        : `${licence.expression} is ${licence.class}.`;
    questions.push({ code: 'licence-asks', text });
  }
  const texts = [...new Set(licence.files.flatMap((file) => file.looksLike))];
  if (texts.length > 0 && licence.from !== 'licence file' && !agrees(licence.expression, texts)) {
    questions.push({
      code: 'licence-differs',
      text: `It states ${licence.expression}, but carries the text of ${texts.join(' and ')}.`,
    });
  }
  return questions;
}
