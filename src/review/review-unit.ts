import type { Account } from "../agent/account.ts";
import type { Coverage } from "../agent/coverage.ts";
import type { AgentResult } from "../agent/run-agent.ts";
import type { Finding } from "../finding.ts";
import type { Message } from "../llm/model.ts";
import { readingTools, reportingTools } from "../tools/index.ts";
import type { ChangedFile, CoverageSink } from "../tools/tool.ts";
import { firstMessages } from "./context/first-messages.ts";
import { createCoverageGate, createReviewCoverage } from "./coverage-gate.ts";
import { createFindingCollector } from "./finding-collector.ts";
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
  timeShare: number;
}

/** What one loop came to. */
export interface UnitReview {
  findings: readonly Finding[];
  /** Null when the model did not finish. */
  summary: string | null;
  loop: AgentResult;
}

/** A unit whose first messages are made. */
export interface PreparedUnit extends UnitTask {
  messages: readonly Message[];
  /** Of the unit; what is delivered counts in the whole as well. */
  coverage: Coverage;
}

export async function prepareUnit(run: ReviewRun, task: UnitTask): Promise<PreparedUnit> {
  const coverage = createReviewCoverage(task.files, run.coverage);
  return { ...task, coverage, messages: await unitMessages(run, task, coverage) };
}

/** Lets the model review a part of the change in one loop. Its findings stand whatever stopped the loop. */
export async function reviewUnit(run: ReviewRun, unit: PreparedUnit): Promise<UnitReview> {
  const { input, deps, models, anchorFile, coverage: whole } = run;
  const { diffs, progress, isPrivate } = deps;
  const { files, window, coverage, messages, account } = unit;
  const gate = createCoverageGate({ files, diffs, coverage, portionBytes: window.portionBytes });
  const collector = createFindingCollector({
    anchorFile,
    refuseToFinish: gate.refuseToFinish,
    // The second look sets the severity: what seems mild now may turn out not to be.
    minimumSeverity: input.config.effort === "low" ? input.config.minimum_severity : "low",
    isPrivate,
    onFinding: ({ severity, path, line, title }) =>
      progress({ type: "finding", severity, path, line, title }),
  });
  const tell = () => {
    const { served, total } = whole.counts();
    progress({ type: "coverage", served, total });
  };
  tell();
  const loop = await runLoop(run, {
    loop: unit.loop,
    role: "review",
    messages,
    tools: models.review.protocol === "single-shot" ? reportingTools : [...readingTools, ...reportingTools],
    ports: { report: collector },
    ...{ coverage, account },
    turns: input.limits.turns,
    tokens: unit.tokens,
    timeShare: unit.timeShare,
    interject: gate.interject,
    answered() {
      coverage.delivered();
      tell();
    },
  });
  return { findings: collector.findings(), summary: collector.summary(), loop };
}

/** What the loop over a unit begins with; the hunks that it shows are told to `coverage`. */
export function unitMessages(
  run: ReviewRun,
  { files, window, focus }: Pick<UnitTask, "files" | "window" | "focus">,
  coverage: CoverageSink,
): Promise<Message[]> {
  const { workspace, diffs, isPrivate, signal, now } = run.deps;
  const paths = new Set(files.map(({ change }) => change.path));
  return firstMessages({
    ...{ workspace, diffs, isPrivate, signal, now, files, coverage, focus },
    input: run.input,
    shas: workspace.shas,
    allFiles: run.files,
    commits: run.commits,
    candidates: run.candidates.filter(({ path }) => paths.has(path)),
    diffBytes: window.diffBytes,
    contextBytes: window.contextBytes,
  });
}
