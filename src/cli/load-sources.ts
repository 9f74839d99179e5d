import { AppError } from "../errors.ts";
import type { Finding, Side } from "../finding.ts";
import type { Workspace } from "../git/workspace.ts";
import type { SourceLines } from "../reporters/code-frame.ts";
import { redactLines } from "../secrets/redact.ts";
import { splitLines } from "../text/cut.ts";

/**
 * Reads the files that findings lie in, so that a reporter can show code without reading anything itself: as a whole, since a line of a key shows no
 * secret by itself.
 */
export async function loadSources(workspace: Workspace, findings: readonly Finding[]): Promise<SourceLines> {
  const key = (path: string, side: Side) => `${side}:${path}`;
  const wanted = new Map(findings.map(({ path, side }) => [key(path, side), { path, side }]));
  const loaded = new Map<string, readonly string[] | null>();
  for (const [name, { path, side }] of wanted) loaded.set(name, await readLines(workspace, path, side));
  return (path, side) => loaded.get(key(path, side)) ?? null;
}

async function readLines(workspace: Workspace, path: string, side: Side): Promise<string[] | null> {
  const tree = await workspace.tree(side === "RIGHT" ? "head" : "merge_base");
  const entry = tree.get(side === "RIGHT" ? path : await pathBefore(workspace, path));
  if (!entry) return null;
  try {
    const { text, binary } = await workspace.readBlob(entry.oid);
    return binary ? null : splitLines(await redactLines(text));
  } catch (error) {
    // A report without a frame is better than none.
    if (error instanceof AppError && error.code === "too_large") return null;
    throw error;
  }
}

async function pathBefore(workspace: Workspace, path: string): Promise<string> {
  const change = (await workspace.changes()).find((one) => one.path === path);
  return change?.oldPath ?? path;
}
