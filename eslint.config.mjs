// Lint rules. The import walls are the architecture: domain ◀ store, workflows ◀ activities ◀ client/host ◀ cli.
import tseslint from 'typescript-eslint';

/** Files of `from` may not import what matches `targets`. */
const wall = (files, targets, message) => ({
  files,
  rules: {
    '@typescript-eslint/no-restricted-imports': [
      'error',
      { patterns: targets.map((group) => ({ group: [group].flat(), message })) },
    ],
  },
});

const NODE = ['node:*', 'fs', 'path', 'os', 'crypto', 'child_process'];
const LAYERS = {
  store: ['**/store/*', '!**/store/port.js'],
  client: '**/client/*',
  host: '**/host/*',
  server: '**/server/*',
  cli: '**/cli/*',
  activities: '**/activities/*',
  workflows: '**/workflows/*',
  agent: '**/agent/*',
  definitions: '**/definitions/*',
  telemetry: ['**/telemetry/*', '@opentelemetry/*'],
  testing: ['**/testing/*', '**/testing/**'],
  labs: ['**/bench/**', '**/faults/**', '**/load/**'],
};

export default tseslint.config(
  { ignores: ['dist/**', 'node_modules/**', 'coverage/**'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ['*.mjs', 'scripts/*.mjs', 'test/support/*.mjs'] },
      },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports', disallowTypeAnnotations: false },
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      '@typescript-eslint/no-invalid-void-type': 'off',
      // Errors of other copies of a package are told by their codes, not by their classes.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'max-lines': ['error', { max: 350, skipBlankLines: true, skipComments: true }],
    },
  },
  wall(
    ['src/domain/**'],
    [NODE, '@temporalio/*', ...Object.values(LAYERS)],
    'The domain is pure: no Temporal, no I/O, no other layer.',
  ),
  wall(
    ['workflows/**'],
    [NODE, '@temporalio/client', '@temporalio/worker', '@temporalio/activity', ...Object.values(LAYERS)],
    'Workflows are bundled for the sandbox: only src/domain and @temporalio/workflow|common.',
  ),
  wall(
    ['src/store/**'],
    ['@temporalio/*', ...Object.values(LAYERS).filter((layer) => layer !== LAYERS.store)],
    'The store records and fences; it knows the domain only.',
  ),
  wall(
    ['activities/**'],
    [LAYERS.cli, LAYERS.workflows, LAYERS.testing],
    'Activities know no command line and no workflow code.',
  ),
  wall(
    ['src/client/**', 'src/index.ts', 'src/agent/**', 'src/definitions/**', 'src/effects/**'],
    [
      '@temporalio/worker',
      '@temporalio/core-bridge',
      LAYERS.host,
      LAYERS.cli,
      LAYERS.workflows,
      LAYERS.testing,
    ],
    'The client never loads the native worker.',
  ),
  {
    files: ['src/bundle/**', 'src/report/**'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: [
                '@temporalio/*',
                '**/store/*',
                '!**/store/port.js',
                '!**/store/canonical.js',
                ...[LAYERS.host, LAYERS.server, LAYERS.cli, LAYERS.activities, LAYERS.workflows],
                ...LAYERS.testing,
              ],
              message: 'A bundle and a report are made and checked without server and store.',
            },
            {
              group: [LAYERS.client],
              message: 'The client reads the records; here are only their types.',
              allowTypeImports: true,
            },
          ],
        },
      ],
    },
  },
  wall(
    ['src/telemetry/**'],
    [
      '@temporalio/worker',
      ...Object.entries(LAYERS).flatMap(([name, target]) => (name === 'telemetry' ? [] : [target])),
    ],
    'Telemetry looks on: it knows the domain, and whoever does the work calls it.',
  ),
  {
    // Types alone: the interceptors' shape is the native worker's, the code is not.
    files: ['src/telemetry/activity.ts'],
    rules: { '@typescript-eslint/no-restricted-imports': 'off' },
  },
  wall(
    ['src/host/**', 'src/worker.ts'],
    [LAYERS.cli, LAYERS.workflows, LAYERS.testing],
    'A host knows no command line and no workflow code.',
  ),
  wall(
    ['src/cli/**', 'src/server/**'],
    [LAYERS.testing],
    'Nothing but tests and benches knows the tools for tests.',
  ),
  wall(
    ['src/testing/**'],
    [LAYERS.cli, LAYERS.workflows],
    'The tools for tests know no command line and no workflow code.',
  ),
  wall(
    ['faults/reassign/expected.ts', 'faults/reassign/factors.ts'],
    ['**/src/**', '**/workflows/**', '**/activities/**'],
    'What is expected is written down from the design; it must not ask what it judges.',
  ),
  {
    // `expect.any()` and asymmetric matchers are `any` by design.
    files: ['test/**'],
    rules: Object.fromEntries(
      [
        'no-unsafe-assignment',
        'no-unsafe-argument',
        'no-unsafe-return',
        'no-unsafe-member-access',
        'unbound-method',
        'no-non-null-assertion',
        'no-dynamic-delete',
        'no-deprecated',
        'no-unnecessary-condition',
      ].map((rule) => [`@typescript-eslint/${rule}`, 'off']),
    ),
  },
  { files: ['**/*.mjs'], ...tseslint.configs.disableTypeChecked },
);
