import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withAgreeingSceptic } from "../../support/agreeing-sceptic.ts";
import { type FakeScript, startFakeOpenAi } from "../../support/fake-openai.ts";
import { type GitRepo, TempFolder } from "../../support/git-repo.ts";
import { runCli } from "../../support/run-cli.ts";
import { runHere } from "../../support/run-program.ts";
import { faultyRepo } from "../sample-repo.ts";

const configuration = `\
effort: medium
minimum_severity: low
instructions:
  - path: "*.py"
    text: Money is in cents.
budget:
  cost_usd: 90
`;

let repo: GitRepo;
let folder: TempFolder;

/** \`cart.py\` has a fault of severity high, and so has \`lib/cart.py\`, whose folder reports critical ones only. */
beforeAll(() => {
  repo = faultyRepo({
    ".github/hunkwise.yml": configuration,
    "lib/.hunkwise.yml": "minimum_severity: critical\npaths: { private: ['*.key'] }\n",
  });
  repo.commit("The same below lib", {
    "lib/cart.py": "def total(items, seen=[]):\n    seen.append(items)\n    return sum(seen)\n",
    "lib/a.key": "x\n",
  });
  folder = new TempFolder("options");
});
afterAll(() => {
  repo.dispose();
  folder.dispose();
});

const file = (name: string, text: string) => {
  writeFileSync(join(folder.path, name), text);
  return join(folder.path, name);
};
const review = (...args: string[]) => runHere(["review", "--repo", repo.dir, "--base", "main", ...args]);
const jsonOf = async (...args: string[]) => JSON.parse((await review("--format", "json", ...args)).stdout);
const dryRun = async (...args: string[]) => jsonOf("--dry-run", ...args);
const pathsOf = (json: { findings: { path: string }[] }) => json.findings.map(({ path }) => path);

const finding = {
  ...{ path: "cart.py", side: "RIGHT", line: 1, quote: "def total(items, seen=[]):" },
  ...{ severity: "high", category: "correctness", title: "The list is shared by all calls", confidence: 0.9 },
  body: "The second call starts with what the first one left.",
};
const report = { tool_calls: [{ name: "report_finding", arguments: finding }] };
const finish = { tool_calls: [{ name: "finish_review", arguments: { summary: "Counts." } }] };

async function withModel(
  args: readonly string[],
  env: Record<string, string> = {},
  script: FakeScript = [report, finish],
) {
  await using fake = await startFakeOpenAi({ script: withAgreeingSceptic(script).script });
  const run = await runCli(["review", "--repo", repo.dir, "--base", "main", ...args], {
    env: { OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_PROTOCOL: "native", ...env },
  });
  return { ...run, requests: fake.requests.map(({ body }) => body) };
}

describe("The option --only", () => {
  it("A review reads only selected files, and names the others as left out, in every format", async () => {
    const json = await jsonOf("--only", "*.yml", "--only", "./cart.py");
    expect(pathsOf(json)).toEqual(["cart.py"]);
    const leftOut = { reason: "left out by --only", account: "left_out" };
    expect(json.coverage.files_skipped).toEqual([
      { path: "lib/a.key", ...leftOut },
      { path: "lib/cart.py", ...leftOut },
      { path: "package-lock.json", ...leftOut },
    ]);
    for (const format of ["pretty", "markdown", "sarif", "prompt"]) {
      const { stdout } = await review("--only", "/cart.py", "--format", format);
      expect(stdout).toMatch(/lib\/cart\.py.{1,12}left out by --only/);
    }
  });

  it("A complete review stays complete, and names left out files even if nothing was found", async () => {
    const { code, stdout } = await withModel(["--only", "*.json"], { HUNKWISE_MODEL: "m" });
    expect(code).toBe(0);
    expect(stdout).toContain("Skipped   cart.py: left out by --only\n");
    expect(stdout).not.toMatch(/Partial|Offline/);
  });

  it("A review warns if no selected file was changed, and of an empty pattern", async () => {
    const { code, stderr } = await review("--only", ".github/**");
    expect(code).toBe(0);
    expect(stderr).toMatch(/^warning: no changed file matches --only \.github\/\*\*$/m);
    expect((await review("--only", "")).code).toBe(2);
  });

  it.each([
    [["carts/**"], "cart.py"],
    [["lib/card.py", "!*.key"], "lib/cart.py"],
    [["./LIB/**"], "lib"],
    [["cart.py", "carts/**"], "cart.py"],
    [["a.kee"], "lib/a.key"],
    [["lib\\cart.py"], "lib/cart.py"],
  ])(
    "A review exits with 3 if no file of either side matches %j, and names the nearest path",
    async (only, near) => {
      const args = only.flatMap((pattern) => ["--only", pattern]);
      for (const more of [[], ["--dry-run"]]) {
        const { code, stdout, stderr } = await review(...args, ...more);
        expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
        expect(stderr).toContain(`after the change. The nearest path is '${near}'.\n`);
      }
    },
  );

  it("A review accepts a pattern for a file that was only there before", async () => {
    using gone = faultyRepo({ "old.txt": "old\n" });
    gone.commit("Delete it", { "old.txt": null });
    expect((await runHere(["review", "--repo", gone.dir, "--base", "main", "--only", "old.txt"])).code).toBe(
      0,
    );
  });

  it("A review refuses patterns that only take files away, and says how to write them", async () => {
    const { code, stderr } = await review("--only", "!*.md", "--only", "!*.json");
    expect(code).toBe(2);
    expect(stderr).toBe(
      "hunkwise: --only !*.md --only !*.json selects no file: a pattern with ! only takes files away. " +
        "Add what it takes them away from: --only '**' --only '!*.md'.\n",
    );
    expect(pathsOf(await jsonOf("--only", "**", "--only", "!*.md"))).toEqual(["cart.py"]);
  });

  it("A review leaves out untracked files that no model may see, too", async () => {
    // Split, so that no scanner takes this file for one with a key.
    writeFileSync(join(repo.dir, ".env"), `TOKEN=ghp_${"aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"}\n`);
    try {
      const json = await jsonOf("--only", "/cart.py");
      expect(pathsOf(json)).toEqual(["cart.py"]);
      expect(json.coverage.files_skipped).toContainEqual({
        ...{ path: ".env", reason: "left out by --only", account: "left_out" },
      });
      expect(pathsOf(await jsonOf("--only", ".env"))).toEqual([".env"]);
    } finally {
      rmSync(join(repo.dir, ".env"));
    }
  });
});

