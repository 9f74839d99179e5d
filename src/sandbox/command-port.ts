import { isUtf8 } from "node:buffer";
import {
  type CommandEnd,
  type CommandPort,
  type CommandRequest,
  type EditPort,
  ToolError,
} from "../agent/tools/tool.ts";
import { errorLine, nullIfTooLarge } from "../core/errors.ts";
import { createPathMatcher } from "../repo/diff/paths.ts";
import { nameBytes } from "../repo/git/names.ts";
import type { TreeEntry, Workspace } from "../repo/git/workspace.ts";
import type { Sandbox, SandboxLimits } from "./bubblewrap.ts";
import type { LeftFile } from "./from-supervisor.ts";
import {
  keyOf,
  type PlacedFile,
  runInSandbox,
  type SandboxOutcome,
  sandboxPath,
  type TakenFile,
} from "./run-in-sandbox.ts";

export interface CommandFiles {
  workspace: Pick<Workspace, "tree" | "readBlob">;
  /** Reads them, and receives those that a command changed. */
  edit: EditPort;
  isPrivate: (path: string) => boolean;
}

interface CommandPortOptions extends CommandFiles {
  sandbox: Sandbox;
  limits: SandboxLimits;
  allowed: Readonly<Record<string, string>>;
}

/** Runs commands on the files of an editable workspace. Each starts with exactly these files. Only its changes to them are kept. */
export function createCommandPort(options: CommandPortOptions): CommandPort {
  // One at a time: the result of two at once would depend on which ends first.
  let last: Promise<unknown> = Promise.resolve();
  return {
    allowed: options.allowed,
    run(request, signal) {
      const run = last.then(() => runOn(options, request, signal));
      last = run.catch(() => {});
      return run;
    },
  };
}

async function runOn(
  options: CommandPortOptions,
  { command, folder, timeoutMs, env }: CommandRequest,
  signal: AbortSignal,
): Promise<CommandEnd> {
  const { sandbox, limits, isPrivate } = options;
  const refusals = { isPrivate, isIgnored: await ignoreRules(options) };
  const leftOut: string[] = [];
  const outcome = await runInSandbox(
    sandbox,
    {
      command,
      timeoutMs,
      env,
      limits,
      folder: folder === "." ? "" : folderName(folder),
      files: placedFiles(await options.workspace.tree("head"), {
        isPrivate,
        filesBytes: limits.filesBytes,
        read: (entry) => bytesOf(options, entry),
        onLeftOut: (path) => leftOut.push(path),
      }),
      wants: (left) => pathsToTake(wantedFiles(left, refusals)),
      maxFileBytes: MAX_FILE_BYTES,
    },
    signal,
  );
  const { changed, notes } = await takeOver(options, outcome, refusals);
  if (leftOut.length > 0)
    notes.push(`Omitted, because they are too large: ${leftOut.slice(0, 5).join(", ")}.`);
  return {
    stdout: outcome.stdout.toString("utf8"),
    stderr: outcome.stderr.toString("utf8"),
    exitCode: outcome.exitCode,
    ended: outcome.ended,
    truncated: outcome.truncated,
    changed,
    notes,
  };
}

/** The name of a folder as an argument of a program. Throws a ToolError if it is not UTF-8. */
function folderName(key: string): string {
  const name = nameBytes(key);
  if (!isUtf8(name)) throw new ToolError(`no command can be run in '${key}': its name is not UTF-8`);
  return name.toString("utf8");
}

/** The share of `filesBytes` that the workspace's files may take; the rest is for the command. */
const FILLED = 0.8;
/** Files take whole pages of this many bytes. */
const PAGE = 4_096;

interface PlacedFilesOptions {
  isPrivate(path: string): boolean;
  /** Of all files together, in the sandbox. */
  filesBytes: number;
  /** The bytes of a file or the target of a link. Rejects with `too_large` if it cannot be read. */
  read(entry: TreeEntry): Promise<Uint8Array>;
  onLeftOut?(path: string): void;
}

/**
 * The files of a tree for a sandbox, with links, without private files, submodules and git's own data. Files that are too large to read are
 * reported. Throws a ToolError if they do not fit into the sandbox.
 */
export async function* placedFiles(
  tree: ReadonlyMap<string, TreeEntry>,
  { isPrivate, filesBytes, read, onLeftOut = () => {} }: PlacedFilesOptions,
): AsyncGenerator<PlacedFile> {
  let left = filesBytes * FILLED;
  for (const entry of tree.values()) {
    const { path, mode } = entry;
    if (isPrivate(path) || !(mode.startsWith("100") || mode === "120000")) continue;
    const bytes = await read(entry).catch(nullIfTooLarge);
    if (bytes === null) {
      onLeftOut(path);
      continue;
    }
    left -= Math.ceil(bytes.length / PAGE) * PAGE;
    if (left < 0)
      throw new ToolError("no command can be run: this repository has too many files for the sandbox");
    const kind = mode === "120000" || mode === "100755" ? mode : "100644";
    yield { path: sandboxPath(path), mode: kind, bytes };
  }
}

const bytesOf = async ({ workspace, edit }: CommandFiles, { path, mode, oid }: TreeEntry) =>
  mode === "120000" ? Buffer.from((await workspace.readBlob(oid)).text, "utf8") : await edit.read(path);

const GITIGNORE = ".gitignore";
/** How many of these files are read; those nearest to the root first. */
const MAX_IGNORE_FILES = 200;
const MAX_IGNORE_BYTES = 64 * 1024;
/** Comparisons of a path with a rule. A hostile repository could demand any number; beyond this no new file is ignored. */
const MAX_IGNORE_STEPS = 10_000_000;

