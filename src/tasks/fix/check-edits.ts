import { isDeepStrictEqual } from "node:util";
import { isNestedName } from "../../config/repo-config.ts";
import { redactText } from "../../core/secrets/redact.ts";
import { faultInData, isPlainJson } from "../../repo/code/data-formats.ts";
import { isExample, isTestFile } from "../../repo/code/test-file.ts";
import { pathFault } from "../../repo/diff/paths.ts";
import { isLockFile } from "../../repo/diff/skipped-names.ts";
import { whyOnlyPeople } from "../../repo/diff/takes-effect.ts";
import type { Edit } from "../../repo/git/workspace.ts";
import { hiddenIn } from "../rules/analyzers/hidden-characters.ts";

/** Characters that may be invisible, or that file systems treat differently. */
const unlike = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Co}\\:*?"<>|]/u;
/** Windows removes them at the end of a name. */
const dropped = /[. ]$/;
/** The short name that Windows gives a file with a long name (`CODEOW~1`). */
const shortName = /^[^.]{1,7}~\d{1,6}(?:\.[^.]{0,3})?$/;

/** Whether a path means the same file on every system. Otherwise it could mean a protected file somewhere. */
export function isPlainPath(path: string): boolean {
  if (pathFault(path) !== undefined || unlike.test(path)) return false;
  const names = path.split("/");
  return names.every((name) => name !== "" && !dropped.test(name) && !shortName.test(name));
}

/**
 * Why only a person may change the file at this path; null if a fix may. Case is ignored, because some file systems ignore it. Each
 * segment is checked as a file name too, because a folder of that name would replace the file.
 */
export function protectionOf(path: string): string | null {
  if (pathFault(path) !== undefined) return "it is not a path of a file in the repository";
  if (!isPlainPath(path)) return "its name does not mean the same file on every machine";
  const folded = path.normalize("NFKC").toUpperCase().toLowerCase().split("/");
  if (folded.some(isNestedName)) return "it is the configuration of these reviews";
  if (folded.some(isLockFile)) return "it is a lock file, which only a package manager writes";
  return whyOnlyPeople(path);
}

/** `mode` is "100644" or "100755"; before the fix also that of a link or a submodule. */
type FileState = NonNullable<Edit["after"]>;
export interface FileEdit extends Omit<Edit, "before"> {
  before: FileState | null;
}

export interface FixScope {
  /** The files of the pull request, of the findings, and of their evidence. */
  files: ReadonlySet<string>;
  isPrivate(path: string): boolean;
}

/** Why an edit is refused; `path` is null if the reason concerns all of them. */
export interface Refusal {
  path: string | null;
  reason: string;
}

/** A repair is small. Larger edits were not requested, and no one would review them. */
export const most = { files: 20, lines: 1_000, bytes: 400_000, bytesOfFile: 1_000_000 } as const;

/**
 * Why the edits of a fix may not become a commit; empty if they may. The model that made them has read hostile text, so everything is
 * checked: paths, modes, sizes and added text.
 */
export async function refusalsOf(edits: readonly FileEdit[], scope: FixScope): Promise<Refusal[]> {
  if (edits.length > most.files) {
    return [{ path: null, reason: `it changes ${edits.length} files; a fix changes at most ${most.files}` }];
  }
  const refusals: Refusal[] = [];
  let lines = 0;
  let bytes = 0;
  for (const edit of edits) {
    const changed = changedLines(edit);
    lines += changed.lines;
    bytes += changed.bytes;
    const reason =
      reasonByPath(edit.path, scope) ??
      reasonByOthers(edit, edits) ??
      (isTakenAway(edit) ? reasonToKeep(edit.path, scope) : null) ??
      reasonByState(edit) ??
      (await reasonByText(edit, changed.added));
    if (reason !== null) refusals.push({ path: edit.path, reason });
  }
  if (lines > most.lines) {
    refusals.push({ path: null, reason: `it changes ${lines} lines; a fix changes at most ${most.lines}` });
  }
  if (bytes > most.bytes) {
    refusals.push({ path: null, reason: `it changes ${bytes} bytes; a fix changes at most ${most.bytes}` });
  }
  return refusals;
}

/** Why no edit of this file is allowed; null if edits may be. */
export function reasonByPath(path: string, { files, isPrivate }: FixScope): string | null {
  const protection = protectionOf(path);
  if (protection !== null) return protection;
  if (isPrivate(path)) return "the configuration keeps it private";
  if (files.has(path) || isTestFile(path)) return null;
  return "it is neither a file of the pull request nor a test";
}

