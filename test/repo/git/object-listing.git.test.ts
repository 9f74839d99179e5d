import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listNamed } from "../../../src/repo/git/object-listing.ts";
import { openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { placeOf } from "../../support/checkout-place.ts";
import { GitRepo } from "../../support/git-repo.ts";

describe("files of a name", () => {
  let repo: GitRepo;
  let held: Awaited<ReturnType<typeof placeOf>>;
  beforeAll(async () => {
    repo = GitRepo.create();
    const many = Array.from({ length: 5_000 }, (_, n) => [`many/folder-${n}/file.txt`, "x"] as const);
    repo.importCommits([
      {
        branch: "main",
        files: [
          ...many,
          ["a.yml", "at the root"],
          ["many/folder-7/a.yml", "deep"],
          ["é/a.yml", "not ASCII"],
          [Buffer.from("\xe9/b.yml", "latin1"), "not UTF-8"],
          ["link/a.yml", { mode: "120000", data: "../a.yml" }],
          ["xa.yml", "no"],
          ["a.yml.d/c", "no"],
        ],
      },
      { branch: "topic", parents: ["main"], files: [["new/a.yml", "no"]] },
    ]);
    held = await placeOf(repo, repo.sha("main"), repo.sha("topic"));
  });
  afterAll(() => {
    held[Symbol.dispose]();
    repo.dispose();
  });

  it("Files of a name are those of the whole listing, with the same keys", async () => {
    const commit = held.place.shas.base;
    const found = await listNamed(held.place, {
      commit,
      isWanted: (path) => /(?:^|\/)[ab]\.yml$/.test(path),
      max: 100,
    });
    await using workspace = openWorkspace(held.place);
    const all = [...(await workspace.tree("base"))].filter(([path]) => /(^|\/)[ab]\.yml$/.test(path));
    expect([...found]).toEqual(all);
    expect(found.size).toBe(5);
  });

  it("Files of a name are at most as many as requested", async () => {
    const commit = held.place.shas.base;
    expect(
      (await listNamed(held.place, { commit, isWanted: (path) => path.endsWith("file.txt"), max: 3 })).size,
    ).toBe(3);
    expect((await listNamed(held.place, { commit, isWanted: () => false, max: 3 })).size).toBe(0);
  });
});
