import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { AppError } from "../errors.ts";
import { runProcess } from "./run-process.ts";

/** The oldest git that knows GIT_NO_LAZY_FETCH and has the fixes of May 2024 against hostile repositories. */
export const OLDEST_GIT = "2.39.5";

export interface GitProgram {
  /** Absolute path. */
  path: string;
  /** "2.39.5" */
  version: string;
}

/**
 * Finds git on a PATH (or takes `program`, an absolute path) and asks for its version. Rejects with `git_missing` or
 * `git_too_old`, naming what was found and what to do.
 */
export async function requireGit(options: { searchPath?: string | undefined; program?: string | undefined }) {
  const path = options.program ?? (await findOnPath(options.searchPath ?? ""));
  if (path === undefined) {
    throw new AppError("git_missing", "No git was found on PATH", {
      remedy: `Install git ${OLDEST_GIT} or newer`,
    });
  }
  const version = await versionOf(path);
  if (compareVersions(version, OLDEST_GIT) < 0) {
    throw new AppError("git_too_old", `git ${version} at ${path} is older than ${OLDEST_GIT}`, {
      remedy: `Install git ${OLDEST_GIT} or newer`,
    });
  }
  return { path, version } satisfies GitProgram;
}

async function findOnPath(searchPath: string): Promise<string | undefined> {
  for (const folder of searchPath.split(delimiter)) {
    // A relative folder would let the current directory decide which program runs.
    if (isAbsolute(folder) && (await isProgram(join(folder, "git")))) return join(folder, "git");
  }
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

async function versionOf(path: string): Promise<string> {
  let output = "";
  const request = { program: path, args: ["--version"], cwd: "/", env: { LC_ALL: "C" }, timeoutMs: 10_000 };
  const end = await runProcess({
    ...request,
    onStdout: (chunk) => {
      output += chunk.toString("latin1");
      return undefined;
    },
  }).catch((error: unknown) => {
    throw new AppError("git_missing", `${path} could not be run`, {
      remedy: `Install git ${OLDEST_GIT} or newer`,
      cause: error,
    });
  });
  const version = /^git version (\d+(?:\.\d+)+)/.exec(output)?.[1];
  if (end.exitCode === 0 && version !== undefined) return version;
  throw new AppError("git_missing", `${path} does not answer like git`, {
    remedy: `Install git ${OLDEST_GIT} or newer`,
  });
}

/** Negative when `left` is older. */
function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split(".").map(Number));
  for (const [index, number] of (b ?? []).entries()) {
    const difference = (a?.[index] ?? 0) - number;
    if (difference !== 0) return difference;
  }
  return 0;
}
