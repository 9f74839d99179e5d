import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { learningEdits, learningWorkspace } from "../../src/border/masking.ts";
import { Masks } from "../../src/core/secrets/masks.ts";
import { openWorkspace } from "../../src/repo/git/object-workspace.ts";
import { openOverlay } from "../../src/repo/git/overlay-workspace.ts";
import type { SearchQuery, Workspace } from "../../src/repo/git/workspace.ts";
import { placeOf } from "../support/checkout-place.ts";
import { GitRepo } from "../support/git-repo.ts";
import { writeOut } from "../support/secret-corpus.ts";
import { seeded } from "../support/seeded.ts";

const random = seeded(11);
const key = () => writeOut("{pem:RSA PRIVATE KEY:1200}", random);
const [removed, changed, searched, edited] = [key(), key(), key(), key()];
/** Of a key a line in its middle. */
const lineOf = (pem: string, at = 5) => pem.split("\n")[at] ?? "";
/** More than a file that is merely met may have, so that only the lines that were found are known. */
const large = `${"# some line of a large file\n".repeat(180_000)}password: "xQ9pL2mN7vR4tK8w"\n`;

let repo: GitRepo;
let placed: Awaited<ReturnType<typeof placeOf>>;
beforeAll(async () => {
  repo = GitRepo.create();
  repo.commit("before", {
    "old.pem": removed,
    "moved.pem": changed,
    "other.pem": searched,
    "large.yml": large,
  });
  repo.git("tag", "base");
  repo.git("rm", "--quiet", "old.pem", "moved.pem");
  repo.commit("after", { "new.pem": changed.replace(lineOf(changed, 9), lineOf(key(), 9)) });
  placed = await placeOf(repo, "base");
});
afterAll(() => {
  placed?.[Symbol.dispose]();
  repo?.[Symbol.dispose]();
});

const query = (pattern: string): SearchQuery => ({
  ...{ pattern, contextLines: 0, maxResults: 10, fixedString: true, ignoreCase: false },
  ...{ wholeWord: false, invertMatch: false, mode: "content" },
});
const never = new AbortController().signal;

async function learnedBy(read: (workspace: Workspace) => Promise<unknown>): Promise<Masks> {
  await using workspace = openWorkspace(placed.place);
  const masks = new Masks();
  await read(learningWorkspace(workspace, masks));
  return masks;
}

describe("learningWorkspace", () => {
  it("A learning workspace knows both sides of a changed file before its diff is shown", async () => {
    const masks = await learnedBy(async (workspace) => {
      for (const change of await workspace.changes()) await workspace.patch(change, 0);
    });
    expect(masks.holdsSecret(lineOf(removed))).toBe(true);
    expect(masks.holdsSecret(lineOf(changed))).toBe(true);
    expect(masks.holdsSecret(lineOf(searched))).toBe(false);
  });

  it("A learning workspace knows a file as a whole of which a search finds one line", async () => {
    const masks = await learnedBy((workspace) => workspace.search(query(lineOf(searched, 7)), never));
    expect(masks.holdsSecret(lineOf(searched, 3))).toBe(true);
  });

  it("A search for places teaches the masks nothing", async () => {
    const places = { ...query(lineOf(searched, 7)), onlyPlaces: true };
    const masks = await learnedBy((workspace) => workspace.search(places, never));
    expect(masks.holdsSecret(lineOf(searched, 3))).toBe(false);
  });

  it("A search that runs out of time while masks learn is aborted", async () => {
    await using workspace = openWorkspace(placed.place);
    const hits = await workspace.search(query(lineOf(searched, 7)), never);
    const late = new AbortController();
    const search = async () => {
      late.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
      return hits;
    };
    const below = { tree: (ref: "head") => workspace.tree(ref), search } as unknown as Workspace;
    const found = learningWorkspace(below, new Masks()).search(query("x"), late.signal);
    await expect(found).rejects.toMatchObject({ name: "AppError", code: "aborted" });
  });

  it("A learning workspace knows of a file that is too large for that the lines that were found", async () => {
    const masks = await learnedBy((workspace) => workspace.search(query("password:"), never));
    expect(masks.holdsSecret("xQ9pL2mN7vR4tK8w")).toBe(true);
  });

  it("A learning workspace knows a whole file of which only the beginning is read", async () => {
    const masks = await learnedBy((workspace) => workspace.headStart("other.pem", 100));
    expect(masks.holdsSecret(lineOf(searched))).toBe(true);
  });

  it("A learning workspace knows what was written into a file that is edited", async () => {
    await using workspace = openWorkspace(placed.place);
    const masks = new Masks();
    await using overlay = openOverlay(workspace, placed.place);
    const files = learningEdits(overlay, masks);
    await files.write("other.pem", Buffer.from(edited));
    await files.search(query(lineOf(edited, 8)), never);
    expect(masks.holdsSecret(lineOf(edited))).toBe(true);
  });
});
