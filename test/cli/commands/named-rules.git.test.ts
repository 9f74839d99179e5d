import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withAgreeingSceptic } from "../../support/agreeing-sceptic.ts";
import { type ChatRequestBody, type FakeScript, startFakeOpenAi } from "../../support/fake-openai.ts";
import { GitRepo, TempFolder } from "../../support/git-repo.ts";
import { runCli } from "../../support/run-cli.ts";

const rules = [
  "rules:",
  "  no-shared-defaults:",
  "    what: No default value is shared by calls.",
  '    where: ["*.py"]',
  "    severity: low",
  "    blocking: true",
  "    examples:",
  '      right: ["def f(a=None): ...", "def f(a): ..."]',
  '      wrong: ["def f(a=[]): ..."]',
  "  no-sql:",
  "    what: No SQL.",
  '    where: ["*.sql"]',
  "",
].join("\n");

let repo: GitRepo;
let folder: TempFolder;
beforeAll(() => {
  repo = GitRepo.create();
  folder = new TempFolder("named-rules");
  repo.commit("base", {
    "cart.py": "def total(items):\n    return sum(items)\n",
    ".github/hunkwise.yml": rules,
  });
  repo.branch("topic");
  repo.commit("Remember", { "cart.py": "def total(items, seen=[]):\n    return sum(items)\n" });
});
afterAll(() => {
  repo.dispose();
  folder.dispose();
});

async function withModel(script: FakeScript, args: readonly string[]) {
  await using fake = await startFakeOpenAi({ script });
  const env = {
    OPENAI_BASE_URL: fake.url,
    OPENAI_API_KEY: "test-key",
    HUNKWISE_MODEL: "fake-model",
    HUNKWISE_PROTOCOL: "native",
  };
  const run = await runCli(args, { env });
  expect(fake.complaints).toEqual([]);
  return { ...run, requests: fake.requests };
}

