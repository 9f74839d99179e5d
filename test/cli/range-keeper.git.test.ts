import { existsSync, readdirSync, renameSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createRangeKeeper, type OpenedRange, type RangeKeeper } from "../../src/cli/range-keeper.ts";
import { GitRepo, TempFolder } from "../support/git-repo.ts";

let folder: TempFolder;
let repo: GitRepo;
let keeper: RangeKeeper;

beforeAll(() => {
  folder = new TempFolder("keeper");
  // Where ranges are opened, so that what is left of them is seen.
  vi.stubEnv("TMPDIR", folder.path);
});
afterAll(() => {
  vi.unstubAllEnvs();
  folder.dispose();
});

beforeEach(async () => {
  repo = GitRepo.create();
  repo.commit("Start", { "a.ts": "export const a = 1;\n" });
  repo.branch("topic");
  repo.commit("Change", { "a.ts": "export const a = 2;\n" });
  keeper = await open("main");
});
afterEach(async () => {
  await keeper[Symbol.asyncDispose]();
  repo.dispose();
});

const open = (base: string | undefined) =>
  createRangeKeeper({ repo: repo.dir, base, head: "HEAD", signal: new AbortController().signal });
const opened = (): Promise<OpenedRange> => keeper.use(async (current) => current);
const messages = async ({ range }: OpenedRange) =>
  (await range.workspace.commits(10)).map(({ message }) => message.split("\n")[0]);
const folderOf = ({ range }: OpenedRange) => dirname(range.place.gitDir);
const leftovers = () => readdirSync(folder.path).filter((name) => name.startsWith("hunkwise-range-"));

