import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withAgreeingSceptic } from "../../support/agreeing-sceptic.ts";
import {
  type FakeAnswer,
  type FakeOpenAi,
  type FakeScript,
  startFakeOpenAi,
} from "../../support/fake-openai.ts";
import { type GitRepo, TempFolder } from "../../support/git-repo.ts";
import { type CliOptions, runCli } from "../../support/run-cli.ts";
import { faultyRepo, fingerprintOf, soundRepo } from "../sample-repo.ts";

const long = process.env.HUNKWISE_LONG === "1";

let faulty: GitRepo;
let sound: GitRepo;
let folder: TempFolder;

beforeAll(() => {
  faulty = faultyRepo();
  sound = soundRepo();
  folder = new TempFolder("cli-model");
});
afterAll(() => {
  faulty.dispose();
  sound.dispose();
  folder.dispose();
});

const finding = {
  path: "cart.py",
  side: "RIGHT",
  line: 1,
  quote: "def total(items, seen=[]):",
  severity: "high",
  category: "correctness",
  title: "The list is shared by all calls",
  body: "The second call starts with what the first one left.",
  confidence: 0.9,
};
const report = { tool_calls: [{ name: "report_finding", arguments: finding }] };
const finish = { tool_calls: [{ name: "finish_review", arguments: { summary: "Counts what was seen." } }] };

async function withModel(
  script: FakeScript,
  args: readonly string[],
  options: CliOptions = {},
): Promise<Awaited<ReturnType<typeof runCli>> & { fake: FakeOpenAi }> {
  await using fake = await startFakeOpenAi({ script: withAgreeingSceptic(script).script });
  const model = {
    OPENAI_BASE_URL: fake.url,
    OPENAI_API_KEY: "test-key",
    HUNKWISE_MODEL: "fake-model",
    HUNKWISE_PROTOCOL: "native",
  };
  const run = await runCli(["review", "--base", "main", ...args], {
    ...options,
    env: { ...model, ...options.env },
  });
  expect(fake.complaints).toEqual([]);
  return { ...run, fake };
}

