import { isUtf8 } from "node:buffer";
import type { Side } from "../../../src/core/finding.ts";
import type { GitRepo } from "../../support/git-repo.ts";
import { type DiffedFile, diffFiles } from "../../support/github-double/commentable.ts";

/** A file as git has it, read without any code of ours. */
export interface Source {
  path: string;
  oldPath: string | null;
  lines: Record<Side, string[] | null>;
  /** Undefined for a file that the change leaves alone. */
  diff: DiffedFile | undefined;
  /** False for links and submodules, of which nobody is shown a diff. */
  isFile: boolean;
}

/** White space of any kind and length as one space, and none at the ends. */
export const squeezed = (line: string) => line.replace(/\s+/g, " ").trim();

type Entries = Map<string, { mode: string; oid: string }>;

function entriesOf(repo: GitRepo, sha: string): Entries {
  const records = repo.bytes(["ls-tree", "-r", "-z", sha]).toString("utf8").split("\0").slice(0, -1);
  return new Map(
    records.map((record) => {
      const [mode = "", , oid = ""] = record.split("\t", 1)[0]!.split(" ");
      return [record.slice(record.indexOf("\t") + 1), { mode, oid }];
    }),
  );
}

/** The lines of blobs that are text, each decoded by itself: as UTF-8, or else as Latin-1. */
function linesOfBlobs(repo: GitRepo, oids: Iterable<string>): Map<string, string[]> {
  const lines = new Map<string, string[]>();
  const answer = repo.bytes(["cat-file", "--batch"], `${[...oids].join("\n")}\n`);
  for (let at = 0; at < answer.length; ) {
    const end = answer.indexOf("\n", at);
    const [oid = "", type, size] = answer.toString("latin1", at, end).split(" ");
    const bytes = answer.subarray(end + 1, end + 1 + Number(size ?? 0));
    at = type === "blob" ? end + bytes.length + 2 : end + 1;
    if (type !== "blob" || bytes.subarray(0, 8_000).includes(0)) continue;
    const texts = bytes
      .toString("latin1")
      .split("\n")
      .map((line) => Buffer.from(line, "latin1"))
      .map((line) => line.toString(isUtf8(line) ? "utf8" : "latin1"));
    lines.set(oid, texts.at(-1) === "" ? texts.slice(0, -1) : texts);
  }
  return lines;
}

/** All files that the change touches, and those that it leaves alone. */
export async function readSources(
  repo: GitRepo,
  shas: { head: string; mergeBase: string },
): Promise<Source[]> {
  const [head, base] = [entriesOf(repo, shas.head), entriesOf(repo, shas.mergeBase)];
  const oids = new Set([...head.values(), ...base.values()].map(({ oid }) => oid));
  const blobs = linesOfBlobs(repo, oids);
  const linesAt = (entries: Entries, path: string) => blobs.get(entries.get(path)?.oid ?? "") ?? null;
  const changed = (await diffFiles(repo.dir, shas.mergeBase, shas.head)).map((diff): Source => {
    const { path, previousPath: oldPath } = diff;
    const old = oldPath ?? path;
    const modes = [head.get(path)?.mode, base.get(old)?.mode];
    return {
      ...{ path, oldPath, diff },
      lines: { RIGHT: linesAt(head, path), LEFT: linesAt(base, old) },
      isFile: modes.every((mode) => mode === undefined || mode.startsWith("100")),
    };
  });
  const known = new Set(changed.map(({ path }) => path));
  const others = [...head.keys()].filter((path) => !known.has(path));
  return [
    ...changed,
    ...others.map((path) => ({
      ...{ path, oldPath: null, diff: undefined, isFile: true },
      lines: { RIGHT: linesAt(head, path), LEFT: null },
    })),
  ];
}
