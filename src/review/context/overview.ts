import { byteLength, cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { changeLetters } from "../../tools/changed-files.ts";
import { count, showPath } from "../../tools/show.ts";
import type { ChangedFile } from "../../tools/tool.ts";
import { type ContextParts, isWhole } from "./parts.ts";

/** For one loop that reads everything. */
const MAX_LIST_BYTES = 24_000;
/** Where each unit is told of the whole: with every name it would grow with the square of the change. */
const MAX_FOLDERS_BYTES = 3_000;
const MAX_LARGEST_BYTES = 1_500;
const LARGEST = 20;
/** Folders are counted at this depth. */
const DEPTH = 3;

/** The whole change in few words; the same for all units. */
export function overviewSection(parts: ContextParts): string {
  const { allFiles } = parts;
  if (isWhole(parts)) return listOf("Changed files", allFiles, MAX_LIST_BYTES);
  const heading = `# The whole change (${count(allFiles.length, "file")})`;
  const intro =
    "It is reviewed in units, by a loop each. You read one unit; the other files are for reading around it.";
  const folders = fitting(folderLines(allFiles), MAX_FOLDERS_BYTES, "more folders");
  const largest = fitting(largestLines(allFiles), MAX_LARGEST_BYTES, "more");
  const text = ["Folders:", ...folders, "Largest changes:", ...largest].join("\n");
  return `${heading}\n${intro}\n${wrapUntrusted("changed folders", text)}`;
}

/** The files whose diff this loop is shown; nothing where the overview has named them all. */
export function unitSection(parts: ContextParts): string {
  return isWhole(parts) ? "" : listOf("The files of your unit", parts.files, MAX_LIST_BYTES);
}

function listOf(title: string, files: readonly ChangedFile[], maxBytes: number): string {
  const text = cutAtLine(files.map(fileLine).join("\n"), maxBytes);
  const more = text.omittedLines > 0 ? `\n${text.omittedLines} more files: see changed_files.` : "";
  return `# ${title} (${files.length})\n${wrapUntrusted("changed files", text.text)}${more}`;
}

function fileLine({ change, totalHunks, skipReason }: ChangedFile): string {
  const from = change.oldPath ? ` (was ${showPath(change.oldPath)})` : "";
  const state = skipReason ? `not reviewed: ${skipReason}` : count(totalHunks, "hunk");
  return `${changeLetters[change.type]} ${showPath(change.path)}${from}  ${sizeOf(change)}  ${state}`;
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

/** Whole lines up to a size, and how many are left. */
function fitting(lines: readonly string[], maxBytes: number, more: string): string[] {
  let bytes = 0;
  const past = lines.findIndex((line) => {
    bytes += byteLength(line) + 1;
    return bytes > maxBytes;
  });
  return past < 0 ? [...lines] : [...lines.slice(0, past), `and ${lines.length - past} ${more}`];
}
