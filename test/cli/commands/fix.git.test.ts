import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FixJson } from "../../../src/cli/commands/fix.ts";
import { sandboxFor } from "../../sandbox/sandbox.ts";
import { isSecondLook } from "../../support/claims.ts";
import { type ChatRequestBody, type FakeAnswer, startFakeOpenAi } from "../../support/fake-openai.ts";
import { type GitRepo, TempFolder } from "../../support/git-repo.ts";
import { runCli } from "../../support/run-cli.ts";
import { runHere } from "../../support/run-program.ts";
import { installed, runInShell } from "../../support/shell.ts";
import { faultyRepo, fingerprintOf } from "../sample-repo.ts";

const long = process.env.HUNKWISE_LONG === "1";

const { sandbox, skipped } = await sandboxFor("that a fix on the command line runs the repository's tests");

/** A test that fails as long as the fault is there, and leaves a file that nobody asked for. */
const testScript = "echo x > report.txt; ! grep -n 'seen=.]' cart.py\n";

let repo: GitRepo;
let folder: TempFolder;
beforeAll(async () => {
  repo = faultyRepo({
    ".github/hunkwise.yml": "commands: { test: sh test.sh }\n",
    "test.sh": testScript,
    ".gitignore": "report.txt\n",
  });
  folder = new TempFolder("cli-fix");
  await run(["review", "--fail-on", "never"], reviews);
});
afterAll(() => {
  repo.dispose();
  folder.dispose();
});

const turn = (...calls: [string, Record<string, unknown>][]): FakeAnswer => ({
  tool_calls: calls.map(([name, args]) => ({ name, arguments: args })),
});
const offers = (body: ChatRequestBody, tool: string) =>
  body.tools?.some((one) => one.function.name === tool) ?? false;

const finding = {
  ...{ path: "cart.py", side: "RIGHT", line: 1, quote: "def total(items, seen=[]):", severity: "high" },
  ...{ category: "correctness", title: "The list is shared by all calls", body: "It is.", confidence: 0.9 },
};
const verdict = { verdict: "confirmed", failing_input: "two calls", reason: "It is." };

/** Reports one finding, and says that it is right. */
const reviews = (body: ChatRequestBody): FakeAnswer =>
  isSecondLook(body)
    ? turn(["report_verdict", verdict])
    : turn(["report_finding", finding], ["finish_review", { summary: "Counts." }]);

const report = { finding: "F1", repaired: true, note: "Each call begins with a list of its own." };
const finish: [string, Record<string, unknown>] = [
  "finish_fix",
  { summary: "Share no list", findings: [report] },
];
const edit = (from: string, to: string): [string, Record<string, unknown>] => [
  "edit_file",
  { path: "cart.py", old_string: `seen=${from}`, new_string: `seen=${to}` },
];

/** Repairs by these turns; a second look answers in this way. */
function repairs(turns: FakeAnswer[], state: string, reason = "cart.py:1 makes none.") {
  let at = 0;
  return (body: ChatRequestBody): FakeAnswer =>
    offers(body, "report_resolution")
      ? turn(["report_resolution", { state, reason }])
      : (turns[at++] ?? turn(finish));
}

const records = () => ({ HUNKWISE_DATA_DIR: join(folder.path, "data") });

