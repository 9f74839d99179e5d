import { type Document, isMap, isNode, type LineCounter } from "yaml";
import type { z } from "zod";
import { type ConfigProblem, dotted, wholeFile } from "./config-problem.ts";
import { describeIssue, unknownKeys } from "./describe-issue.ts";

type Path = readonly PropertyKey[];

/** Faults of one kind whose lines are looked up, each of which takes a look through the file. */
const mostTold = 20;

/** A kind of configuration file. */
export interface ConfigKind<Config> {
  schema: z.ZodType<Config>;
  /** What holds where there is no file, or a broken one. */
  fallback: Config;
}

/** What of a configuration holds, and what does not. */
export interface CheckedSettings<Config> {
  config: Config;
  problems: ConfigProblem[];
}

/**
 * Holds a document without errors against the schema. Where a key is wrong its default holds, a wrong entry of a list is left out, and the others count. Throws
 * where the document has more aliases than the parser resolves.
 */
export function checkSchema<Config>(
  document: Document,
  lines: LineCounter,
  { schema, fallback }: ConfigKind<Config>,
): CheckedSettings<Config> {
  const value: unknown = document.toJS();
  if (value === null || value === undefined) return { config: fallback, problems: [] };
  if (!isMap(document.contents)) {
    return { config: fallback, problems: [wholeFile("must be a list of `key: value`")] };
  }
  const { success, data, error } = schema.safeParse(value);
  if (success) return { config: data, problems: [] };
  const parts = { value, document, lines, schema };
  const problems = error.issues.slice(0, mostTold).flatMap((issue) => problemsOf(issue, parts));
  const config = schema.safeParse(without(value, error.issues)).data ?? fallback;
  return { config, problems };
}

interface CheckedParts {
  value: unknown;
  document: Document;
  lines: LineCounter;
  schema: z.ZodType;
}

function problemsOf(
  issue: z.core.$ZodIssue,
  { value, document, lines, schema }: CheckedParts,
): ConfigProblem[] {
  const unknown = unknownKeys(issue);
  const paths = unknown ? unknown.slice(0, mostTold).map((key) => [...issue.path, key]) : [issue.path];
  return paths.map((path) => ({
    line: lineOf(path, document, lines),
    key: dotted(path),
    message: describeIssue(issue, path, valueAt(value, path), schema),
  }));
}

/** The line of the key, or of the nearest thing around it that stands in the file. */
function lineOf(path: Path, document: Document, lines: LineCounter): number | null {
  for (let depth = path.length; depth > 0; depth--) {
    const parent = depth === 1 ? document.contents : document.getIn(path.slice(0, depth - 1), true);
    const name = path[depth - 1];
    const key = isMap(parent)
      ? parent.items.find((pair) => String(pair.key) === String(name))?.key
      : undefined;
    const node = key ?? document.getIn(path.slice(0, depth), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return null;
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, part) => (inner as Record<PropertyKey, unknown> | null)?.[part], value);
}

/** The entry of a list in which a path ends, because what an entry holds has no defaults; the path itself outside of lists. */
function entryOf(path: Path): Path {
  const index = path.findLastIndex((part) => typeof part === "number");
  return index < 0 ? path : path.slice(0, index + 1);
}

/** A copy without the values that the issues are about; of one that lacks something, the thing that lacks it goes. */
function without(value: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy = structuredClone(value);
  const paths = issues.flatMap(
    (issue) => unknownKeys(issue)?.map((key) => [...issue.path, key]) ?? [entryOf(issue.path)],
  );
  const gone = paths.map((path) => (valueAt(value, path) === undefined ? path.slice(0, -1) : path));
  // Later elements of a list first: taking one out moves those behind it.
  const byIndex = (a: Path, b: Path) => Number(b.at(-1)) - Number(a.at(-1)) || b.length - a.length;
  const distinct = new Map(gone.map((path) => [dotted(path), path]));
  for (const path of [...distinct.values()].toSorted(byIndex)) {
    const parent = valueAt(copy, path.slice(0, -1));
    const last = path.at(-1);
    if (Array.isArray(parent)) parent.splice(Number(last), 1);
    else if (typeof parent === "object" && parent !== null && last !== undefined)
      Reflect.deleteProperty(parent, last);
  }
  return copy;
}
