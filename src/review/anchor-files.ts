import type { FileDiff } from "../diff/file-diff.ts";
import { createLineIndex } from "../diff/line-index.ts";
import type { Change, Ref, Workspace } from "../git/workspace.ts";
import { splitLines } from "../text/cut.ts";
import type { DiffSource } from "../tools/tool.ts";
import type { AnchorFile } from "./anchor.ts";

/** Reads files as anchors need them, each once. Paths may be those of the head or, for renamed files, of the merge base. */
export function createAnchorFiles(
  workspace: Workspace,
  diffs: DiffSource,
): (path: string) => Promise<AnchorFile | undefined> {
  const known = new Map<string, Promise<AnchorFile | undefined>>();

  async function load(path: string): Promise<AnchorFile | undefined> {
    const changes = await workspace.changes();
    const change = changes.find((one) => one.path === path) ?? changes.find((one) => one.oldPath === path);
    return change ? changedFile(change) : unchangedFile(path);
  }

  async function changedFile(change: Change): Promise<AnchorFile> {
    const { path, oldPath } = change;
    const [RIGHT, LEFT, diff] = await Promise.all([
      linesAt("head", path),
      linesAt("merge_base", oldPath ?? path),
      diffs.fileDiff(change, 3).catch(() => null),
    ]);
    const paths = oldPath === null ? [path] : [path, oldPath];
    return { path, paths, inChange: true, lines: { RIGHT, LEFT }, ...places(diff) };
  }

  async function unchangedFile(path: string): Promise<AnchorFile | undefined> {
    const RIGHT = await linesAt("head", path);
    if (!RIGHT) return undefined;
    return { path, paths: [path], inChange: false, lines: { RIGHT, LEFT: null }, ...places(null) };
  }

  async function linesAt(ref: Ref, path: string): Promise<string[] | null> {
    const entry = (await workspace.tree(ref)).get(path);
    if (!entry || entry.mode === "160000") return null;
    const file = await workspace.readBlob(entry.oid).catch(() => null);
    return file && !file.binary ? splitLines(file.text) : null;
  }

  return (path) => {
    const loading = known.get(path) ?? load(path);
    known.set(path, loading);
    return loading;
  };
}

/** A diff that cannot be read has no line that could carry a comment. */
function places(diff: FileDiff | null): Pick<AnchorFile, "hunkAt" | "isRemoved"> {
  if (!diff) return { hunkAt: () => undefined, isRemoved: () => false };
  const index = createLineIndex(diff);
  return {
    hunkAt: (side, line) => index.at(side, line)?.hunk,
    isRemoved: (line) => index.at("LEFT", line)?.line.kind === "removed",
  };
}
