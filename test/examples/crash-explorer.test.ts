/** The example of the crash explorer, run as the README says, on one of the report's slots. */
import { expect, it } from 'vitest';
import { fixture, startNode } from '../support/processes.js';
import { sharedServer } from '../support/server.js';

it('explores the dependency report’s last node, which needs the two before it and another worker class', async () => {
  const { address } = await sharedServer();
  const file = fixture(import.meta.url, '../../dist/examples/crash-explorer/explore.js');
  const lines: string[] = [];
  const child = await startNode(file, ['--slot', 'report', '--address', address], {
    onLine: (line, stream) => {
      if (stream === 'stdout') lines.push(line);
    },
  });
  expect(await child.exited, child.tail()).toMatchObject({ code: 0 });
  expect(lines[0]).toBe('Crashes of dependency-report: 2 points, 4 kills, 4 held.');
  expect(lines.filter((line) => /report\.md of slot report .* finished .* 2 .* yes/.test(line))).toHaveLength(
    2,
  );
});
