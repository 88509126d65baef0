/** Random small plans, and random steps of a history of them. */
import fc from 'fast-check';
import type { EndKind, Escalation, PlanNode, RunPlan } from '../../src/domain/types.js';
import { node, retry, spec } from './kit.js';

const policy = fc.record({
  mode: fc.constantFrom('auto' as const, 'manual' as const),
  failures: fc.integer({ min: 0, max: 3 }),
  losses: fc.integer({ min: 0, max: 3 }),
  onExhausted: fc.constantFrom('wait' as const, 'fail' as const),
});
const someSpec = (id: string, workerClasses: string[]) =>
  fc
    .tuple(policy, fc.constantFrom('queue' as const, 'direct' as const), fc.constantFrom(null, 20_000))
    .map(([given, dispatch, maxDurationMs]) =>
      spec(id, { workerClasses, dispatch, retry: retry(given), lease: { ttlMs: 60_000, maxDurationMs } }),
    );

const someEscalation: fc.Arbitrary<Escalation> = fc.record(
  {
    name: fc.constantFrom('first', 'second'),
    count: fc.constantFrom('losses' as const, 'failures' as const),
    after: fc.integer({ min: 1, max: 2 }),
    workerClass: fc.constantFrom('senior', 'human', 'coder'),
    reason: fc.constantFrom(null, 'because'),
  },
  { noNullPrototype: true },
);
/** Mostly none, so that most histories are ended by something else. */
const someDeadline = fc.option(fc.constantFrom(15_000, 60_000), { nil: undefined, freq: 1 });
const seldom = fc.oneof(
  { weight: 5, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: someDeadline },
);

const someNode = fc.record({
  deadlineMs: seldom,
  escalate: fc.uniqueArray(someEscalation, { maxLength: 2, selector: ({ name }) => name }),
  slots: fc.integer({ min: 1, max: 2 }),
  optional: fc.boolean(),
  // Each bit: depends on an earlier node.
  dependsOn: fc.integer({ min: 0, max: 7 }),
  launch: fc.tuple(someSpec('one', ['coder', 'human']), someSpec('two', ['senior', 'human'])),
});

/** A plan of one to four nodes; dependencies point backwards only. */
export const somePlan: fc.Arbitrary<RunPlan> = fc
  .tuple(fc.array(someNode, { minLength: 1, maxLength: 4 }), seldom)
  .map(([nodes, runDeadline]) => ({
    ...(runDeadline === undefined ? {} : { deadlineMs: runDeadline }),
    nodes: nodes.map(({ slots, optional, dependsOn, launch, escalate, deadlineMs }, index): PlanNode => {
      const name = `n${index}`;
      return node(name, {
        slots: slots === 1 ? [name] : [`${name}.1`, `${name}.2`],
        optional,
        dependsOn: nodes.flatMap((_, other) =>
          other < index && dependsOn & (1 << other) ? [`n${other}`] : [],
        ),
        launch,
        escalate,
        ...(deadlineMs === undefined ? {} : { deadlineMs }),
      });
    }),
  }));

const COMMANDS = ['claim', 'reassign', 'hold', 'releaseHold', 'revoke', 'cancelSlot', 'cancelRun'] as const;
const ENDINGS = [
  'success',
  'failure',
  'outside',
  'expired',
  'released',
  'revoked',
  'never-attached',
] as const;

export type Step =
  | {
      readonly do: 'take' | 'deliver' | 'fail-claim' | 'settle' | 'correct' | 'late';
      readonly slot: number;
      readonly pick: number;
    }
  | { readonly do: 'end'; readonly slot: number; readonly end: EndKind }
  | { readonly do: 'wait'; readonly ms: number }
  | {
      readonly do: 'command';
      readonly slot: number;
      readonly name: (typeof COMMANDS)[number];
      readonly workerClass: string;
      readonly spec: string | null;
      readonly actor: string;
      readonly reason: string;
    };

const slot = fc.nat(7);
const move = fc.constantFrom(
  'take' as const,
  'take' as const,
  'deliver' as const,
  'deliver' as const,
  'fail-claim' as const,
  'settle' as const,
  'settle' as const,
  'correct' as const,
  'late' as const,
);
export const someStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: move, slot, pick: fc.nat(5) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('end' as const), slot, end: fc.constantFrom(...ENDINGS) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(0, 1, 5_000, 30_000) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('command' as const),
      slot,
      // Cancelling is rare: most runs should live long.
      name: fc.oneof(
        { weight: 6, arbitrary: fc.constant('claim' as const) },
        { weight: 6, arbitrary: fc.constant('reassign' as const) },
        { weight: 2, arbitrary: fc.constantFrom('revoke' as const, 'releaseHold' as const) },
        { weight: 1, arbitrary: fc.constantFrom('hold' as const, 'cancelSlot' as const) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(...COMMANDS, ...COMMANDS.slice(0, 5), ...COMMANDS.slice(0, 5)),
        },
      ),
      workerClass: fc.constantFrom('coder', 'senior', 'human', 'nobody'),
      spec: fc.constantFrom(null, null, 'one', 'two', 'zz'),
      actor: fc.constantFrom('ada', 'ada', 'bob'),
      reason: fc.constantFrom('why', 'why', 'why', 'why', 'why', ' '),
    }),
  },
);
