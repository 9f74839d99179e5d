import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { FixJson } from "../../../src/cli/commands/fix.ts";
import { environmentsFolder } from "../../../src/config/folders.ts";
import { findOnPath } from "../../../src/repo/git/run-process.ts";
import { sandboxFor } from "../../sandbox/sandbox.ts";
import { withAgreeingSceptic } from "../../support/agreeing-sceptic.ts";
import { type FakeScript, startFakeOpenAi } from "../../support/fake-openai.ts";
import { GitRepo, TempFolder } from "../../support/git-repo.ts";
import { alsoProving, emptyCart } from "../../support/proving-model.ts";
import { type CliOptions, runCli } from "../../support/run-cli.ts";

const { sandbox, skipped } = await sandboxFor("that a local review proves its findings");

const folder = new TempFolder("review-prove");
afterAll(() => folder.dispose());

const { base, head, finding, test } = emptyCart;
const script = [
  { tool_calls: [{ name: "report_finding", arguments: finding }] },
  { tool_calls: [{ name: "finish_review", arguments: { summary: "Totals." } }] },
];

function repoWith(more: Record<string, string> = {}, above: Record<string, string> = {}): GitRepo {
  const repo = GitRepo.create();
  repo.commit("Start", { ...base, ...more });
  repo.branch("topic");
  repo.commit("Make total shorter", { ...head, ...above });
  return repo;
}

