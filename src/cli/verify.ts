/** `baton verify BUNDLE`: checks what `export` wrote, with nothing but the bundle. */
import type { Command } from 'commander';
import { action } from './context.js';
import { print } from './output.js';
import { verifiedText } from './render.js';

export function registerVerify(program: Command): void {
  program
    .command('verify')
    .description('check a bundle: every digest, nothing missing or extra, records that fit together')
    .argument('<bundle>')
    .option('--digest <sha256>', 'what `export` printed: tells a bundle that was made anew')
    .action(
      action(async (context, bundle: string, options: { digest?: string }) => {
        const { verifyBundle } = await import('../bundle/verify.js');
        const verdict = await verifyBundle(bundle, options);
        await print(context, verdict, verifiedText);
        if (!verdict.ok) process.exitCode = 1;
      }),
    );
}
