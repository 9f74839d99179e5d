import { afterAll, beforeAll, expect, it } from "vitest";
import { finish, numbers, patient, turn } from "../e2e/conformance-fixture.ts";
import { type SharedApp, startSharedApp } from "../e2e/shared-app.ts";

let shared: SharedApp;
beforeAll(async () => {
  shared = await startSharedApp({ everyRole: () => turn(finish) });
});
afterAll(async () => {
  await shared[Symbol.asyncDispose]();
});

it(
  "merge-bases: A merge commit that undoes a fix of the base is not passed, whichever parent git compares with",
  patient,
  async () => {
    const of = shared.addRepository({
      "a.js": numbers(3),
      ".github/hunkwise.yml": "check: { fail: true }\n",
    });
    const { git, defaultBranch } = of.repository;
    const fixed = { "a.js": numbers(3, { 2: "const n2 = checked(2);" }) };
    git.importCommits([
      { branch: "docs", parents: [defaultBranch], files: Object.entries({ "b.md": "B\n" }) },
      { branch: "fix", parents: [defaultBranch], files: Object.entries(fixed) },
      { branch: "merged", parents: ["docs", "fix"], files: Object.entries(fixed) },
    ]);
    git.git("branch", "--force", defaultBranch, "merged");
    // Both have the same merge bases as before, and the files of one of them. The order of the parents decides which one git uses.
    for (const [branch, parents] of [
      ["mona-1", ["docs", "fix"]],
      ["mona-2", ["fix", "docs"]],
    ] as const) {
      git.importCommits([
        { branch, parents: [...parents], files: Object.entries({ "a.js": numbers(3), "b.md": "B\n" }) },
      ]);
      const pull = of.openBranch(branch, { author: "mona" });
      await pull.tell("opened");
      await pull.concluded();
      expect(pull.check()?.conclusion).toBe("failure");
      expect(pull.check()?.output.summary).toContain("the branches have 2 merge bases");
    }

    // The check's advice works: then there is one merge base, and the diff shows what the merge would undo.
    git.importCommits([
      { branch: "mona-1", parents: ["mona-1", defaultBranch], files: Object.entries({ "a.js": numbers(3) }) },
    ]);
    const updated = of.openBranch("mona-1", { author: "mona" });
    await updated.tell("opened");
    await updated.concluded();
    expect(updated.check()?.conclusion).toBe("success");
    expect(updated.check()?.output.summary).not.toContain("merge bases");
  },
);
