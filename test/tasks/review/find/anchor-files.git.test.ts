import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPrivacy } from "../../../../src/repo/diff/filter.ts";
import { createAnchorFiles, resolveAnchor } from "../../../../src/tasks/anchor/anchor.ts";
import { createFindingCollector } from "../../../../src/tasks/review/find/finding-collector.ts";
import { openRepository, type TestTools, toolsOn } from "../../../agent/tools/context.ts";
import { GitRepo } from "../../../support/git-repo.ts";
import { diffFiles } from "../../../support/github-double/commentable.ts";

const lines = (word: string) =>
  Array.from({ length: 12 }, (_, at) => `${word}_${at + 1} = ${at + 1}\n`).join("");

const finding = {
  path: "a.py",
  line: 3,
  quote: "zzz",
  severity: "high",
  category: "correctness",
  title: "Wrong constant",
  body: "It should be 2.",
  confidence: 0.8,
};

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;

beforeAll(async () => {
  repo = GitRepo.create();
  repo.commit("base", {
    "into.py": lines("into"),
    "private/out.py": lines("out"),
    "old.py": lines("open"),
    "still.py": "still = 1\n",
  });
  repo.branch("topic");
  repo.commit("head", {
    "into.py": null,
    "private/into.py": lines("into").replace("into_3 = 3", "into_3 = 'hidden'"),
    "private/out.py": null,
    "out.py": lines("out").replace("out_3 = 3", "out_3 = 'shown'"),
    "old.py": null,
    "new.py": lines("open").replace("open_3 = 3", "open_3 = 33"),
  });
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

/** The tools as a review has them: what is reported is anchored in the real files. */
function review(hidden: string[] = ["private/"]): TestTools {
  const { workspace } = opened;
  const { diffs } = toolsOn(workspace, { private: hidden }).context;
  const report = createFindingCollector({
    anchorFile: createAnchorFiles(workspace, diffs),
    refuseToFinish: () => null,
    minimumSeverity: "low",
    isPrivate: createPrivacy(hidden),
    onFinding: () => {},
  });
  return toolsOn(workspace, { private: hidden, report });
}

describe("a report in a file of the change", () => {
  it.each([
    ["renamed to a private path, by its old path", "into.py"],
    ["renamed from a private path, by its new path", "out.py"],
    ["renamed to a private path, by that path", "private/into.py"],
    ["renamed from a private path, by that path", "private/out.py"],
  ])("A report in a file that is %s, is refused without a word of its content", async (_, path) => {
    for (const side of ["RIGHT", "LEFT"]) {
      for (const quote of ["zzz", "into_2 = 2", "out_2 = 2"]) {
        const error = await review().error("report_finding", { ...finding, path, side, quote });
        expect(error).toContain(`'${path}' is withheld by configuration`);
        expect(error).not.toMatch(/(into|out)_\d/);
      }
    }
  });

  it("A renamed public file is found by either path, on either side", async () => {
    const tools = review();
    const added = { ...finding, path: "old.py", quote: "open_3 = 33" };
    const removed = { ...finding, path: "new.py", side: "LEFT", quote: "open_3 = 3" };

    expect(await tools.output("report_finding", added)).toMatchObject({
      path: "new.py",
      side: "RIGHT",
      line: 3,
    });
    expect(await tools.output("report_finding", removed)).toMatchObject({
      path: "new.py",
      side: "LEFT",
      line: 3,
    });
  });

  it("A report may be about a file that the change does not touch", async () => {
    const still = { ...finding, path: "still.py", line: 1, quote: "still = 1" };

    expect(await review().output("report_finding", still)).toMatchObject({
      path: "still.py",
      line: 1,
      note: expect.stringContaining("outside the diff"),
    });
  });
});

/** A new file of 512 lines whose hunk takes so many bytes. */
function ofBytes(bytes: number): string {
  const header = "@@ -0,0 +1,512 @@\n".length;
  return `${`${"x".repeat(998)}\n`.repeat(511)}${"y".repeat(bytes - header - 511_000 - 2)}\n`;
}

describe("a file without a diff on GitHub", () => {
  const numbered = (count: number) => Array.from({ length: count }, (_, at) => `row ${at + 1}\n`).join("");
  let large: GitRepo;
  let openedLarge: Awaited<ReturnType<typeof openRepository>>;

  beforeAll(async () => {
    large = GitRepo.create();
    const rewritten = numbered(120_000);
    large.commit("base", {
      "parts.txt": numbered(60_000),
      "rewritten.txt": rewritten,
      "gone.txt": rewritten,
    });
    large.branch("topic");
    large.commit("head", {
      "rows-most.txt": numbered(20_000),
      "rows-more.txt": numbered(20_001),
      "bytes-most.txt": ofBytes(500 * 1024),
      "bytes-more.txt": ofBytes(500 * 1024 + 1),
      "latin1.txt": Buffer.from("é\n".repeat(16_000) + "e".repeat(455_000), "latin1"),
      // Every seventh line: the changed ones are few, but with those around them all are shown.
      "parts.txt": numbered(60_000).replace(/^row (\d+)$/gm, (row, at) => (at % 7 ? row : `${row}!`)),
      "rewritten.txt": rewritten.replaceAll("row", "line"),
    });
    openedLarge = await openRepository(large);
  });
  afterAll(async () => {
    await openedLarge?.[Symbol.asyncDispose]();
    large?.dispose();
  });

  const fileOf = (path: string) =>
    createAnchorFiles(openedLarge.workspace, toolsOn(openedLarge.workspace).context.diffs)(path);

  it("A file that is too large for GitHub's diff has no line for a comment, as in the double", async () => {
    const { mergeBase, head } = openedLarge.workspace.shas;
    const files = await diffFiles(join(large.dir, ".git"), mergeBase, head);
    expect(files.filter(({ tooLarge }) => tooLarge).map(({ path }) => path)).toEqual([
      ...["bytes-more.txt", "parts.txt", "rewritten.txt", "rows-more.txt"],
    ]);
    for (const { path, tooLarge } of files) {
      const file = (await fileOf(path))!;
      expect([path, file.hidden]).toEqual([
        path,
        tooLarge ? "GitHub shows no diff of this file, because it is too large" : null,
      ]);
      expect(file.hunkAt("RIGHT", 7)).toBe(tooLarge ? undefined : 1);
    }
  });

  it("A file is quoted on both sides, even if its diff is too large to be read", async () => {
    const anchors = [];
    for (const [path, quote] of [
      ["parts.txt", "row 14"],
      ["rewritten.txt", "row 14"],
      ["rewritten.txt", "line 14"],
    ] as const) {
      const wanted = { quote, side: "LEFT", line: 14, start_line: null } as const;
      const resolved = resolveAnchor((await fileOf(path))!, wanted);
      anchors.push(resolved.ok && [resolved.anchor.side, resolved.anchor.line]);
    }
    expect(anchors).toEqual([
      ["LEFT", 14],
      ["LEFT", 14],
      ["RIGHT", 14],
    ]);
  });
});

describe("anchor files", () => {
  /** Counts what is asked of the workspace; `broken` makes diffs fail. */
  function counted(keptLines?: number) {
    const state = { reads: 0, broken: false };
    const { workspace } = opened;
    const { diffs } = toolsOn(workspace).context;
    const readBlob: typeof workspace.readBlob = async (oid) => {
      state.reads++;
      return workspace.readBlob(oid);
    };
    const fileDiff: typeof diffs.fileDiff = async (...asked) => {
      if (state.broken) throw new Error("git has gone");
      return diffs.fileDiff(...asked);
    };
    const counting = {
      changes: () => workspace.changes(),
      tree: (ref: "head" | "merge_base" | "base") => workspace.tree(ref),
      readBlob,
    };
    return { state, files: createAnchorFiles(counting, { fileDiff }, keptLines) };
  }

  it("A file is read once, even for calls at the same time", async () => {
    const { state, files } = counted();
    const [one, other] = await Promise.all([files("new.py"), files("new.py")]);

    expect(one).toBe(other);
    expect(await files("new.py")).toBe(one);
    expect(state.reads).toBe(2);
  });

  it("The files used longest ago are forgotten beyond a number of lines", async () => {
    const { state, files } = counted(40);
    await files("new.py");
    await files("still.py");
    await files("new.py");
    expect(state.reads).toBe(3);
    // 24 lines of both sides, and those of the diff: both do not fit.
    await files("out.py");
    await files("new.py");
    expect(state.reads).toBe(7);
  });

  it("A file whose diff cannot be read is placed whole, and read again later", async () => {
    const { state, files } = counted();
    state.broken = true;
    expect(await files("new.py")).toMatchObject({ hidden: "the diff of this file could not be read" });
    state.broken = false;
    expect((await files("new.py"))?.hunkAt("RIGHT", 3)).toBe(1);
    expect(await files("no-such.py")).toBeUndefined();
  });
});
