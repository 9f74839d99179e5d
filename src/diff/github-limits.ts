import { byteLength } from "../text/cut.ts";
import type { FileDiff } from "./file-diff.ts";
import { hunkHeader, NO_NEWLINE } from "./render.ts";

/**
 * Beyond these GitHub shows no diff of a file, and answers 422 "path diff too large" to comments on its lines.
 *
 * The figures: https://docs.github.com/repositories/creating-and-managing-repositories/repository-limits#diff-limits.
 * The answer: https://github.com/octokit/octokit.rb/pull/1324, https://github.com/ReviewNB/support/issues/29. Whether
 * context lines count and what a kilobyte is nobody says; everything is taken so that what is called hidden is hidden.
 *
 * What is not known to be refused is not called hidden, and is left to the answer that a review gets: files beyond the
 * limits of a whole pull request (20,000 lines, 1 MB, 300 files), which GitHub counts for the view and not for one file's
 * comments; files that `.gitattributes` calls binary or without diff, of which people report either; files that Linguist
 * calls generated, which are folded only.
 */
export const GITHUB_FILE_LINES = 20_000;
export const GITHUB_FILE_BYTES = 500 * 1024;

/**
 * Whether GitHub shows none of the `-U3` diff of a file for its size.
 *
 * @param encoding how the file was decoded. A line that was Latin-1 had fewer bytes than its text has in UTF-8, and which
 *   lines were is not known any more, so that of such a file every character counts as one byte: never more than there were
 */
export function isHiddenForSize(diff: FileDiff, encoding: "utf8" | "latin1"): boolean {
  const bytesOf = encoding === "utf8" ? byteLength : (text: string) => text.length;
  let [lines, bytes] = [0, 0];
  for (const hunk of diff.hunks) {
    lines += hunk.lines.length;
    bytes += bytesOf(hunkHeader(hunk)) + 1;
    for (const line of hunk.lines) {
      bytes += 1 + bytesOf(line.text) + 1;
      if (line.noNewline) bytes += NO_NEWLINE.length + 1;
    }
  }
  return lines > GITHUB_FILE_LINES || bytes > GITHUB_FILE_BYTES;
}