describe("A kept range", () => {
  it("A range stays open as long as its revisions stay", async () => {
    const first = await opened();
    const second = await opened();
    expect(second.range).toBe(first.range);
    expect(second.context).toBe(first.context);
  });

  it("A range is opened once for calls that come at the same time", async () => {
    const [first, second] = await Promise.all([opened(), opened()]);
    expect(second.range).toBe(first.range);
  });

  it("A range is opened again after a commit, and the one before goes away", async () => {
    const before = await opened();
    repo.commit("More", { "b.ts": "export const b = 1;\n" });
    const after = await opened();
    expect(await messages(after)).toEqual(["More", "Change"]);
    await keeper[Symbol.asyncDispose]();
    expect([before, after].map((one) => existsSync(folderOf(one)))).toEqual([false, false]);
  });

  it("A range stays for those who use it, also after a commit", async () => {
    let seen: unknown;
    await keeper.use(async (before) => {
      repo.commit("More", { "b.ts": "export const b = 1;\n" });
      const after = await opened();
      expect(folderOf(after)).not.toBe(folderOf(before));
      seen = await before.range.workspace.search(
        {
          ...{ pattern: "a = 2", contextLines: 0, maxResults: 5, mode: "files_with_matches" },
          ...{ fixedString: true, ignoreCase: false, wholeWord: false, invertMatch: false },
        },
        new AbortController().signal,
      );
    });
    expect(seen).toMatchObject({ paths: ["a.ts"] });
  });

  it("A range follows the base, too, and takes its configuration from there", async () => {
    expect((await opened()).context.isPrivate("secrets/key")).toBe(false);
    repo.git("checkout", "--quiet", "main");
    repo.commit("Hide", { ".github/hunkwise.yml": "paths:\n  private: [secrets/]\n" });
    repo.git("checkout", "--quiet", "topic");
    expect((await opened()).context.isPrivate("secrets/key")).toBe(true);
  });

  it("A range is opened again when it is older than cleaners allow", async () => {
    let now = 0;
    const { signal } = new AbortController();
    const options = { repo: repo.dir, base: "main", head: "HEAD", signal, now: () => now };
    await using timed = await createRangeKeeper(options);
    const rangeAt = (time: number) => {
      now = time;
      return timed.use(async ({ range }) => range);
    };
    const hours = 3_600_000;
    const first = await rangeAt(0);
    expect(await rangeAt(11 * hours)).toBe(first);
    expect(await rangeAt(13 * hours)).not.toBe(first);
  });

  it("A range says that the repository is gone, and works when it is there again", async () => {
    await opened();
    const aside = `${repo.dir}-aside`;
    renameSync(repo.dir, aside);
    await expect(opened()).rejects.toMatchObject({ code: "repository_unavailable" });
    renameSync(aside, repo.dir);
    expect(await messages(await opened())).toEqual(["Change"]);
  });

  it("A range guesses the base as a review does, and says so if there is none", async () => {
    await using guessing = await open(undefined);
    await guessing.use(async ({ range }) => expect(range.names.base).toBe("main"));
    repo.git("branch", "--move", "main", "trunk");
    await expect(guessing.use(async () => {})).rejects.toMatchObject({ code: "revision_unknown" });
  });

  it("A range can be opened later after a failure", async () => {
    await using late = await open("release");
    await expect(late.use(async () => {})).rejects.toMatchObject({ code: "revision_unknown" });
    repo.git("branch", "release", "main");
    await late.use(async ({ range }) => expect(range.names.base).toBe("release"));
  });

  it("A range is as dirty as the work tree is at each call", async () => {
    const dirty = () => keeper.use(async (current) => current.dirty);
    expect(await dirty()).toBe(false);
    repo.write({ "a.ts": "export const a = 3;\n" });
    expect(await dirty()).toBe(true);
    repo.commit("Three", { "a.ts": "export const a = 3;\n" });
    expect(await dirty()).toBe(false);
  });

  it("A range with uncommitted changes is opened again after each edit, and only then", async () => {
    const { signal } = new AbortController();
    await using editing = await createRangeKeeper({
      repo: repo.dir,
      scope: "work_tree",
      head: "HEAD",
      signal,
    });
    const now = () => editing.use(async ({ range, dirty }) => ({ range, dirty: await dirty }));
    const textOf = async ({ range }: { range: OpenedRange["range"] }) =>
      (await range.workspace.headStart("a.ts", 100)).text;
    const clean = await now();
    expect((await now()).range).toBe(clean.range);
    expect(clean.range.uncommitted).toBeNull();
    repo.write({ "a.ts": "export const a = 3;\n" });
    const edited = await now();
    expect(edited).toMatchObject({ dirty: false, range: { uncommitted: { hasCommits: true } } });
    expect(await textOf(edited)).toBe("export const a = 3;\n");
    expect((await now()).range).toBe(edited.range);
    // As long as before.
    repo.write({ "a.ts": "export const a = 4;\n" });
    expect(await textOf(await now())).toBe("export const a = 4;\n");
    repo.git("checkout", "--quiet", "a.ts");
    expect((await now()).range.uncommitted).toBeNull();
    repo.git("branch", "--move", "main", "trunk");
    repo.write({ "b.ts": "" });
    expect((await now()).range.uncommitted).toMatchObject({ hasCommits: false });
  });

  it("A range leaves no file when it ends, not even of work that failed", async () => {
    await opened();
    await expect(
      keeper.use(async () => {
        throw new Error("broken");
      }),
    ).rejects.toThrow("broken");
    expect(leftovers()).toHaveLength(2);
    await keeper[Symbol.asyncDispose]();
    expect(leftovers()).toEqual([]);
  });

  it("A range waits at its end for those who use it, and refuses new calls", async () => {
    const work = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<OpenedRange>();
    const working = keeper.use(async (current) => {
      begun.resolve(current);
      await work.promise;
      return existsSync(folderOf(current));
    });
    await begun.promise;
    const ended = keeper[Symbol.asyncDispose]();
    await expect(keeper.use(async () => {})).rejects.toMatchObject({ code: "aborted" });
    work.resolve();
    expect(await working).toBe(true);
    await ended;
    expect(leftovers()).toEqual([]);
  });
});