/** Verdicts by the code of the examples. */
function judging(breaks: (code: string) => boolean): FakeScript {
  return ({ messages }: ChatRequestBody) => {
    const asked = messages.map(({ content }) => String(content ?? "")).join("\n");
    const verdicts = [...asked.matchAll(/# Example (\d+) of 3\n<[^>]+>\n(.*)\n/g)].map(
      ([, number, code = ""]) => {
        return { example: Number(number), breaks: breaks(code), why: "\u001b[31mIt\nis so." };
      },
    );
    const call = { name: "judge_examples", arguments: { verdicts } };
    return { tool_calls: [call] };
  };
}
const check = ["config", "check"];

describe("The command config check with examples of named rules", () => {
  it("The check tries examples with the model, in one request for each rule, and tells the cost", async () => {
    const { code, stdout, stderr, requests } = await withModel(
      judging((text) => text.includes("[]")),
      [...check, "--repo", repo.dir],
    );

    expect(stdout).toContain("3 examples of 1 rule tried: the model judges them as the file says.");
    expect(stderr).toMatch(/3 examples of 1 rule tried with fake-model: 1 request, /);
    expect(code).toBe(0);
    expect(requests).toHaveLength(1);
  });

  it("The check names each example that the model takes for the opposite, with its reason on one line", async () => {
    const { code, stdout } = await withModel(
      judging((text) => !text.includes("[]")),
      [...check, join(repo.dir, ".github/hunkwise.yml")],
    );

    const at = (key: string, what: string) =>
      `hunkwise.yml: rules.no-shared-defaults.examples.${key}: the model takes this ${what}: `;
    expect(code).toBe(1);
    expect(stdout.split("\n").filter((line) => line !== "")).toEqual([
      expect.stringContaining(at("right[0]", "for a breach")),
      expect.stringContaining(at("right[1]", "for a breach")),
      expect.stringContaining(at("wrong[0]", "for code that keeps the rule")),
    ]);
    expect(stdout).not.toContain("\u001b");
  });

  it("The check tries no example without a model or with --no-model, and says how many", async () => {
    const without = await runCli([...check, "--repo", repo.dir]);
    expect(without).toMatchObject({ code: 0 });
    expect(without.stdout).toContain("3 examples of 1 rule not tried: no model is configured.");
    const told = await withModel(
      judging(() => true),
      [...check, "--repo", repo.dir, "--no-model"],
    );
    expect(told).toMatchObject({ code: 0, requests: [] });
    expect(told.stdout).toContain("3 examples of 1 rule not tried: --no-model is set.");
  });

  it("The check tries no example of a file with problems", async () => {
    const file = join(folder.path, "hunkwise.yml");
    writeFileSync(file, `${rules}review: { drafts: perhaps }\n`);
    expect(
      await withModel(
        judging(() => true),
        [...check, file],
      ),
    ).toMatchObject({ code: 1, requests: [] });
    writeFileSync(file, "rules: { no-sql: { what: No SQL. } }\n");
    expect(
      await withModel(
        judging(() => true),
        [...check, file],
      ),
    ).toMatchObject({
      ...{ code: 0, requests: [], stdout: `${file} is valid.\n` },
    });
  });

  it("The check fails with the reason if the model does", async () => {
    const { code, stderr } = await withModel(
      () => ({ fault: "status", status: 401 }),
      [...check, "--repo", repo.dir],
    );
    expect(code).toBe(2);
    expect(stderr).toContain("401");
  });
});

describe("A local review with named rules", () => {
  const finding = {
    ...{ path: "cart.py", side: "RIGHT", line: 1, quote: "def total(items, seen=[]):", severity: "critical" },
    ...{ category: "correctness", title: "The list is shared by all calls", body: "It is.", confidence: 0.9 },
    rule: "no-shared-defaults",
  };
  const finish = { tool_calls: [{ name: "finish_review", arguments: { summary: "Counts." } }] };
  const report = { tool_calls: [{ name: "report_finding", arguments: finding }] };
  const review = (format: string, ...more: string[]) =>
    withModel(withAgreeingSceptic([report, finish]).script, [
      ...["review", "--repo", repo.dir, "--base", "main", "--format", format, ...more],
    ]);

  it("A review names the rule and its outcome in every format, and exits with 1 for a blocking rule", async () => {
    const pretty = await review("pretty");
    expect(pretty.code).toBe(1);
    expect(pretty.stdout).toMatch(/LOW {2}The list is shared/);
    expect(pretty.stdout).toContain("cart.py:1 · correctness · rule no-shared-defaults · 90 % sure");
    expect(pretty.stdout).toMatch(/Rules +1 applied to this change, 1 had no file in it\n/);
    expect(pretty.stdout).toMatch(/ +no-shared-defaults \(blocking\): 1 finding\n/);
    const markdown = await review("markdown");
    expect(markdown.stdout).toContain("· rule `no-shared-defaults` ·");
    expect(markdown.stdout).toContain("- rule `no-shared-defaults` (blocking): 1 finding");
    const json = JSON.parse((await review("json")).stdout);
    expect(json.findings).toMatchObject([{ rule: "no-shared-defaults", severity: "low" }]);
    expect(json.rules).toEqual({
      applied: [
        {
          ...{ name: "no-shared-defaults", severity: "low", blocking: true, findings: 1 },
          ...{ files: 1, unchecked: 0, reason: null },
        },
      ],
      without_files: 1,
    });
    expect(json.exit).toMatchObject({ code: 1, reason: "findings" });
    const [run] = JSON.parse((await review("sarif")).stdout).runs;
    expect(run.results).toMatchObject([{ ruleId: "no-shared-defaults", ruleIndex: 0, level: "note" }]);
    expect(run.tool.driver.rules).toMatchObject([
      { id: "no-shared-defaults", shortDescription: { text: "Rule of this repository: no-shared-defaults" } },
    ]);
    const rdjson = JSON.parse((await review("rdjson")).stdout);
    expect(rdjson.diagnostics).toMatchObject([{ code: { value: "no-shared-defaults" } }]);
    expect((await review("prompt")).stdout).toContain("Rule: no-shared-defaults");
  });

  it("A review with --fail-on never exits with 0", async () => {
    expect((await review("pretty", "--fail-on", "never")).code).toBe(0);
  });

  it("A review says that a rule is not checked if no model reads the change", async () => {
    const { stdout } = await runCli(["review", "--repo", repo.dir, "--base", "main", "--no-model"]);
    expect(stdout).toContain("no-shared-defaults (blocking): not checked: no model read this change");
  });
});