async function reviewed(
  repo: GitRepo,
  args: readonly string[],
  { script: own = alsoProving(script, { test }), ...options }: CliOptions & { script?: FakeScript } = {},
) {
  await using fake = await startFakeOpenAi({ script: withAgreeingSceptic(own).script });
  const env = {
    ...{ OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" },
    ...{ HUNKWISE_PROTOCOL: "native", HUNKWISE_DATA_DIR: folder.path, ...options.env },
  };
  const record = join(folder.path, "record.jsonl");
  rmSync(record, { force: true });
  const all = ["review", "--repo", repo.dir, "--base", "main", "--format", "json", "--trajectory", record];
  const { code, stdout, stderr } = await runCli([...all, ...args], { ...options, env });
  expect(fake.complaints).toEqual([]);
  const entries = existsSync(record)
    ? readFileSync(record, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
    : [];
  const result = entries.find(({ kind }) => kind === "result")?.result;
  const asked = fake.requests.flatMap(({ body }) => body.tools?.map((one) => one.function.name) ?? []);
  return {
    ...{ code, stdout, stderr, env, record, entries, result },
    proof: result?.findings[0]?.finding.proof,
    isProved: asked.includes("try_test"),
  };
}

describe.skipIf(!sandbox)(`a local review with --prove${skipped}`, () => {
  it("A review shows a regression by a test that passes before and fails now, and records its runs", async () => {
    using repo = repoWith();
    const { code, proof, stderr, entries } = await reviewed(repo, ["--prove"]);
    expect({ code, stderr }).toMatchObject({ code: 1 });
    expect(proof).toMatchObject({
      ...{ kind: "regression", test, before: "it returns 0" },
      now: "it throws (TypeError: Reduce of empty array with no initial value)",
      runs: [
        { on: "base", exit_code: 0 },
        { on: "head", exit_code: 1 },
      ],
    });
    expect(stderr).toMatch(/proving findings/);
    expect(entries.filter(({ kind }) => kind === "run").map(({ what }) => what)).toEqual([
      undefined,
      "prove",
    ]);
    expect(entries.filter(({ kind }) => kind === "tested")).toHaveLength(6);
  });

  it("A review proves findings in uncommitted changes", async () => {
    using repo = GitRepo.create();
    repo.commit("Start", base);
    writeFileSync(join(repo.dir, "src/cart.js"), head["src/cart.js"]);
    const { proof } = await reviewed(repo, ["--prove"]);
    expect(proof).toMatchObject({ kind: "regression", runs: [{ on: "base" }, { on: "head" }] });
  });

  it("A review runs what the configuration of the base names, and never what the change names", async () => {
    const runs = (command: string) =>
      `prove:\n  run:\n    - { files: "*.proof.test.js", command: "${command}" }\n`;
    const config = ".github/hunkwise.yml";
    using repo = repoWith(
      { [config]: runs("echo of-the-base; node {file}") },
      { [config]: runs("echo of-the-head; exit 1; {file}") },
    );
    const { proof, stdout } = await reviewed(repo, ["--prove"]);
    expect(proof).toMatchObject({
      kind: "regression",
      command: `echo of-the-base; node '${test.path}'`,
      runs: [{ output: expect.stringContaining("of-the-base") }, { exit_code: 1 }],
    });
    expect(stdout).not.toContain("of-the-head");
  });

  it("A review takes neither proofs nor a preparation from the configuration of the change", async () => {
    const config = ".github/hunkwise.yml";
    const of = (text: string) => ({ [config]: `prove: { ${text} }\n` });
    using wish = repoWith(of("enabled: false"), of("enabled: true"));
    expect(await reviewed(wish, [])).toMatchObject({ isProved: false, proof: undefined });
    using preparation = repoWith(of("enabled: true"), of("enabled: true, prepare: 'exit 1'"));
    expect((await reviewed(preparation, [])).proof).toMatchObject({ kind: "regression" });
  });

  it("A review keeps the environment that the base's configuration prepares beside the records", async () => {
    using data = new TempFolder("review-prove-data");
    const config = {
      ".github/hunkwise.yml":
        "prove: { prepare: 'mkdir -p node_modules/zero && echo \"module.exports = 0\" > node_modules/zero/index.js' }\n",
    };
    using repo = repoWith(config);
    const env = { HUNKWISE_DATA_DIR: data.path };
    const { proof, result } = await reviewed(repo, ["--prove"], { env });
    expect({ proof, warnings: result.warnings }).toMatchObject({ proof: { kind: "regression" } });
    expect(readdirSync(environmentsFolder(data.path)).length).toBeGreaterThan(0);
  });

  it("A review writes no tests with --no-prove", async () => {
    using repo = repoWith({ ".github/hunkwise.yml": "prove: { enabled: true }\n" });
    expect(await reviewed(repo, ["--no-prove"])).toMatchObject({ isProved: false, proof: undefined });
  });
});

describe.skipIf(!sandbox)(`a local repair with --with-test${skipped}`, () => {
  it("A fix with --with-test is a patch with the test that shows the finding", async () => {
    using data = new TempFolder("fix-with-test");
    using repo = repoWith();
    const { env } = await reviewed(repo, ["--prove"], { env: { HUNKWISE_DATA_DIR: data.path } });
    const calls = [
      {
        name: "edit_file",
        arguments: { path: "src/cart.js", old_string: "sum + one)", new_string: "sum + one, 0)" },
      },
      {
        name: "finish_fix",
        arguments: { summary: "Begin at 0", findings: [{ finding: "F1", repaired: true, note: "It is 0." }] },
      },
    ];
    const later = { resolution: () => ({ state: "fixed" as const, reason: "It begins at 0." }) };
    await using fake = await startFakeOpenAi({
      script: withAgreeingSceptic([{ tool_calls: calls }], later).script,
    });
    const args = ["fix", "--repo", repo.dir, "--base", "main", "--with-test", "--format", "json"];
    const { code, stdout, stderr } = await runCli(args, { env: { ...env, OPENAI_BASE_URL: fake.url } });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain("(its test: passes now)");
    const { patch, findings } = FixJson.parse(JSON.parse(stdout));
    expect(findings).toMatchObject([{ test: { state: "passes" }, second_look: { state: "fixed" } }]);
    expect(patch).toContain(`+++ b/${test.path}`);
    expect(patch).toContain("+assert.equal(total([]), 0);");
  });

  it("A fix with --with-test needs a finding that a test shows", async () => {
    using data = new TempFolder("fix-without-test");
    using repo = repoWith();
    const { env } = await reviewed(repo, [], { env: { HUNKWISE_DATA_DIR: data.path } });
    const args = ["fix", "--repo", repo.dir, "--base", "main", "--with-test"];
    const { code, stderr } = await runCli(args, { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining("no test shows any of the findings")]);
  });
});

describe("A local review with --prove that cannot prove anything", () => {
  it("A review with --prove needs a model", async () => {
    using repo = repoWith();
    const none = { OPENAI_BASE_URL: "", OPENAI_API_KEY: "" };
    const without = await reviewed(repo, ["--prove"], { env: none });
    expect([without.code, without.stderr]).toEqual([
      2,
      expect.stringContaining("--prove is set, but no model is configured"),
    ]);
    const left = await reviewed(repo, ["--prove", "--no-model"]);
    expect([left.code, left.stderr]).toEqual([2, expect.stringContaining("--prove and --no-model are both")]);
    const both = await reviewed(repo, ["--prove", "--no-prove"]);
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("--prove and --no-prove exclude")]);
  });

  it("A review says once that there is no sandbox and what helps, and reports all the same", async () => {
    using repo = repoWith();
    const bin = join(folder.path, "bin");
    mkdirSync(bin);
    for (const name of ["git", "rg"]) {
      const found = await findOnPath(name, process.env.PATH ?? "");
      if (found) symlinkSync(found, join(bin, name));
    }
    const PATH = `${bin}:${dirname(process.execPath)}`;
    const { code, result, stdout, stderr, isProved } = await reviewed(repo, ["--prove"], { env: { PATH } });
    const said = "No finding was proved: bubblewrap (bwrap) is not on PATH. Install bubblewrap";
    expect({ code, isProved }).toEqual({ code: 1, isProved: false });
    expect(result.findings).toHaveLength(1);
    expect([stdout, stderr].join("\n").split(said)).toHaveLength(2);
  });
});
