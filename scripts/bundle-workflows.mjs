// Bundles the compiled workflows once, at build time, so that a control worker starts without webpack.
// Skipped when the compiled workflows are older than the bundle.
import { readdir, stat, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const entry = path.join(root, 'dist/workflows/index.js');
/** The second one is for control workers with payload codecs: it encodes the texts of failures too. */
const bundles = [
  { output: path.join(root, 'dist/workflow-bundle.js'), converters: {} },
  {
    output: path.join(root, 'dist/workflow-bundle-encoded.js'),
    converters: { failureConverterPath: path.join(root, 'dist/workflows/failure-converter.cjs') },
  },
];

async function newest(dir) {
  let latest = 0;
  for (const item of await readdir(dir, { withFileTypes: true })) {
    const full = path.join(dir, item.name);
    const time = item.isDirectory() ? await newest(full) : (await stat(full)).mtimeMs;
    if (time > latest) latest = time;
  }
  return latest;
}

/** The rules hold no state: a worker evaluates them once and shares them between all runs. */
async function rules() {
  const files = await readdir(path.join(root, 'dist/src/domain'), { recursive: true });
  return files.filter((file) => file.endsWith('.js')).map((file) => path.join(root, 'dist/src/domain', file));
}

/** package.json says that our modules have no side effects, and webpack drops the mere `require`s that preload them. */
const keepPreloads = (config) => ({
  ...config,
  module: {
    ...config.module,
    rules: [
      ...(config.module?.rules ?? []),
      { include: path.join(root, 'dist/src/domain'), sideEffects: true },
    ],
  },
});

const sources = Math.max(
  await newest(path.join(root, 'dist/workflows')),
  await newest(path.join(root, 'dist/src/domain')),
  (await stat(fileURLToPath(import.meta.url))).mtimeMs,
);
for (const { output, converters } of bundles) {
  const built = await stat(output).then(
    (s) => s.mtimeMs,
    () => 0,
  );
  if (built > sources) continue;
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
  const { code } = await bundleWorkflowCode({
    workflowsPath: entry,
    payloadConverterPath: path.join(root, 'dist/workflows/payload-converter.js'),
    ...converters,
    workflowInterceptorModules: [path.join(root, 'dist/workflows/interceptors.js')],
    preloadModules: await rules(),
    webpackConfigHook: keepPreloads,
    logger: new DefaultLogger('WARN'),
  });
  await writeFile(output, code);
}
