import type { Models } from "../../src/agent/llm/model.ts";
import { runTask } from "../../src/border/run-task.ts";
import { loadLocalConfig, openRange } from "../../src/cli/open-range.ts";
import { inputOf } from "../../src/cli/review-range.ts";
import type { Effort } from "../../src/config/repo-config.ts";
import { AppError } from "../../src/core/errors.ts";
import type { Finding } from "../../src/core/finding.ts";
import { emptyState } from "../../src/core/ledger/state.ts";
import { withoutSecrets } from "../../src/core/secrets/redact.ts";
import { byteLength, cutAtLine } from "../../src/core/text/cut.ts";
import { planPublication } from "../../src/pull/publish/publication.ts";
import { type Hunk, renderHunk } from "../../src/repo/diff/file-diff.ts";
import { createPrivacy } from "../../src/repo/diff/filter.ts";
import { createDiffSource, GITHUB_CONTEXT } from "../../src/repo/diff-source.ts";
import { takeLines, totalLines } from "../../src/repo/show.ts";
import { reviewTask } from "../../src/tasks/review/review-task.ts";
import type { PullText } from "../../src/tasks/shapes/review-input.ts";
import type { ReviewResult } from "../../src/tasks/shapes/review-result.ts";
import type { EvalCase } from "./case-format.ts";
import { openCaseRepository } from "./case-repository.ts";
import type { Channel } from "./case-result.ts";
import type { Exhibit } from "./judge.ts";

export interface ReviewOptions {
  /** Null: only the analyzers. */
  models: Models | null;
  /** Null: the effort in the repository's configuration. */
  effort: Effort | null;
}

export interface Reviewed {
  result: ReviewResult;
  /** In the order of the result's findings. */
  channels: Channel[];
}

/** The pull request of a case in its repository. */
export interface OpenCase extends AsyncDisposable {
  /**
   * Reviews it as the App does, with its title and its description. Rejects with `model_failed` if the model failed: partial findings
   * would measure the endpoint and not the reviewer.
   */
  review(options: ReviewOptions): Promise<Reviewed>;
  /** The code that decides whether a finding is true, as far as it is near, without secrets. */
  codeOf(finding: Pick<Finding, "path" | "side" | "line" | "start_line">): Promise<Exhibit["code"]>;
}

/** Rejects with `repository_unavailable` and the searched places. `repos` is null if every case is a patch. */
export async function openCase(one: EvalCase, repos: string | null, signal: AbortSignal): Promise<OpenCase> {
  await using opening = new AsyncDisposableStack();
  const repository = opening.use(await openCaseRepository(one, repos));
  const range = opening.use(await openRange({ ...repository, signal }));
  const { place, names, workspace } = range;
  const { config } = await loadLocalConfig(workspace);
  const isPrivate = createPrivacy(config.paths.private);
  const diffs = createDiffSource(workspace, { ignore: config.paths.ignore, private: config.paths.private });
  const opened = opening.move();

  async function review({ models, effort }: ReviewOptions): Promise<Reviewed> {
    const chosen = effort === null ? config : { ...config, effort };
    let fault: string | null = null;
    const input = { ...inputOf(names.base, chosen, models), pull: pullTextOf(one) };
    const result = await runTask(reviewTask, input, {
      place,
      models,
      trajectory: { append: async () => {} },
      onProgress(event) {
        if (event.type === "model_failed") fault = event.error;
      },
      signal,
    });
    if (result.stop_reason === "model_error" || result.stop_reason === "aborted")
      throw new AppError("model_failed", `the model failed: ${fault ?? result.stop_reason}`);
    return { result, channels: channelsOf(result, config.max_comments) };
  }

  async function codeOf({ path, side, line, start_line }: Parameters<OpenCase["codeOf"]>[0]) {
    const change = (await workspace.changes()).find((each) => each.path === path);
    const oldPath = change?.oldPath ?? path;
    if (isPrivate(path) || isPrivate(oldPath)) return { diff: "", around: "" };
    const diff = change && (await diffs.fileDiff(change, GITHUB_CONTEXT).catch(noneIfTooLarge));
    const isNew = side === "RIGHT";
    const entry = (await workspace.tree(isNew ? "head" : "merge_base")).get(isNew ? path : oldPath);
    const isText = entry?.mode.startsWith("100") === true;
    const file = isText ? await workspace.readBlob(entry.oid).catch(noneIfTooLarge) : null;
    const text = file === null || file.binary ? "" : file.text;
    const start = Math.max(1, (start_line ?? line) - LINES_AROUND);
    const end = Math.min(totalLines(text), line + LINES_AROUND);
    return {
      diff: withoutSecrets(nearestHunks(diff?.hunks ?? [], { side, line })),
      around: end < start ? "" : withoutSecrets(takeLines(text, { start, end }, MAX_CODE_BYTES).join("\n")),
    };
  }

  return { review, codeOf, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** The author's texts: a case has no others. */
export function pullTextOf({ title, body }: EvalCase): PullText {
  return { number: 1, title, body, author: "author", issues: [], checks: [], earlier: [] };
}

/** The channels of a first review, in the order of the findings. */
export function channelsOf(result: ReviewResult, maxComments: number | null): Channel[] {
  const ledger = { state: emptyState, entries: [], sticky: null, notice: null };
  const existing = { ledger, mine: new Map<string, number>(), visible: [], review: false, pending: false };
  const planned = planPublication({ result, existing, annotated: new Set(), maxComments });
  const places = new Map(planned.map(({ finding, place }) => [finding, place.kind]));
  return result.findings.map(({ finding }) => {
    const kind = places.get(finding);
    return kind === "line" || kind === "file" ? kind : "summary";
  });
}

/** Lines of code before and after a finding. */
const LINES_AROUND = 80;
const MAX_CODE_BYTES = 16_000;
const MAX_DIFF_BYTES = 24_000;

/** What cannot be shown whole is not shown; the judge then says "unknown". */
function noneIfTooLarge(error: unknown): null {
  if (error instanceof AppError && error.code === "too_large") return null;
  throw error;
}

/** As many hunks as fit, the nearest first, in the order of the file. */
function nearestHunks(hunks: readonly Hunk[], { side, line }: Pick<Finding, "side" | "line">): string {
  const distance = (hunk: Hunk) => {
    const [start, count] = side === "RIGHT" ? [hunk.newStart, hunk.newLines] : [hunk.oldStart, hunk.oldLines];
    return Math.max(0, start - line, line - (start + count - 1));
  };
  const shown = new Set<Hunk>();
  let room = MAX_DIFF_BYTES;
  for (const hunk of hunks.toSorted((a, b) => distance(a) - distance(b))) {
    room -= byteLength(renderHunk(hunk));
    if (room < 0 && shown.size > 0) break;
    shown.add(hunk);
  }
  return cutAtLine(
    hunks
      .filter((hunk) => shown.has(hunk))
      .map(renderHunk)
      .join("\n"),
    MAX_DIFF_BYTES,
  ).text;
}
