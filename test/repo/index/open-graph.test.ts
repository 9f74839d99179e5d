import { expect, it } from "vitest";
import type { TreeEntry, Workspace } from "../../../src/repo/git/workspace.ts";
import { sourceOfWorkspace } from "../../../src/repo/index/open-graph.ts";

/** A workspace that knows its tree, and texts by their names. */
function workspaceOf(entries: readonly TreeEntry[]): Workspace {
  const tree = new Map(entries.map((entry) => [entry.path, entry]));
  return { tree: async () => tree } as Partial<Workspace> as Workspace;
}

it("The source of a graph has no private file, no link and no submodule", async () => {
  const workspace = workspaceOf([
    { path: "src/a.ts", mode: "100644", oid: "1" },
    { path: "bin/run", mode: "100755", oid: "2" },
    { path: "vault/plan.ts", mode: "100644", oid: "3" },
    { path: "link.ts", mode: "120000", oid: "4" },
    { path: "module", mode: "160000", oid: "5" },
  ]);
  const { files } = await sourceOfWorkspace(workspace, (path) => path.startsWith("vault/"));
  expect(files).toEqual([
    { path: "src/a.ts", oid: "1" },
    { path: "bin/run", oid: "2" },
  ]);
});
