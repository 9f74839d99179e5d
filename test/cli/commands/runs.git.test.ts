import { existsSync, mkdirSync, readdirSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type RunRow, renderRuns } from "../../../src/cli/commands/runs.ts";
import { localRunIds, newRunId, openRunRecord, prepareRunsFolder } from "../../../src/cli/run-record.ts";
import { readRunsPlace } from "../../../src/config/server-env.ts";
import { columns } from "../../../src/report/terminal-style.ts";
import { TempFolder } from "../../support/git-repo.ts";
import { runCli } from "../../support/run-cli.ts";

const day = 86_400_000;
const at = new Date("2026-11-22T20:00:00Z");
const row = (over: Partial<RunRow> = {}): RunRow => ({
  ...{ id: "20261122-200000-0a1b2c", source: "local", task: "review", repository: "/src/shop", pull: null },
  ...{
    requested_by: null,
    range: "main...topic",
    began_at: at.toISOString(),
    ended_at: null,
    state: "unfinished",
    reason: null,
  },
  ...{ findings: null, tokens: null, cost_usd: null },
  ...over,
});

let folder: TempFolder;
beforeEach(() => {
  folder = new TempFolder("runs");
});
afterEach(() => folder.dispose());

async function leave(
  time: Date,
  end: boolean,
  repository = "/src/shop",
  range = "main...topic",
): Promise<void> {
  const places = { repository, folder: join(folder.path, "runs"), keepMs: 30 * day };
  await using record = await openRunRecord(places, range, { now: () => time });
  if (end) await record.append({ kind: "ended", outcome: "done", reason: "2 findings" });
}

describe("The command runs", () => {
  const run = (...args: string[]) => runCli(["runs", ...args], { env: { HUNKWISE_DATA_DIR: folder.path } });

  it("The list cuts nothing in a pipe", async () => {
    const range = `main...${"long-".repeat(40)}topic`;
    await leave(at, true, "/src/shop", range);
    expect((await run()).stdout).toContain(`  review  done   ${range}\n`);
  });

  it("The list finds runs of a folder by any path from the current one", async () => {
    const here = realpathSync(folder.path);
    await leave(at, true, here);
    await leave(at, true, "/src/other");
    const env = { HUNKWISE_DATA_DIR: folder.path };
    for (const [cwd, named] of [
      [here, "."],
      [here, "./"],
      [here, `../${basename(here)}`],
      [dirname(here), basename(here)],
      ["/", `${here}/`],
    ] as const) {
      const { stdout } = await runCli(["runs", "--repository", named, "--json"], { cwd, env });
      expect(JSON.parse(stdout)).toMatchObject([{ repository: here }]);
    }
  });

  it("The list has the newest run first, and only those of one repository on request", async () => {
    await leave(at, true);
    await leave(new Date(at.getTime() + 60_000), false, "/src/other");
    const { code, stdout } = await run("--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([
      { repository: "/src/other", state: "unfinished", ended_at: null },
      { repository: "/src/shop", state: "done", reason: "2 findings", range: "main...topic" },
    ]);
    const one = await run("--repository", "/src/shop", "--limit", "5");
    expect(one.stdout.trimEnd().split("\n")).toHaveLength(2);
    expect(one.stdout).toMatch(
      /20261122-200000-\w{6} {2}2026-11-22 20:00 {2}review {2}done {3}main\.\.\.topic\n$/,
    );
  });

  it("The list shows a damaged record as unreadable", async () => {
    await leave(at, true);
    const id = "20261122-210000-ffffff";
    writeFileSync(join(folder.path, "runs", `${id}.jsonl`), "{}\n");
    const { stdout } = await run("--json");
    expect(JSON.parse(stdout)).toMatchObject([
      {
        id,
        state: "unreadable",
        began_at: "2026-11-22T21:00:00.000Z",
        reason: expect.stringContaining(":1 is not a valid line"),
      },
      { state: "done" },
    ]);
    expect((await run("--repository", "/src/shop")).stdout).not.toContain(id);
    expect(await run(id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(":1 is not a valid line"),
    });
  });

  it("A run is shown without the key of its pull request, whichever version began it", async () => {
    const places = { repository: ".", folder: join(folder.path, "runs"), keepMs: 30 * day };
    const shas = { head: "a".repeat(40), base: "b".repeat(40), mergeBase: "b".repeat(40) };
    {
      await using record = await openRunRecord(places, "main...topic", { now: () => at });
      const input = { of: "another version", history: { key: "the-key", more: 1 } };
      await record.append({ kind: "run", shas, input });
    }
    const { stdout } = await run("2026");
    expect(stdout).not.toContain("the-key");
    expect(JSON.parse(stdout)).toMatchObject({
      run: { range: "main...topic" },
      commits: { head: shas.head },
    });
    expect((await run("2026", "--export", "-")).stdout).toContain("the-key");
  });

  it("A run is shown without secrets and escape sequences", async () => {
    const secret = ["ghp", "x7Qm2RtKp9LsVb4NcYw8ZdHf3GjTa6EuXq1B"].join("_");
    const hostile = `token = "${secret}" \u001b[2J\u202e`;
    const places = { repository: ".", folder: join(folder.path, "runs"), keepMs: 30 * day };
    {
      await using record = await openRunRecord(places, hostile, { now: () => at });
      const usage = { requests: 1, prompt_tokens: 1, cached_tokens: 0, completion_tokens: 1, cost_usd: null };
      const result = { text: hostile, model: "m", stop_reason: "finished", usage };
      await record.append({ kind: "note", page: hostile, content: hostile, answer: "done" });
      await record.append({ kind: "result", head: "h", base: "b", result });
      await record.append({ kind: "wrote", request: hostile, id: null, url: hostile });
      await record.append({ kind: "ended", outcome: "done", reason: hostile });
    }
    for (const args of [[], ["--json"], ["2026"]]) {
      const { code, stdout } = await run(...args);
      expect(code).toBe(0);
      expect(stdout).toContain("token");
      expect(stdout).not.toContain(secret.slice(4, 20));
      expect(stdout).not.toMatch(/[[\p{Cc}\p{Cf}]--[\n]]/v);
    }
  });

  it("The command names a wrong argument, and the remedy", async () => {
    // Somebody's repository, with something in it for whoever looks.
    mkdirSync(join(folder.path, ".hunkwise"));
    writeFileSync(join(folder.path, ".hunkwise", "queue.db"), "hostile");
    const here = await runCli(["runs"], { cwd: folder.path });
    expect(here).toMatchObject({ code: 0, stdout: "No run is on record.\n", stderr: "" });
    const { code, stderr } = await run("2026");
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(
        /no run has an id that begins with '2026'\. To list the runs on record, use hunkwise runs/,
      ),
    });
    expect(await run("--export", "run.jsonl")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--export needs the ID of a run"),
    });
  });
});