describe("The option --minimum-severity", () => {
  it("The option outranks the files of the repository and its folders, and milder findings are counted", async () => {
    expect(pathsOf(await jsonOf())).toEqual(["cart.py"]);
    expect(pathsOf(await jsonOf("--minimum-severity", "high"))).toEqual(["cart.py", "lib/cart.py"]);
    const none = await jsonOf("--minimum-severity", "critical");
    expect(pathsOf(none)).toEqual([]);
    expect(none.warnings).toContainEqual(
      expect.stringMatching(/^2 findings are below .* and not reported\.$/),
    );
  });
});

describe("The options --model and --no-model", () => {
  it.each([[["--model", "m", "--no-model"]], [["--no-model", "--model", "m"]]])(
    "A review refuses both options: %j",
    async (args) => {
      const { code, stderr, requests } = await withModel(args);
      expect({ code, requests }).toEqual({ code: 2, requests: [] });
      expect(stderr).toBe("hunkwise: --model and --no-model exclude each other. Leave out one of them.\n");
    },
  );
});

describe("The options --effort and --model", () => {
  it("The options outrank the configuration and the environment, and the report names them", async () => {
    const args = ["--effort", "low", "--model", "asked-for", "--format", "json"];
    const { stdout, requests } = await withModel(args, { HUNKWISE_MODEL: "configured" });
    expect(JSON.parse(stdout)).toMatchObject({ effort: "low", model: "asked-for", mode: "model" });
    expect(new Set(requests.map(({ model }) => model))).toEqual(new Set(["asked-for"]));
    // Without a second look.
    expect(requests).toHaveLength(2);
  });

  it("The options need no HUNKWISE_MODEL, but an endpoint, and a dry run knows them", async () => {
    const { stdout, requests } = await withModel(["--model", "x", "--effort", "high", "--dry-run"]);
    expect(stdout).toMatch(/^x would need about .* at effort\s+high\./ms);
    expect(requests).toEqual([]);
    expect(await review("--model", "x")).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^hunkwise: --model is set, but no model is configured\. Set OPENAI_API_KEY/,
      ),
    });
    expect((await review("--effort", "quick")).stderr).toMatch(/Allowed choices are low, medium, high/);
  });
});

