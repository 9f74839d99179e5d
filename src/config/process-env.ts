import { existsSync, realpathSync } from "node:fs";
import { isAbsolute, join } from "node:path";

/*
 * This file imports nothing of ours: `--help` and error messages need it, and the schema of the environment takes longer to load than to print
 * them.
 */

/** The folder in which a person called `npm run hunkwise` of our own checkout, which npm leaves before it runs the script; else null. */
export function folderOfCaller(raw = process.env, current = process.cwd()): string | null {
  const { npm_lifecycle_event: script, npm_package_json: manifest = "", INIT_CWD: folder = "" } = raw;
  const own = join(import.meta.dirname, "../..");
  const isOurs = existsSync(manifest) && realpathSync(manifest) === join(own, "package.json");
  return isOurs && script === "hunkwise" && current === own && isAbsolute(folder) ? folder : null;
}

export function programPath(): string {
  return process.env.PATH ?? "";
}

/** Whether this is a build: CI systems set `CI`. */
export function inCi(): boolean {
  return !/^(?:|0|false)$/i.test(process.env.CI?.trim() ?? "");
}

export function userHome(): { home: string; configHome: string } | null {
  const home = process.env.HOME ?? "";
  if (home === "") return null;
  return { home, configHome: process.env.XDG_CONFIG_HOME || `${home}/.config` };
}

/** Where the user wants the data of programs, if they or the system say so. */
export const givenDataHome = (): string | undefined =>
  process.env[process.platform === "win32" ? "LOCALAPPDATA" : "XDG_DATA_HOME"];

/** COLUMNS, if that is a usable width; else null. */
export function givenColumns(raw: Readonly<Record<string, string | undefined>> = process.env): number | null {
  const columns = Number(raw.COLUMNS);
  return Number.isInteger(columns) && columns >= 20 ? columns : null;
}

/** Whether stack traces are wanted. Never throws: it is called while reporting an error. */
export function wantsStackTraces(): boolean {
  return ["debug", "trace"].includes(process.env.LOG_LEVEL?.trim() ?? "");
}

/** Whether the person who commits or pushes does not want Hunkwise's hooks this time: HUNKWISE_SKIP_HOOK, unless it is empty or 0. */
export function skipsHooks(): boolean {
  return !["", "0"].includes(process.env.HUNKWISE_SKIP_HOOK?.trim() ?? "");
}

/** What git tells a hook about its repository and index; each is undefined if it is not set. Paths are relative to the current folder. */
export function hookVariables(): { gitDir: string | undefined; indexFile: string | undefined } {
  return { gitDir: process.env.GIT_DIR, indexFile: process.env.GIT_INDEX_FILE };
}

/** The range of a push that the framework "pre-commit" names, because it reads git's input itself; null if there is none. */
export function pushOfFramework(): { from: string; to: string; remoteRef: string } | null {
  const {
    PRE_COMMIT_FROM_REF: from,
    PRE_COMMIT_TO_REF: to,
    PRE_COMMIT_REMOTE_BRANCH: remoteRef,
  } = process.env;
  return from && to ? { from, to, remoteRef: remoteRef || "HEAD" } : null;
}

const usersOwn = /^(?:PATH|HOME|USERPROFILE|XDG_CONFIG_HOME|GIT_CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM))$/;

/** The environment in which git reads the user's own configuration, and nothing else of this process. */
export function gitUserEnvironment(): Record<string, string> {
  const own = Object.entries(process.env).filter(([name]) => usersOwn.test(name));
  return { ...Object.fromEntries(own), LC_ALL: "C.UTF-8" } as Record<string, string>;
}

/** Tokens for GitHub by the kind of host that they are for, and the host that the second one is for. Null: not set. */
export function gitHubVariables(): {
  ofGitHub: string | null;
  ofServer: string | null;
  server: string | null;
} {
  const given = (...names: string[]) => names.map((name) => process.env[name]?.trim()).find(Boolean) ?? null;
  return {
    ofGitHub: given("GH_TOKEN", "GITHUB_TOKEN"),
    ofServer: given("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"),
    server: given("GH_HOST")?.toLowerCase() ?? null,
  };
}

const ghsOwn =
  /^(?:PATH|HOME|USER|LOGNAME|DBUS_SESSION_BUS_ADDRESS|XDG_\w+|GH_CONFIG_DIR|APPDATA|USERPROFILE|SystemRoot)$/;

/** The environment in which `gh` finds what it stored, and no token of ours. */
export function ghEnvironment(): Record<string, string> {
  const own = Object.entries(process.env).filter(([name]) => ghsOwn.test(name));
  return Object.fromEntries(own) as Record<string, string>;
}
