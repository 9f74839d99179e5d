import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPrivacy } from "../../src/diff/filter.ts";
import { createAnchorFiles } from "../../src/review/anchor-files.ts";
import { createFindingCollector } from "../../src/review/finding-collector.ts";
import { GitRepo } from "../support/git-repo.ts";
import { openRepository, type TestTools, toolsOn } from "../tools/context.ts";

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
  ])("%s, is refused without a word of its content", async (_, path) => {
    for (const side of ["RIGHT", "LEFT"]) {
      for (const quote of ["zzz", "into_2 = 2", "out_2 = 2"]) {
        const error = await review().error("report_finding", { ...finding, path, side, quote });
        expect(error).toContain(`'${path}' is withheld by configuration`);
        expect(error).not.toMatch(/(into|out)_\d/);
      }
    }
  });

  it("renamed between paths that are not private is taken by either path, on either side", async () => {
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

  it("is anchored in a file that the change leaves alone, too", async () => {
    const still = { ...finding, path: "still.py", line: 1, quote: "still = 1" };

    expect(await review().output("report_finding", still)).toMatchObject({
      path: "still.py",
      line: 1,
      note: expect.stringContaining("outside the diff"),
    });
  });
});
