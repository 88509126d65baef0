import { describe, expect, it } from 'vitest';
import { originOf, takeInventory } from '../../examples/dependency-report/inventory.js';
import { makeProject } from './dependency-report-project.js';

const lock = (packages: Record<string, unknown>) => ({ name: 'shop', lockfileVersion: 3, packages });

describe('inventory of a lock', () => {
  it('lists each name and version once, with all its places and its other versions', async () => {
    const project = await makeProject({
      'package-lock.json': lock({
        '': { dependencies: { a: '^1.0.0' } },
        'node_modules/a': { version: '1.0.0', license: 'MIT' },
        'node_modules/b': { version: '2.0.0', dev: true },
        'node_modules/c': { version: '1.0.0' },
        'node_modules/a/node_modules/b': { version: '1.5.0', license: 'ISC' },
        'node_modules/c/node_modules/b': { version: '1.5.0' },
      }),
    });
    const { packages, name } = await takeInventory(project);
    expect(name).toBe('shop');
    expect(packages.map((one) => one.id)).toEqual(['a@1.0.0', 'b@1.5.0', 'b@2.0.0', 'c@1.0.0']);
    const old = packages.find((one) => one.id === 'b@1.5.0');
    expect(old).toMatchObject({
      places: ['node_modules/a/node_modules/b', 'node_modules/c/node_modules/b'],
      otherVersions: ['2.0.0'],
      licence: 'ISC',
      direct: false,
    });
    expect(packages[0]).toMatchObject({ direct: true, dev: false, origin: 'registry' });
    expect(packages[2]).toMatchObject({ dev: true });
  });

  it('takes workspaces and linked folders by their own place and counts what they depend on as direct', async () => {
    const project = await makeProject({
      'package-lock.json': lock({
        '': { workspaces: ['apps/*'] },
        'apps/web': { name: '@shop/web', version: '0.1.0', dependencies: { a: '1' } },
        'node_modules/@shop/web': { resolved: 'apps/web', link: true },
        'node_modules/a': { version: '1.0.0' },
        'apps/web/node_modules/a': { version: '0.9.0' },
      }),
    });
    const { packages } = await takeInventory(project);
    expect(packages.map((one) => [one.id, one.origin, one.direct])).toEqual([
      ['@shop/web@0.1.0', 'local', false],
      ['a@0.9.0', 'registry', true],
      ['a@1.0.0', 'registry', true],
    ]);
  });

  it('keeps the real name of an alias, deprecations, install scripts and old forms of engines', async () => {
    const project = await makeProject({
      'package-lock.json': lock({
        'node_modules/alias': {
          name: 'real',
          version: '3.0.0',
          deprecated: 'use other',
          hasInstallScript: true,
        },
        'node_modules/old': { version: '1.0.0', engines: ['node >= 0.4'] },
      }),
    });
    const { packages } = await takeInventory(project);
    expect(packages.map((one) => one.id)).toEqual(['old@1.0.0', 'real@3.0.0']);
    expect(packages[0]?.engines).toBe('>= 0.4');
    expect(packages[1]).toMatchObject({ deprecated: 'use other', installScript: true });
  });

  it('reads lock version 1, with nested dependencies, aliases and git addresses', async () => {
    const project = await makeProject({
      'package.json': { name: 'old-shop', dependencies: { a: '1', g: 'x/g' } },
      'package-lock.json': {
        lockfileVersion: 1,
        dependencies: {
          a: { version: '1.0.0', dependencies: { b: { version: '2.0.0', dev: true } } },
          g: { version: 'git+ssh://git@example.com/x/g.git#abc' },
          z: { version: 'npm:y@4.0.0' },
        },
      },
    });
    const { packages, name, lockfileVersion } = await takeInventory(project);
    expect([name, lockfileVersion]).toEqual(['old-shop', 1]);
    expect(packages.map((one) => [one.name, one.version, one.origin, one.direct])).toEqual([
      ['a', '1.0.0', 'registry', true],
      ['b', '2.0.0', 'registry', false],
      ['g', 'git+ssh://git@example.com/x/g.git#abc', 'git', true],
      ['y', '4.0.0', 'registry', false],
    ]);
    expect(packages[1]?.places).toEqual(['node_modules/a/node_modules/b']);
  });

  it('says what to do without a lock and with a broken one', async () => {
    await expect(takeInventory(await makeProject({}))).rejects.toThrow(/no package-lock\.json.*npm install/);
    const broken = await makeProject({ 'package-lock.json': '{' });
    await expect(takeInventory(broken)).rejects.toThrow(/is not JSON/);
  });

  it.each([
    [null, 'registry'],
    ['https://registry.example.com/a/-/a-1.0.0.tgz', 'registry'],
    ['https://example.com/mine.tgz', 'remote'],
    ['git+https://example.com/a.git#1', 'git'],
    ['github:x/y#1', 'git'],
    ['file:vendor/a.tgz', 'file'],
  ])('origin of %s is %s', (resolved, origin) => {
    expect(originOf({ local: false, resolved })).toBe(origin);
  });

  it('lists this project as npm does: every installed package is found', async () => {
    const { packages } = await takeInventory(process.cwd());
    expect(packages.length).toBeGreaterThan(100);
    expect(packages.find((one) => one.name === 'commander' && one.direct)?.licence).toBe('MIT');
  });
});
