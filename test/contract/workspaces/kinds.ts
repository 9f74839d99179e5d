import { lstatSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openObjects, openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { openOverlay } from "../../../src/repo/git/overlay-workspace.ts";
import { type LocalRange, openLocalRange } from "../../../src/repo/git/range.ts";
import type { Workspace } from "../../../src/repo/git/workspace.ts";
import { checkedOut } from "../../support/checked-out.ts";
import { GitRepo, gitPath, TempFolder } from "../../support/git-repo.ts";
import { editToBe } from "./edit-to-be.ts";

/**
 * The workspaces that can read `main..topic`: the work tree has `topic`, the edited one `draft` with more changes; the overlay is `draft`,
 * edited to match `topic`.
 */
export const kinds = ["checkout", "objects", "work tree", "edited work tree", "overlay"] as const;
export type Kind = (typeof kinds)[number];

export interface OpenedWorkspaces extends AsyncDisposable {
  of(kind: Kind): Workspace;
}

export async function openAll(repo: GitRepo): Promise<OpenedWorkspaces> {
  const open = (head: string): Promise<LocalRange> =>
    openLocalRange({ repo: repo.dir, base: "main", head, gitPath });
  const [topic, draft] = [await open("topic"), await open("draft")];
  const place = await checkedOut(topic.place);
  const checkout = openWorkspace(place);
  // Uses the checkout's path, so that answers that contain it are equal; nothing is read there.
  const { root } = place;
  const objects = openObjects(place);
  const trees = [await openWorkTree(repo, "topic", root), await openWorkTree(repo, "draft", root)] as const;
  edit(trees[1].dir);
  const below = openObjects({ ...draft.place, root });
  const overlay = openOverlay(below, draft.place);
  await editToBe(overlay, objects);
  const [{ workspace: workTree }, { workspace: edited }] = trees;
  const all: Record<Kind, Workspace> = {
    ...{ checkout, objects, overlay },
    ...{ "work tree": workTree, "edited work tree": edited },
  };
  return {
    of: (kind) => all[kind],
    async [Symbol.asyncDispose]() {
      for (const one of [overlay, checkout, objects, below, topic, draft, ...trees])
        await one[Symbol.asyncDispose]();
    },
  };
}

/** A clone with a branch checked out and files that git does not track, opened to read `topic`. */
export async function openWorkTree(repo: GitRepo, branch: string, root?: string) {
  const folder = new TempFolder("work-tree");
  const user = GitRepo.at(folder.path);
  user.git("clone", "--quiet", "--no-checkout", repo.dir, ".");
  user.git("branch", "--quiet", "--force", "topic", "origin/topic");
  // A disk does not take every name: the others are on it.
  user.bytes(["checkout", "--quiet", branch], "", [0, 1, 128]);
  // The branch may have a file of that name, or a link that leads out of here.
  const src = lstatSync(join(user.dir, "src"), { throwIfNoEntry: false });
  user.write({
    ...{ "stray.py": "needle = 1\n", "node_modules/[x]/ !#y.js": "needle\n" },
    ...((src?.isDirectory() ?? true) && { "src/{z}": "needle\n" }),
  });
  const range = await openLocalRange({ repo: user.dir, base: "origin/main", head: "topic", gitPath });
  const workspace = openWorkspace({ ...range.place, root: root ?? range.place.root });
  return {
    dir: user.dir,
    range,
    workspace,
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await range.dispose();
      folder.dispose();
    },
  };
}

/** What a user does while a review runs. */
function edit(dir: string): void {
  writeFileSync(join(dir, "a.py"), "needle needle needle\n");
  writeFileSync(join(dir, "new.py"), "needle\n");
  rmSync(join(dir, "src"), { recursive: true });
}