describe("The table of runs", () => {
  it("The table fits the terminal, whatever a run is about, and keeps its columns", () => {
    const long = row({
      pull: 7,
      repository: `octo/${"shop".repeat(30)}`,
      state: "superseded",
      tokens: 1_234_567,
    });
    for (const width of [80, 120]) {
      const lines = renderRuns([row(), long], { color: false, width }).trimEnd().split("\n");
      expect(lines.filter((line) => columns(line) > width)).toEqual([]);
      expect(lines[2]).toMatch(/ review {2}superseded {2}1,234,567 {2}octo.*…$/);
      expect(new Set(lines.slice(1).map((line) => line.indexOf("  review  "))).size).toBe(1);
    }
  });

  it("The table shows no hostile name as it is", () => {
    const text = renderRuns([row({ range: "main...\u001b[2Jx\u202e" })], { color: false, width: 120 });
    expect(text).not.toMatch(/[[\p{Cc}\p{Cf}]--[\n]]/v);
  });
});

describe("The folder of local runs", () => {
  it("The folder is this user's alone, keeps records for their time, and never touches other files", async () => {
    const runs = join(folder.path, "runs");
    await leave(new Date(at.getTime() - 31 * day), true);
    await leave(new Date(at.getTime() - 29 * day), true);
    writeFileSync(join(runs, "mine.jsonl"), "");
    await leave(at, true);
    expect((await localRunIds(runs)).map((id) => id.slice(0, 8))).toEqual(["20261122", "20261024"]);
    expect(readdirSync(runs)).toContain("mine.jsonl");
    const modes = [runs, join(runs, `${(await localRunIds(runs))[0]}.jsonl`)].map(
      (path) => statSync(path).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o600]);
  });

  it("The folder has the newest five hundred records at most", async () => {
    const runs = join(folder.path, "runs");
    mkdirSync(runs);
    for (let n = 0; n < 505; n++)
      writeFileSync(join(runs, `${newRunId(new Date(at.getTime() + n * 1_000))}.jsonl`), "");
    const all = await localRunIds(runs);
    await prepareRunsFolder(runs, 30 * day, new Date(at.getTime() + 600_000));
    expect(await localRunIds(runs)).toEqual(all.slice(0, 499));
  });

  it("A folder that cannot be written costs nobody a review", async () => {
    writeFileSync(join(folder.path, "file"), "");
    const data = join(folder.path, "file");
    const places = { repository: ".", folder: join(data, "runs"), keepMs: day };
    const warnings: string[] = [];
    const warn = (text: string) => warnings.push(text);
    await using record = await openRunRecord(places, "main...topic", { warn });
    await expect(record.append({ kind: "ended", outcome: "done", reason: "" })).resolves.toBeUndefined();
    expect(existsSync(places.folder)).toBe(false);
    const remedy = "Set HUNKWISE_DATA_DIR to a folder that you can write to.";
    expect(warnings).toEqual([`no record of this run is kept: ${data} cannot be written. ${remedy}`]);
    await using _ = await openRunRecord({ ...places, folder: null }, "main...topic", { warn });
    expect(warnings.slice(1)).toEqual([`no record of this run is kept: there is no home folder. ${remedy}`]);
    await using __ = await openRunRecord({ ...places, folder: undefined }, "main...topic", { warn });
    expect(warnings).toHaveLength(2);
  });
});

describe("The place of a server's runs", () => {
  const data = () => ({ HUNKWISE_DATA_DIR: folder.path });

  it("An environment that is not a server's has no place, whatever else it contains", () => {
    expect(readRunsPlace({})).toBeNull();
    expect(readRunsPlace({ DATABASE_URL: "postgres://elsewhere/x" })).toBeNull();
    expect(readRunsPlace({ ...data(), DATABASE_URL: "postgres://elsewhere/x" })).toBeNull();
  });

  it("The place is the file of the data folder, or the database of an App", () => {
    writeFileSync(join(folder.path, "queue.db"), "");
    expect(readRunsPlace(data())).toEqual({ databaseUrl: null, dataFolder: folder.path });
    const url = "postgres://hunkwise@db/hunkwise";
    expect(readRunsPlace({ ...data(), APP_ID: "1", DATABASE_URL: url })).toMatchObject({ databaseUrl: url });
    expect(() => readRunsPlace({ ...data(), APP_ID: "1", DATABASE_URL: "mysql://x" })).toThrow(
      /DATABASE_URL must be/,
    );
  });
});
