import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ReviewJson } from "../../../src/report/json.ts";
import { type ClaudeScript, rateLimited, refused, startFakeAnthropic } from "../../support/fake-anthropic.ts";
import { startFakeOpenAi } from "../../support/fake-openai.ts";
import { type GitRepo, TempFolder } from "../../support/git-repo.ts";
import { runCli } from "../../support/run-cli.ts";
import { faultyRepo } from "../sample-repo.ts";

/** Split, so that no scanner takes this file for one with a key. */
const secret = `ghp_${"aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"}`;

let repo: GitRepo;
let folder: TempFolder;
beforeAll(() => {
  repo = faultyRepo();
  repo.commit("Add a key", { "key.py": `TOKEN = "${secret}"\n` });
  folder = new TempFolder("claude");
});
afterAll(() => {
  repo.dispose();
  folder.dispose();
});

const finding = {
  ...{ path: "cart.py", side: "RIGHT", line: 1, quote: "def total(items, seen=[]):" },
  ...{ severity: "high", category: "correctness", title: "The list is shared by all calls", confidence: 0.9 },
  body: "The second call starts with what the first one left.",
};
const answers = [
  {
    thinking: ["I look first."],
    redacted: 1,
    content: "I look.",
    tool_calls: [{ name: "list_changed_files" }],
  },
  { thinking: ["It is wrong."], tool_calls: [{ name: "report_finding", arguments: finding }] },
  { tool_calls: [{ name: "finish_review", arguments: { summary: "Counts." } }] },
];
const findings = (stdout: string) =>
  ReviewJson.parse(JSON.parse(stdout)).findings.map(({ path, line, rule }) => [path, line, rule]);
const found = [
  ["key.py", 1, "secrets/github-token"],
  ["cart.py", 1, null],
];

async function withClaude(script: ClaudeScript, env: Record<string, string> = {}) {
  await using fake = await startFakeAnthropic({ script });
  const claude = {
    ...{ ANTHROPIC_API_KEY: "test-key", ANTHROPIC_BASE_URL: fake.url, HUNKWISE_MODEL: "claude-opus-5" },
    ...{ HUNKWISE_PROTOCOL: "native", HUNKWISE_DATA_DIR: folder.path },
  };
  const args = ["review", "--repo", repo.dir, "--base", "main", "--effort", "low", "--format", "json"];
  const run = await runCli(args, { env: { ...claude, ...env } });
  return { ...run, requests: fake.requests, complaints: fake.complaints };
}

describe("A review with Claude", () => {
  it("A review sends Claude its thinking back, shows it no secret, and says what it cost", async () => {
    const { stdout, stderr, code, requests, complaints } = await withClaude(answers);
    expect({ code, complaints }).toEqual({ code: 1, complaints: [] });
    expect(stderr).not.toMatch(/warning|deprecated/);
    expect(findings(stdout)).toEqual(expect.arrayContaining(found));
    const { usage, model } = ReviewJson.parse(JSON.parse(stdout));
    expect(model).toBe("claude-opus-5");
    expect(usage).toMatchObject({ requests: 3, cost_usd: expect.any(Number) });
    expect(usage.cached_tokens).toBeGreaterThan(usage.prompt_tokens / 2);
    const bodies = requests.map(({ body }) => JSON.stringify(body));
    for (const body of bodies) expect(body).not.toContain(secret);
    expect(bodies.at(-1)).toMatch(/"redacted_thinking".*"thinking"/s);
  });

  it("A review is finished by a fallback of another provider, which gets no thinking", async () => {
    await using other = await startFakeOpenAi({
      script: [
        // Of the probe.
        { tool_calls: [sum(2, 3), sum(20, 30)] },
        ...answers.slice(1).map(({ tool_calls }) => ({ tool_calls })),
      ],
    });
    const { stdout, code, complaints } = await withClaude(
      (_, n) => (n === 0 ? (answers[0] ?? refused) : rateLimited(600)),
      {
        ...{ HUNKWISE_FALLBACK_MODEL: "fake-model", HUNKWISE_FALLBACK_BASE_URL: other.url },
        HUNKWISE_FALLBACK_API_KEY: "test-key",
      },
    );
    expect({ code, complaints, others: other.complaints }).toEqual({ code: 1, complaints: [], others: [] });
    expect(findings(stdout)).toEqual(expect.arrayContaining(found));
    const sent = JSON.stringify(other.requests.map(({ body }) => body));
    expect(sent).toContain("list_changed_files");
    expect(sent).not.toMatch(/redacted_thinking|"signature"/);
  });
});

const sum = (a: number, b: number) => ({ name: "add_numbers", arguments: { a, b } });

describe("The doctor with a key of Anthropic", () => {
  it("Doctor asks the service for the model's abilities and its window", async () => {
    await using fake = await startFakeAnthropic({
      script: [{ thinking: ["x"], tool_calls: [sum(2, 3), sum(20, 30)] }],
      contextTokens: 1_000_000,
    });
    const env = {
      ANTHROPIC_API_KEY: "test-key",
      ANTHROPIC_BASE_URL: fake.url,
      HUNKWISE_MODEL: "claude-opus-5",
    };
    const { stdout } = await runCli(["doctor"], {
      env: { ...env, HUNKWISE_DATA_DIR: join(folder.path, "doctor") },
    });
    expect(stdout).toMatch(/^ok {4}model +claude-opus-5 answers in .*1,000,000\s+tokens.*calls tools/ms);
    expect(fake.complaints).toEqual([]);
    const refused = await runCli(["doctor"], { env: { ...env, ANTHROPIC_API_KEY: "wrong" } });
    expect(refused.stdout).toMatch(/^fail {2}model .*refused the API key \(401\)\n +Set ANTHROPIC_API_KEY/m);
  });
});
