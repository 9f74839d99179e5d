import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import type { RevisionPlace, Workspace } from "../../../src/repo/git/workspace.ts";
import { placeOf } from "../../support/checkout-place.ts";
import { GitRepo, TempFolder } from "../../support/git-repo.ts";

const lines = (changed = "") =>
  Array.from({ length: 30 }, (_, at) => `${at} ${at === 15 ? changed : ""}\n`).join("");

let repo: GitRepo;
let folder: TempFolder;
let placed: Disposable & { place: RevisionPlace };
beforeAll(async () => {
  repo = GitRepo.create();
  folder = new TempFolder("killed-git");
  repo.commit("before", { "a.txt": lines(), ".gitattributes": "b.txt linguist-generated\n" });
  repo.git("tag", "base");
  repo.commit("after", { "a.txt": lines("changed"), "b.txt": "new\n" });
  placed = await placeOf(repo, "base");
});
afterAll(() => {
  placed[Symbol.dispose]();
  repo[Symbol.dispose]();
  folder.dispose();
});

/** A git of which each call that a file stands for ends as if somebody had killed it, and takes the file away. */
function mortalGit(): { gitPath: string; kill(): void } {
  const [gitPath, order] = [join(folder.path, "git"), join(folder.path, "kill")];
  const script = `#!/bin/sh\nrm "${order}" 2>/dev/null && kill -9 $$\nexec "${placed.place.gitPath}" "$@"\n`;
  writeFileSync(gitPath, script, { mode: 0o755 });
  return { gitPath, kill: () => writeFileSync(order, "") };
}

const first = async (workspace: Workspace) =>
  (await workspace.changes()).find(({ path }) => path === "a.txt")!;
const tree = async (workspace: Workspace, ref: "head" | "base") => (await workspace.tree(ref)).get("a.txt")!;

/** What is needed first, and then what is read while a git is killed. */
const readings: Record<string, (workspace: Workspace, kill: () => void) => Promise<unknown>> = {
  "what changed": (workspace, kill) => {
    kill();
    return workspace.changes();
  },
  "a tree": (workspace, kill) => {
    kill();
    return workspace.tree("head");
  },
  "a blob": async (workspace, kill) => {
    const { oid } = await tree(workspace, "head");
    kill();
    return workspace.readBlob(oid);
  },
  "a patch": async (workspace, kill) => {
    kill();
    return workspace.patch(await first(workspace), 3);
  },
  "a wider patch": async (workspace, kill) => {
    const change = await first(workspace);
    await workspace.patch(change, 3);
    kill();
    return workspace.patch(change, 10);
  },
  "a comparison of blobs": async (workspace, kill) => {
    const [from, to] = [await tree(workspace, "base"), await tree(workspace, "head")];
    kill();
    return workspace.diffBlobs(from, to, 3);
  },
  "the commits": (workspace, kill) => {
    kill();
    return workspace.commits(5);
  },
  "attributes of the base": (workspace, kill) => {
    kill();
    return workspace.linguistAttributes(["a.txt", "b.txt"]);
  },
};

describe("a git that somebody kills while it reads", () => {
  it.each(Object.keys(readings))(
    "A read of %s is repeated if its git is killed, with the same result",
    async (what) => {
      const read = readings[what]!;
      const { gitPath, kill } = mortalGit();
      await using undisturbed = openWorkspace(placed.place);
      await using disturbed = openWorkspace({ ...placed.place, gitPath });
      expect(await read(disturbed, kill)).toEqual(await read(undisturbed, () => {}));
    },
  );
});
