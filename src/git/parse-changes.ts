import { AppError } from "../errors.ts";
import { splitNul } from "../text/decode.ts";
import { decodeName } from "./names.ts";
import type { Change, ChangeType, TreeEntry } from "./workspace.ts";

const types: Record<string, ChangeType> = {
  A: "added",
  M: "modified",
  D: "deleted",
  R: "renamed",
  C: "copied",
  T: "type_changed",
};

const [TAB, SPACE] = [9, 32];

type RawEntry = Omit<Change, "additions" | "deletions">;

/** Reads `diff-tree --raw --numstat -z`: all raw records, then one numstat record for each in the same order. */
export function parseChanges(output: Buffer): Change[] {
  const fields = splitNul(output, decodeName);
  const raw: RawEntry[] = [];
  let at = 0;
  while (fields[at]?.startsWith(":")) {
    const entry = rawEntry(fields, at);
    raw.push(entry);
    at += entry.oldPath === null ? 2 : 3;
  }
  return raw.map((entry) => {
    const [additions, deletions, path] = (fields[at] ?? "").split("\t", 2).concat(afterTabs(fields[at]));
    // A rename has an empty path here and its two paths in fields of their own.
    const names = path === "" ? [fields[at + 1], fields[at + 2]] : [entry.oldPath, path];
    if (names[0] !== entry.oldPath || names[1] !== entry.path) throw unreadable(fields[at]);
    at += path === "" ? 3 : 1;
    return { ...entry, additions: lineCount(additions), deletions: lineCount(deletions) };
  });
}

/** The path of a numstat record; it may hold tabs itself. */
function afterTabs(field = ""): string {
  const second = field.indexOf("\t", field.indexOf("\t") + 1);
  return second < 0 ? "" : field.slice(second + 1);
}

function rawEntry(fields: readonly string[], at: number): RawEntry {
  const [oldMode, newMode, oldOid, newOid, status] = (fields[at] ?? "").slice(1).split(" ");
  const type = types[status?.[0] ?? ""];
  const twoPaths = type === "renamed" || type === "copied";
  const path = fields[twoPaths ? at + 2 : at + 1];
  if (!oldMode || !newMode || !oldOid || !newOid || !type || path === undefined) throw unreadable(fields[at]);
  return { path, oldPath: twoPaths ? (fields[at + 1] ?? "") : null, type, oldMode, newMode, oldOid, newOid };
}

function lineCount(text: string | undefined): number | null {
  if (text === "-") return null;
  if (text === undefined || !/^\d+$/.test(text)) throw unreadable(text);
  return Number(text);
}

/** Reads one record of `ls-tree -r -z`: "MODE TYPE OID<tab>PATH". Nothing of the record is kept. */
export function parseTreeEntry(record: Buffer): TreeEntry {
  const tab = record.indexOf(TAB);
  return {
    path: decodeName(record.subarray(tab + 1)),
    mode: record.toString("latin1", 0, 6),
    oid: record.toString("latin1", record.lastIndexOf(SPACE, tab) + 1, tab),
  };
}

function unreadable(record: string | undefined): AppError {
  return new AppError(
    "git_failed",
    `git gave a record that cannot be read: ${JSON.stringify(record?.slice(0, 200))}`,
  );
}
