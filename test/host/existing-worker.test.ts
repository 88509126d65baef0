/** The example of a user who has a Worker already, run as it is: his workflow, and a job for his agent. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture, startNode } from '../support/processes.js';
import { openLab, oneSpec, quiet, type Lab } from './lab.js';

let lab: Lab;
beforeAll(async () => {
  quiet();
  lab = await openLab({ control: false });
});
afterAll(() => lab.close());

const file = fixture(import.meta.url, '../../examples/existing-worker/worker.ts');

it('serves the user’s own workflow and Baton’s runs from one Worker with one more line', async () => {
  const taskQueue = `greetings-${lab.taskQueue}`;
  const child = await startNode(file, [], {
    env: {
      TEMPORAL_ADDRESS: lab.address,
      BATON_STORE: lab.storeUrl,
      TASK_QUEUE: taskQueue,
      BATON_TASK_QUEUE: lab.taskQueue,
    },
  });
  try {
    const greeting = await lab.client.workflow.execute('greet', {
      taskQueue,
      workflowId: `greet-${lab.taskQueue}`,
      args: ['Ada'],
      workflowExecutionTimeout: '60s',
    });
    expect(greeting).toBe('Hello, Ada!');
    await lab.publish([{ node: 'count' }], oneSpec('counter', '10s'));
    const run = await lab.baton.launch({ package: 'job', input: 'one two three' });
    expect(await run.result()).toEqual({ count: { words: 3 } });
    child.kill('SIGTERM');
    expect(await child.exited).toMatchObject({ code: 0 });
  } catch (error) {
    throw new Error(`the example's last lines:\n${child.tail()}`, { cause: error });
  }
});

it('adds one line to the Worker’s options and no other', async () => {
  const source = await readFile(file, 'utf8');
  const options = /Worker\.create\(\{([\s\S]*?)\}\)/.exec(source)?.[1] ?? '';
  expect(options.match(/baton/g)).toHaveLength(1);
});
