/** Artifacts against the attempts that saved them and the bytes that are there; and bytes that nobody named. Pure. */
import { agentRevisionOf } from '../../agent/provenance.js';
import { bytesPath } from '../layout.js';
import type { Problems } from '../problems.js';
import { teller, type Checked, type Tell } from './checked.js';

export function checkArtifacts({ records, plan, sizes }: Checked, problems: Problems): void {
  const { artifacts, attempts } = records;
  if (!artifacts) return;
  const tell = teller(problems, 'artifacts');
  const savers = attempts && new Map(attempts.map((attempt) => [attempt.attempt, attempt]));
  const nodes = new Map(plan?.nodes.map((node) => [node.node, node]));
  const known = new Set<string>();
  const refOf = (ref: { attempt: string; digest: string }): string => `${ref.attempt} ${ref.digest}`;
  for (const [at, artifact] of artifacts.entries()) {
    const { attempt, slot, name, digest, size, derivedFrom, agentRevision } = artifact;
    const say: Tell = (field, message) => tell(`[${at}].${field}`, `${name} of ${attempt}: ${message}`);
    const by = savers?.get(attempt);
    if (savers && !by) say('attempt', 'there is no such attempt');
    if (by && by.slot !== slot) say('slot', `${attempt} is of slot ${by.slot}`);
    if (by && by.number !== artifact.number) say('number', `${attempt} has ${by.number}`);
    // Rows of an early version have no epoch, which reads as 0.
    if (by && artifact.epoch !== 0 && by.epoch !== artifact.epoch) say('epoch', `${attempt} has ${by.epoch}`);
    const there = sizes.get(digest);
    if (there === undefined) say('digest', `${bytesPath(digest)} is not there`);
    else if (there !== size) say('size', `is ${size}, ${bytesPath(digest)} has ${there} bytes`);
    const agent = by && nodes.get(by.node)?.agent;
    if (agent && agentRevision !== null && agentRevision !== agentRevisionOf(agent))
      say('agentRevision', `the binding has ${agentRevisionOf(agent)}`);
    known.add(refOf(artifact));
    for (const [index, from] of derivedFrom.entries())
      if (!known.has(refOf(from)))
        say(`derivedFrom[${index}]`, `${from.attempt} saved nothing before with sha256 ${from.digest}`);
  }
}

/** Bytes that nothing refers to are not the run's. */
export function checkBytes({ records, plan, sizes }: Checked, problems: Problems): void {
  const { artifacts, attempts } = records;
  // Without one of them it cannot be told, and that it is not there is told already.
  if (!artifacts || !attempts || !plan) return;
  const named = new Set(artifacts.map(({ digest }) => digest));
  for (const { staged } of attempts) if (staged?.result != null) named.add(staged.result);
  for (const { node, attachments } of plan.nodes) {
    for (const { kind, name, digest } of attachments) {
      named.add(digest);
      if (!sizes.has(digest))
        problems.add(
          'missing',
          bytesPath(digest),
          `${kind}/${name} is attached to node ${node} and is not there`,
        );
    }
  }
  for (const digest of sizes.keys())
    if (!named.has(digest)) problems.add('extra', bytesPath(digest), 'no record refers to it');
}