/** Whether the repository ignores a new file. Uses the rules from before the command; those of a folder win over those of its parents. */
export async function ignoreRules({ workspace, edit }: CommandFiles): Promise<(path: string) => boolean> {
  const depth = (path: string) => path.split("/").length;
  const paths = [...(await workspace.tree("head")).values()]
    .filter(
      ({ path, mode }) => mode.startsWith("100") && (path === GITIGNORE || path.endsWith(`/${GITIGNORE}`)),
    )
    .map(({ path }) => path)
    .toSorted((a, b) => depth(a) - depth(b))
    .slice(0, MAX_IGNORE_FILES);
  const files = await Promise.all(
    paths.map(async (path) => {
      const rules = (await edit.read(path)).subarray(0, MAX_IGNORE_BYTES).toString("utf8").split("\n");
      return {
        prefix: path.slice(0, -GITIGNORE.length),
        rules: rules.length,
        match: createPathMatcher(rules),
      };
    }),
  );
  const nearestFirst = files.toReversed();
  let steps = 0;
  return (path) => {
    for (const { prefix, rules, match } of nearestFirst) {
      if (!path.startsWith(prefix)) continue;
      steps += rules;
      if (steps > MAX_IGNORE_STEPS) return false;
      const { matched, takenBack } = match(path.slice(prefix.length));
      if (matched || takenBack) return matched;
    }
    return false;
  };
}

/** More files or bytes are a build and not a fix: then no file is taken. */
const MAX_TAKEN_FILES = 500;
const MAX_TAKEN_BYTES = 16 * 1024 * 1024;
/** Of one file. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;

const MAX_NOTES = 20;

interface Refusals {
  isPrivate(path: string): boolean;
  isIgnored(path: string): boolean;
}

/** The files to take: all that existed before, and new ones that the repository does not ignore; never private ones. */
function wantedFiles(left: readonly LeftFile[], { isPrivate, isIgnored }: Refusals): LeftFile[] {
  const wanted = left.filter(({ path, kind }) => {
    const key = keyOf(path);
    return !isPrivate(key) && (kind !== "new" || !isIgnored(key));
  });
  // Removals first: a file may have been replaced by a folder of its name, and the other way round.
  return wanted.toSorted((a, b) => Number(b.kind === "gone") - Number(a.kind === "gone"));
}

/** The paths of files whose bytes are needed; empty if there are too many. */
function pathsToTake(wanted: readonly LeftFile[]): string[] {
  if (isTooMuch(wanted)) return [];
  return wanted
    .filter(({ kind, bytes }) => kind !== "gone" && bytes <= MAX_FILE_BYTES)
    .map(({ path }) => path);
}

const isTooMuch = (wanted: readonly LeftFile[]) =>
  wanted.length > MAX_TAKEN_FILES ||
  wanted.reduce((sum, { bytes }) => sum + Math.min(bytes, MAX_FILE_BYTES), 0) > MAX_TAKEN_BYTES;

/**
 * Puts regular files that a command left into the workspace, through the checks of the model's own edits. Nothing is taken after a limit ended
 * it.
 * @returns sorted paths of the files that are different now, and notes for the model: changes that were not kept, and why
 */
async function takeOver(files: CommandFiles, outcome: SandboxOutcome, refusals: Refusals) {
  const { left, odd, tooMany, taken, ended } = outcome;
  const wanted = wantedFiles(left, refusals);
  const changed: string[] = [];
  const notes: string[] = [];
  if (odd.length > 0)
    notes.push(`${odd.length} links, pipes or other entries that are not regular files were not kept.`);
  if (ended !== null) return { changed, notes: ["None of its changes were kept.", ...notes] };
  if (tooMany || isTooMuch(wanted)) {
    return { changed, notes: ["It changed too many files: none of its changes were kept.", ...notes] };
  }
  const bytesOf = new Map(taken.map((file) => [file.path, file]));
  const before = await files.workspace.tree("head");
  for (const one of wanted) {
    const key = keyOf(one.path);
    try {
      const kept = await keep(files.edit, one, { entry: before.get(key), file: bytesOf.get(one.path) });
      if (kept.isChanged) changed.push(key);
      if (!kept.isWhole) notes.push(`Only the content of '${key}' was kept, not its executable bit.`);
    } catch (error) {
      notes.push(`'${key}' was not kept: ${errorLine(error)}.`);
    }
  }
  return { changed: changed.toSorted(), notes: fewOf(notes) };
}

/** Whether the file is different now, and whether all of it was kept: no fix may change an executable bit. */
async function keep(
  edit: CommandFiles["edit"],
  { path, kind }: LeftFile,
  { entry, file }: { entry: TreeEntry | undefined; file: TakenFile | undefined },
): Promise<{ isChanged: boolean; isWhole: boolean }> {
  const key = keyOf(path);
  if (kind === "gone") {
    await edit.remove(key);
    return { isChanged: true, isWhole: true };
  }
  if (!file) throw new Error("it is too large");
  const before = kind === "changed" ? entry : undefined;
  const isWhole = file.executable === (before?.mode === "100755");
  const isChanged = !before || !file.bytes.equals(await edit.read(key));
  if (isChanged) await edit.write(key, file.bytes);
  return { isChanged, isWhole };
}

const fewOf = (notes: readonly string[]) =>
  notes.length > MAX_NOTES
    ? [...notes.slice(0, MAX_NOTES), `There are ${notes.length} notes in total.`]
    : [...notes];
