import { openObjects, openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { openOverlay } from "../../../src/repo/git/overlay-workspace.ts";
import { type LocalRange, openLocalRange } from "../../../src/repo/git/range.ts";
import type { Workspace } from "../../../src/repo/git/workspace.ts";
import { checkedOut } from "../../support/checked-out.ts";
import { type GitRepo, gitPath } from "../../support/git-repo.ts";
import { editToBe } from "./edit-to-be.ts";

/** The workspaces that can read `main..topic`; the overlay is `draft`, edited to match `topic`. */
export const kinds = ["checkout", "objects", "overlay"] as const;
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
  const below = openObjects({ ...draft.place, root });
  const overlay = openOverlay(below, draft.place);
  await editToBe(overlay, objects);
  const all: Record<Kind, Workspace> = { checkout, objects, overlay };
  return {
    of: (kind) => all[kind],
    async [Symbol.asyncDispose]() {
      for (const one of [overlay, checkout, objects, below, topic, draft]) await one[Symbol.asyncDispose]();
    },
  };
}