describe("The option --max-cost", () => {
  const prices = () => file("prices.json", '{"m": {"prompt": 1000000, "completion": 0}}');

  it("A review ends before the request that would cost more, with its findings so far", async () => {
    const env = { HUNKWISE_MODEL: "m", HUNKWISE_PRICES: prices() };
    const usage = { prompt_tokens: 3, completion_tokens: 5 };
    const script = [
      { ...report, usage },
      { ...finish, usage },
    ];
    const limited = await withModel(["--max-cost", "4", "--format", "json"], env, script);
    expect(limited.code).toBe(1);
    expect(JSON.parse(limited.stdout)).toMatchObject({ stop_reason: "cost_limit", outcome: "partial" });
    expect(JSON.parse(limited.stdout).usage.cost_usd).toBeLessThanOrEqual(4);
    expect(limited.requests).toHaveLength(1);
  });

  it("A dry run shows the limit, and there is none if no model is asked", async () => {
    expect((await dryRun()).limits.cost_usd).toBe(90);
    expect((await dryRun("--max-cost", "0.5")).limits.cost_usd).toBe(0.5);
  });

  it("A review is refused if the price of a model is not known, before anything is asked", async () => {
    for (const more of [[], ["--dry-run"]]) {
      const env = { HUNKWISE_MODEL: "m", HUNKWISE_VERIFY_MODEL: "v", HUNKWISE_PRICES: prices() };
      const { code, stderr, requests } = await withModel(["--max-cost", "1", ...more], env);
      expect(code).toBe(2);
      expect(stderr).toMatch(
        /^hunkwise: The maximum cost cannot be kept: the price of v is not known\. .*HUNKWISE_PRICES/m,
      );
      expect(requests).toEqual([]);
    }
  });

  it.each(["0", "-1", "1e3", "$1", ""])("An amount has to be above 0, and '%s' is none", async (amount) => {
    expect(await review("--max-cost", amount)).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("The option --instructions", () => {
  it("Instructions follow what the base asks for, in every part of the review", async () => {
    const path = file("ask.md", "Look for shared state.\n");
    const { requests } = await withModel(["--instructions", path], { HUNKWISE_MODEL: "m" });
    const [first] = requests;
    const told = String(first?.messages[1]?.content);
    expect(told).toMatch(
      /For files matching \*\.py:\nMoney is in cents\.\n\n# Instructions of the person who started this review\nLook for shared state\.\n\n/,
    );
  });

  it.each([
    ["too long", "x".repeat(16_001), "it has more than 16000 characters"],
    ["no text", Buffer.from([0x66, 0xff, 0x00]), "it is not UTF-8 text"],
  ])("Instructions are refused if they are %s", async (name, content, why) => {
    const path = join(folder.path, `${name}.md`);
    writeFileSync(path, content);
    const { code, stderr } = await review("--instructions", path);
    expect({ code, said: stderr.includes(`cannot be used: ${why}`) }).toEqual({ code: 2, said: true });
  });

  it("Instructions are read to their limit and no further, from whatever file", async () => {
    expect((await review("--instructions", "/dev/zero")).stderr).toMatch(/more than 16000 characters/);
    const gone = await review("--instructions", join(folder.path, "gone.md"));
    expect(gone).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--instructions cannot be read: .*gone\.md/),
    });
  });
});

describe("The option --config", () => {
  it("A given file replaces the base's; those of folders and other options hold all the same", async () => {
    const path = file("mine.yml", "effort: high\npaths: { ignore: ['/cart.py'] }\nbudget: { cost_usd: 3 }\n");
    const given = await dryRun("--config", path);
    expect(given).toMatchObject({ effort: "high", limits: { cost_usd: 3 } });
    const skipped = given.files.map(({ path, skipped }: Record<string, string>) => [path, skipped]);
    expect(skipped).toContainEqual(["cart.py", "ignored by configuration"]);
    expect(skipped).toContainEqual(["lib/a.key", "withheld by configuration"]);
    expect(await dryRun("--config", path, "--effort", "low", "--max-cost", "1")).toMatchObject({
      ...{ effort: "low", limits: { cost_usd: 1 } },
    });
  });

  it("A given file is refused by name, line and key if it is invalid or missing", async () => {
    const broken = await review("--config", file("broken.yml", "efort: low\n"));
    expect(broken.code).toBe(2);
    expect(broken.stderr).toMatch(
      /broken\.yml:1: efort is not a known key \(did you mean effort\?\)\. Correct it; `hunkwise config check FILE`/,
    );
    expect((await review("--config", join(folder.path, "none.yml"))).stderr).toMatch(
      /--config cannot be read/,
    );
  });
});

describe("The option --quiet", () => {
  it("A quiet review prints the result and nothing else, also to a file, and errors all the same", async () => {
    const path = join(folder.path, "quiet.json");
    const args = [
      "--base",
      "main",
      "--quiet",
      "--only",
      ".github/**",
      "--output",
      path,
      "--format",
      "rdjson",
    ];
    writeFileSync(join(repo.dir, "cart.py"), "changed\n");
    const run = await runCli(["review", "--repo", repo.dir, ...args], { env: { OPENAI_API_KEY: "" } });
    repo.git("checkout", "--", "cart.py");
    expect(run).toMatchObject({ code: 0, stdout: "", stderr: "" });
    expect(JSON.parse(readFileSync(path, "utf8")).diagnostics).toEqual([]);
    const failed = await withModel(["--quiet"], { HUNKWISE_MODEL: "m", OPENAI_API_KEY: "wrong" });
    expect(failed.code).toBe(3);
    expect(failed.stdout).toMatch(/^hunkwise-\S+ · Offline: /);
    expect(failed.stderr).toMatch(/^warning: The model failed: .* refused the API key \(401\)\. .*\n$/);
    expect((await review("--quiet", "--base", "gone")).stderr).toMatch(/^hunkwise: /);
  });
});
