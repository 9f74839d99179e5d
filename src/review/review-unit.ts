import type { Account } from "../agent/account.ts";
import type { StopReason } from "../agent/events.ts";
import type { AgentResult } from "../agent/run-agent.ts";
import type { Candidate } from "../analyzers/analyzer.ts";
import type { Finding } from "../finding.ts";
import type { Message } from "../llm/model.ts";
import { graphTools, journalTools, reportingTools } from "../tools/index.ts";
import type { ChangedFile } from "../tools/tool.ts";
import { collectFindings } from "./collect-findings.ts";
import { firstMessages } from "./context/first-messages.ts";
import { createCoverageGate, createReviewCoverage } from "./coverage-gate.ts";
import { countKnown } from "./known/files-to-read.ts";
import type { ReviewRun } from "./review-run.ts";
import { runLoop } from "./run-loop.ts";
import type { Window } from "./window.ts";

export interface UnitTask {
  loop: string;
  files: readonly ChangedFile[];
  /** Null looks for everything. */
  focus: string | null;
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
}

/** Reads what the loops over a unit begin with. */
export async function startUnit(
  run: ReviewRun,
  { files, window }: Pick<UnitTask, "files" | "window">,
): Promise<UnitStart> {
  const { workspace, diffs, isPrivate, signal, now } = run.deps;
  const shown: { path: string; hunk: number }[] = [];
  const messages = await firstMessages({
    ...{ workspace, diffs, isPrivate, signal, now, files },
    input: run.input,
    shas: workspace.shas,
    allFiles: run.files,
    graph: run.graph,
    known: countKnown(run.files, run.known) > 0 ? run.known : null,
    commits: run.commits,
    candidates: await newCandidates(run, new Set(files.map(({ change }) => change.path))),
    coverage: { serve: (path, hunk) => void shown.push({ path, hunk }) },
    diffBytes: window.diffBytes,
    contextBytes: window.contextBytes,
  });
  return { messages, shown };
}

/** What analyzers matched in these files, outside of what an earlier review has read. */
async function newCandidates(
  { candidates, known }: ReviewRun,
  paths: ReadonlySet<string>,
): Promise<Candidate[]> {
  const all: Candidate[] = [];
  for (const one of candidates.filter(({ path }) => paths.has(path)))
    if (!(await known.isKnownLine(one.path, "RIGHT", one.line))) all.push(one);
  return all;
}

/** Lets the model review a part of the change in one loop. Its findings stand whatever stopped the loop. */
export async function reviewUnit(run: ReviewRun, unit: UnitTask, start: UnitStart): Promise<UnitReview> {
  const { input, deps, graph, coverage: whole } = run;
  const { diffs, progress, journal } = deps;
  const { files, window, account } = unit;
  // A model that answers once is told of what it reports through alone.
  const isAsking = run.models.review.protocol !== "single-shot";
  const more = [...(graph && isAsking ? graphTools : []), ...(journal && isAsking ? journalTools : [])];
  const coverage = createReviewCoverage(files, whole, run.known);
  for (const { path, hunk } of start.shown) coverage.serve(path, hunk);
  const gate = createCoverageGate({ files, diffs, coverage, portionBytes: window.portionBytes });
  const collector = collectFindings(run, gate.refuseToFinish);
  const tell = () => {
    const { served, total } = whole.counts();
    progress({ type: "coverage", served, total });
  };
  tell();
  const { stopReason, modelError } = await runLoop(run, {
    loop: unit.loop,
    role: "review",
    messages: withFocus(start.messages, unit.focus),
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
    summary: collector.summary(),
    stopReason,
    modelError,
  };
}

/** What a loop looks for stands last: what stands before it is the same for all loops over a unit, and cached. */
function withFocus(messages: readonly Message[], focus: string | null): Message[] {
  const last = messages.at(-1);
  if (focus === null || last?.role !== "user") return [...messages];
  return [...messages.slice(0, -1), { role: "user", content: `${last.content}\n\n# This pass\n${focus}` }];
}
