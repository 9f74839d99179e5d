import type { Finding } from "../../finding.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { showPath } from "../../tools/show.ts";
import { type RuleMatch, ruleMatchLine } from "../find/rule-matches.ts";

/** What the first message says of rule matches. */
export interface ShownCandidates {
  /** Published in any case. */
  certain: readonly Finding[];
  /** To be answered. */
  likely: readonly RuleMatch[];
}

const likelyIntro =
  "Rules matched these lines. They are evidence, not findings. Check each against the code and answer it: report it with report_finding and its id in `candidates`, or name it in `rejected` of finish_review with one sentence that says why the code is right. The review cannot end before each has an answer.";

const certainIntro =
  "These are reported already and are published whatever you say of them. Do not report them again.";

/** Certain findings that are listed; the model needs none of them. */
const MAX_CERTAIN = 60;

/** What the analyzers matched in the files of a unit. */
export function candidatesSection({ certain, likely }: ShownCandidates): string {
  const reported = certain
    .slice(0, MAX_CERTAIN)
    .map(({ path, line, title, source }) => `${showPath(path)}:${line} ${title} (${source})`);
  const parts = [
    ...listed(likelyIntro, "rule matches", likely.map(ruleMatchLine)),
    ...listed(certainIntro, "reported by analyzers", reported),
  ];
  return parts.length === 0 ? "" : ["# Rule matches", ...parts].join("\n");
}

const listed = (intro: string, name: string, lines: readonly string[]) =>
  lines.length === 0 ? [] : [intro, wrapUntrusted(name, lines.join("\n"))];
