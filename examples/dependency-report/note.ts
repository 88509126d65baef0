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
  const present = await presentFolders(project, listed.places);
  const folder = present[0];
  const manifest = folder === undefined ? {} : await packageJson(folder);
  const contents: Content[] = [];
  // Local packages are the project's own folders, with builds and data in them; only what came from outside is hashed.
  if (listed.origin !== 'local')
    for (const one of present) contents.push(await readContent(one, options.signal));
  const files = folder === undefined ? undefined : await licenceFiles(folder);
  const licence = licenceOf(listed, manifest, files, policy);
  const installed = typeof manifest['version'] === 'string' ? manifest['version'] : null;
  const presence =
    folder === undefined
      ? 'absent'
      : installed !== null && listed.origin === 'registry' && installed !== listed.version
        ? 'other version'
        : 'installed';
  const here = presence !== 'absent';
  const accepts = { includePrerelease: true };
  const engines =
    listed.engines === null
      ? null
      : { range: listed.engines, accepts: semver.satisfies(options.node, listed.engines, accepts) };

  const questions: Question[] = [];
  const ask = (code: Question['code'], text: string): number => questions.push({ code, text });
  if (here && Object.keys(manifest).length === 0) ask('unreadable', 'Its package.json cannot be read.');
  if (listed.origin !== 'local' || manifest['private'] !== true) askOfLicence(licence, policy, ask);
  if (listed.deprecated !== null) ask('deprecated', `Its authors say: ${listed.deprecated}`);
  if (presence === 'other version') {
    ask('version-differs', `The lock wants ${listed.version}, installed is ${installed ?? 'unknown'}.`);
  }
  if (new Set(contents.map((content) => content.digest)).size > 1) {
    ask('content-differs', `Its ${present.length} copies differ from each other.`);
  }
  if (here && listed.installScript)
    ask('install-script', 'It runs a script of its own when it is installed.');
  if (here && engines?.accepts === false)
    ask('engines', `It wants Node ${engines.range}, this is ${options.node}.`);

  const released = folder === undefined ? null : await releaseDate(folder, listed.version);
  return { package: listed, presence, licence, released, engines, content: contents[0] ?? null, questions };
}

/** The places of a package that are there; optional packages of other platforms are not. */
async function presentFolders(project: string, places: readonly string[]): Promise<string[]> {
  const folders = places.map((place) => path.join(project, place));
  const there = await Promise.all(
    folders.map((folder) =>
      access(path.join(folder, 'package.json')).then(
        () => true,
        () => false,
      ),
    ),
  );
  return folders.filter((_, index) => there[index]);
}

/** The licence from the first of package.json, lock and licence file that states one. `files` undefined: not installed. */
function licenceOf(
  listed: Listed,
  manifest: Record<string, unknown>,
  files: readonly LicenceFile[] | undefined,
  policy: Policy,
): Licence {
  const byFile = [...new Set((files ?? []).flatMap((file) => file.looksLike))];
  const own = statedLicence(manifest);
  const stated = own ?? listed.licence ?? (byFile.length > 0 ? byFile.join(' AND ') : null);
  if (stated === null) {
    const unread = files === undefined;
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

function askOfLicence(
  licence: Licence,
  policy: Policy,
  ask: (code: Question['code'], text: string) => unknown,
): void {
  if (licence.class === 'unread') return;
  if (licence.stated === null) {
    ask('licence-missing', 'It states no licence and carries no known text of one.');
    return;
  }
  if (licence.expression === null) {
    ask('licence-unknown', `"${licence.stated}" is no SPDX expression; read its terms.`);
    return;
  }
  if (policy.ask.some((name) => name === licence.class)) {
    const unknown = licence.class === 'unknown';
    ask(
      'licence-asks',
      unknown
        ? `The policy does not know ${licence.expression}.`
        : `${licence.expression} is ${licence.class}.`,
    );
  }
  const texts = [...new Set(licence.files.flatMap((file) => file.looksLike))];
  if (texts.length > 0 && licence.from !== 'licence file' && !agrees(licence.expression, texts)) {
    ask(
      'licence-differs',
      `It states ${licence.expression}, but carries the text of ${texts.join(' and ')}.`,
    );
  }
}
