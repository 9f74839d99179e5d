import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { EffectiveConfig, RepoConfig } from "../../src/config/repo-config.ts";
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

describe("The command doctor", () => {
  const data = () => ({ HUNKWISE_DATA_DIR: join(folder.path, "doctor") });

  it("Doctor warns of what is missing, fails nothing and creates nothing", async () => {
    const { code, stdout } = await runCli(["doctor"], { env: data() });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ok {4}git {10}\d+\.\d+/m);
    expect(stdout).toMatch(/^ok {4}ripgrep/m);
    expect(stdout).toMatch(/^warn {2}GitHub .*\n +To have pull requests reviewed, run `hunkwise serve`/m);
    expect(stdout).toMatch(/^warn {2}model .*\n +Set OPENAI_API_KEY/m);
    expect(readdirSync(folder.path)).not.toContain("doctor");
  });

  it("Doctor says what a model can do", async () => {
    const sum = (a: number, b: number) => ({ name: "add_numbers", arguments: { a, b } });
    await using fake = await startFakeOpenAi({ script: [{ tool_calls: [sum(2, 3), sum(20, 30)] }] });
    const model = { OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" };
    const { code, stdout } = await runCli(["doctor"], { env: { ...data(), ...model } });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^ok {4}model +fake-model answers in .* 128,000 tokens assumed, calls tools,\s+several\s+at a time; protocol\s+native/m,
    );
  });

  it("Doctor fails with 1 for a model without tools and for a refused key, each with a remedy", async () => {
    await using fake = await startFakeOpenAi({ script: [{ content: "25 and 50" }] });
    const model = { OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" };
    const mute = await runCli(["doctor"], { env: { ...data(), ...model } });
    expect(mute.code).toBe(1);
    expect(mute.stdout).toMatch(/^fail {2}model .* but does\s+not\s+call\s+tools\n +Choose a model/m);
    const refused = await runCli(["doctor"], { env: { ...data(), ...model, OPENAI_API_KEY: "wrong" } });
    expect(refused.code).toBe(1);
    expect(refused.stdout).toMatch(/^fail {2}model .*refused the API key \(401\)\n +Set OPENAI_API_KEY/m);
  });

  it("Doctor names every variable that is wrong, and checks what does not depend on them", async () => {
    const wrong = { PORT: "none", HUNKWISE_CONCURRENCY: "lots", APP_ID: "12", OPENAI_BASE_URL: "localhost" };
    const { code, stdout } = await runCli(["doctor"], { env: { ...data(), ...wrong } });
    expect(code).toBe(1);
    for (const name of ["PORT must be", "HUNKWISE_CONCURRENCY must be", "OPENAI_BASE_URL must be"])
      expect(stdout).toMatch(new RegExp(`^fail {2}environment {2}${name}`, "m"));
    expect(stdout).toMatch(
      /^fail {2}environment {2}PRIVATE_KEY is missing\n +Set it, or set PRIVATE_KEY_PATH/m,
    );
    expect(stdout).toMatch(
      /^fail {2}environment {2}WEBHOOK_SECRET is missing\n +Set it to the webhook secret/m,
    );
    expect(stdout).toMatch(/^ok {4}git/m);
    expect(stdout).toMatch(/^ok {4}data folder +.*doctor,\s+will\s+be\s+created/m);
    expect(stdout).toMatch(/^ok {4}database/m);
    expect(stdout).toMatch(/^warn {2}GitHub +not checked, because PRIVATE_KEY is invalid/m);
    expect(stdout).toMatch(/^warn {2}model +not checked, because OPENAI_BASE_URL is invalid/m);
  });

  it("Doctor names empty variables, and those that nobody reads but look like ours", async () => {
    const env = { HUNKWISE_MODLE: "x", OPENAI_BASEURL: "http://x", OPENAI_API_KEY: "", GH_HOST: "gh" };
    const { code, stdout } = await runCli(["doctor"], { env: { ...data(), ...env } });
    expect(code).toBe(0);
    const warnings = [...stdout.matchAll(/^warn {2}environment {2}(.*)$/gm)].map(([, says]) => says);
    expect(warnings.toSorted()).toEqual([
      "HUNKWISE_MODLE is not a known variable. Did you mean HUNKWISE_MODEL?",
      "OPENAI_API_KEY is set but empty; it counts as unset",
      "OPENAI_BASEURL is not a known variable. Did you mean OPENAI_BASE_URL?",
    ]);
  });

  it("Doctor means the same data folder wherever it is called", async () => {
    using hostile = new TempFolder("hostile");
    mkdirSync(join(hostile.path, ".hunkwise"));
    const rowIn = async (cwd: string) => {
      const { stdout } = await runCli(["doctor"], { cwd, env: { COLUMNS: "300", HOME: folder.path } });
      return /^ok +data folder +(.*),/m.exec(stdout)?.[1];
    };
    // One after the other: each makes the folder for a moment, to try whether it can.
    for (const cwd of [folder.path, hostile.path])
      expect(await rowIn(cwd)).toBe(`${folder.path}/.local/share/hunkwise`);
  });

  it("Doctor writes to the data folder, because permissions do not tell", async () => {
    const { code, stdout } = await runCli(["doctor"], { env: { HUNKWISE_DATA_DIR: "/proc/hunkwise" } });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail {2}data folder +Cannot use the data folder \/proc\/hunkwise: /m);
  });
});

