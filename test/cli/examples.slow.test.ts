import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commands } from "../../src/cli/program.ts";
import { openSqliteStores } from "../../src/server/queue/stores.ts";
import { GitRepo, TempFolder } from "../support/git-repo.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";
import { runHere } from "../support/run-program.ts";
import { installed, runInShell } from "../support/shell.ts";

const root = join(import.meta.dirname, "../..");
/** What runs until somebody ends it, or needs more than a repository and GitHub, by the file that tries it. */
const elsewhere: Record<string, RegExp> = {
  "test/cli/commands/serve.git.test.ts": /\bhunkwise (?:serve|worker)\b/,
  "test/cli/commands/fix.git.test.ts": /\bhunkwise fix\b/,
  "test/cli/commands/review-prove.git.test.ts": /^hunkwise review --prove$/,
  "test/e2e/action.server.test.ts": /^hunkwise action$/,
};

let scenario: Scenario;
let folder: TempFolder;
let bin: string;
let shop: string;
/** Of the review that is on record. */
let run: string;

const env = () => ({
  HUNKWISE_DATA_DIR: join(folder.path, "data"),
  GH_HOST: scenario.env.GHE_HOST,
  GH_ENTERPRISE_TOKEN: scenario.github.state.personalToken("octocat", [scenario.repository], {
    contents: "read",
    pull_requests: "read",
  }),
});
const shell = (line: string) => runInShell(line, { bin, cwd: shop, env: env() });

beforeAll(async () => {
  folder = new TempFolder("examples");
  bin = installed(folder.path, { reviewdog: join(root, "test/support/reviewdog.ts") });
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
  shop = join(folder.path, "shop");
  using origin = GitRepo.create();
  origin.commit("Start", {
    "src/a.ts": "export const parseRange = (text: string) => text;\n",
    "README.md": "# Shop\n",
    // What the examples read and write is no part of a change; a run with uncommitted files could not be repeated.
    ".gitignore": "*.json\n*.jsonl\n*.sarif\n",
  });
  origin.git("clone", "--quiet", origin.dir, shop);
  const clone = GitRepo.at(shop).branch("topic");
  clone.commit("Parse", {
    "api/server.ts": "export const port = 3000;\n",
    "src/b.ts": 'import { parseRange } from "./a.ts";\nexport const b = parseRange("1");\n',
  });
  clone.commit("Claim", { "src/queue.ts": "export class Queue {\n  claim() {\n    return 1;\n  }\n}\n" });
  clone.commit("Cart", {
    "cart.py": "def total(items, seen=[]):\n    seen.append(items)\n    return sum(seen)\n",
  });
  clone.commit("Change", { "src/a.ts": "export const parseRange = (text: string) => text.trim();\n" });
  copyFileSync(join(root, "fixtures/findings/eslint.sarif"), join(shop, "eslint.sarif"));
  // A clone of the organization's repository.
  mkdirSync(join(folder.path, ".github/.github"), { recursive: true });
  writeFileSync(join(folder.path, ".github/.github/hunkwise.yml"), "policy: { enforce: [check] }\n");
  // A server ran here.
  await openSqliteStores(join(folder.path, "data")).close();
  const { stderr } = await shell("hunkwise review --output review.json");
  expect(stderr).toContain("written to review.json");
  run = JSON.parse((await shell("hunkwise runs --json")).stdout)[0].id;
});
afterAll(async () => {
  folder.dispose();
  await scenario[Symbol.asyncDispose]();
});

/** What stands for something of the reader's own. */
const filledIn = (line: string) =>
  line
    .replaceAll("20261122-1953", run)
    .replaceAll("2e5b6475", run)
    .replaceAll("~/src/shop", shop)
    .replace(/--pr 12\b/, `--pr ${scenario.github.url}/octo-org/shop/pull/${scenario.pull.number}`)
    .replaceAll("../my-project", shop);

async function ofHelp(): Promise<string[]> {
  const lines: string[] = [];
  for (const { name } of commands) {
    const { stdout } = await runHere([name, "--help"]);
    const examples = stdout.slice(stdout.indexOf("\nExamples:")).matchAll(/^ {2}(?!#)(.*hunkwise .*)$/gm);
    lines.push(...[...examples].map(([, line = ""]) => line));
  }
  return lines;
}

/** Lines of shell blocks that start with the program, and calls of it that stand in a sentence with an option. */
function ofDocuments(): string[] {
  const files = [
    "README.md",
    ...readdirSync(join(root, "docs"))
      .filter((name) => name.endsWith(".md"))
      .map((name) => `docs/${name}`),
  ];
  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8");
    const blocks = [...text.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)].flatMap(([, block = ""]) =>
      block.split("\n"),
    );
    const sentences = [...text.matchAll(/`(hunkwise [a-z]+ [^`]*--[^`]*)`/g)].map(([, call = ""]) => call);
    return [...blocks.map((line) => line.replace(/ {2,}#.*$/, "").trim()), ...sentences].filter((line) =>
      /^hunkwise /.test(line),
    );
  });
}

describe("The examples of the command line", () => {
  it("An example runs as it is printed, in the help and in every document", async () => {
    const all = [...new Set([...(await ofHelp()), ...ofDocuments()])];
    const outdated = Object.entries(elsewhere).filter(
      ([file, lines]) => !existsSync(join(root, file)) || !all.some((line) => lines.test(line)),
    );
    expect(outdated).toEqual([]);
    const lines = all.filter((line) => !Object.values(elsewhere).some((one) => one.test(line)));
    expect(lines.length).toBeGreaterThan(20);
    const failed: object[] = [];
    for (const line of lines) {
      const { code, stderr } = await shell(filledIn(line));
      // 1: something was found, or nothing; a mistake in a line is 2.
      const isWrong = code === null || code > 1 || /^hunkwise: /m.test(stderr);
      if (isWrong) failed.push({ line, code, stderr });
    }
    expect(failed).toEqual([]);
    expect(scenario.github.violations).toEqual([]);
  });
});
