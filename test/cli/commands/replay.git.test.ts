import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "../../../src/cli/program.ts";
import { withAgreeingSceptic } from "../../support/agreeing-sceptic.ts";
import { capturedIo } from "../../support/captured-io.ts";
import { type FakeOpenAi, startFakeOpenAi } from "../../support/fake-openai.ts";
import { type GitRepo, TempFolder } from "../../support/git-repo.ts";
import { startProcessHere } from "../../support/process-here.ts";
import { runCli } from "../../support/run-cli.ts";
import { runWithoutNetwork, whyNoWall } from "../../support/without-network.ts";
import { faultyRepo } from "../sample-repo.ts";

const finding = {
  ...{ path: "cart.py", side: "RIGHT", line: 1, quote: "def total(items, seen=[]):" },
  ...{ severity: "high", category: "correctness", confidence: 0.9 },
  title: "The list is shared by all calls",
  body: "The second call starts with what the first one left.",
};
const read = { name: "read_file_part", arguments: { file_path: "cart.py" } };
const note = { name: "log_work_product", arguments: { content: "Read the one hunk there is." } };
const script = [
  { tool_calls: [read, { name: "search_in_files", arguments: { pattern: "seen" } }] },
  { tool_calls: [{ name: "report_finding", arguments: finding }, note] },
  { tool_calls: [{ name: "finish_review", arguments: { summary: "Counts what was seen." } }] },
];

let repo: GitRepo;
let folder: TempFolder;
let fake: FakeOpenAi;
let env: Record<string, string>;
let file: string;
/** Requests of the review itself. */
let asked: number;

beforeAll(async () => {
  repo = faultyRepo();
  folder = new TempFolder("replay");
  fake = await startFakeOpenAi({ script: withAgreeingSceptic(script).script });
  env = {
    ...{ OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" },
    ...{ HUNKWISE_PROTOCOL: "native", HUNKWISE_DATA_DIR: folder.path, HUNKWISE_LOGSEQ_DIR: folder.path },
  };
  file = join(folder.path, "run.jsonl");
  const args = ["review", "--repo", repo.dir, "--base", "main", "--trajectory", file];
  const { code, stderr } = await runCli(args, { env });
  expect({ code, stderr }).toMatchObject({ code: 1 });
  asked = fake.requests.length;
});
afterAll(async () => {
  await fake.close();
  repo.dispose();
  folder.dispose();
});

type Line = Record<string, unknown> & { kind: string };

/** The record with some of its lines changed, or without them where `change` answers null. */
function altered(change: (line: Line, text: string) => Line | string | null): string {
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const kept = lines.flatMap((text) => {
    const line = change(JSON.parse(text), text);
    return line === null ? [] : [typeof line === "string" ? line : JSON.stringify(line)];
  });
  const path = join(folder.path, "altered.jsonl");
  writeFileSync(path, `${kept.join("\n")}\n`);
  return path;
}

async function replayed(path: string, { repo, json = false }: { repo?: string; json?: boolean } = {}) {
  const io = { ...capturedIo(), startProcess: startProcessHere };
  const options = [...(repo === undefined ? [] : ["--repo", repo]), ...(json ? ["--json"] : [])];
  const code = await runProgram(["replay", path, ...options], io);
  return { code, stdout: io.printed() };
}

describe("a recorded review", () => {
  const wall = whyNoWall();
  const title = `replays to the same findings where there is no network${wall ? `: NOT TRIED, ${wall}` : ""}`;
  it.skipIf(wall !== null)(title, () => {
    const { code, stdout } = runWithoutNetwork(["replay", file], env);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^Run \d{8}-\d{6}-[0-9a-f]{6} · main\.\.\.topic\nReplayed the review: 2 loops, 4 turns, 6 calls; no model was used\.\nThe same findings as recorded: 1\.\n$/,
      ),
    });
  });

  it("asks no model when it is replayed, and comes to the very findings on record", async () => {
    const { code, stdout } = await replayed(file, { json: true });
    expect(code).toBe(0);
    expect(JSON.parse(stdout).works).toEqual([
      {
        ...{ what: "review", played: { loops: 2, turns: 4, calls: 6 } },
        ...{ recorded: 1, today: 1, same: true },
        ...{ missing: [], added: [], changed: [], cut_off: [] },
      },
    ]);
    expect(fake.requests.length).toBe(asked);
  });

  it("left its note in the Logseq graph once, which no replay adds to", () => {
    const page = readFileSync(join(folder.path, "pages", "hunkwise-audit.md"), "utf8");
    expect(page).toMatch(
      /^- Hunkwise, `\S+ main\.\.\.topic`, \S+ \S+ UTC\n {2}```text\n {2}Read the one hunk there is\.\n {2}```\n$/,
    );
  });

  it("is the same whether it was left in the data folder or exported from there", async () => {
    const exported = join(folder.path, "exported.jsonl");
    const id = JSON.parse(readFileSync(file, "utf8").split("\n", 1)[0] ?? "").id;
    const { code } = await runCli(["runs", id.slice(0, 15), "--export", exported], { env });
    expect(code).toBe(0);
    expect(readFileSync(exported, "utf8")).toBe(readFileSync(file, "utf8"));
  });
});

