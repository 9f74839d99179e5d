import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { type LocalRangeOptions, openLocalRange } from "../../../src/repo/git/range.ts";
import { GitHttpServer } from "../../support/git-http.ts";
import { GitRepo, gitPath, TempFolder } from "../../support/git-repo.ts";
import { needle } from "../../support/needle.ts";

let folder: TempFolder;
let repo: GitRepo;

beforeEach(() => {
  folder = new TempFolder("range");
  repo = GitRepo.create({ dir: join(folder.path, "source") });
  repo.commit("base", { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n" });
  repo.branch("feature/topic");
  repo.commit("head", { "a.txt": "one\n2\nthree\n" });
});
afterEach(() => folder.dispose());

const open = (options: Partial<LocalRangeOptions> = {}) =>
  openLocalRange({ repo: repo.dir, base: "main", head: "HEAD", gitPath, tempDir: folder.path, ...options });

/** The changed paths of a range, with everything read that a review reads. */
async function read(options: Partial<LocalRangeOptions> = {}): Promise<string[]> {
  await using range = await open(options);
  await using workspace = openWorkspace(range.place);
  const changes = await workspace.changes();
  for (const change of changes) expect(await workspace.patch(change, 3)).toContain("diff --git ");
  for (const { oid } of (await workspace.tree("base")).values()) await workspace.readBlob(oid);
  return changes.map((one) => one.path);
}

describe("a local range", () => {
  it("A local range has names for people, and is gone when disposed of", async () => {
    const range = await open();
    expect(range.names).toEqual({ base: "main", head: "feature/topic" });
    expect(range.place.shas).toEqual({
      head: repo.sha("HEAD"),
      base: repo.sha("main"),
      mergeBase: repo.sha("main"),
    });
    expect(existsSync(range.place.gitDir)).toBe(true);
    await range.dispose();
    expect(existsSync(range.place.gitDir)).toBe(false);
    expect(readdirSync(folder.path)).toEqual(["source"]);
  });

  it("A search finds the head's files although the work tree is edited, and leaves the index alone", async () => {
    const index = join(repo.dir, ".git/index");
    const before = [readFileSync(index), statSync(index).mtimeMs];
    await using range = await open();
    await using workspace = openWorkspace(range.place);
    repo.write({ "a.txt": "else\n", "new.txt": "three\n" });
    const hits = await workspace.search({ ...needle, pattern: "three" }, AbortSignal.timeout(60_000));
    expect(hits).toMatchObject({ matches: [{ path: "a.txt", line: 3, text: "three" }] });
    expect([readFileSync(index), statSync(index).mtimeMs]).toEqual(before);
  });

  it.each(["HEAD~1", "main", "refs/heads/main", ":/base", "HEAD^{commit}~", "@{-1}"])(
    "A local range takes %s for a base",
    async (base) => {
      expect(await read({ base })).toEqual(["a.txt"]);
    },
  );

  it("A local range keeps what was asked for as the name of a commit that is no branch", async () => {
    const sha = repo.sha("main");
    repo.git("tag", "-a", "v1", "-m", "one", "main");
    await using one = await open({ base: sha, head: "HEAD~0" });
    expect(one.names).toEqual({ base: sha, head: "HEAD~0" });
    await using two = await open({ base: "v1" });
    expect(two.names.base).toBe("v1");
    expect(two.place.shas.base).toBe(sha);
  });

  it.each([
    ["main", "HEAD"],
    ["main^{commit}", "HEAD"],
    ["main~0", "feature/topic"],
    ["origin/main", "HEAD"],
    ["origin", "HEAD"],
    ["heads/main", "@"],
  ])(
    "A local range means branches by the base %s and the head %s, although tags have the same names",
    async (base, head) => {
      const clone = join(folder.path, "clone");
      repo.git("clone", "-q", repo.dir, clone);
      const at = GitRepo.at(clone);
      at.git("checkout", "-q", "main");
      at.git("checkout", "-q", "feature/topic");
      const ends = { base: repo.sha("main"), head: repo.sha("feature/topic") };
      at.git("remote", "set-head", "origin", "main");
      for (const tag of ["main", base === "origin" ? "origin" : "origin/main"]) at.git("tag", tag, ends.head);
      for (const tag of ["feature/topic", "HEAD", "@", "refs/heads/main", "-x"])
        at.git("update-ref", `refs/tags/${tag}`, ends.base);
      for (const odd of ["HEAD", "@", "-x", ends.base]) at.git("update-ref", `refs/heads/${odd}`, ends.head);
      at.git("update-ref", "refs/heads/origin/main", ends.head);
      await using range = await open({ repo: clone, base, head });
      expect(range.place.shas).toMatchObject(ends);
      await using byTag = await open({ repo: clone, base: ends.base, head: "tags/main" });
      expect(byTag.place.shas).toMatchObject(ends);
      await expect(open({ repo: clone, base: "-x" })).rejects.toMatchObject({ code: "revision_unknown" });
      for (const ref of ["refs/heads/main", "refs/tags/refs/heads/main"]) at.git("update-ref", "-d", ref);
      const remedy = "Write which one you mean: origin/main or tags/main";
      await expect(open({ repo: clone, base: "main~0" })).rejects.toMatchObject({ remedy });
    },
  );

  it("A local range takes no tag for a base that nobody named", async () => {
    repo.git("tag", "trunk", "HEAD");
    const names = ["refs/remotes/origin/trunk", "refs/heads/trunk", "refs/heads/main"];
    await using range = await open({ base: { names, complaint: "none" } });
    expect(range.names.base).toBe("main");
    expect(range.place.shas.base).toBe(repo.sha("main"));
  });

  it("A local range is found from a folder inside, a linked worktree and a bare clone", async () => {
    repo.commit("deeper", { "x/y/z.txt": "z\n" });
    repo.git("worktree", "add", "-q", join(folder.path, "linked"), "main");
    repo.git("clone", "-q", "--bare", repo.dir, join(folder.path, "bare.git"));
    repo.git("clone", "-q", "--shared", repo.dir, join(folder.path, "shared"));
    const expected = ["a.txt", "x/y/z.txt"];
    const head = "feature/topic";
    expect(await read({ repo: join(repo.dir, "x", "y") })).toEqual(expected);
    expect(await read({ repo: join(repo.dir, ".git") })).toEqual(expected);
    expect(await read({ repo: join(folder.path, "linked"), head })).toEqual(expected);
    expect(await read({ repo: join(folder.path, "bare.git"), head })).toEqual(expected);
    expect(await read({ repo: join(folder.path, "shared"), base: "origin/main" })).toEqual(expected);
    await using linked = await open({ repo: join(folder.path, "linked"), head });
    expect(linked.names).toEqual({ base: "main", head });
  });

  it("A local range works in a folder with an odd name", async () => {
    const odd = join(folder.path, 'a "b"\té; #x');
    repo.git("clone", "-q", repo.dir, odd);
    expect(await read({ repo: odd, base: "origin/main" })).toEqual(["a.txt"]);
  });

  it("A local range may use SHA-256", async () => {
    using other = GitRepo.create({ objectFormat: "sha256" });
    other.commit("base", { "a.txt": "one\ntwo\n" });
    other.branch("topic");
    const head = other.commit("head", { "a.txt": "one\n2\n", "new.txt": "n\n" });
    expect(head).toHaveLength(64);
    expect(await read({ repo: other.dir })).toEqual(["a.txt", "new.txt"]);
    await using range = await open({ repo: other.dir });
    await using workspace = openWorkspace(range.place);
    const [change] = await workspace.changes();
    expect(await workspace.patch(change!, 0)).toContain("@@ -2 +2 @@ one\n-two\n+2\n");
  });

  it("A local range may be shallow, as long as the merge base is there", async () => {
    repo.commit("later", { "c.txt": "c\n" });
    const clone = (depth: number) => {
      const path = join(folder.path, `shallow-${depth}`);
      const source = `file://${repo.dir}`;
      repo.git(
        "clone",
        "-q",
        "--depth",
        String(depth),
        "--no-single-branch",
        "-b",
        "feature/topic",
        source,
        path,
      );
      return path;
    };
    expect(await read({ repo: clone(3), base: "origin/main" })).toEqual(["a.txt", "c.txt"]);
    await expect(read({ repo: clone(1), base: "origin/main" })).rejects.toMatchObject({
      code: "revision_unknown",
      message: expect.stringContaining("no common ancestor"),
      remedy: expect.stringContaining("--unshallow"),
    });
  });

  it("A local range of a shallow clone says how to get a missing commit", async () => {
    repo.commit("later", { "c.txt": "c\n" });
    const path = join(folder.path, "shallow");
    repo.git("clone", "-q", "--depth", "1", "-b", "feature/topic", `file://${repo.dir}`, path);
    const remedy = expect.stringMatching(/shallow: run git fetch --unshallow; .* fetch-depth: 0[^\n]*$/);
    for (const base of [
      "HEAD~1",
      "HEAD^",
      "feature/topic~1",
      "feature/topic^",
      "v3.0",
      { names: ["origin/main", "main"], complaint: "none" },
    ]) {
      await expect(open({ repo: path, base })).rejects.toMatchObject({ code: "revision_unknown", remedy });
    }
    GitRepo.at(path).git("fetch", "--quiet", "--unshallow");
    expect(await read({ repo: path, base: "HEAD~1" })).toEqual(["c.txt"]);
  });

  it("A base without a common ancestor is refused, not replaced by the next one", async () => {
    repo.git("checkout", "-q", "--orphan", "apart");
    repo.commit("apart", { "z.txt": "z\n" });
    const base = { names: ["no-such", "apart", "main"], complaint: "none" };
    await expect(open({ base, head: "feature/topic" })).rejects.toMatchObject({
      message: expect.stringContaining("no common ancestor"),
    });
  });

  it.each([
    ["main..feature/topic", "Name the two ends of a range separately: --base main --head feature/topic"],
    ["main...feature/topic", "Name the two ends of a range separately: --base main --head feature/topic"],
    ["HEAD~1..", "Name the two ends of a range separately: --base HEAD~1"],
    ["HEAD~9", "Fetch it first"],
    ["main^", "Fetch it first"],
    ["v3.0", "Fetch it first"],
    ["-q", "Fetch it first"],
    ["origin/$(id)", "Fetch it first"],
  ])("An unknown base %s has a remedy", async (base, remedy) => {
    await expect(open({ base })).rejects.toMatchObject({ code: "revision_unknown", remedy });
  });

  it("A repository or branch without commits is named as such", async () => {
    using empty = GitRepo.create();
    for (const base of ["HEAD", "main", { names: ["main"], complaint: "none" }]) {
      await expect(open({ repo: empty.dir, base })).rejects.toMatchObject({
        message: "The checked-out branch has no commits yet",
      });
    }
    repo.git("checkout", "-q", "--orphan", "unborn");
    await expect(open()).rejects.toMatchObject({ message: "The checked-out branch has no commits yet" });
  });

  it("A local range counts the commits that a head without own commits lacks", async () => {
    repo.commit("later", { "c.txt": "c\n" });
    for (const [base, head, behind] of [
      ["feature/topic", "main", 2],
      ["main", "feature/topic", 0],
      ["main", "main", 0],
    ] as const) {
      await using range = await open({ base, head });
      expect(range.behind).toBe(behind);
    }
  });

  it("A file is no folder of a repository", async () => {
    const file = join(repo.dir, "a.txt");
    await expect(open({ repo: file })).rejects.toMatchObject({
      message: `'${file}' is a file, not a folder`,
    });
    const none = join(repo.dir, "none");
    await expect(open({ repo: none })).rejects.toMatchObject({ message: `There is no folder '${none}'` });
  });

  it.each([
    ["blob:none", []],
    ["tree:0", []],
    ["tree:0", ["--no-checkout"]],
  ])("A partial clone with the filter %s %j says what to do, and then works", async (filter, more) => {
    await using server = await GitHttpServer.start({ root: folder.path });
    const path = join(folder.path, "partial");
    const { execFile } = await import("node:child_process");
    const { promisify } = await import("node:util");
    const { testGitEnvironment: env } = await import("../../support/git-repo.ts");
    const git = (...args: string[]) => promisify(execFile)("git", args, { env });
    await git(
      "clone",
      "-q",
      `--filter=${filter}`,
      ...more,
      "-b",
      "feature/topic",
      `${server.origin}/source/.git`,
      path,
    );
    const error = await read({ repo: path, base: "origin/main" }).catch((one: unknown) => one);
    expect(error).toMatchObject({
      code: "repository_unavailable",
      message: expect.stringMatching(/bjects .*missing, because the repository is a partial clone$/),
    });
    const remedy = /git (fetch .*) in it/.exec((error as { remedy: string }).remedy)?.[1] ?? "";
    await git("-C", path, ...remedy.split(" "));
    expect(await read({ repo: path, base: "origin/main" })).toEqual(["a.txt"]);
  });
});

describe("the temporary folder", () => {
  it("The temporary folder of a killed process is removed, of a live one it is not", async () => {
    const living = await open();
    const left = join(living.place.gitDir, "..");
    const owner = JSON.parse(readFileSync(join(left, "owner.json"), "utf8"));
    const abandoned = join(folder.path, "hunkwise-range-abandoned");
    mkdirSync(abandoned);
    writeFileSync(join(abandoned, "owner.json"), JSON.stringify({ ...owner, started: "1" }));
    const elsewhere = join(folder.path, "hunkwise-range-elsewhere");
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, "owner.json"), JSON.stringify({ ...owner, scope: "another container" }));
    await (await open()).dispose();
    expect([left, abandoned, elsewhere].map((path) => existsSync(path))).toEqual([true, false, true]);
    await living.dispose();
  });
});

