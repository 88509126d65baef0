/**
 * A process of the crash explorer: checks the agents, runs control workers, or is a host that may kill itself. Argument: one
 * JSON object, see process-input.ts.
 */
import { BatonError } from '../../domain/errors.js';
import { loadAgents } from './agents.js';
import type { ProcessInput } from './process-input.js';
import { appendRecord } from './records.js';

const input = JSON.parse(process.argv[2] ?? '') as ProcessInput;

try {
  const agents = await loadAgents(input.agents);
  if (input.role === 'check') {
    appendRecord(input.records, { kind: 'agents', classes: agents.map(({ workerClass }) => workerClass) });
    // A module may keep something open; it was loaded to be looked at.
    process.exit(0);
  }
  // Temporal's native worker takes a while to load, and a check needs none.
  const { serve } = await import('./serve.js');
  await serve(input, agents);
} catch (error) {
  const code = error instanceof BatonError ? error.code : 'Internal';
  const message = error instanceof Error ? error.message : String(error);
  appendRecord(input.records, { kind: 'refused', code, message });
  console.error(error);
  process.exit(1);
}