describe("The command config", () => {
  it("The check of a file names line and key", async () => {
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

  it("The check accepts a missing default file, and refuses a missing named one", async () => {
    using repo = faultyRepo();
    expect(await runHere(["config", "check", "--repo", repo.dir])).toMatchObject({
      code: 0,
      stdout: `There is no .github/hunkwise.yml in ${repo.dir}: the defaults apply.\n`,
    });
    expect(await runHere(["config", "check", join(folder.path, "none.yml")])).toMatchObject({ code: 2 });
  });

  it("The schema is printed as JSON Schema", async () => {
    const { code, stdout } = await runHere(["config", "schema"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout).properties).toHaveProperty("minimum_severity");
  });

  it("The effective configuration is that of the base, with defaults", async () => {
    using repo = faultyRepo({ ".github/hunkwise.yml": "minimum_severity: medium\n" });
    repo.commit("Other", { ".github/hunkwise.yml": "minimum_severity: critical\n" });
    const yaml = await runHere(["config", "show", "--repo", repo.dir, "--base", "main"]);
    expect(yaml.code).toBe(0);
    expect(yaml.stdout).toMatch(/^# \.github\/hunkwise\.yml at main \([0-9a-f]{12}\)\n/);
    expect(yaml.stdout).toContain("minimum_severity: medium # .github/hunkwise.yml\n");
    expect(yaml.stdout).toContain("effort: medium # default\n");
    const json = await runHere(["config", "show", "--repo", repo.dir, "--format", "json"]);
    expect(RepoConfig.parse(JSON.parse(json.stdout)).minimum_severity).toBe("medium");
  });

  it("The effective configuration names the origin of each value, with policy and folders", async () => {
    using repo = faultyRepo({
      ".github/hunkwise.yml":
        "effort: low\ncheck: { fail: false }\nrules: { py-eval: off, secrets/github-token: off }\npaths: { ignore: [gen/] }\n",
      "lib/.hunkwise.yml": "paths: { ignore: [x], private: [y] }\nminimum_severity: high\n",
    });
    using other = faultyRepo({});
    const file = join(other.dir, "organization.yml");
    writeFileSync(
      file,
      "policy: { enforce: [check, rules.secrets, minimum_severity], month: { cost_usd: 100 } }\ncheck: { fail: true }\npaths: { ignore: [docs/] }\n",
    );
    const show = ["config", "show", "--repo", repo.dir, "--base", "main"];
    const { code, stdout } = await runHere([...show, "--organization", file]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^# \.github\/hunkwise\.yml at main \([0-9a-f]{12}\), joined with the organization's file, which has a policy\n/,
    );
    for (const line of [
      "effort: low # .github/hunkwise.yml",
      "  fail: true # organization, enforced",
      "  threshold: high # default, enforced",
      "minimum_severity: low # default, enforced",
      "  secrets/github-token: off # .github/hunkwise.yml, without effect: enforced",
      "  labels: [] # default",
      "    # organization and .github/hunkwise.yml and files of folders\n    - docs/\n    - gen/\n    - /lib/**/x",
      "    # files of folders\n    - /lib/**/y",
    ])
      expect(stdout).toContain(`${line}\n`);
    expect(EffectiveConfig.parse(parse(stdout)).check.fail).toBe(true);
    const json = await runHere([...show, "--organization", file, "--format", "json"]);
    expect(EffectiveConfig.parse(JSON.parse(json.stdout)).policy?.month.cost_usd).toBe(100);
    const missing = await runHere([...show, "--organization", `${file}.none`]);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("there is no file") });
    writeFileSync(file, "policy: { enforce: [chek] }\n");
    expect((await runHere([...show, "--organization", file])).code).toBe(2);
  });

  it("An unknown action exits with 2", async () => {
    expect(await runHere(["config", "shcema"])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /'shcema' is invalid .*'ACTION'\. Allowed choices are check, schema, show\./,
      ),
    });
  });
});

describe("The command action", () => {
  it("The command says once that it is for GitHub Actions, and prints no workflow command elsewhere", async () => {
    const { code, stdout, stderr } = await runHere(["action"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(
      /^hunkwise: This is not a step of GitHub Actions: .*are missing or invalid\. Use .*\.\n$/,
    );
  });
});
