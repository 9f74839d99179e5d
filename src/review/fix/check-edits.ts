import { isDeepStrictEqual } from "node:util";
import { hiddenIn } from "../../analyzers/hidden-in-line.ts";
import { isExample, isTestFile } from "../../analyzers/test-file.ts";
import { redactText } from "../../secrets/redact.ts";
import { protectionOf } from "./protected-paths.ts";

/** A file on one side of a fix. */
export interface FileState {
  /** "100644" or "100755"; of what stood there before also that of a link or a submodule. */
  mode: string;
  bytes: Buffer;
}

/** A file that a fix changes, with what stood there before. */
export interface FileEdit {
  path: string;
  /** Null for a file that is new. */
  before: FileState | null;
  /** Null for a file that goes. */
  after: FileState | null;
}

/** What a fix was asked for. */
export interface FixScope {
  /** The files of the pull request, and those that its findings are about. */
  files: ReadonlySet<string>;
  isPrivate(path: string): boolean;
}

/** Why an edit is not taken; `path` is null where it is about all of them. */
export interface Refusal {
  path: string | null;
  reason: string;
}

/** A repair is small. What is larger was not asked for, and nobody reads it. */
export const most = { files: 20, lines: 1_000, bytesOfFile: 1_000_000 } as const;

/**
 * Why the edits of a fix may not become a commit; empty where they may. A model made them that read hostile text, so all is judged
 * by what is there: paths, modes, sizes and the text that is new.
 */
export async function refusalsOf(edits: readonly FileEdit[], scope: FixScope): Promise<Refusal[]> {
  if (edits.length > most.files) {
    return [{ path: null, reason: `it changes ${edits.length} files; a fix changes at most ${most.files}` }];
  }
  const refusals: Refusal[] = [];
  let lines = 0;
  for (const edit of edits) {
    const changed = changedLines(edit);
    lines += changed.added.length + changed.removed;
    const reason =
      reasonByPath(edit.path, scope) ?? reasonByState(edit) ?? (await reasonByText(edit, changed.added));
    if (reason !== null) refusals.push({ path: edit.path, reason });
  }
  if (lines > most.lines) {
    refusals.push({ path: null, reason: `it changes ${lines} lines; a fix changes at most ${most.lines}` });
  }
  return refusals;
}

/** Why no edit of this file is taken; null where some may be. */
export function reasonByPath(path: string, { files, isPrivate }: FixScope): string | null {
  const protection = protectionOf(path);
  if (protection !== null) return protection;
  if (isPrivate(path)) return "the configuration keeps it private";
  if (files.has(path) || isTestFile(path)) return null;
  return "it is neither a file of the pull request nor a test";
}

function reasonByState({ before, after }: FileEdit): string | null {
  if (before !== null && !before.mode.startsWith("100")) return "it is a link or a submodule";
  if (after === null) return null;
  if (after.mode !== (before?.mode ?? "100644")) return "it changes whether the file can be executed";
  if (after.bytes.length > most.bytesOfFile) return `it is larger than ${most.bytesOfFile} bytes`;
  return after.bytes.includes(0) ? "it is binary" : null;
}

async function reasonByText(
  { path, before, after }: FileEdit,
  added: readonly string[],
): Promise<string | null> {
  if (after === null) return null;
  if (/(?:^|\/)package\.json$/i.test(path) && !sameScripts(before, after)) {
    return "it changes what a package program runs";
  }
  const context = { isText: isExample(path), isTest: isTestFile(path) };
  if (added.some((line) => hiddenIn(line, context).length > 0)) return "it adds characters that nobody sees";
  const text = [path, ...added].join("\n");
  return (await redactText(text)) === text ? null : "it adds what looks like a secret";
}

/** Lines that are in one text more often than in the other, wherever they stand. */
function changedLines({ before, after }: FileEdit): { added: string[]; removed: number } {
  const counts = new Map<string, number>();
  for (const line of linesOf(before)) counts.set(line, (counts.get(line) ?? 0) + 1);
  const added = linesOf(after).filter((line) => {
    const left = counts.get(line) ?? 0;
    if (left > 0) counts.set(line, left - 1);
    return left === 0;
  });
  return { added, removed: [...counts.values()].reduce((sum, count) => sum + count, 0) };
}

const linesOf = (state: FileState | null) => (state === null ? [] : state.bytes.toString("utf8").split("\n"));

/** What of a package.json programs run, or fetch and run, without being asked. */
const running = [
  "scripts",
  "bin",
  "lint-staged",
  "husky",
  "simple-git-hooks",
  "gypfile",
  "pnpm",
  "overrides",
];
const installed = [
  "dependencies",
  "devDependencies",
  "optionalDependencies",
  "peerDependencies",
  "resolutions",
];

function sameScripts(before: FileState | null, after: FileState): boolean {
  const [old, now] = [packageOf(before), packageOf(after)];
  if (now === undefined) return false;
  return [...running, ...installed].every((key) => isDeepStrictEqual(old?.[key], now[key]));
}

/** Undefined for what is no JSON object. */
function packageOf(state: FileState | null): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(state?.bytes.toString("utf8") ?? "");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
