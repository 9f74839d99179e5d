import type { Category, Finding } from "../../../core/finding.ts";
import { splitLines } from "../../../core/text/cut.ts";
import { firstIndex } from "../../../repo/code/tree.ts";
import { addedLinesOf } from "../../../repo/diff/file-diff.ts";
import type { ChangedFile, DiffSource } from "../../../repo/diff-source.ts";
import type { Workspace } from "../../../repo/git/workspace.ts";
import { createIdentities } from "../../anchor/fingerprint.ts";
import { symbolAt } from "../../anchor/symbols.ts";
import { fairShare, sourceOf, type ToolResult } from "../../shapes/tool-result.ts";

/** Most results that a model judges; the rest is a number. */
const MOST_JUDGED = 50;

/** Findings that no one has judged, and the messages of the tools. */
interface ToolFindings {
  findings: Finding[];
  /** By the finding's id, for a model only. */
  messages: ReadonlyMap<string, string>;
  /** Results on changed lines that are not among them. */
  left: number;
  /** Why further results are not used, one reason for each. */
  unused: readonly string[];
}

const noToolFindings: ToolFindings = { findings: [], messages: new Map(), left: 0, unused: [] };

interface ToolDependencies {
  workspace: Workspace;
  diffs: DiffSource;
  isOff(finding: Pick<Finding, "source" | "path">): boolean;
}

/** The results of other tools on added lines, each once, worst first, without the tools' messages: anyone may have written them. */
export async function toolFindings(
  results: readonly ToolResult[],
  files: readonly ChangedFile[],
  { workspace, diffs, isOff }: ToolDependencies,
): Promise<ToolFindings> {
  if (results.length === 0) return noToolFindings;
  const byPath = Map.groupBy(results, ({ path }) => path);
  const found: Located[] = [];
  const unused: string[] = [];
  for (const { change, reviewable, skipReason } of files) {
    const ofFile = byPath.get(change.path);
    if (ofFile === undefined || change.type === "deleted") continue;
    if (!reviewable) {
      unused.push(...ofFile.map(() => `in a file that is not reviewed (${skipReason})`));
      continue;
    }
    const { hunks } = await diffs.fileDiff(change, 3);
    const added = addedLinesOf(hunks);
    const onAdded = ofFile.flatMap((result): Located[] => {
      const line = added[firstIndex(added, (one) => one >= result.line)];
      return line === undefined || line > result.endLine ? [] : [{ result, line, oid: change.newOid }];
    });
    // The first is the worst.
    const keyOf = ({ line, result }: Located) => `${line} ${sourceOf(result)} ${result.message}`;
    const once = new Map(onAdded.toReversed().map((one) => [keyOf(one), one]));
    for (const one of once.values()) {
      if (!isOff({ source: sourceOf(one.result), path: change.path })) found.push(one);
      else unused.push("of a rule that is switched off");
    }
  }
  const taken = fairShare(found, MOST_JUDGED, ({ result }) => result);
  const identify = createIdentities();
  const messages = new Map<string, string>();
  const findings: Finding[] = [];
  for (const one of taken) {
    const { text } = await workspace.readBlob(one.oid);
    const finding = await findingOf(one, splitLines(text), identify);
    findings.push(finding);
    messages.set(finding.id, one.result.message);
  }
  return { findings, messages, left: found.length - taken.length, unused };
}

interface Located {
  result: ToolResult;
  line: number;
  /** Of the file at head. */
  oid: string;
}

/** The category of what only has a severity. */
export const categoryOf = ({ severity }: Pick<ToolResult, "severity">): Category =>
  severity === "low" ? "maintainability" : "correctness";

async function findingOf(
  { result, line }: Located,
  lines: readonly string[],
  identify: ReturnType<typeof createIdentities>,
): Promise<Finding> {
  const { tool, rule, path, severity } = result;
  const quote = lines[line - 1] ?? "";
  const anchored = {
    path,
    side: "RIGHT" as const,
    line,
    start_line: null,
    quote,
    symbol: await symbolAt(path, [...lines], line),
    severity,
    category: categoryOf(result),
    source: sourceOf(result),
    title: `${tool} reports ${rule}`,
  };
  return {
    ...anchored,
    // Two tools, or a rule of ours, may report one line.
    id: identify({ ...anchored, quote: `${anchored.source}\n${quote}` }),
    body: `The tool ${tool} reported its rule ${rule} on this line. No model has judged this, so what the tool said is not shown.`,
    suggestion: null,
    confidence: 0.5,
    reached: true,
    evidence: [],
    places: [],
    verification: "not_judged",
    verification_note: null,
  };
}

/** A sentence for each kind of result on changed lines that is not part of the review. */
export const leftWarnings = ({ left, unused }: ToolFindings): string[] => [
  ...(left === 0
    ? []
    : [
        `Of the results of other tools on changed lines, ${MOST_JUDGED} are part of the review, the worst of each file, and ${left.toLocaleString("en")} more are not.`,
      ]),
  ...[...Map.groupBy(unused, (why) => why)].map(
    ([why, { length }]) =>
      `${length.toLocaleString("en")} ${length === 1 ? "result of another tool was" : "results of other tools were"} left out: ${why}.`,
  ),
];
