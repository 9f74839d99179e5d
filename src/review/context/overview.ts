import { byteLength, cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { changeLetters, toldLine } from "../../tools/changed-files.ts";
import { count, showPath } from "../../tools/show.ts";
import type { ChangedFile } from "../../tools/tool.ts";
import type { ReviewedHunks } from "../followup/known-change.ts";
import { isReadBefore, isWhole, type MessageParts } from "./parts.ts";

/** Size of the list for one loop that reads everything. */
const MAX_LIST_BYTES = 24_000;
/** Size for a unit's overview of the whole change. With every name, the total would grow with the square of the change. */
const MAX_FOLDERS_BYTES = 3_000;
const MAX_LARGEST_BYTES = 1_500;
const LARGEST = 20;
const MAX_READ_BYTES = 1_500;
/** Folders are counted at this depth. */
const DEPTH = 3;

/** A short overview of the whole change; the same for all units. */
export function overviewSection(parts: MessageParts): string {
  const { allFiles, known } = parts;
  if (isWhole(parts)) return listOf("Changed files", allFiles, known);
  const heading = `# The whole change (${count(allFiles.length, "file")})`;
  const intro =
    "It is reviewed in units, by a loop each. You read one unit; the other files are for reading around it.";
  const folders = fitting(folderLines(allFiles), MAX_FOLDERS_BYTES, "more folders");
  const largest = fitting(largestLines(allFiles), MAX_LARGEST_BYTES, "more");
  const read = allFiles
    .filter((file) => isReadBefore(file, known))
    .map(({ change }) => showPath(change.path));
  const old =
    read.length > 0
      ? ["Nothing new, an earlier review has read them:", ...fitting(read, MAX_READ_BYTES, "more")]
      : [];
  const text = ["Folders:", ...folders, "Largest changes:", ...largest, ...old].join("\n");
  return `${heading}\n${intro}\n${wrapUntrusted("changed folders", text)}`;
}

/** The files whose diff this loop is shown; empty if the overview has named them all. */
export function unitSection(parts: MessageParts): string {
  return isWhole(parts) ? "" : listOf("The files of your unit", parts.files, parts.known);
}

/** The files that the lists name. */
export function listedFiles(parts: MessageParts): ReadonlySet<ChangedFile> {
  const files = isWhole(parts) ? parts.allFiles : parts.files;
  return new Set(files.slice(0, files.length - cutList(files, parts.known).omittedLines));
}

const cutList = (files: readonly ChangedFile[], known: ReviewedHunks | null) =>
  cutAtLine(files.map((file) => fileLine(file, known)).join("\n"), MAX_LIST_BYTES);

function listOf(title: string, files: readonly ChangedFile[], known: ReviewedHunks | null): string {
  const text = cutList(files, known);
  const more = text.omittedLines > 0 ? `\n${text.omittedLines} more files: see changed_files.` : "";
  return `# ${title} (${files.length})\n${wrapUntrusted("changed files", text.text)}${more}`;
}

function fileLine(file: ChangedFile, known: ReviewedHunks | null): string {
  const { change, reading, reviewable, skipReason } = file;
  if (reviewable && reading === "line") return toldLine(file);
  const from = change.oldPath ? ` (was ${showPath(change.oldPath)})` : "";
  const state = skipReason ? `not reviewed: ${skipReason}` : hunksOf(file, known);
  return `${changeLetters[change.type]} ${showPath(change.path)}${from}  ${sizeOf(change)}  ${state}`;
}

function hunksOf(file: ChangedFile, known: ReviewedHunks | null): string {
  const all =
    file.reading === "whole"
      ? "all of it counts at this path: see diff_file"
      : count(file.totalHunks, "hunk");
  const read = known?.known(file.change.path).size ?? 0;
  if (read === 0) return all;
  return isReadBefore(file, known)
    ? `${all}, nothing new: read by an earlier review`
    : `${all}, ${read} of them read by an earlier review`;
}

const sizeOf = ({ additions, deletions }: ChangedFile["change"]) =>
  `+${additions ?? "?"} -${deletions ?? "?"}`;
const linesOf = ({ change }: ChangedFile) => (change.additions ?? 0) + (change.deletions ?? 0);

function folderLines(files: readonly ChangedFile[]): string[] {
  const byFolder = Map.groupBy(files, ({ change }) => folderOf(change.path));
  const folders = [...byFolder].map(([folder, inside]) => {
    const reviewed = inside.filter((file) => file.reviewable);
    const skipped = inside.length - reviewed.length;
    const rest = skipped > 0 ? `, ${skipped} not reviewed` : "";
    const lines = reviewed.reduce((sum, file) => sum + linesOf(file), 0);
    const text = `${showPath(folder)} ${count(inside.length, "file")}, ${count(lines, "changed line")}${rest}`;
    return { folder, lines, text };
  });
  folders.sort((a, b) => b.lines - a.lines || (a.folder < b.folder ? -1 : 1));
  return folders.map(({ text }) => text);
}

function folderOf(path: string): string {
  const folders = path.split("/").slice(0, -1);
  return folders.length === 0 ? "./" : `${folders.slice(0, DEPTH).join("/")}/`;
}

function largestLines(files: readonly ChangedFile[]): string[] {
  const byName = ({ change }: ChangedFile, other: ChangedFile) => (change.path < other.change.path ? -1 : 1);
  return files
    .filter((file) => file.reviewable)
    .toSorted((a, b) => linesOf(b) - linesOf(a) || byName(a, b))
    .slice(0, LARGEST)
    .map(({ change }) => `${changeLetters[change.type]} ${showPath(change.path)}  ${sizeOf(change)}`);
}

/** Whole lines up to a size, and the number of omitted ones. */
function fitting(lines: readonly string[], maxBytes: number, more: string): string[] {
  let bytes = 0;
  const past = lines.findIndex((line) => {
    bytes += byteLength(line) + 1;
    return bytes > maxBytes;
  });
  return past < 0 ? [...lines] : [...lines.slice(0, past), `and ${lines.length - past} ${more}`];
}
