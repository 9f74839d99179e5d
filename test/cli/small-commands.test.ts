import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import examples from "@octokit/webhooks-examples" with { type: "json" };
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RepoConfig } from "../../src/config/repo-config.ts";
import { startFakeOpenAi } from "../support/fake-openai.ts";
import { TempFolder } from "../support/git-repo.ts";
import { runCli } from "../support/run-cli.ts";
import { runHere } from "../support/run-program.ts";
import { faultyRepo } from "./sample-repo.ts";

let folder: TempFolder;
beforeAll(() => {
  folder = new TempFolder("small");
});
afterAll(() => folder.dispose());

describe("hunkwise webhook", () => {
  const payloads = (examples as unknown as { name: string; examples: Record<string, unknown>[] }[]).find(
    ({ name }) => name === "pull_request",
  );
  const opened = payloads?.examples.find((one) => one.action === "opened");

  it("delivers a payload as GitHub would and says what was decided, in a queue that is thrown away without an App", async () => {
    const file = join(folder.path, "opened.json");
    writeFileSync(file, JSON.stringify({ ...opened, installation: { id: 5 } }));
    using temp = new TempFolder("webhook");
    const { code, stdout, stderr } = await runCli(["webhook", file, "--event", "pull_request"], {
      env: { TMPDIR: temp.path },
    });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^202 Accepted\.\ndelivery \S+\nreview \S+\/\S+#\d+ at [0-9a-f]{12}: event#\d+ \(key .*\)\n$/,
    );
    expect(stderr).toMatch(/^no App credentials/);
    expect(readdirSync(temp.path)).toEqual([]);
  });

  it("takes standard input and says what is ignored", async () => {
    const { code, stdout } = await runCli(["webhook", "-", "--event", "push"], { input: "{}" });
    expect(code).toBe(0);
    expect(stdout).toBe("200 Nothing follows from this event.\nignored: nothing follows from this event\n");
  });

  it("exits with 2 for a delivery that the app refuses, and for a file that is no payload", async () => {
    const refused = await runCli(["webhook", "-", "--event", "no event"], { input: "{}" });
    expect(refused.code).toBe(2);
    expect(refused.stdout).toMatch(/^400 /);
    expect(await runCli(["webhook", "-", "--event", "push"], { input: "{" })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^hunkwise: .*not JSON/),
    });
    expect(await runCli(["webhook", join(folder.path, "none"), "--event", "push"])).toMatchObject({
      code: 2,
    });
  });
});

describe("hunkwise doctor", () => {
  const data = () => ({ HUNKWISE_DATA_DIR: join(folder.path, "doctor") });

  it("warns of what is missing, fails nothing and creates nothing", async () => {
    const { code, stdout } = await runCli(["doctor"], { env: data() });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok {4}git {10}\d+\.\d+/m);
    expect(stdout).toMatch(/^ok {4}ripgrep/m);
    expect(stdout).toMatch(/^warn {2}GitHub .*\n +Run `hunkwise serve`/m);
    expect(stdout).toMatch(/^warn {2}model .*\n +Set OPENAI_API_KEY/m);
    expect(readdirSync(folder.path)).not.toContain("doctor");
  });

  it("says what a model can do", async () => {
    const sum = (a: number, b: number) => ({ name: "add_numbers", arguments: { a, b } });
    await using fake = await startFakeOpenAi({ script: [{ tool_calls: [sum(2, 3), sum(20, 30)] }] });
    const model = { OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" };
    const { code, stdout } = await runCli(["doctor"], { env: { ...data(), ...model } });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^ok {4}model +fake-model answers in .* 128,000 tokens assumed, calls tools,\s+several\s+at a time; protocol\s+native/m,
    );
  });

  it("fails with 1 for a model without tools and for a refused key, each with a remedy", async () => {
    await using fake = await startFakeOpenAi({ script: [{ content: "25 and 50" }] });
    const model = { OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" };
    const mute = await runCli(["doctor"], { env: { ...data(), ...model } });
    expect(mute.code).toBe(1);
    expect(mute.stdout).toMatch(/^fail {2}model .* but does\s+not\s+call\s+tools\n +Choose a model/m);
    const refused = await runCli(["doctor"], { env: { ...data(), ...model, OPENAI_API_KEY: "wrong" } });
    expect(refused.code).toBe(1);
    expect(refused.stdout).toMatch(/^fail {2}model .*refused the API key \(401\)\n +Set OPENAI_API_KEY/m);
  });

  it("goes on with what it can when the environment is broken, and names the variable", async () => {
    const { code, stdout } = await runCli(["doctor"], { env: { PORT: "none" } });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail {2}environment {2}PORT must be/m);
    expect(stdout).toMatch(/^ok {4}git/m);
    expect(stdout).toMatch(/^warn {2}model +not checked/m);
  });
});

describe("hunkwise config", () => {
  it("checks a file, naming line and key", async () => {
    const file = join(folder.path, "hunkwise.yml");
    writeFileSync(file, "review:\n  drafts: perhaps\n");
    const wrong = await runHere(["config", "check", file]);
    expect(wrong.code).toBe(1);
    expect(wrong.stdout).toMatch(/hunkwise\.yml:2: review\.drafts must be true or false/);
    writeFileSync(file, "review:\n  drafts: true\n");
    expect(await runHere(["config", "check", file])).toMatchObject({
      code: 0,
      stdout: `${file} is valid.\n`,
    });
  });

  it("finds nothing wrong where there is no file, but misses one that is named", async () => {
    expect(await runCli(["config", "check"], { cwd: folder.path })).toMatchObject({ code: 0 });
    expect(await runHere(["config", "check", join(folder.path, "none.yml")])).toMatchObject({ code: 2 });
  });

  it("prints the JSON Schema", async () => {
    const { code, stdout } = await runHere(["config", "schema"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).properties).toHaveProperty("minimum_severity");
  });

  it("shows what holds at the base, defaults included", async () => {
    using repo = faultyRepo({ ".github/hunkwise.yml": "minimum_severity: medium\n" });
    repo.commit("Other", { ".github/hunkwise.yml": "minimum_severity: critical\n" });
    const yaml = await runHere(["config", "show", "--repo", repo.dir, "--base", "main"]);
    expect(yaml.code).toBe(0);
    expect(yaml.stdout).toMatch(/^# \.github\/hunkwise\.yml at main \([0-9a-f]{12}\)\n/);
    expect(yaml.stdout).toContain("minimum_severity: medium\n");
    const json = await runHere(["config", "show", "--repo", repo.dir, "--format", "json"]);
    expect(RepoConfig.parse(JSON.parse(json.stdout)).minimum_severity).toBe("medium");
  });

  it("exits with 2 for an unknown action", async () => {
    expect(await runHere(["config", "shcema"])).toMatchObject({
      code: 2,
      stderr: "hunkwise: unknown action 'shcema'. Did you mean 'schema'?\n",
    });
  });
});
