/*
 * Variables that are read on their own. This file imports nothing: `--help` and error messages need it, and the schema of the
 * environment takes longer to load than they take to print.
 */

/** PATH, on which git is looked for. */
export function programPath(): string {
  return process.env.PATH ?? "";
}

/** COLUMNS, where that is a width a text can have; null elsewhere. */
export function givenColumns(raw: Readonly<Record<string, string | undefined>> = process.env): number | null {
  const columns = Number(raw.COLUMNS);
  return Number.isInteger(columns) && columns >= 20 ? columns : null;
}

/** Whether whoever runs this asked for stack traces. Never throws: it is asked while reporting an error. */
export function wantsStackTraces(): boolean {
  return ["debug", "trace"].includes(process.env.LOG_LEVEL?.trim() ?? "");
}