describe("a replay that comes to something else", () => {
  /** The record, but for its result. */
  const withResult = (change: (result: { findings: { finding: { id: string } }[] }) => void) =>
    altered((line) => {
      if (line.kind === "result") change(line.result as never);
      return line;
    });
  const idOf = () => {
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    const [{ result }] = lines.map((text) => JSON.parse(text)).filter(({ kind }) => kind === "result");
    return result.findings[0].finding.id;
  };

  it("names the findings that are missing, new or changed", async () => {
    const path = altered((line) => {
      if (line.kind !== "result") return line;
      const other = JSON.parse(JSON.stringify(line).replaceAll('"line":1,', '"line":9,'));
      const [placed] = other.result.findings;
      const gone = { ...placed, finding: { ...placed.finding, id: "ffffffffffff" } };
      return { ...other, result: { ...other.result, findings: [placed, gone] } };
    });
    const { code, stdout } = await replayed(path);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      new RegExp(
        `Not the same findings as recorded: 2 recorded, 1 today:\n- missing today: ffffffffffff\n- changed: ${idOf()}\n$`,
      ),
    );
    const without = withResult((result) => result.findings.splice(0));
    expect(await replayed(without)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`- new today: ${idOf()}\n`),
    });
  });

  it("leaves unchecked what the record has no check of", async () => {
    const path = altered((line) => (String(line.loop).startsWith("verify:") ? null : line));
    const { code, stdout } = await replayed(path);
    expect(code).toBe(1);
    expect(stdout).toContain(`- changed: ${idOf()}\n`);
    expect(stdout).toMatch(/- turns missing from the record: turn 1 of verify:\w+\n/);
  });

  it.each([2, 3])("names turn %i if it was taken out of the record", async (n) => {
    const path = altered((line) => (line.loop === "review" && line.turn === n ? null : line));
    const { code, stdout } = await replayed(path, { json: true });
    expect(code).toBe(1);
    expect(JSON.parse(stdout).works).toMatchObject([{ same: false, cut_off: [`turn ${n} of review`] }]);
  });

  it("prints no secret and no escape sequence of the record, as text or as JSON", async () => {
    const secret = ["ghp", "x7Qm2RtKp9LsVb4NcYw8ZdHf3GjTa6EuXq1B"].join("_");
    const hostile = `token = "${secret}" \u001b[2J\u202e`;
    const path = altered((line) => {
      if (line.kind === "record") return { ...line, version: hostile, id: hostile, range: hostile };
      if (line.kind !== "result") return line;
      const other = JSON.parse(JSON.stringify(line));
      other.result.findings[0].finding.id = hostile;
      return other;
    });
    for (const json of [false, true]) {
      const { code, stdout } = await replayed(path, { json });
      expect(code).toBe(1);
      expect(stdout).toContain("token");
      expect(stdout).not.toContain(secret.slice(4, 20));
      expect(stdout).not.toMatch(/[[\p{Cc}\p{Cf}]--[\n]]/v);
    }
  });

  it("says by which version a run was recorded if that is another one", async () => {
    const path = altered((line) => (line.kind === "record" ? { ...line, version: "0.0.1" } : line));
    expect((await replayed(path)).stdout).toContain("Recorded by version 0.0.1, replayed by ");
    expect((await replayed(file)).stdout).not.toContain("Recorded by");
  });
});

describe("a record that is none, or not all of one", () => {
  it("of a run that was killed is played to its end", async () => {
    const path = altered((line) => (["result", "ended"].includes(line.kind) ? null : line));
    const { code, stdout } = await replayed(path);
    expect(code).toBe(0);
    expect(stdout).toContain("The record contains no result. Today's findings: 1.");
  });

  it("may end in half a line", async () => {
    writeFileSync(join(folder.path, "half.jsonl"), `${readFileSync(file, "utf8")}{"kind":"tur`);
    expect((await replayed(join(folder.path, "half.jsonl"))).code).toBe(0);
  });

  it.each([
    ["is no JSON", () => "something else", /:3 is not a valid line of a record/],
    [
      "has a turn without a model",
      () => '{"kind":"turn","loop":"review","turn":1,"at":1,"claim":1}',
      /:3 is not a valid line/,
    ],
  ])("is refused with the line that %s", async (_, broken, message) => {
    let n = 0;
    const path = altered((_line, text) => (++n === 3 ? broken() : text));
    await expect(replayed(path)).rejects.toMatchObject({
      code: "usage",
      message: expect.stringMatching(message),
    });
  });

  it("is refused where it holds no review, or there is no such file", async () => {
    const path = altered((line) => (line.kind === "run" ? null : line));
    await expect(replayed(path)).rejects.toMatchObject({
      message: expect.stringContaining("contains no review"),
    });
    await expect(replayed(join(folder.path, "none"))).rejects.toMatchObject({ code: "usage" });
  });

  it("needs a repository that holds its commits, and says how they come there", async () => {
    using other = faultyRepo({ "another.txt": "one\n" });
    await expect(replayed(file, { repo: other.dir })).rejects.toMatchObject({
      code: "revision_unknown",
      remedy: expect.stringContaining("git fetch"),
    });
  });
});
