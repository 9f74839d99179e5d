import { z } from "zod";
import { loadAstGrep, type NapiConfig, type SgNode } from "../../../repo/code/languages.ts";
import { isTooDeep } from "../../../repo/code/parse.ts";
import { firstIndex } from "../../../repo/code/tree.ts";
import { createGuessCheck, variableText } from "./ast-grep.ts";

/** One step of matching a repository's own rules, in a process that can be killed: native matching cannot be interrupted. */
export const RuleTask = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("open"),
    dialect: z.string(),
    text: z.string(),
    /** 1-indexed lines that a match must touch, in order. */
    lines: z.array(z.int()),
  }),
  z.strictObject({
    type: z.literal("match"),
    /** `rule`, `constraints`, `utils` and `transform` in ast-grep's format. */
    config: z.record(z.string(), z.unknown()),
    /** Metavariables whose texts are wanted, with their signs. */
    variables: z.array(z.string()),
  }),
]);
export type RuleTask = z.infer<typeof RuleTask>;

const Place = z.strictObject({ line: z.int().min(0), column: z.int().min(0) });

const FoundMatch = z.strictObject({
  start: Place,
  end: Place,
  /** The first of the wanted lines that it touches, 1-indexed. */
  line: z.int().min(1),
  /** Without texts that are too long. */
  variables: z.record(z.string(), z.string()),
});
export type FoundMatch = z.infer<typeof FoundMatch>;

export const RuleAnswer = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("ready") }),
  /** `isReadable` is false if the tree is nested too deeply to be searched: then no rule matches. */
  z.strictObject({ type: z.literal("opened"), isReadable: z.boolean() }),
  /** At most one for each line, and the number of lines. */
  z.strictObject({ type: z.literal("matches"), matches: z.array(FoundMatch), lines: z.int().min(0) }),
  z.strictObject({ type: z.literal("refused"), why: z.string() }),
]);
export type RuleAnswer = z.infer<typeof RuleAnswer>;

/** Maximum matches of one rule in one file that are described; all are counted. */
const MOST_IN_FILE = 30;
const longestText = 5_000;
const longestReason = 300;

/** Answers the tasks of one process. A rule is matched in the text that was opened last. */
export async function createRuleMatcher(): Promise<(task: RuleTask) => RuleAnswer> {
  const astGrep = await loadAstGrep();
  let file: OpenFile | null = null;
  return (task) => {
    if (task.type === "match") return file === null ? noMatches : matchRule(file, task);
    const root = astGrep.parse(task.dialect, task.text).root();
    const isReadable = !isTooDeep(root, task.text);
    file = isReadable ? { root, ...task, isGuess: createGuessCheck(root) } : null;
    return { type: "opened", isReadable };
  };
}

const noMatches: RuleAnswer = { type: "matches", matches: [], lines: 0 };

interface OpenFile {
  root: SgNode;
  text: string;
  lines: readonly number[];
  isGuess(node: SgNode): boolean;
}

function matchRule(
  { root, text, lines, isGuess }: OpenFile,
  { config, variables }: Extract<RuleTask, { type: "match" }>,
): RuleAnswer {
  let nodes: SgNode[];
  try {
    nodes = root.findAll(config as unknown as NapiConfig);
  } catch (error) {
    return { type: "refused", why: plainReason(error) };
  }
  const found = new Set<number>();
  const matches: FoundMatch[] = [];
  for (const node of nodes) {
    const { start, end } = node.range();
    const line = lines[firstIndex(lines, (one) => one > start.line)];
    if (line === undefined || line > end.line + 1 || found.has(line) || isGuess(node)) continue;
    found.add(line);
    if (found.size > MOST_IN_FILE) continue;
    const texts = variables.map((name) => [name, variableText(node, name, text)] as const);
    matches.push({
      start: { line: start.line, column: start.column },
      end: { line: end.line, column: end.column },
      line,
      variables: Object.fromEntries(texts.filter(([, one]) => one.length <= longestText)),
    });
  }
  return { type: "matches", matches, lines: found.size };
}

/** ast-grep's reason on one line, without its drawing: "`rule` is not configured correctly: Kind `nope` is invalid." */
function plainReason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const parts = message
    .split("\n")
    .map((line) => line.replace(/^[\s|>-]+/, "").trim())
    .filter((line) => line !== "");
  const text = message.startsWith("Value is none of these types")
    ? "its parts are not of the types that ast-grep expects, or are nested too deeply"
    : [...new Set([parts[0] ?? "", parts.at(-1) ?? ""])].join(" ");
  return text.slice(0, longestReason).replace(/\.$/, "");
}
