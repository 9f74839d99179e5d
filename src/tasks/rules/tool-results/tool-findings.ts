import type { Category, Finding } from "../../../core/finding.ts";
import { firstIndex } from "../../../repo/code/tree.ts";
import { addedLinesOf } from "../../../repo/diff/file-diff.ts";
import type { ChangedFile, DiffSource } from "../../../repo/diff-source.ts";
import type { Workspace } from "../../../repo/git/workspace.ts";
import { fairShare, sourceOf, type ToolResult } from "../../shapes/tool-result.ts";
import type { Diagnostic } from "../analyzers/analyzer.ts";
import { analyzedFiles, createRuleIds, findingsOf } from "../rule-matches.ts";

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
  if (results.length === 0) return { findings: [], messages: new Map(), left: 0, unused: [] };
  const byPath = Map.groupBy(results, ({ path }) => path);
  const found: Located[] = [];
  const unused: string[] = [];
  for (const file of files) {
    const { change, reviewable, skipReason } = file;
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
      return line === undefined || line > result.endLine ? [] : [{ result, line, change: file }];
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
  const idOf = createRuleIds();
  const messages = new Map<string, string>();
  const findings: Finding[] = [];
  for (const { result, line, change } of taken) {
    const files = await analyzedFiles([change], workspace, diffs);
    for (const finding of await findingsOf([toDiagnostic(result, line)], files, idOf)) {
      findings.push({ ...finding, confidence: 0.5, verification: "not_judged" });
      messages.set(finding.id, result.message);
    }
  }
  return { findings, messages, left: found.length - taken.length, unused };
}

interface Located {
  result: ToolResult;
  line: number;
  change: ChangedFile;
}

/** The category of what only has a severity. */
export const categoryOf = ({ severity }: Pick<ToolResult, "severity">): Category =>
  severity === "low" ? "maintainability" : "correctness";

const toDiagnostic = (result: ToolResult, line: number): Diagnostic => ({
  path: result.path,
  line,
  severity: result.severity,
  category: categoryOf(result),
  source: sourceOf(result),
  title: `${result.tool} reports ${result.rule}`,
  body: `The tool ${result.tool} reported its rule ${result.rule} on this line. No model has judged this, so what the tool said is not shown.`,
});

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