/** If a file occurs twice, or as a file and as a folder, only the last edit would take effect. */
function reasonByOthers(edit: FileEdit, edits: readonly FileEdit[]): string | null {
  const isSame = (other: FileEdit) => other !== edit && other.path === edit.path;
  const isBelow = (other: FileEdit) => edit.after !== null && other.path.startsWith(`${edit.path}/`);
  return edits.some((other) => isSame(other) || isBelow(other))
    ? "it is changed twice, or is also used as a folder"
    : null;
}

/** Why a file may not be deleted; null if it may. Deleting an unrelated test repairs nothing. */
export function reasonToKeep(path: string, { files }: FixScope): string | null {
  return files.has(path)
    ? null
    : "it is a test that the pull request does not change, and may not be deleted";
}

/** An emptied file counts as deleted. */
const isTakenAway = ({ before, after }: FileEdit) =>
  before !== null &&
  before.bytes.length > 0 &&
  (after === null || after.bytes.toString("utf8").trim() === "");

function reasonByState({ before, after }: FileEdit): string | null {
  if (before !== null && !before.mode.startsWith("100")) return "it is a link or a submodule";
  if (before !== null && before.bytes.length > most.bytesOfFile)
    return `it was larger than ${most.bytesOfFile} bytes`;
  if (after === null) return null;
  if (after.mode !== (before?.mode ?? "100644")) return "it changes whether the file can be executed";
  if (after.bytes.length > most.bytesOfFile) return `it is larger than ${most.bytesOfFile} bytes`;
  return after.bytes.includes(0) ? "it is binary" : null;
}

/** Control characters, which can make a terminal show another text; except tab, form feed and line ends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\0-\x08\x0b\x0e-\x1f\x7f-\x9f]|\r(?!$)/;

async function reasonByText(
  { path, before, after }: FileEdit,
  added: readonly string[],
): Promise<string | null> {
  if (after === null) return null;
  if (/(?:^|\/)package\.json$/i.test(path) && !(await sameScripts(before, after))) {
    return "it changes what a package manager runs";
  }
  const context = { isText: isExample(path), isTest: isTestFile(path), isData: true };
  if (added.some((line) => controls.test(line) || hiddenIn(line, context).length > 0))
    return "it adds invisible characters";
  return (await addsSecret(path, added, after)) ? "it adds text that looks like a secret" : null;
}

/** A secret may span added and old lines, so the added lines and the whole file are searched. */
async function addsSecret(path: string, added: readonly string[], after: FileState): Promise<boolean> {
  const text = [path, ...added].join("\n");
  if ((await redactText(text)) !== text) return true;
  const whole = after.bytes.toString("utf8");
  const kept = { ...after, bytes: Buffer.from(await redactText(whole)) };
  const secret = new Set(changedLines({ path, before: kept, after }).added);
  return added.some((line) => secret.has(line));
}

interface Changed {
  /** Lines that the new text has more often than the old one, at any position. */
  added: string[];
  /** Number of added and removed lines, and their total size. */
  lines: number;
  bytes: number;
}

function changedLines({ before, after }: FileEdit): Changed {
  const counts = new Map<string, number>();
  for (const line of linesOf(before)) counts.set(line, (counts.get(line) ?? 0) + 1);
  const added = linesOf(after).filter((line) => {
    const left = counts.get(line) ?? 0;
    if (left > 0) counts.set(line, left - 1);
    return left === 0;
  });
  const changed: Changed = { added, lines: added.length, bytes: 0 };
  for (const line of added) changed.bytes += Buffer.byteLength(line);
  for (const [line, count] of counts) {
    changed.lines += count;
    changed.bytes += count * Buffer.byteLength(line);
  }
  return changed;
}

const linesOf = (state: FileState | null) => (state === null ? [] : state.bytes.toString("utf8").split("\n"));

/** Keys of package.json that neither run nor fetch anything. */
const harmless = new Set(
  [
    "description keywords homepage bugs license author contributors funding repository private type main module",
    "browser exports imports types typings files sideEffects engines",
  ].flatMap((line) => line.split(" ")),
);

async function sameScripts(before: FileState | null, after: FileState): Promise<boolean> {
  const [old, now] = await Promise.all([packageOf(before), packageOf(after)]);
  if (now === undefined) return false;
  const keys = new Set([...Object.keys(old ?? {}), ...Object.keys(now)]);
  return [...keys].every((key) => harmless.has(key) || isDeepStrictEqual(old?.[key], now[key]));
}

/** Undefined if it is not a JSON object, or has a duplicate key: parsers differ on which one counts. */
async function packageOf(state: FileState | null): Promise<Record<string, unknown> | undefined> {
  const text = state?.bytes.toString("utf8") ?? "";
  if (!isPlainJson(text) || (await faultInData("package.json", text)) !== null) return undefined;
  const value: unknown = JSON.parse(text);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : undefined;
}
