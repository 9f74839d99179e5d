import { type Document, isMap, isNode, LineCounter, parseDocument } from "yaml";
import type { z } from "zod";
import { errorLine } from "../errors.ts";
import { describeIssue, unknownKeys } from "./describe-issue.ts";
import { defaultRepoConfig, RepoConfig } from "./repo-config.ts";

/** Something in a configuration file that does not hold. */
export interface ConfigProblem {
  /** 1-indexed; null when it concerns the whole file. */
  line: number | null;
  /** Dotted: `review.drafts`; null when it concerns the whole file. */
  key: string | null;
  message: string;
}

export interface ParsedRepoConfig {
  config: RepoConfig;
  problems: ConfigProblem[];
}

type Path = readonly PropertyKey[];

/** A configuration is a page of text; a larger file is a mistake or an attack. */
const largestFile = 64 * 1024;
const mostProblems = 20;

/**
 * Reads `.github/hunkwise.yml`. Never throws. Where a key is wrong, its default holds and a problem names line and key; the
 * other keys count. A file that is no YAML leaves the defaults. In every case the paths that were meant to be private stay
 * so as far as they can be read: a slip elsewhere must not show them to a model.
 */
export function parseRepoConfig(text: string): ParsedRepoConfig {
  if (Buffer.byteLength(text) > largestFile) {
    return {
      config: defaultRepoConfig,
      problems: [whole(`larger than ${largestFile / 1024} KB, so it is not read`)],
    };
  }
  try {
    return parseText(text);
  } catch (error) {
    // Nesting beyond the stack, or more aliases than the parser resolves.
    return { config: defaultRepoConfig, problems: [whole(`cannot be read: ${errorLine(error)}`)] };
  }
}

function parseText(text: string): ParsedRepoConfig {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: "silent" });
  const value: unknown = document.errors.length > 0 ? readableRest(document) : document.toJS();
  if (document.errors.length > 0) {
    const problems = document.errors.slice(0, mostProblems).map(({ pos, message }) => {
      return { line: lines.linePos(pos[0]).line, key: null, message: message.replaceAll(/\s+/g, " ") };
    });
    return { config: withPrivatePaths(defaultRepoConfig, value), problems };
  }
  if (value === null || value === undefined) return { config: defaultRepoConfig, problems: [] };
  if (!isMap(document.contents)) {
    return { config: defaultRepoConfig, problems: [whole("must be a list of `key: value`")] };
  }
  const { data, error } = RepoConfig.safeParse(value);
  if (data) return { config: data, problems: [] };
  const problems = error.issues.flatMap((issue) => problemsOf(issue, value, document, lines));
  const kept = RepoConfig.safeParse(without(value, error.issues)).data ?? defaultRepoConfig;
  return { config: withPrivatePaths(kept, value), problems: problems.slice(0, mostProblems) };
}

function readableRest(document: Document): unknown {
  try {
    return document.toJS();
  } catch {
    return undefined;
  }
}

const whole = (message: string): ConfigProblem => ({ line: null, key: null, message });

function problemsOf(
  issue: z.core.$ZodIssue,
  value: unknown,
  document: Document,
  lines: LineCounter,
): ConfigProblem[] {
  const unknown = unknownKeys(issue);
  const paths = unknown ? unknown.map((key) => [...issue.path, key]) : [issue.path];
  return paths.map((path) => ({
    line: lineOf(path, document, lines),
    key: dotted(path),
    message: describeIssue(issue, path, valueAt(value, path)),
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

function dotted(path: Path): string {
  return path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "");
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, part) => (inner as Record<PropertyKey, unknown> | null)?.[part], value);
}

/** A copy without the values that the issues are about; of one that lacks something, the thing that lacks it goes. */
function without(value: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy = structuredClone(value);
  const paths = issues.flatMap(
    (issue) => unknownKeys(issue)?.map((key) => [...issue.path, key]) ?? [issue.path],
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

/** `config` with whatever reads as a private path in `value`, a list of them or, wrongly, a single one. */
function withPrivatePaths(config: RepoConfig, value: unknown): RepoConfig {
  const found = [valueAt(value, ["paths", "private"])].flat().filter((one) => typeof one === "string");
  return {
    ...config,
    paths: { ...config.paths, private: [...new Set([...config.paths.private, ...found])] },
  };
}
