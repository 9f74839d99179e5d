import { type FileDiff, renderHunks, shownBytes } from "../../diff/file-diff.ts";
import { byteLength } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { showPath } from "../../tools/show.ts";
import type { ChangedFile, DiffSource } from "../../tools/tool.ts";
import { headingNote, newHunks } from "../known/files-to-read.ts";
import type { MessageParts } from "./parts.ts";

export interface DiffSection {
  text: string;
  /** What it shows, file by file and whole. */
  shown: readonly FileDiff[];
}

const explained =
  "Each line has its number: context and added (+) lines that of the new file, removed (-) lines that of the old one.";

/** Files whose new hunks all fit the budget are shown, and these count as served; the rest is counted. */
export async function diffSection(parts: MessageParts): Promise<DiffSection> {
  const { files, diffs, coverage, known } = parts;
  const texts: string[] = [];
  const shown: FileDiff[] = [];
  let left = 0;
  let room = parts.diffBytes;
  for (const file of files.filter((one) => one.reviewable)) {
    const read = known?.known(file.change.path) ?? none;
    const one = await fileSection(file, read, diffs, room);
    if (one === null) {
      left += 1;
      continue;
    }
    room -= shownBytes(one.text) + 1;
    texts.push(one.text);
    shown.push(one.diff);
    for (let hunk = 1; hunk <= file.totalHunks; hunk++)
      if (!read.has(hunk)) coverage.serve(file.change.path, hunk);
  }
  const diff = texts.length > 0 ? `${explained}\n${wrapUntrusted("diff", texts.join("\n"))}` : "";
  const rest =
    left > 0 ? `Not shown here, to be read with diff_file: ${left} of ${left + texts.length} files.` : "";
  return { text: ["# Diff", diff, rest].filter((part) => part !== "").join("\n"), shown };
}

const none: ReadonlySet<number> = new Set();

/** What is new of the file's diff, or null when it takes more than `room`. */
async function fileSection(
  { change, diffBytes }: ChangedFile,
  read: ReadonlySet<number>,
  diffs: DiffSource,
  room: number,
): Promise<{ text: string; diff: FileDiff } | null> {
  // A changed line takes at least two bytes: no need to read a diff that cannot fit.
  const leastBytes = read.size > 0 ? diffBytes : ((change.additions ?? 0) + (change.deletions ?? 0)) * 2;
  if (leastBytes > room) return null;
  const diff = await diffs.fileDiff(change, 3);
  const { hunks, note } = newHunks(diff, read);
  const text = `## ${showPath(change.path)}${headingNote(note)}\n${renderHunks(hunks)}`;
  return byteLength(text) > room || shownBytes(text) > room ? null : { text, diff: { ...diff, hunks } };
}
