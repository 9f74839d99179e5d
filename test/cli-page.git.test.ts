import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import packageJson from "../package.json" with { type: "json" };
import { exitCodes } from "../src/cli/command.ts";
import { review } from "../src/cli/commands/review.ts";
import { commands } from "../src/cli/program.ts";
import { capturedIo } from "./support/captured-io.ts";
import { GitRepo, TempFolder } from "./support/git-repo.ts";
import { installed, runInShell } from "./support/shell.ts";

const read = (name: string) => readFileSync(join(import.meta.dirname, "..", name), "utf8");
const page = read("docs/cli.md");
/** The first two cells of each row of the first table below a heading. */
function rowsBelow(heading: string): string[][] {
  const section = page.split(/^## /m).find((one) => one.startsWith(`${heading}\n`)) ?? "";
  const [table = ""] = /^\|[\s\S]*?(?=\n\n)/m.exec(section) ?? [];
  const rows = [...table.matchAll(/^\| (.+?) \| (.+?) \|/gm)].map(([, name = "", what = ""]) => [name, what]);
  return rows.slice(1);
}

describe("docs/cli.md", () => {
  it("docs/cli.md lists every command in the words of the help", () => {
    const rows = commands.map(({ name, summary }) => [`\`${name}\``, summary]);
    expect(rowsBelow("Commands")).toEqual(rows);
  });

  it("docs/cli.md has the exit codes in the words of the help", () => {
    const rows = rowsBelow("Exit codes");
    expect(rows.map(([code]) => Number(code))).toEqual(Object.values(exitCodes));
    const help = review({ ...capturedIo(), exitCode: 0 }).description();
    for (const [code, words] of rows) expect(help).toContain(`${code} ${words}`);
  });

  it("docs/cli.md, CONTRIBUTING and package.json require the same Node", () => {
    const node = packageJson.engines.node.replace(">=", "");
    expect(page).toContain(`**Node ${node} or newer**`);
    expect(read("CONTRIBUTING.md")).toContain(`Node ${node} or newer`);
  });
});

it("The job of GitLab CI in docs/cli.md reviews against the target branch and keeps its report", async () => {
  const [, block = ""] = /```yaml\n(review:\n[\s\S]*?)```/.exec(page) ?? [];
  const { variables, script, artifacts } = parse(block).review;
  using origin = GitRepo.create();
  using folder = new TempFolder("job");
  const checkout = join(folder.path, "checkout");
  origin.commit("Start", { "cart.py": "def total(items):\n    return sum(items)\n" });
  origin.branch("topic");
  origin.commit("Count", { "cart.py": "def total(items, seen=[]):\n    seen.append(items)\n" });
  origin.checkout("main");
  // As a runner leaves it: all branches of the remote, and no branch checked out.
  origin.git("clone", "--quiet", origin.dir, checkout);
  GitRepo.at(checkout).git("remote", "set-head", "origin", "--delete");
  GitRepo.at(checkout).git("checkout", "--quiet", "--detach", "origin/topic");
  GitRepo.at(checkout).git("branch", "--quiet", "--delete", "--force", "main");
  const job = (line: string) =>
    runInShell(line.replace("npx --yes hunkwise@VERSION", "hunkwise"), {
      ...{ bin: installed(folder.path), cwd: checkout },
      env: {
        CI: "true",
        CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "main",
        HUNKWISE_DATA_DIR: join(folder.path, "data"),
      },
    });

  expect(variables).toEqual({ GIT_DEPTH: 0 });
  expect(await job(script[0])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("no model is configured"),
  });
  const offline = await job(script[0].replace("--require-model ", ""));
  expect(offline).toMatchObject({ code: 1, stderr: expect.not.stringContaining("warning") });
  const report = readFileSync(join(checkout, artifacts.paths[0]), "utf8");
  expect(report).toMatch(/^## Hunkwise \(offline\): 1 high in `[\w-]+`\n/);
});
