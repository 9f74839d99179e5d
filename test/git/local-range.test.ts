import { describe, expect, it } from "vitest";
import { openWorkspace } from "../../src/git/git-workspace.ts";
import { openLocalRange } from "../../src/git/local-range.ts";
import { GitRepo, gitPath } from "../support/git-repo.ts";

describe("a local range", () => {
  it("is read as git sees it", async () => {
    using repo = GitRepo.create();
    repo.commit("base", { "a.txt": "one\ntwo\nthree\n", "b c.txt": "x\n" });
    repo.branch("topic");
    const head = repo.commit("head", {
      "a.txt": "one\n2\nthree\n",
      "b c.txt": "y\n",
      bin: Buffer.from([0, 1]),
    });
    await using range = await openLocalRange({ repo: repo.dir, base: "main", head: "topic", gitPath });
    await using workspace = openWorkspace(range.place);
    const changes = await workspace.changes();
    expect(changes.map((one) => [one.path, one.type, one.additions])).toEqual([
      ["a.txt", "modified", 1],
      ["b c.txt", "modified", 1],
      ["bin", "added", null],
    ]);
    const patches = await Promise.all(changes.map((one) => workspace.patch(one, 3)));
    expect(patches.join("")).toBe(`${repo.git("diff", "main", "topic")}\n`);
    expect(await workspace.patch(changes[0]!, 0)).toBe(
      `${repo.git("diff", "-U0", "main", "topic", "--", "a.txt")}\n`,
    );
    const hits = await workspace.search(
      {
        pattern: "t",
        contextLines: 1,
        maxResults: 5,
        fixedString: true,
        ignoreCase: false,
        wholeWord: false,
        invertMatch: false,
        mode: "content",
      },
      AbortSignal.timeout(5000),
    );
    expect(hits).toMatchObject({
      mode: "content",
      matches: [{ path: "a.txt", line: 3, before: [{ line: 2, text: "2" }] }],
    });
    expect((await workspace.commits(5)).map((one) => [one.sha, one.author, one.message])).toEqual([
      [head, "Ada Author", "head"],
    ]);
    const tree = await workspace.tree("head");
    expect((await workspace.readBlob(tree.get("a.txt")!.oid)).text).toBe("one\n2\nthree\n");
    expect(range.names).toEqual({ base: "main", head: "topic" });
    expect(range.dirty).toBe(false);
    repo.write({ "a.txt": "dirty" });
    await using again = await openLocalRange({ repo: repo.dir, base: "main", head: "HEAD", gitPath });
    expect(again.dirty).toBe(true);
    expect(again.names.head).toBe("topic");
  });
});
