import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Env } from "../config/env.ts";
import { isInPackage } from "../config/folders.ts";
import { programPath } from "../config/process-env.ts";
import { AppError, errorLine } from "../core/errors.ts";

/*
 * The requirements of an App process, each tested as it will be used. All functions reject with one line and its remedy.
 */

/** Checks the requirements of every App process before it starts any work. */
export async function requireWorkable({ app, dataDir }: Env, signal: AbortSignal): Promise<void> {
  const { requireGit } = await import("../repo/git/run-git.ts");
  await requireGit({ searchPath: programPath() });
  try {
    await requireTempFolder();
    await requireRipgrep(signal);
    await requireDataFolder(dataDir);
  } catch (error) {
    // A process with an App frees disk space again; until then it reports that it is not ready.
    if (app === null || !isFull(error)) throw error;
  }
}

/** Whether a disk has no room, or no room for this user. */
export function isFull(error: unknown): boolean {
  const cause = error instanceof AppError ? error.cause : error;
  return ["ENOSPC", "EDQUOT"].includes((cause as NodeJS.ErrnoException | null | undefined)?.code ?? "");
}

/** Checks what is needed after an App exists: GitHub issues its key only once, and the process that receives it must be able to continue. */
export async function requireNextStart(env: Env): Promise<void> {
  const { metricsHost: host, metricsPort: port } = env;
  if (port !== null) {
    const { requireFree } = await import("../server/webhooks/http.ts");
    await requireFree({ host, port, variable: "HUNKWISE_METRICS_PORT" });
  }
  const { openStores } = await import("../server/queue/stores.ts");
  const { queue } = await openStores({ databaseUrl: env.databaseUrl, dataFolder: env.dataDir });
  try {
    await queue.check();
  } finally {
    await queue.close();
  }
  if (env.model === null) return;
  const { createModels } = await import("./create-model.ts");
  const options = { pricesFile: env.pricesFile, folder: null, warn: () => {} };
  await (await createModels(env.model, options)).load();
}

/** Searches a file, because an existing program may not run on this machine. */
export async function requireRipgrep(signal: AbortSignal): Promise<void> {
  const { searchTree } = await import("../repo/git/search.ts");
  const root = await mkdtemp(join(tmpdir(), "hunkwise-doctor-"));
  try {
    await writeFile(join(root, "a.txt"), "needle\n");
    const tree = new Map([["a.txt", { path: "a.txt", mode: "100644", oid: "0".repeat(40) }]]);
    const flags = { fixedString: true, ignoreCase: false, wholeWord: false, invertMatch: false };
    const query = { pattern: "needle", contextLines: 0, maxResults: 1, mode: "count", ...flags } as const;
    const hits = await searchTree({ root, tree }, query, signal);
    if (hits.mode === "count" && hits.counts.length === 1) return;
    throw new AppError("git_failed", "ripgrep did not find a text that exists", {
      remedy: "Reinstall Hunkwise: the binary of @vscode/ripgrep seems to be damaged.",
    });
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** The folders of the data folder that a process writes to, if they already exist. */
const kept = ["mirrors", "checkouts", "trash"];

/** Writes to the data folder and its folders; creates it if it does not exist. Resolves to the topmost folder that was created. */
export async function requireDataFolder(dataDir: string): Promise<string | undefined> {
  const remedy = "Make it a folder that this user can write to, or set HUNKWISE_DATA_DIR to another folder.";
  const refuse = (folder: string) => (error: unknown) => {
    const why = `Cannot use the data folder ${folder}: ${errorLine(error)}`;
    throw new AppError("data_folder_unusable", why, { remedy, cause: error });
  };
  const created = await makeFolder(dataDir).catch(refuse(dataDir));
  await writeTo(dataDir).catch(refuse(dataDir));
  for (const folder of kept.map((name) => join(dataDir, name))) {
    if (await isThere(folder)) await writeTo(folder).catch(refuse(folder));
  }
  return created;
}

/** Level by level: on a file system without folders to create (/proc), Node's own `recursive` never ends. */
async function makeFolder(folder: string): Promise<string | undefined> {
  if (await isThere(folder)) return undefined;
  const above = await makeFolder(dirname(folder));
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  return above ?? folder;
}

/** As `requireDataFolder`, but removes the folders that it created. */
export async function tryDataFolder(dataDir: string): Promise<"there" | "to be created"> {
  const created = await requireDataFolder(dataDir);
  if (created === undefined) return "there";
  for (let folder = dataDir; folder.length >= created.length; folder = dirname(folder)) {
    // Another process may have started to use it.
    await rmdir(folder).catch(() => {});
  }
  return "to be created";
}

const inPackage = {
  says: "is in the installed program: an update deletes it, with the App's key and the queue",
  remedy: "Stop Hunkwise, move the folder elsewhere, and set HUNKWISE_DATA_DIR to its new absolute path.",
};
const ofOthers = {
  says: "belongs to another user, or every user may write to it: they can put an App and a queue of theirs there",
  remedy: "Make it a folder of this user with the mode 700, or set HUNKWISE_DATA_DIR to another folder.",
};

/** What is to be said of a data folder that can be used, but not for long, or not only by this user; null if it is right. */
export async function dangerOf(folder: string): Promise<{ says: string; remedy: string } | null> {
  if (isInPackage(folder)) return inPackage;
  const found = await stat(folder).catch(() => null);
  const user = process.getuid?.();
  if (found === null || user === undefined) return null;
  return [user, 0].includes(found.uid) && (found.mode & 0o002) === 0 ? null : ofOthers;
}

export async function requireTempFolder(): Promise<void> {
  await writeTo(tmpdir()).catch((error: unknown) => {
    throw new AppError("data_folder_unusable", `Cannot write temporary files: ${errorLine(error)}`, {
      remedy: "Make that folder writable for this user, or set TMPDIR to another folder.",
      cause: error,
    });
  });
}

/** Writes a file: permissions do not show a read-only or full disk, nor root's rights. */
async function writeTo(folder: string): Promise<void> {
  const file = join(folder, `hunkwise-probe-${randomUUID()}`);
  try {
    await writeFile(file, "Hunkwise tries whether it can write here.\n", { flag: "wx", flush: true });
  } finally {
    await rm(file, { force: true });
  }
}

const isThere = (path: string) => stat(path).then(Boolean, () => false);
