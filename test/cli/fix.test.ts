import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ChatRequestBody, type FakeAnswer, startFakeOpenAi } from "../support/fake-openai.ts";
import { type GitRepo, TempFolder } from "../support/git-repo.ts";
import { runCli } from "../support/run-cli.ts";
import { faultyRepo, fingerprintOf } from "./sample-repo.ts";

let repo: GitRepo;
let folder: TempFolder;
beforeAll(() => {
  repo = faultyRepo();
  folder = new TempFolder("cli-fix");
});
afterAll(() => {
  repo.dispose();
  folder.dispose();
});

const turn = (name: string, args: Record<string, unknown>): FakeAnswer => ({
  tool_calls: [{ name, arguments: args }],
});
const finding = {
  ...{ path: "cart.py", side: "RIGHT", line: 1, quote: "def total(items, seen=[]):", severity: "high" },
  ...{ category: "correctness", title: "The list is shared by all calls", body: "It is.", confidence: 0.9 },
};
const report = {
  finding: "F1",
  repaired: true,
  note: "Each call begins with a list of its own.",
};

/** Reviews with one finding, repairs it in two turns, and finds it repaired. */
function model() {
  let [edited, found] = [false, false];
  return (body: ChatRequestBody): FakeAnswer => {
    const offers = (tool: string) => body.tools?.some((one) => one.function.name === tool) ?? false;
    if (offers("report_resolution"))
      return turn("report_resolution", { state: "fixed", reason: "cart.py:1 makes none." });
    if (offers("report_verdict"))
      return turn("report_verdict", { verdict: "confirmed", failing_input: "two calls", reason: "It is." });
    if (!offers("finish_fix") && found) return turn("finish_review", { summary: "Counts." });
    if (!offers("finish_fix")) {
      found = true;
      return turn("report_finding", finding);
    }
    if (edited) return turn("finish_fix", { summary: "Share no list", findings: [report] });
    edited = true;
    return turn("edit_file", { path: "cart.py", old_string: "seen=[]", new_string: "seen=()" });
  };
}

async function run(args: readonly string[], script = model()) {
  await using fake = await startFakeOpenAi({ script });
  const env = {
    ...{ OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" },
    ...{ HUNKWISE_PROTOCOL: "native", HUNKWISE_DATA_DIR: join(folder.path, "data") },
  };
  return await runCli([...args, "--repo", repo.dir, "--base", "main"], { env });
}

describe("a fix from the command line", () => {
  it("prints what repairs the last review's findings as a patch that git takes, and writes nothing", async () => {
    await run(["review", "--fail-on", "never"]);
    const before = fingerprintOf(repo.dir);
    const { code, stdout, stderr } = await run(["fix"]);
    expect(stderr).toContain("repaired: The list is shared by all calls: Each call begins with a list");
    expect(stderr).toContain("second look: fixed: cart.py:1 makes none.");
    expect(`${code} ${stderr}`).toMatch(/^0 /);
    expect(stdout).toContain("+def total(items, seen=()):");
    expect(fingerprintOf(repo.dir)).toEqual(before);
    const checked = execFileSync("git", ["-C", repo.dir, "apply", "--check", "-"], { input: stdout });
    expect(String(checked)).toBe("");
  });
});
