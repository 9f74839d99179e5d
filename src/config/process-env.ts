/*
 * Variables that are read separately. This file imports nothing: `--help` and error messages need it, and loading the schema of the
 * environment takes longer than printing them.
 */

/** PATH, to find git. */
export function programPath(): string {
  return process.env.PATH ?? "";
}

/** Whether this is a build: CI systems set `CI`. */
export function inCi(): boolean {
  return !/^(?:|0|false)$/i.test(process.env.CI?.trim() ?? "");
}

/** The folders of git's configuration for this user; null if there is no home. */
export function userHome(): { home: string; configHome: string } | null {
  const home = process.env.HOME ?? "";
  if (home === "") return null;
  return { home, configHome: process.env.XDG_CONFIG_HOME || `${home}/.config` };
}

/** COLUMNS, if that is a usable width; else null. */
export function givenColumns(raw: Readonly<Record<string, string | undefined>> = process.env): number | null {
  const columns = Number(raw.COLUMNS);
  return Number.isInteger(columns) && columns >= 20 ? columns : null;
}

/** Whether stack traces are wanted. Never throws: it is called while reporting an error. */
export function wantsStackTraces(): boolean {
  return ["debug", "trace"].includes(process.env.LOG_LEVEL?.trim() ?? "");
}
