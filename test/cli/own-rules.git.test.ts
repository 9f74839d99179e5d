import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ReviewJson } from "../../src/report/json.ts";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import { type FakeAnswer, startFakeOpenAi } from "../support/fake-openai.ts";
import { GitRepo } from "../support/git-repo.ts";
import { runCli } from "../support/run-cli.ts";

/** The example of the documentation. */
const documented = () => {
  const text = readFileSync(join(import.meta.dirname, "../../docs/analyzers.md"), "utf8");
  return /```yaml\n(# \.github\/hunkwise\/rules\/[\s\S]*?)```/.exec(text)?.[1] ?? "";
};

const ruleFile = ".github/hunkwise/rules/sql.yml";
const call = `db.raw(\`select ${"$"}{name}\`);`;
const code = `import { db } from "./db";\n${call}\n`;
let repo: GitRepo;

beforeAll(() => {
  repo = GitRepo.create();
  repo.commit("Start", { "src/a.ts": "export {};\n", [ruleFile]: documented() });
  repo.branch("topic");
  // The change would have liked another rule.
  repo.commit("Change", { "src/a.ts": code, [ruleFile]: null });
});
afterAll(() => repo?.dispose());

const json = (stdout: string) => ReviewJson.parse(JSON.parse(stdout));
const review = (...args: string[]) => runCli(["review", "--repo", repo.dir, "--format", "json", ...args]);

describe("A repository's own rules on the command line", () => {
  it("Own rules count without a model, as documented, although the change deletes them", async () => {
    const { stdout, code: exit } = await review("--no-model", "--base", "main");
    const result = json(stdout);
    expect(exit).toBe(1);
    expect(result.findings).toMatchObject([
      {
        ...{
          path: "src/a.ts",
          line: 2,
          rule: "own-rules/no-raw-sql",
          severity: "high",
          category: "security",
        },
        title: "`db.raw` takes no values",
      },
    ]);
    expect(result.warnings).toEqual([
      expect.stringContaining("would be deleted: deleted rules: `no-raw-sql`"),
    ]);
    expect(result.summary).toContain("The repository's own rules matched 1 line.");
  });

  it("Own rules count for staged and uncommitted changes, as they are in the last commit", async () => {
    using local = GitRepo.create();
    local.commit("Start", { "src/a.ts": "export {};\n", [ruleFile]: documented() });
    local.write({ "src/a.ts": code, [ruleFile]: "id: other\n" });
    const uncommitted = ["review", "--repo", local.dir, "--no-model", "--format", "json", "--uncommitted"];
    expect(json((await runCli(uncommitted)).stdout).findings).toMatchObject([
      { rule: "own-rules/no-raw-sql" },
    ]);
    local.git("add", "--all");
    const staged = ["review", "--repo", local.dir, "--no-model", "--format", "json", "--staged"];
    expect(json((await runCli(staged)).stdout).findings).toMatchObject([{ rule: "own-rules/no-raw-sql" }]);
  });

  it("A match of an own rule is judged by the model, which reports or rejects it", async () => {
    const finding = {
      ...{ path: "src/a.ts", side: "RIGHT", line: 2, quote: call },
      ...{ severity: "high", category: "security", title: "The name is pasted into SQL" },
      ...{ body: "A quote in it ends the text.", confidence: 0.9, candidates: ["c1"] },
    };
    const report: FakeAnswer = { tool_calls: [{ name: "report_finding", arguments: finding }] };
    const finish = (rejected: unknown[]): FakeAnswer => ({
      tool_calls: [{ name: "finish_review", arguments: { summary: "Reads a name.", rejected } }],
    });
    const run = async (script: FakeAnswer[]) => {
      await using fake = await startFakeOpenAi({ script: withAgreeingSceptic(script).script });
      const env = {
        ...{ OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" },
        HUNKWISE_PROTOCOL: "native",
      };
      const { stdout } = await runCli(["review", "--repo", repo.dir, "--format", "json", "--base", "main"], {
        env,
      });
      return { result: json(stdout), first: JSON.stringify(fake.requests[0]?.body.messages) };
    };
    const reported = await run([report, finish([])]);
    expect(reported.first).toContain("c1 src/a.ts:2 `db.raw` takes no values (own-rules/no-raw-sql)");
    expect(reported.result.findings).toMatchObject([{ title: finding.title, rule: null }]);

    const rejected = await run([finish([{ candidate: "c1", reason: "The name is a constant." }])]);
    expect(rejected.result.findings).toEqual([]);
    expect(rejected.result.dropped).toMatchObject([
      { rule: "own-rules/no-raw-sql", verdict: "rejected", reason: "The name is a constant." },
    ]);
  });

  it("Own rules are checked with the configuration: file, line, key, ast-grep's refusal, and examples", async () => {
    using local = GitRepo.create();
    local.commit("Start", { [ruleFile]: documented() });
    const check = async (...args: string[]) =>
      await runCli(["config", "check", "--repo", local.dir, ...args]);
    const fine = await check();
    expect([fine.code, fine.stdout]).toEqual([0, expect.stringContaining("1 own rule in 1 file can run.\n")]);

    const broken = [
      "id: one\nlanguage: ts\nrule: { kind: nothing }\n",
      "id: two\nlanguage: ts\nrule: { pattern: a($X) }\nmetadata: { examples: { right: [a(1)], wrong: [a(1), b(1)] } }\n",
      "id: three\nlanguage: ts\ncolor: \u001b[31mred\nrule: { pattern: a }\n",
    ];
    local.write({
      [ruleFile]: broken.slice(0, 2).join("---\n"),
      ".github/hunkwise/rules/b.yaml": broken[2] ?? "",
    });
    const { code: exit, stdout } = await check();
    expect(exit).toBe(1);
    const lines = stdout.trim().split("\n");
    expect(lines.map((line) => line.replace(/^\S*\.github\/hunkwise\/rules\//, ""))).toEqual([
      expect.stringMatching(/^b\.yaml:3: .*/),
      "sql.yml: the rule one: `rule` is not configured correctly. Kind `nothing` is invalid",
      "sql.yml: the rule two, metadata.examples.right[0]: matches the rule, but is right",
      "sql.yml: the rule two, metadata.examples.wrong[1]: does not match the rule",
    ]);
    expect(stdout).not.toContain("\u001b");
    const one = await check(join(local.dir, ruleFile));
    expect([one.code, one.stdout.trim().split("\n").length]).toEqual([1, 3]);
  });
});
