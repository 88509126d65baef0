/** The run against its pins: what was pinned is what is there, and the slots are those of the pinned workflow. Pure. */
import { isOver } from '../../domain/run.js';
import type { RunPlan } from '../../domain/types.js';
import { workflowIdOf } from '../../domain/wire.js';
import { RECORDS } from '../layout.js';
import type { Parsed } from '../parse.js';
import type { Problems } from '../problems.js';
import { digestIfAny, teller, type Checked, type Tell } from './checked.js';

export function checkRun({ records, plan }: Checked, problems: Problems): void {
  const { run } = records;
  if (!run) return;
  const tell = teller(problems, 'run');
  for (const kind of ['package', 'workflow', 'binding'] as const) {
    const content = records[kind];
    if (content === null) continue;
    const [pinned, actual] = [run.pins[kind], digestIfAny(content)];
    if (actual !== pinned.digest)
      problems.add(
        'changed',
        RECORDS[kind],
        `${pinned.ref} is pinned as sha256 ${pinned.digest}, this is ${actual}`,
      );
  }
  const { tenant, pins, input, status } = run;
  if (run.workflowId !== workflowIdOf(tenant, run.run)) tell('workflowId', 'is not that of tenant and run');
  if (digestIfAny({ pins, input }) !== run.launchDigest)
    tell('launchDigest', 'is not that of pins and input');
  if (run.snapshot !== (status === 'running')) tell('snapshot', `does not fit the status ${status}`);
  if (plan) checkSlots(run, plan, tell);
}

function checkSlots(run: Parsed['run'], plan: RunPlan, tell: Tell): void {
  const planned = plan.nodes.flatMap((node) => node.slots.map((slot) => ({ slot, node })));
  if (run.slots.length !== planned.length)
    tell('slots', `are ${run.slots.length}, the pinned workflow has ${planned.length}`);
  for (const [at, { slot, node }] of planned.entries()) {
    const shown = run.slots[at];
    if (!shown) continue;
    const field = `slots[${at}]`;
    if (shown.slot !== slot || shown.node !== node.node)
      tell(field, `is ${shown.slot} of ${shown.node}, the pinned workflow has ${slot} of ${node.node} there`);
    else if (!node.launch.some(({ id }) => id === shown.spec.id))
      tell(`${field}.spec.id`, `the binding has no specification ${shown.spec.id} for ${node.node}`);
    else if (run.status === 'succeeded' && shown.state !== 'succeeded' && !(node.optional && isOver(shown)))
      tell(`${field}.state`, `is ${shown.state} in a run that succeeded`);
  }
}
