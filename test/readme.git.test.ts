import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import packageJson from "../package.json" with { type: "json" };
import { exitCodes } from "../src/cli/command.ts";
import { review } from "../src/cli/commands/review.ts";
import { commands } from "../src/cli/program.ts";
import { capturedIo } from "./support/captured-io.ts";
import { GitRepo, TempFolder } from "./support/git-repo.ts";
import { installed, runInShell } from "./support/shell.ts";

const read = (name: string) => readFileSync(join(import.meta.dirname, "..", name), "utf8");
const readme = read("README.md");
/** The first two cells of each row of the first table below a heading. */
function rowsBelow(heading: string): string[][] {
  const section = readme.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? "";
  const [table = ""] = /^\|[\s\S]*?(?=\n\n)/m.exec(section) ?? [];
  const rows = [...table.matchAll(/^\| (.+?) \| (.+?) \|/gm)].map(([, name = "", what = ""]) => [name, what]);
  return rows.slice(1);
}

describe("the README", () => {
  it("The README lists every command in the words of the help", () => {
    const rows = commands.map(({ name, summary }) => [`\`${name}\``, summary]);
    expect(rowsBelow("The command line")).toEqual(rows);
  });

  it("The README has the exit codes in the words of the help", () => {
    const rows = rowsBelow("In CI");
    expect(rows.map(([code]) => Number(code))).toEqual(Object.values(exitCodes));
    const help = review({ ...capturedIo(), exitCode: 0 }).description();
    for (const [code, words] of rows) expect(help).toContain(`${code} ${words}`);
  });

  it("The README, CONTRIBUTING and package.json require the same Node", () => {
    const node = packageJson.engines.node.replace(">=", "");
    expect(readme).toContain(`**Node ${node} or newer**`);
    expect(read("CONTRIBUTING.md")).toContain(`Node ${node} or newer`);
  });
});

describe("the workflow of the README", () => {
  interface Step {
    run?: string;
    with?: Record<string, unknown>;
    env?: Record<string, string>;
  }
  const [, block = ""] = /```yaml\n(name: Hunkwise\n[\s\S]*?)```/.exec(readme) ?? [];
  const steps: Step[] = parse(block).jobs.review.steps;
  let folder: TempFolder;
  let checkout: string;

  beforeAll(() => {
    folder = new TempFolder("workflow");
    checkout = join(folder.path, "checkout");
    using origin = GitRepo.create();
    origin.commit("Start", { "cart.py": "def total(items):\n    return sum(items)\n" });
    origin.branch("topic");
    origin.commit("Count", { "cart.py": "def total(items, seen=[]):\n    seen.append(items)\n" });
    origin.checkout("main");
    // As actions/checkout leaves it: all branches of the remote, and no branch checked out.
    origin.git("clone", "--quiet", origin.dir, checkout);
    GitRepo.at(checkout).git("remote", "set-head", "origin", "--delete");
    GitRepo.at(checkout).git("checkout", "--quiet", "--detach", "origin/topic");
    GitRepo.at(checkout).git("branch", "--quiet", "--delete", "--force", "main");
  });
  afterAll(() => folder.dispose());

  /** The step that reviews, as a runner would start it. */
  async function reviewed(change: (line: string) => string = (line) => line) {
    const line = steps.find(({ run }) => run?.includes("cli.ts"))?.run ?? "";
    const summary = join(folder.path, "summary.md");
    const { code, stderr } = await runInShell(change(line.replace("node .hunkwise/src/cli.ts", "hunkwise")), {
      ...{ bin: installed(folder.path), cwd: checkout },
      env: {
        GITHUB_STEP_SUMMARY: summary,
        GITHUB_BASE_REF: "main",
        HUNKWISE_DATA_DIR: join(folder.path, "data"),
      },
    });
    return { code, stderr, summary };
  }

  it("The README's workflow checks out the whole history", () => {
    expect(steps[0]?.with).toEqual({ "fetch-depth": 0 });
  });

  it("The README's workflow fails without a model", async () => {
    const { code, stderr } = await reviewed();
    expect(code).toBe(2);
    expect(stderr).toMatch(/^hunkwise: --require-model is set, but no model is configured\. /);
  });

  it("The README's workflow reviews against the target branch and writes the job's summary", async () => {
    const { code, stderr, summary } = await reviewed((line) => line.replace("--require-model ", ""));
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.not.stringContaining("warning") });
    expect(readFileSync(summary, "utf8")).toMatch(/^## Hunkwise \(offline\): 1 high in `[\w-]+`\n/);
  });
});
