/** From a raw document to a checked one: picks the schema by `kind`, then checks what fields alone cannot say. */
import type { z } from 'zod';
import { BatonError } from '../domain/errors.js';
import type { Json, RevisionKind } from '../store/port.js';
import { graphProblems } from './graph.js';
import { invalid, problemsOf, type Source } from './problems.js';
import {
  bindingSchema,
  packageSchema,
  storedBindingSchema,
  workflowSchema,
  type BindingDocument,
  type PackageDocument,
  type StoredBinding,
  type WorkflowDocument,
} from './schema.js';

/** A document as it is written. */
export type Document = PackageDocument | WorkflowDocument | BindingDocument;

/** Checks a raw document; throws `InvalidCommand` or `TooLarge` naming file, document and field. */
export function parseDocument(raw: unknown, source: Source): Document {
  switch (kindOf(raw, source)) {
    case 'package':
      return parseAs(packageSchema, raw, source);
    case 'binding':
      return parseAs(bindingSchema, raw, source);
    case 'workflow': {
      const document = parseAs(workflowSchema, raw, source);
      const problems = graphProblems(document.nodes);
      if (problems.length > 0) throw invalid(source, problems);
      return document;
    }
  }
}

interface Stored {
  package: PackageDocument;
  workflow: WorkflowDocument;
  binding: StoredBinding;
}

const STORED = { package: packageSchema, workflow: workflowSchema, binding: storedBindingSchema } as const;

/**
 * Reads stored content back. Its digest was checked before, so a mismatch means content that this version cannot use:
 * `PinsDamaged`, never a guess.
 */
export function parseStored<K extends RevisionKind>(kind: K, ref: string, content: Json): Stored[K] {
  const parsed = (STORED[kind] as unknown as z.ZodType<Stored[K]>).safeParse(content);
  if (parsed.success) return parsed.data;
  const problem = problemsOf(parsed.error)[0];
  throw BatonError.of(
    'PinsDamaged',
    `stored content of ${kind} ${ref} cannot be read: ${problem?.field} ${problem?.what}`,
    {
      kind,
      ref,
    },
  );
}

function kindOf(raw: unknown, source: Source): RevisionKind {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    throw invalid(source, [{ field: '', what: 'must be a mapping with kind, name and more' }]);
  }
  const kind: unknown = (raw as Record<string, unknown>)['kind'];
  if (kind === 'package' || kind === 'workflow' || kind === 'binding') return kind;
  throw invalid(source, [
    {
      field: 'kind',
      what: `${kind === undefined ? 'is missing: it' : ''} must be package, workflow or binding`.trim(),
    },
  ]);
}

function parseAs<S extends z.ZodType>(schema: S, raw: unknown, source: Source): z.output<S> {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  throw invalid(source, problemsOf(parsed.error));
}