describe("the work tree", () => {
  const dirty = async (options: Partial<LocalRangeOptions> = {}) => {
    await using range = await open(options);
    return range.dirty;
  };

  it("The work tree is dirty when tracked files differ from HEAD, staged or not", async () => {
    expect(await dirty()).toBe(false);
    repo.write({ "untracked.txt": "new\n" });
    expect(await dirty()).toBe(false);
    repo.git("add", "untracked.txt");
    expect(await dirty()).toBe(true);
    repo.git("commit", "-qm", "committed");
    expect(await dirty()).toBe(false);
    repo.write({ "a.txt": null });
    expect(await dirty()).toBe(true);
  });

  it("The work tree is clean when a file was written again with the same content", async () => {
    repo.write({ "a.txt": "one\n2\nthree\n" });
    expect(await dirty()).toBe(false);
  });

  it("The work tree is clean if line ends differ as configured", async () => {
    repo.commit("attributes", { ".gitattributes": "*.txt text eol=crlf\n" });
    repo.git("rm", "-q", "--cached", "a.txt");
    repo.git("reset", "-q", "--hard");
    repo.write({ "a.txt": "one\r\n2\r\nthree\r\n" });
    expect(await dirty()).toBe(false);
    repo.write({ "a.txt": "one\r\n3\r\nthree\r\n" });
    expect(await dirty()).toBe(true);
  });

  it("The work tree is read with a split index too, and a bare repository has none", async () => {
    repo.git("update-index", "--split-index");
    expect(await dirty()).toBe(false);
    repo.write({ "a.txt": "x\n" });
    expect(await dirty()).toBe(true);
    repo.git("clone", "-q", "--bare", repo.dir, join(folder.path, "bare.git"));
    expect(await dirty({ repo: join(folder.path, "bare.git") })).toBe(false);
  });
});