describe("A review with a model from the command line", () => {
  it("A review reports what the model found, with usage, and records the run for its owner alone", async () => {
    const trajectory = join(folder.path, "run.jsonl");
    const before = fingerprintOf(faulty.dir);
    const args = ["--repo", faulty.dir, "--trajectory", trajectory];
    const { code, stdout, stderr } = await withModel([report, finish], args);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^hunkwise-\S+ · main\.\.\.topic\n.* · fake-model\n\nCounts what was seen\.\n/);
    expect(stdout).toMatch(
      / {2}HIGH {2}The list is shared by all calls\n {2}cart\.py:1 · correctness · 90 % sure · confirmed\n/,
    );
    expect(stdout).toContain("Coverage  1 of 1 hunk read by the model\n");
    expect(stdout).toMatch(/Usage {5}3 requests, [\d,]+ prompt tokens/);
    expect(stderr).toMatch(/^\d:\d\d · reviewing/m);

    const kinds: string[] = readFileSync(trajectory, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).kind);
    const review = ["messages", "turn", "tool_results", "turn", "tool_results", "stopped"];
    const secondLook = ["messages", "turn", "tool_results", "stopped"];
    expect(kinds).toEqual(["record", "run", ...review, ...secondLook, "result", "ended"]);
    expect(statSync(trajectory).mode & 0o777).toBe(0o600);
    expect(fingerprintOf(faulty.dir)).toEqual(before);
  });

  it("A review goes on with the fallback once the model is limited, and names both", async () => {
    const limited = { fault: "status", status: 429, headers: { "retry-after": "600" } } as const;
    const sum = (a: number) => ({ name: "add_numbers", arguments: { a, b: 3 } });
    const answers: Record<string, FakeAnswer[]> = {
      "fake-model": [report, limited],
      spare: [{ tool_calls: [sum(2), sum(20)] }, finish],
    };
    const { stdout, stderr, fake } = await withModel(
      ({ model }) => answers[model]?.shift() ?? { content: "nothing left" },
      ["--repo", faulty.dir],
      { env: { HUNKWISE_FALLBACK_MODEL: "spare" } },
    );
    expect(stdout).toMatch(/^hunkwise-\S+ · main\.\.\.topic\n.* · fake-model and spare\n/);
    expect(stdout.replaceAll(/\s+/g, " ")).toMatch(
      /spare answered 2 of 3 requests, because the model configured for them/,
    );
    expect(stdout).toContain("The list is shared by all calls");
    expect(stderr).toMatch(/spare answers instead of fake-model/);
    const asked = fake.requests.map(({ body }) => body.model);
    expect(asked.filter((name) => name === "fake-model")).toHaveLength(2);
  });

  it("A review goes on with its own model if the key for verification is refused, and says so", async () => {
    await using other = await startFakeOpenAi({ script: [], apiKey: "another-key" });
    const env = {
      HUNKWISE_VERIFY_MODEL: "sceptic",
      HUNKWISE_VERIFY_BASE_URL: other.url,
      HUNKWISE_VERIFY_API_KEY: "wrong-key",
    };
    const { code, stdout, stderr, fake } = await withModel([report, finish], ["--repo", faulty.dir], { env });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^hunkwise-\S+ · main\.\.\.topic\n.* · fake-model\n/);
    expect(stdout).toContain("90 % sure · confirmed\n");
    expect(stdout.replaceAll(/\s+/g, " ")).toMatch(
      /fake-model answered 1 of 3 requests, because the model configured for them/,
    );
    expect(stderr).toMatch(/fake-model answers instead of sceptic: .* refused the API key/);
    // The remedy of an error names the variables of the reviewing model.
    expect(stdout + stderr).not.toMatch(/OPENAI_API_KEY|wrong-key/);
    expect([fake.requests.length, other.requests.length]).toEqual([3, 1]);
    expect(other.requests[0]?.headers.authorization).toBe("Bearer wrong-key");
  });

  it("A review is one quiet line if a complete one found nothing", async () => {
    const { code, stdout } = await withModel([finish], ["--repo", sound.dir]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^hunkwise-\S+ · main\.\.\.topic: no problems found · 1 hunk read · fake-model, [\d,]+ tokens.*\n$/,
    );
  });

  it("A review says first that it is partial after a limit, and exits with 3, or 1 for a finding", async () => {
    using repo = faultyRepo({ ".github/hunkwise.yml": "budget:\n  turns: 1\n" });
    const never = await withModel([report, finish], ["--repo", repo.dir, "--fail-on", "never"]);
    expect(never.code).toBe(3);
    const { code, stdout } = await withModel([report, finish], ["--repo", repo.dir]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^hunkwise-\S+ · Partial: the limit of model turns was reached/);
    expect(stdout).toContain("The list is shared by all calls");
  });

  it("A review exits with 3 and one line with the remedy if the key is refused", async () => {
    const env = { OPENAI_API_KEY: "wrong-key" };
    const { code, stdout, stderr } = await withModel([finish], ["--repo", sound.dir], { env });
    expect(code).toBe(3);
    expect(stdout).toMatch(
      /^hunkwise-\S+ · Offline: no model read this change because the model\scould not be reached or failed;/,
    );
    expect(stdout).not.toMatch(/refused|The review was not finished/);
    expect(stderr).toMatch(
      /^warning: The model failed: .* refused the API key \(401\)\. Set OPENAI_API_KEY /m,
    );
    expect(stderr.match(/refused/g)).toHaveLength(1);
    expect(stderr).not.toContain("wrong-key");
  });

  it("A review asks a model that fails its first question nothing more, and says so once", async () => {
    const env = { OPENAI_API_KEY: "wrong-key", HUNKWISE_PROTOCOL: "auto" };
    const { stdout, stderr, fake } = await withModel([finish], ["--repo", sound.dir], { env });
    expect(fake.requests).toHaveLength(1);
    expect((stdout + stderr).match(/refused the API key/g)).toHaveLength(1);
    expect(stderr).toMatch(/^0:\d\d · asking fake-model what it can do$/m);
  });

  it.runIf(long)(
    "A review says once that nothing listens at the endpoint, and does not try again",
    async () => {
      const free = createServer().listen(0, "127.0.0.1");
      await once(free, "listening");
      const { port } = free.address() as AddressInfo;
      await new Promise((closed) => free.close(closed));
      const env = { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, HUNKWISE_PROTOCOL: "auto" };
      const { stdout, stderr } = await withModel([], ["--repo", sound.dir], { env });
      expect((stdout + stderr).match(/Cannot reach the model endpoint/g)).toHaveLength(1);
      expect(stdout + stderr).toMatch(
        /\(ECONNREFUSED\)\. Start the model's server, or correct OPENAI_BASE_URL\.$/m,
      );
      expect(stdout + stderr).not.toMatch(/left alone|asked again/);
    },
  );

  it.runIf(long)(
    "A review blames a proxy that is down, not the endpoint behind it, and hides its password",
    async () => {
      const proxy = { HTTP_PROXY: "http://ada:pass-word@127.0.0.1:9", HUNKWISE_PROTOCOL: "auto" };
      const { stdout, stderr, fake } = await withModel([], ["--repo", sound.dir], { env: proxy });
      expect((stdout + stderr).match(/Cannot reach .*/g)).toEqual([
        `Cannot reach the proxy http://127.0.0.1:9 (HTTP_PROXY) on the way to the model endpoint ${fake.url}. Check it, or list 127.0.0.1 in NO_PROXY.`,
      ]);
      expect(stdout + stderr).not.toContain("pass-word");
    },
  );

  it.runIf(long)("A review names an empty key once, as CI sets it without the secret", async () => {
    const env = { OPENAI_API_KEY: "", OPENAI_BASE_URL: "", HUNKWISE_MODEL: "" };
    const { stderr, fake } = await withModel([], ["--repo", sound.dir], { env });
    expect(stderr.match(/OPENAI_API_KEY/g)).toHaveLength(1);
    expect(stderr).toMatch(/^warning: OPENAI_API_KEY is set but empty; it counts as unset$/m);
    expect(fake.requests).toEqual([]);
    const dry = await withModel([], ["--repo", sound.dir, "--dry-run"], { env });
    expect(dry.stderr.match(/OPENAI_API_KEY is set but empty/g)).toHaveLength(1);
  });

  it.runIf(long)("A review still prints a document for programs if the model never answered", async () => {
    const options = { env: { OPENAI_API_KEY: "wrong-key" } };
    const args = ["--repo", sound.dir, "--format", "json"];
    const { code, stdout, stderr, fake } = await withModel([finish], args, options);
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /^warning: The model failed: .* refused the API key \(401\)\. Set OPENAI_API_KEY/m,
    );
    expect(stdout).not.toContain(fake.url);
    const { stop_reason, warnings } = JSON.parse(stdout);
    expect({ stop_reason, warnings }).toEqual({
      stop_reason: "model_error",
      warnings: ["The model failed: its provider refused the key."],
    });
  });

  it("A review with --require-model exits with 3 if no model answered, and as always if one did", async () => {
    const options = { env: { OPENAI_API_KEY: "wrong-key" } };
    const args = ["--repo", sound.dir, "--format", "json", "--require-model"];
    const refused = await withModel([finish], args, options);
    expect(refused.code).toBe(3);
    expect((await withModel([finish], args)).code).toBe(0);
    expect((await withModel([], [...args, "--head", "main"])).code).toBe(0);
  });

  it("A dry run asks no model, and names the one that would be asked", async () => {
    const { code, stdout, fake } = await withModel([], ["--repo", sound.dir, "--dry-run"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/fake-model would need about \d+ requests with [\d,]+ tokens/);
    expect(fake.requests).toHaveLength(0);
  });

  it("An interrupted review ends at once, without a report", async () => {
    const { code, stdout, stderr } = await withModel([{ fault: "hang" }], ["--repo", sound.dir], {
      onStart: (child) =>
        child.stderr?.on("data", (text: Buffer) => {
          if (text.includes("reviewing")) child.kill("SIGTERM");
        }),
    });
    expect({ code, stdout }).toEqual({ code: 143, stdout: "" });
    expect(stderr).toMatch(/hunkwise: stopped\n$/);
  });

  it("A review shows nothing of a hostile answer as control characters", async () => {
    const hostile = { ...finding, title: "\u001b[2Jgone\u202e", body: "\u009b31mred" };
    const script = [{ tool_calls: [{ name: "report_finding", arguments: hostile }] }, finish];
    const { stdout } = await withModel(script, ["--repo", faulty.dir], { env: { FORCE_COLOR: "0" } });
    expect(stdout).toContain("\\u{1B}[2Jgone\\u{202E}");
    expect(stdout).not.toMatch(/[[\p{Cc}\p{Cf}]--[\n]]/v);
  });

  it.runIf(long)("A review takes prices from the operator's table", async () => {
    const prices = join(folder.path, "prices.json");
    writeFileSync(prices, '{"fake-model": {"prompt": 1000000, "completion": 0}}');
    const usage = { prompt_tokens: 3, completion_tokens: 5 };
    const { stdout } = await withModel([{ ...finish, usage }], ["--repo", sound.dir, "--format", "json"], {
      env: { HUNKWISE_PRICES: prices },
    });
    expect(JSON.parse(stdout).usage).toMatchObject({ requests: 1, prompt_tokens: 3, cost_usd: 3 });
  });
});
