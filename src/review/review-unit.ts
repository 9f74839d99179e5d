import type { Account } from "../agent/account.ts";
import type { StopReason } from "../agent/events.ts";
import type { AgentResult } from "../agent/run-agent.ts";
import { type Finding, severities } from "../finding.ts";
import type { Message } from "../llm/model.ts";
import { byteLength } from "../text/cut.ts";
import { graphTools, journalTools, reportingTools } from "../tools/index.ts";
import type { ChangedFile } from "../tools/tool.ts";
import { type CandidateAnswers, candidateLine, createCandidateAnswers } from "./candidate-answers.ts";
import type { LikelyCandidate } from "./candidates.ts";
import { collectFindings } from "./collect-findings.ts";
import { firstMessages } from "./context/first-messages.ts";
import { createCoverageGate, createReviewCoverage } from "./coverage-gate.ts";
import { countKnown } from "./known/files-to-read.ts";
import type { ReviewRun } from "./review-run.ts";
import { runLoop } from "./run-loop.ts";
import { roomFor, type Window } from "./window.ts";

export interface UnitTask {
  loop: string;
  files: readonly ChangedFile[];
  /** Null looks for everything. */
  focus: string | null;
  /** Of several loops over one unit only the first has to answer the rule matches. */
  answersCandidates: boolean;
  window: Window;
  account: Account;
  /** Tokens that this loop may use. */
  tokens: number;
  /** Wall time that this loop may take. */
  milliseconds: number;
}

/** What one loop came to. */
export interface UnitReview {
  findings: readonly Finding[];
  /** Reported of code that an earlier review has read; not kept. */
  readBefore: readonly Finding[];
  /** What it says of the rule matches that it was shown. */
  answers: Pick<CandidateAnswers, "reported" | "rejected">;
  /** Null when the model did not finish. */
  summary: string | null;
  stopReason: StopReason;
  modelError: AgentResult["modelError"];
}

/** How every loop over a unit begins, whatever it looks for. */
export interface UnitStart {
  messages: readonly Message[];
  /** Hunks that the messages show. */
  shown: readonly { path: string; hunk: number }[];
  /** The rule matches that the messages show and that are to be answered. */
  likely: readonly LikelyCandidate[];
  /** Ids of the others in these files, for which there was no room. */
  overflow: readonly string[];
}

/** Reads what the loops over a unit begin with. */
export async function startUnit(
  run: ReviewRun,
  { files, window }: Pick<UnitTask, "files" | "window">,
): Promise<UnitStart> {
  const { workspace, diffs, isPrivate, signal, now } = run.deps;
  const shown: { path: string; hunk: number }[] = [];
  const paths = new Set(files.map(({ change }) => change.path));
  const likely = await candidatesIn(run, files);
  const shownLikely = worstThatFit(likely, roomFor(run.models.review, MAX_LIKELY_BYTES, LIKELY_SHARE));
  const messages = await firstMessages({
    ...{ workspace, diffs, isPrivate, signal, now, files },
    input: run.input,
    shas: workspace.shas,
    allFiles: run.files,
    graph: run.graph,
    known: countKnown(run.files, run.known) > 0 ? run.known : null,
    commits: run.commits,
    candidates: { certain: run.matches.certain.filter(({ path }) => paths.has(path)), likely: shownLikely },
    coverage: { serve: (path, hunk) => void shown.push({ path, hunk }) },
    diffBytes: window.diffBytes,
    contextBytes: window.contextBytes,
  });
  const overflow = likely.filter((one) => !shownLikely.includes(one)).map(({ id }) => id);
  return { messages, shown, likely: shownLikely, overflow };
}

/** Rule matches that a model is asked to answer in one loop. */
const MOST_LIKELY = 60;
const MAX_LIKELY_BYTES = 12_000;
const LIKELY_SHARE = 0.06;

/** The worst candidates, as many as fit, in their order. */
function worstThatFit(candidates: readonly LikelyCandidate[], maxBytes: number): LikelyCandidate[] {
  const rank = ({ finding }: LikelyCandidate) => severities.indexOf(finding.severity);
  let left = maxBytes;
  const fitting = candidates
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, MOST_LIKELY)
    .filter((one) => {
      left -= byteLength(candidateLine(one)) + 1;
      return left >= 0;
    });
  const kept = new Set(fitting);
  return candidates.filter((one) => kept.has(one));
}

/** The likely rule matches in these files, outside of what an earlier review has read: it has answered the others. */
export async function candidatesIn(
  { known, matches }: Pick<ReviewRun, "known" | "matches">,
  files: readonly ChangedFile[],
): Promise<LikelyCandidate[]> {
  const paths = new Set(files.map(({ change }) => change.path));
  const all: LikelyCandidate[] = [];
  for (const one of matches.likely) {
    const { path, line } = one.finding;
    if (paths.has(path) && !(await known.isKnownLine(path, "RIGHT", line))) all.push(one);
  }
  return all;
}

/** Lets the model review a part of the change in one loop. Its findings stand whatever stopped the loop. */
export async function reviewUnit(run: ReviewRun, unit: UnitTask, start: UnitStart): Promise<UnitReview> {
  const { input, deps, graph, coverage: whole } = run;
  const { diffs, progress, journal } = deps;
  const { files, window, account } = unit;
  const more = [...(graph ? graphTools : []), ...(journal ? journalTools : [])];
  const coverage = createReviewCoverage(files, whole, run.known);
  for (const { path, hunk } of start.shown) coverage.serve(path, hunk);
  const answers = createCandidateAnswers(start.likely);
  const unanswered = unit.answersCandidates ? answers.unanswered : () => [];
  const gate = createCoverageGate({ files, diffs, coverage, unanswered, portionBytes: window.portionBytes });
  const collector = collectFindings(run, answers, gate.refuseToFinish);
  const tell = () => {
    const { served, total } = whole.counts();
    progress({ type: "coverage", served, total });
  };
  tell();
  const { stopReason, modelError } = await runLoop(run, {
    loop: unit.loop,
    role: "review",
    messages: withFocus(start, unit),
    outlets: [...reportingTools, ...more],
    ports: { report: collector, ...(journal && { journal }), ...(graph && { graph }) },
    ...{ coverage, account },
    turns: input.limits.turns,
    tokens: unit.tokens,
    milliseconds: unit.milliseconds,
    interject: gate.interject,
    answered() {
      coverage.delivered();
      tell();
    },
  });
  // The conversation is left behind: those of all loops together would fill the memory.
  return {
    findings: collector.findings(),
    readBefore: collector.readBefore(),
    answers,
    summary: collector.summary(),
    stopReason,
    modelError,
  };
}

/** What a loop looks for stands last: what stands before it is the same for all loops over a unit, and cached. */
function withFocus(
  { messages, likely }: UnitStart,
  { focus, answersCandidates }: Pick<UnitTask, "focus" | "answersCandidates">,
): Message[] {
  const last = messages.at(-1);
  if (focus === null || last?.role !== "user") return [...messages];
  const candidates = answersCandidates || likely.length === 0 ? "" : `${ANSWERED_ELSEWHERE}\n`;
  return [
    ...messages.slice(0, -1),
    { role: "user", content: `${last.content}\n\n# This pass\n${candidates}${focus}` },
  ];
}

const ANSWERED_ELSEWHERE =
  "Another pass answers the rule matches: report one only if it is a fault of the kind that you look for, and reject none.";