describe("a local range that cannot be opened", () => {
  it.each([
    ["/nonexistent", /no folder '\/nonexistent'/],
    ["/", /no git repository at '\/'/],
  ])("The folder %s is named in the error", async (path, message) => {
    await expect(open({ repo: path })).rejects.toMatchObject({
      code: "repository_unavailable",
      message: expect.stringMatching(message),
    });
  });

  it.each([
    ["mian", "Did you mean 'main'?"],
    ["topic", "Did you mean 'feature/topic'?"],
    ["something-else-entirely", "Fetch it first"],
    ["--all", "Fetch it first"],
    ["", "Fetch it first"],
    ["HEAD:a.txt", "Fetch it first"],
  ])("The unknown revision %j is named with a remedy", async (base, remedy) => {
    const opening = open({ base });
    await expect(opening).rejects.toMatchObject({ code: "revision_unknown", remedy });
    await expect(opening).rejects.toThrow(`'${base}'`);
    expect(readdirSync(folder.path)).toEqual(["source"]);
  });

  it("A local range names histories without a common commit", async () => {
    repo.git("checkout", "-q", "--orphan", "other");
    repo.commit("unrelated");
    await expect(open()).rejects.toMatchObject({
      code: "revision_unknown",
      remedy: expect.stringContaining("shares history"),
    });
  });
});
