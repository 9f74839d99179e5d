import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqliteStores } from "../../../src/server/queue/stores.ts";
import { weekOf } from "../../../src/server/queue/usage.ts";
import { reviewJob } from "../../contract/jobs.ts";
import { TempFolder } from "../../support/git-repo.ts";
import { runCli } from "../../support/run-cli.ts";

let folder: TempFolder;
beforeEach(() => {
  folder = new TempFolder("report");
});
afterEach(() => folder.dispose());

/** One merged pull request of a repository, with a review, a fixed finding and a dismissed one. */
async function history(name: string, id: number): Promise<void> {
  const stores = openSqliteStores(folder.path);
  const { task } = reviewJob(5);
  const repository = { installation: 1, id, owner: "octo", name };
  await stores.queue.enqueue({
    ...reviewJob(5),
    task: { ...task, repository } as typeof task,
    concurrencyKey: `${id}#5`,
  });
  const job = await stores.queue.claim("worker", 30_000);
  if (!job) throw new Error("no job to claim");
  const turn = {
    model: "gpt-6.1-sol",
    promptTokens: 90_000,
    cachedTokens: 50_000,
    completionTokens: 2_000,
    costUsd: 0.31,
  };
  await stores.spending.charge({ job: job.id, installation: 1, repository: id, pull: 5 }, turn, Date.now());
  const figures = {
    head: "b".repeat(40),
    hunksTotal: 4,
    hunksServed: 4,
    isComplete: true,
    findings: 2,
    posted: 2,
  };
  await stores.queue.complete(job, { kind: "done", reason: "2 posted", figures });
  const finding = (key: string, state: "fixed" | "dismissed", rule: string | null) => ({
    figure: {
      ...{
        key,
        id: `id${key}`,
        comment: Number(key),
        place: "comment" as const,
        severity: "high",
        category: "data",
      },
      ...{ source: "model", rule, state, dismissal: null, thumbs: { up: 1, down: 0 } },
    },
    words: null,
  });
  await stores.figures.write({
    ...{
      installation: 1,
      repository: id,
      pull: 5,
      state: "merged",
      closedAt: Date.now(),
      deleted: [],
      settled: null,
    },
    findings: [finding("1", "fixed", null), finding("2", "dismissed", "=cmd|money")],
  });
  await stores.close();
}

const report = (...args: string[]) =>
  runCli(["report", ...args], { env: { HUNKWISE_DATA_DIR: folder.path } });

describe("The command report", () => {
  it("The report says what the last weeks cost and brought, for all repositories and for each", async () => {
    await history("shop", 1);
    await history("bank", 2);
    const { code, stdout } = await report();
    expect(code).toBe(0);
    expect(stdout).toContain("2 reviews: 0 quiet; ");
    expect(stdout).toContain("Cost: $0.62 for 184,000 tokens.");
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(
      "Of the 4 in merged ones: 2 fixed, 2 dismissed, 0 ignored, 0 unclear, 0 withdrawn.",
    );
    const table = stdout.split("\n").filter((line) => /^(REPOSITORY|octo\/)/.test(line));
    expect(table.map((line) => line.split(/ {2,}/))).toEqual([
      [
        "REPOSITORY",
        "REVIEWS",
        "QUIET",
        "TOKENS",
        "COST",
        "MERGED",
        "FINDINGS",
        "FIXED",
        "DISMISSED",
        "IGNORED",
        "UNCLEAR",
        "THUMBS",
      ],
      ["octo/bank", "1", "0", "92,000", "$0.31", "1", "2", "1", "1", "0", "0", "+2 -0"],
      ["octo/shop", "1", "0", "92,000", "$0.31", "1", "2", "1", "1", "0", "0", "+2 -0"],
    ]);
  });

  it("The report has the same figures as JSON and as CSV, of one repository", async () => {
    await history("shop", 1);
    await history("bank", 2);
    const json = JSON.parse((await report("--format", "json", "--repository", "OCTO/Shop")).stdout);
    expect(json.totals).toMatchObject({
      reviews: 1,
      cost_usd: 0.31,
      delivered: 2,
      fixed: 1,
      dismissed: 1,
      merged: 1,
    });
    expect(json.weeks.at(-1)).toMatchObject({ week: weekOf(Date.now()), reviews: 1 });
    expect(json.models).toEqual([
      {
        ...{
          model: "gpt-6.1-sol",
          turns: 1,
          prompt_tokens: 90_000,
          cached_tokens: 50_000,
          completion_tokens: 2_000,
        },
        ...{ cost_usd: 0.31, unpriced: 0 },
      },
    ]);
    const csv = (
      await report("--format", "csv", "--by", "rule", "--since", "7d", "--repository", "octo/shop")
    ).stdout;
    expect(csv.split("\r\n")).toEqual([
      "rule,delivered,fixed,dismissed,ignored,unclear,withdrawn,unmerged,thumbs_up,thumbs_down",
      "'=cmd|money,1,0,1,0,0,0,0,1,0",
      "",
    ]);
  });

  it("The report says what each number means, and that there is nothing", async () => {
    await openSqliteStores(folder.path).close();
    const { stdout } = await report("--definitions");
    expect(stdout).toContain("No review ended in this time.");
    expect(stdout).toContain("- Ignored: Open at the merge");
  });

  it.each([
    [["--since", "soon"], "--since is 'soon', which is not a number of days"],
    [["--repository", "octo/none"], "no review of the repository 'octo/none' is on record"],
  ])("The report refuses %j", async (args, why) => {
    await openSqliteStores(folder.path).close();
    const { code, stderr } = await report(...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(why)]);
  });

  it("The report needs a server", async () => {
    const { code, stderr } = await report();
    expect([code, stderr]).toEqual([2, expect.stringContaining("there is no server in this environment")]);
  });
});
