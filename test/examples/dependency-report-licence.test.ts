import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { releaseDateIn } from '../../examples/dependency-report/files.js';
import {
  agrees,
  asSpdx,
  classify,
  parsePolicy,
  statedLicence,
  textsIn,
} from '../../examples/dependency-report/licence.js';
import { GPL3, MIT } from './dependency-report-project.js';

const policy = parsePolicy(readFileSync('examples/dependency-report/licence-policy.yaml', 'utf8'));

describe('stated licences', () => {
  it.each([
    [{ license: 'MIT' }, 'MIT'],
    [{ license: { type: 'ISC', url: 'x' } }, 'ISC'],
    [{ licenses: [{ type: 'MIT' }, { type: 'Apache 2.0' }] }, '(MIT OR Apache-2.0)'],
    [{ licenses: [{ type: 'BSD-3-Clause' }] }, 'BSD-3-Clause'],
    [{ licenses: 'MIT' }, 'MIT'],
    [{ license: '  ' }, null],
    [{ license: 7 }, null],
    [{}, null],
  ])('%j states %s', (manifest, stated) => expect(statedLicence(manifest)).toBe(stated));

  it('corrects what means an SPDX expression and never turns "no rights" into one', () => {
    expect(asSpdx('(MIT OR GPL-3.0-only)')).toEqual({
      expression: '(MIT OR GPL-3.0-only)',
      corrected: false,
    });
    expect(asSpdx('Apache 2.0')).toEqual({ expression: 'Apache-2.0', corrected: true });
    for (const none of ['UNLICENSED', 'SEE LICENSE IN LICENSE.txt', 'Proprietary', 'none'])
      expect(asSpdx(none)).toBeNull();
    expect(asSpdx('do as you like, friend')).toBeNull();
  });
});

describe('classes', () => {
  it.each([
    ['MIT', 'permissive'],
    ['Apache-2.0 AND MIT', 'permissive'],
    ['(MIT OR GPL-3.0-only)', 'permissive'],
    ['MIT AND GPL-3.0-only', 'strong-copyleft'],
    ['MPL-2.0', 'weak-copyleft'],
    ['LGPL-2.1-or-later', 'weak-copyleft'],
    ['GPL-2.0-only WITH Classpath-exception-2.0', 'strong-copyleft'],
    ['SSPL-1.0', 'restricted'],
    ['CC-BY-NC-4.0', 'restricted'],
    ['LicenseRef-mine', 'unknown'],
    ['MIT AND (MPL-2.0 OR LicenseRef-mine)', 'weak-copyleft'],
  ])('%s is %s', (expression, name) => expect(classify(expression, policy)).toBe(name));

  it('refuses a policy with a misspelt class', () => {
    expect(() => parsePolicy('classes: { permisive: [] }\nask: []')).toThrow(/permissive/);
  });
});

describe('texts of licence files', () => {
  it('knows texts by their phrases, whatever the layout, and several in one file', () => {
    expect(textsIn(MIT)).toEqual(['MIT']);
    expect(textsIn(MIT.replace(/ /g, '\n * '))).toEqual(['MIT']);
    expect(textsIn(`${MIT}\n\n${GPL3}`)).toEqual(['GPL-3.0', 'MIT']);
    expect(textsIn('All rights reserved.')).toEqual([]);
  });

  it('knows the texts that installed packages really carry', () => {
    const carried = (file: string) => textsIn(readFileSync(`node_modules/${file}`, 'utf8'));
    expect(carried('typescript/LICENSE.txt')).toEqual(['Apache-2.0']);
    expect(carried('semver/LICENSE')).toEqual(['ISC']);
    expect(carried('spdx-expression-parse/LICENSE')).toEqual(['MIT']);
  });

  it('compares by family, and an expression agrees with any of its ids', () => {
    expect(agrees('GPL-3.0-or-later', ['GPL-3.0'])).toBe(true);
    expect(agrees('(MIT OR Apache-2.0)', ['MIT'])).toBe(true);
    expect(agrees('MIT', ['GPL-3.0'])).toBe(false);
  });
});

describe('release dates', () => {
  const changelog =
    '# Changes\n\n## [1.10.0] - 2024-02-03\nfix of 1.1.0 from 2020-01-01\n## v1.1.0 (2023-05-06)\n## 1.1.0-rc.1 2023-04-01';
  it('takes the date of the heading of exactly that version', () => {
    expect(releaseDateIn(changelog, '1.10.0')).toBe('2024-02-03');
    expect(releaseDateIn(changelog, '1.1.0')).toBe('2023-05-06');
    expect(releaseDateIn(changelog, '1.1')).toBeNull();
    expect(releaseDateIn(changelog, '0.1.0')).toBeNull();
  });
});
