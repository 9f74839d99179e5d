import { setImmediate as nextTick } from "node:timers/promises";
import type { NapiConfig, SgNode } from "../code/languages.ts";
import { configOf, type RuleFile } from "./rule-file.ts";

/** Possible matches times characters: a rule can search the whole file for each. About half a second of work. */
const maximumUninterrupted = 10_000_000;
/** Possible matches between two looks at the clock. */
const stride = 50;

/**
 * Where a rule matches. Matching is native and cannot be interrupted, so that a file on which it could take long is
 * searched one possible match at a time; what was found when `signal` fires is handed over.
 */
export async function* matchesOf(
  root: SgNode,
  characters: number,
  rule: RuleFile,
  signal: AbortSignal,
): AsyncGenerator<SgNode> {
  const config = configOf(rule);
  const isQuick = !searches(config) || characters ** 2 / shortestMatch <= maximumUninterrupted;
  const possible = isQuick ? [] : root.findAll(shapeOf(config));
  const isStepwise = possible.length * characters > maximumUninterrupted;
  const nodes = isStepwise ? possible : root.findAll(config);
  for (const [index, node] of nodes.entries()) {
    if (index % stride === 0) await nextTick();
    if (signal.aborted) return;
    const match = isStepwise ? matchAt(node, config) : node;
    if (match) yield match;
  }
}

/** Characters. */
const shortestMatch = 4;

/** Whether the rule looks further than at the nodes next to a match: only `stopBy` lets it. */
const searches = (config: NapiConfig) => JSON.stringify(config).includes('"stopBy"');

/** Only a match knows its metavariables, and only a search gives one: it begins with the node itself. */
const matchAt = (node: SgNode, config: NapiConfig) => (node.matches(config) ? node.find(config) : null);

/**
 * The rule without what it asks about other nodes: fits wherever the rule does and at more places, and is found in one
 * walk over the tree.
 */
function shapeOf({ rule, constraints }: NapiConfig): NapiConfig {
  const shape = shapeOfRule(rule as Rule) ?? { regex: "" };
  const text = JSON.stringify(shape);
  // Of variables that only the rest of the rule binds the shape must not speak.
  const bound = Object.entries((constraints ?? {}) as Record<string, Rule>).filter(([name]) =>
    text.includes(`$${name}`),
  );
  const limits = bound.map(([name, constraint]) => [name, shapeOfRule(constraint) ?? { regex: "" }]);
  return { rule: shape, constraints: Object.fromEntries(limits) } as NapiConfig;
}

type Rule = Readonly<Record<string, unknown>>;

/** Null when it fits every node. */
function shapeOfRule(rule: Rule): Rule | null {
  const shape: Record<string, unknown> = {};
  for (const key of ["pattern", "kind", "regex"]) if (key in rule) shape[key] = rule[key];
  const all = rulesOf(rule, "all").flatMap((one) => shapeOfRule(one) ?? []);
  if (all.length > 0) shape.all = all;
  const any = rulesOf(rule, "any").map(shapeOfRule);
  if (any.length > 0 && !any.includes(null)) shape.any = any;
  return Object.keys(shape).length === 0 ? null : shape;
}

const rulesOf = (rule: Rule, key: string) => (rule[key] ?? []) as readonly Rule[];