async function run(args: readonly string[], script: (body: ChatRequestBody) => FakeAnswer) {
  await using fake = await startFakeOpenAi({ script });
  const env = {
    ...{ OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" },
    ...{ HUNKWISE_PROTOCOL: "native", ...records() },
  };
  return await runCli([...args, "--repo", repo.dir, "--base", "main"], { env });
}

describe("A fix from the command line", () => {
  it("A fix prints a patch for the last review's findings that git accepts, and writes nothing", async () => {
    const before = fingerprintOf(repo.dir);
    const { code, stdout, stderr } = await run(
      ["fix"],
      repairs([turn(edit("[]", "()"), finish), turn(finish)], "fixed"),
    );
    expect(stderr).toContain(
      "repaired: cart.py:1 The list is shared by all calls: Each call begins with a list",
    );
    expect(stderr).toContain("second look: fixed: cart.py:1 makes none.");
    expect(stderr).toContain("No command was run to test the repair: ");
    expect(`${code} ${stderr}`).toMatch(/^0 /);
    expect((await runCli(["runs"], { env: records() })).stdout).toMatch(/fix +done .* main\.\.\.topic/);
    expect(stdout).toContain("+def total(items, seen=()):");
    expect(fingerprintOf(repo.dir)).toEqual(before);
    const checked = execFileSync("git", ["-C", repo.dir, "apply", "--check", "-"], { input: stdout });
    expect(String(checked)).toBe("");
  });

  it.runIf(long)("A fix says once why the model failed, and that nothing was repaired", async () => {
    const { code, stdout, stderr } = await run(["fix"], () => ({ fault: "status", status: 401 }));
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr.match(/refused the API key/g)).toHaveLength(1);
    expect(stderr).toMatch(/^warning: The model failed: .* Set OPENAI_API_KEY to a valid key\.$/m);
    expect(stderr).toMatch(/^Nothing was repaired\.$/m);
  });
});

describe("The first example of the help of fix", () => {
  const bin = () => installed(folder.path);
  async function firstExample(): Promise<string> {
    const { stdout } = await runHere(["fix", "--help"]);
    return /^ {2}(hunkwise review; .*)$/m.exec(stdout)?.[1] ?? "";
  }

  it.runIf(long)(
    "A fix repairs findings as the help prints it, although the review exits with 1",
    async () => {
      using own = faultyRepo();
      const repaired = repairs([turn(edit("[]", "()"), finish), turn(finish)], "fixed");
      const script = (body: ChatRequestBody) =>
        offers(body, "finish_fix") || offers(body, "report_resolution") ? repaired(body) : reviews(body);
      await using fake = await startFakeOpenAi({ script });
      const { code, stdout, stderr } = await runInShell(await firstExample(), {
        ...{ bin: bin(), cwd: own.dir },
        env: {
          ...{ OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" },
          ...{ HUNKWISE_PROTOCOL: "native", HUNKWISE_DATA_DIR: join(folder.path, "example") },
        },
      });
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringContaining("repaired: cart.py:1 The list is shared"),
      });
      expect(stdout).toContain("HIGH  The list is shared by all calls");
      expect(own.git("diff", "--unified=0")).toContain("+def total(items, seen=()):");
    },
  );

  it.runIf(long)("A fix changes nothing and says why if nothing can be repaired", async () => {
    using own = faultyRepo();
    const { stderr } = await runInShell(await firstExample(), { bin: bin(), cwd: own.dir });
    expect(stderr).toMatch(
      /^hunkwise: no review of [0-9a-f]{12} is on record\. Commit all changes, run hunkwise review --committed .*$/m,
    );
    expect(stderr).not.toContain("No valid patches");
    expect(own.git("status", "--porcelain")).toBe("");
  });
});

describe.skipIf(!sandbox)(`a fix that is tried out${skipped}`, () => {
  it("A fix runs the repository's tests in the sandbox, and says how they ended", async () => {
    const test: [string, Record<string, unknown>] = ["run_command", { command: "test" }];
    const { stdout, stderr } = await run(
      ["fix", "--format", "json"],
      repairs([turn(test), turn(edit("[]", "()"), test, finish)], "fixed"),
    );
    const told = FixJson.parse(JSON.parse(stdout));
    expect(told.tried_out).toEqual({
      commands: [{ command: "sh test.sh", folder: ".", exit_code: 0, ended: null }],
      why_none: null,
    });
    expect(told.patch).toContain("+def total(items, seen=()):");
    expect(told.patch).not.toContain("report.txt");
    expect(stderr).toContain("Commands run on exactly these files: 'sh test.sh' ended with exit code 0.");
  });
});
