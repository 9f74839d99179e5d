import type { FileDiff } from "../../diff/file-diff.ts";
import { renderHunks, shownBytes } from "../../diff/render.ts";
import { byteLength } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { showPath } from "../../tools/show.ts";
import type { ChangedFile, DiffSource } from "../../tools/tool.ts";
import type { ContextParts } from "./parts.ts";

export interface DiffSection {
  text: string;
  /** What it shows, file by file and whole. */
  shown: readonly FileDiff[];
}

const explained =
  "Each line has its number: context and added (+) lines that of the new file, removed (-) lines that of the old one.";

/** Files whose whole diff fits the budget are shown and count as served; the rest is counted. */
export async function diffSection(parts: ContextParts): Promise<DiffSection> {
  const { files, diffs, coverage } = parts;
  const texts: string[] = [];
  const shown: FileDiff[] = [];
  let left = 0;
  let room = parts.diffBytes;
  for (const file of files.filter((one) => one.reviewable)) {
    const one = await fileSection(file, diffs, room);
    if (one === null) {
      left += 1;
      continue;
    }
    room -= shownBytes(one.text) + 1;
    texts.push(one.text);
    shown.push(one.diff);
    for (let hunk = 1; hunk <= file.totalHunks; hunk++) coverage.serve(file.change.path, hunk);
  }
  const diff = texts.length > 0 ? `${explained}\n${wrapUntrusted("diff", texts.join("\n"))}` : "";
  const rest =
    left > 0 ? `Not shown here, to be read with diff_file: ${left} of ${left + texts.length} files.` : "";
  return { text: ["# Diff", diff, rest].filter((part) => part !== "").join("\n"), shown };
}

/** The file's whole diff, or null when it takes more than `room`. */
async function fileSection(
  { change }: ChangedFile,
  diffs: DiffSource,
  room: number,
): Promise<{ text: string; diff: FileDiff } | null> {
  // A changed line takes at least two bytes: no need to read a diff that cannot fit.
  if (((change.additions ?? 0) + (change.deletions ?? 0)) * 2 > room) return null;
  const diff = await diffs.fileDiff(change, 3);
  const text = `## ${showPath(change.path)}\n${renderHunks(diff.hunks)}`;
  return byteLength(text) > room || shownBytes(text) > room ? null : { text, diff };
}
