/** The agents of the dependency report: one function a node, the same for every worker class that may claim it. */
import { createHash } from 'node:crypto';
import { defineAgent, type AgentContext, type AgentDefinition } from '../../src/agent/types.js';
import { httpOwner } from '../../src/effects/index.js';
import type { Json } from '../../src/store/port.js';
import { takeInventory } from './inventory.js';
import { parsePolicy } from './licence.js';
import { noteOf } from './note.js';
import { renderReport, type Notes } from './report.js';
import type { Inventory, Note } from './types.js';

/** JSON of our own types: they are plain, which TypeScript cannot see of an interface. */
const json = (value: unknown): Json => value as Json;
const decode = <T>(bytes: Uint8Array): T => JSON.parse(Buffer.from(bytes).toString('utf8')) as T;

/** @returns an agent that can do every node of the report, for hosts of that worker class */
export function reportAgent(workerClass: string, name?: string): AgentDefinition {
  return defineAgent({
    workerClass,
    ...(name === undefined ? {} : { name }),
    async run(ctx) {
      switch (ctx.node) {
        case 'inventory':
          return inventory(ctx);
        case 'notes':
          return notes(ctx);
        case 'report':
          return report(ctx);
        case 'publish':
          return publish(ctx);
        default:
          throw new Error(`this agent does inventory, notes, report and publish, not ${ctx.node}`);
      }
    },
  });
}

async function inventory(ctx: AgentContext): Promise<Json> {
  const found = await takeInventory(projectOf(ctx.input));
  // The list of a large project is over the limit of an inline result.
  const saved = await ctx.save({
    kind: 'source',
    name: 'inventory.json',
    content: json(found),
    mediaType: 'application/json',
  });
  return { inventory: saved.digest, packages: found.packages.length };
}

/** One step per package: what is noted once is never noted again, whoever goes on with the slot. */
async function notes(ctx: AgentContext): Promise<Json> {
  const source = await ctx.read({ digest: digestIn(ctx, 'inventory', 'inventory') });
  const { packages, ...about } = decode<Inventory>(source);
  const policy = parsePolicy(attachment(ctx, 'licence-policy'));
  const collected: Note[] = [];
  let written = 0;
  for (const listed of packages) {
    const name = nameOf(listed.id);
    const note = await ctx.step(name, async () => {
      const made = await noteOf(about.project, listed, policy, { node: about.node, signal: ctx.signal });
      if (made.questions.length > 0) {
        const decision = { package: listed.id, licence: made.licence.expression, questions: made.questions };
        await ctx.save({
          kind: 'decision',
          name,
          content: json(decision),
          mediaType: 'application/json',
        });
      }
      written += 1;
      return json(made);
    });
    collected.push(note as unknown as Note);
    ctx.progress({ noted: collected.length, of: packages.length, reused: collected.length - written });
  }
  const all: Notes = { about, notes: collected };
  const saved = await ctx.save({
    kind: 'source',
    name: 'notes.json',
    content: json(all),
    mediaType: 'application/json',
  });
  const decisions = collected.filter((note) => note.questions.length > 0).length;
  return {
    notes: saved.digest,
    packages: packages.length,
    decisions,
    written,
    reused: packages.length - written,
  };
}

async function report(ctx: AgentContext): Promise<Json> {
  const input = decode<Notes>(await ctx.read({ digest: digestIn(ctx, 'notes', 'notes') }));
  const markdown = renderReport(attachment(ctx, 'report'), attachment(ctx, 'decisions'), input);
  const saved = await ctx.save({
    kind: 'source',
    name: 'report.md',
    content: markdown,
    mediaType: 'text/markdown',
  });
  return { report: saved.digest, packages: input.notes.length };
}

/**
 * The one act that must not happen twice. The content goes first, by its digest, as often as it takes; to publish it is the
 * effect. Whoever comes after a lost answer asks the publisher, who alone knows.
 */
async function publish(ctx: AgentContext): Promise<Json> {
  const digest = digestIn(ctx, 'report', 'report');
  const address = field(ctx.input, 'publisher');
  if (address === null) throw new Error('the run\'s input needs {"publisher": "http://127.0.0.1:7400"}');
  const publications = httpOwner(`${address}/publications`);
  const receipt = await ctx.effect('publish', {
    request: { title: `Dependencies, ${ctx.run}`, digest },
    perform: async (call) => {
      const sent = await fetch(`${address}/content/${digest}`, {
        method: 'PUT',
        body: await ctx.read({ digest }),
        signal: ctx.signal,
      });
      if (!sent.ok) throw new Error(`the publisher did not take the content: ${sent.status}`);
      return publications.perform(call);
    },
    lookup: publications.lookup,
  });
  return { report: digest, ...(receipt as object) };
}

/** Names of steps and artifacts have a limit; a version that is an address of its own may be longer. */
function nameOf(id: string): string {
  if (id.length <= 200) return id;
  return `${id.slice(0, 150)}~${createHash('sha256').update(id).digest('hex').slice(0, 32)}`;
}

function field(input: Json, name: string): string | null {
  const value: unknown = (input as Readonly<Record<string, Json>> | null)?.[name];
  return typeof value === 'string' ? value : null;
}

function projectOf(input: Json): string {
  const project = field(input, 'project');
  if (project !== null) return project;
  throw new Error('the run\'s input needs {"project": "/folder/with/package-lock.json"}');
}

function digestIn(ctx: AgentContext, node: string, field: string): string {
  const result = ctx.upstream[node];
  const digest =
    typeof result === 'object' && result !== null && field in result
      ? (result as Record<string, Json>)[field]
      : undefined;
  if (typeof digest === 'string') return digest;
  throw new Error(`the result of ${node} has no digest named ${field}`);
}

function attachment(ctx: AgentContext, name: string): string {
  const found = ctx.attachments.find((one) => one.name === name);
  if (found !== undefined) return found.text;
  throw new Error(`the binding gives ${ctx.node} no attachment named ${name}`);
}
