import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runReplay } from "../../src/cli/run-replay.ts";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import { capturedIo } from "../support/captured-io.ts";
import { type FakeOpenAi, startFakeOpenAi } from "../support/fake-openai.ts";
import { type GitRepo, TempFolder } from "../support/git-repo.ts";
import { startProcessHere } from "../support/process-here.ts";
import { runCli } from "../support/run-cli.ts";
import { runWithoutNetwork, whyNoWall } from "../support/without-network.ts";
import { faultyRepo } from "./sample-repo.ts";

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

async function replayed(path: string, values: { repo?: string; format?: "pretty" | "json" } = {}) {
  const io = capturedIo();
  const given = { repo: values.repo, format: values.format ?? "pretty" };
  const code = await runReplay(path, given, io, startProcessHere);
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
        /^Run \d{8}-\d{6}-[0-9a-f]{6} · main\.\.\.topic\nPlayed the review back: 2 loops, 4 turns, 6 calls; no model was asked\.\n\nThe same findings as on record: 1 high\.\n$/,
      ),
    });
  });

  it("asks no model when it is replayed, and comes to the very findings on record", async () => {
    const { code, stdout } = await replayed(file, { format: "json" });
    expect(code).toBe(0);
    const [{ recorded, today, differences }] = JSON.parse(stdout).works;
    expect(differences).toEqual([]);
    expect(today.findings).toEqual(recorded.findings);
    expect(today.findings).toMatchObject([{ finding: { title: finding.title, verification: "confirmed" } }]);
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
    const { code } = await runCli(["runs", "export", id.slice(0, 15), "--output", exported], { env });
    expect(code).toBe(0);
    expect(readFileSync(exported, "utf8")).toBe(readFileSync(file, "utf8"));
  });
});

describe("a replay that goes another way", () => {
  it("names the call whose answer is another one today, with the first line that differs", async () => {
    const path = altered((_, text) => text.replace("seen.append(items)", "seen.extend(items)"));
    const { code, stdout } = await replayed(path);
    expect(code).toBe(1);
    expect(stdout).toMatch(/The same findings as on record \(1 high\), but \d differences? on the way:/);
    expect(stdout).toMatch(
      /- review, turn 1: another answer of read_file_part \{"file_path":"cart\.py"\}\n {4}then {3}2\| {4}seen\.extend\(items\)\n {4}today {2}2\| {4}seen\.append\(items\)\n/,
    );
  });

  it("takes secrets out of what it prints, in whatever form", async () => {
    const secret = ["ghp", "x7Qm2RtKp9LsVb4NcYw8ZdHf3GjTa6EuXq1B"].join("_");
    const path = altered((_, text) => text.replace("seen.append(items)", `seen = ${secret}`));
    for (const format of ["pretty", "json"] as const) {
      const { code, stdout } = await replayed(path, { format });
      expect(code).toBe(1);
      expect(stdout).toContain("seen.append(items)");
      expect(stdout).not.toContain(secret.slice(4, 20));
    }
  });

  it("tells that the model was told something else", async () => {
    const path = altered((line, text) =>
      line.loop === "review" ? text.replace("You review", "You read") : text,
    );
    const { code, stdout } = await replayed(path);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /- review: the model is told something else, from line 1 on, 1 line for 1\n {4}then {3}You read a pull/,
    );
  });

  it("tells of findings that are missing, new or others by now", async () => {
    const path = altered((line) => {
      if (line.kind !== "result") return line;
      const text = JSON.stringify(line);
      const other = JSON.parse(text.replaceAll('"line":1,', '"line":9,'));
      const [placed] = other.result.findings;
      const gone = { ...placed, finding: { ...placed.finding, id: "ffffffffffff", title: "Gone" } };
      return { ...other, result: { ...other.result, findings: [placed, gone] } };
    });
    const { code, stdout } = await replayed(path);
    expect(code).toBe(1);
    expect(stdout).toContain("2 differences:\n");
    expect(stdout).toContain("- cart.py:9 The list is shared by all calls: another line\n");
    expect(stdout).toContain("- not found today: cart.py:9 Gone\n");
  });

  it("leaves unchecked what nobody is on record to have checked", async () => {
    const path = altered((line) => (String(line.loop).startsWith("verify:") ? null : line));
    const { code, stdout } = await replayed(path);
    expect(code).toBe(1);
    expect(stdout.replaceAll(/\s+/g, " ")).toMatch(/The list is shared by all calls: another .*verification/);
    expect(stdout).toMatch(/- verify:\w+: ended with not there on record/);
  });
});

describe("a record that is none, or not all of one", () => {
  it("of a run that was killed is played to its end", async () => {
    const path = altered((line) => (["result", "ended"].includes(line.kind) ? null : line));
    const { code, stdout } = await replayed(path);
    expect(code).toBe(0);
    expect(stdout).toContain("The record ends before a result. Played to its end today: findings 1 high;");
  });

  it("may end in half a line", async () => {
    writeFileSync(join(folder.path, "half.jsonl"), `${readFileSync(file, "utf8")}{"kind":"tur`);
    expect((await replayed(join(folder.path, "half.jsonl"))).code).toBe(0);
  });

  it.each([
    ["is no JSON", () => "something else", /:3 is no line of a record/],
    [
      "has a turn without a model",
      () => '{"kind":"turn","loop":"review","turn":1,"at":1,"claim":1}',
      /:3 is no line/,
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
      message: expect.stringContaining("holds no review"),
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
