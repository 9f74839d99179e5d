import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { finding, finish, patient, turn } from "../e2e/conformance-fixture.ts";
import { type PullOfCase, type SharedApp, startSharedApp } from "../e2e/shared-app.ts";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import type { GitRepo } from "../support/git-repo.ts";
import { addBombOfFiles, addBombOfTrees, baseFiles } from "./bomb-repositories.ts";

// bombs.test.ts has more of them, and measures memory.

const report = finding({
  path: "cart.py",
  line: 1,
  quote: "def total(prices):",
  title: "Prices have no type",
});

const long = process.env.HUNKWISE_LONG === "1";
/** Size of one line; the limit is 20. */
const megabytes = 100;

let shared: SharedApp;
let ofTrees: PullOfCase;
let ofFiles: PullOfCase;

/** Opens a pull request for a branch that git itself made. */
function open(make: (repo: GitRepo) => void): PullOfCase {
  const of = shared.addRepository(baseFiles);
  make(of.repository.git);
  return of.openBranch("topic");
}

beforeAll(async () => {
  shared = await startSharedApp({ everyRole: withAgreeingSceptic(() => turn(report, finish)).script });
  ofTrees = open((repo) => addBombOfTrees(repo, 10, 10));
  ofFiles = open((repo) =>
    addBombOfFiles(repo, long ? [["line.js", Buffer.alloc(megabytes * 1_000_000, "x")]] : []),
  );
  ofTrees.pull.hasEndlessDiff = true;
  await Promise.all([ofTrees, ofFiles].map((pull) => pull.deliver("opened")));
  await Promise.all([ofTrees, ofFiles].map((pull) => pull.concluded()));
  await ofTrees.of.idle();
}, 600_000);
afterAll(() => shared?.[Symbol.asyncDispose]());

describe("a server with pull requests that expand", patient, () => {
  it("bombs: A server says that a tree of 10^10 files was not reviewed, and why", () => {
    expect(ofTrees.end()).toEqual({ reviews: 0, comments: [], summaries: 0, checks: ["neutral"] });
    expect(ofTrees.check()?.output).toMatchObject({
      title: "The review failed",
      summary: expect.stringMatching(
        /^The review failed: The tree has more than 500000 files or folders\n\n<!-- /,
      ),
    });
  });

  it.runIf(long)(
    "bombs: A server reviews the code beside a line of more than 20 MB, and says that the line was not read",
    () => {
      expect(ofFiles.end()).toEqual({
        ...{ reviews: 1, summaries: 1, comments: ["cart.py RIGHT 1"] },
        checks: ["neutral"],
      });
      expect(ofFiles.check()?.output.title).toBe("Incomplete review: found 1 high");
      const words = "- `line.js`: too large (more than 20 MB)";
      for (const text of [ofFiles.summary(), ofFiles.check()?.output.summary]) {
        expect(text).toContain("**Partial: 1 file was not read (too large); 1 of 1 hunks were read.**");
        expect(text).toContain(words);
      }
    },
  );

  it("bombs: A server goes on answering and reviewing after pull requests that expand", async () => {
    const { app } = shared;
    const next = open((repo) => addBombOfFiles(repo, []));
    expect(await next.deliver("opened")).toBe(202);
    await next.concluded();
    expect(next.check()?.output.title).toBe("found 1 high");
    expect(app.server.process.exitCode).toBeNull();
    expect(app.github.violations).toEqual([]);
    expect(app.model?.complaints).toEqual([]);
  });
});
