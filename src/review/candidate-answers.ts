import type { Finding } from "../finding.ts";
import { showPath } from "../tools/show.ts";
import type { Rejection } from "../tools/tool.ts";
import type { LikelyCandidate } from "./candidates.ts";
import { overlap, placeOf } from "./merge/same-fault.ts";

/** What one loop says of the likely candidates that it was shown. */
export interface CandidateAnswers {
  /** Ids of candidates that a finding was reported for. */
  readonly reported: ReadonlySet<string>;
  /** Reasons by the ids of rejected candidates; one that was reported as well counts as reported. */
  readonly rejected: ReadonlyMap<string, string>;
  /** Why a finding in `path` cannot be for these candidates, for the model; null when it can. */
  whyNot(ids: readonly string[], path: string): string | null;
  /** Takes a finding as the answer to these candidates, and to those of its category on its lines: they need not be named. */
  report(ids: readonly string[], finding: Finding): void;
  /** Takes the rejections that are right. Returns what is wrong with the others, for the model, while a candidate has no answer. */
  reject(rejections: readonly Rejection[]): string | null;
  unanswered(): readonly LikelyCandidate[];
}

/** Named in one refusal. */
const MOST_NAMED = 20;

export function createCandidateAnswers(shown: readonly LikelyCandidate[]): CandidateAnswers {
  const byId = new Map(shown.map((one) => [one.id, one]));
  const reported = new Set<string>();
  const rejected = new Map<string, string>();
  const unknown = (ids: readonly string[]) => {
    const wrong = ids.filter((id) => !byId.has(id));
    if (wrong.length === 0) return null;
    const known = shown.length === 0 ? "there is none" : `they are ${shown.map(({ id }) => id).join(", ")}`;
    return `no rule match has the id ${wrong.map((id) => `'${id.slice(0, 40)}'`).join(", ")}; ${known}`;
  };
  const unanswered = () => shown.filter(({ id }) => !reported.has(id) && !rejected.has(id));
  return {
    reported,
    rejected,
    unanswered,
    whyNot(ids, path) {
      const other = ids.map((id) => byId.get(id)).find((one) => one && one.finding.path !== path);
      return (
        unknown(ids) ??
        (other
          ? `${other.id} is in ${showPath(other.finding.path)}, not in ${showPath(path)}; report it there, or reject it in finish_review`
          : null)
      );
    },
    report(ids, finding) {
      const here = shown.filter(
        (one) => one.finding.category === finding.category && overlap(placeOf(one.finding), placeOf(finding)),
      );
      for (const id of [...ids, ...here.map((one) => one.id)]) reported.add(id);
    },
    reject(rejections) {
      for (const { candidate, reason } of rejections)
        if (byId.has(candidate) && reason.trim() !== "") rejected.set(candidate, reason.trim());
      if (unanswered().length === 0) return null;
      const empty = rejections.find(({ reason }) => reason.trim() === "");
      return (
        unknown(rejections.map(({ candidate }) => candidate)) ??
        (empty ? `the rejection of ${empty.candidate} has no reason` : null)
      );
    },
  };
}

/** Why a review may not end while these are unanswered, for the model. */
export function unansweredRefusal(unanswered: readonly LikelyCandidate[]): string {
  const named = unanswered.slice(0, MOST_NAMED).map(candidateLine);
  const more = unanswered.length > MOST_NAMED ? `\nand ${unanswered.length - MOST_NAMED} more` : "";
  const count = unanswered.length === 1 ? "1 rule match has" : `${unanswered.length} rule matches have`;
  return `${count} no answer yet. Report each with report_finding and its id in \`candidates\`, or name it in \`rejected\` of finish_review with the reason:\n${named.join("\n")}${more}`;
}

/** A candidate as the model sees it. */
export const candidateLine = ({ id, finding }: LikelyCandidate): string =>
  `${id} ${showPath(finding.path)}:${finding.line} ${finding.title} (${finding.source})`;
