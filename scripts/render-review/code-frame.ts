import { git } from "../../test/support/github-double/bare-repository.ts";
import { findLine } from "../../test/support/github-double/commentable.ts";
import { pullDiff } from "../../test/support/github-double/current-line.ts";
import { mergeBaseOf } from "../../test/support/github-double/json/pull.ts";
import type { ReviewComment } from "../../test/support/github-double/model.ts";
import { highlightLines } from "./highlight.ts";
import { type Html, html } from "./html.ts";

/** Lines that GitHub shows above the first commented one. */
const CONTEXT = 3;

export interface CodeFrame {
  markup: Html;
  /** The commented lines of the comment's side, which a suggestion would replace. */
  commented: string[];
}

/** The part of the diff around a comment; undefined for a file comment. */
export async function codeFrame({
  anchor,
  pull,
  path,
  commitId,
}: ReviewComment): Promise<CodeFrame | undefined> {
  const file = (await pullDiff(pull, commitId)).find((one) => one.path === path);
  const last = anchor && file && findLine(file, anchor.side, anchor.line);
  if (!last) return undefined;
  const { side, line, startLine } = anchor;
  const first = (startLine !== null && findLine(file, side, startLine)) || last;
  const rows = file.hunks[last.hunk]?.rows.slice(Math.max(0, first.row - CONTEXT), last.row + 1) ?? [];
  const [left, right] = await Promise.all([
    linesAt(pull.repository.gitDir, await mergeBaseOf(pull, commitId), file.previousPath ?? path),
    linesAt(pull.repository.gitDir, commitId, path),
  ]);
  const written = rows.map((row) => {
    const kind = row.LEFT === null ? "added" : row.RIGHT === null ? "removed" : "same";
    const code = row.RIGHT === null ? left[row.LEFT! - 1] : right[row.RIGHT - 1];
    return html`<div class="row ${kind}"><b>${row.LEFT ?? ""}</b><b>${row.RIGHT ?? ""}</b><i>${row.text.charAt(0)}</i><code>${code}</code></div>`;
  });
  const isCommented = (number: number | null) =>
    number !== null && number >= (startLine ?? line) && number <= line;
  return {
    markup: html`<div class="frame">${written}</div>`,
    commented: rows.filter((row) => isCommented(row[side])).map((row) => row.text.slice(1)),
  };
}

/** Empty if the file does not exist at the commit. */
async function linesAt(gitDir: string, commit: string, path: string): Promise<Html[]> {
  const listed = await git(gitDir, "ls-tree", commit, "--", path);
  return listed === "" ? [] : highlightLines(path, await git(gitDir, "show", `${commit}:${path}`));
}
