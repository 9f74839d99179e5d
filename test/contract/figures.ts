import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Insights, type Line, readInsights } from "../../src/server/figures/insights.ts";
import type { FindingFigure, PullFigures } from "../../src/server/queue/figures.ts";
import type { ClaimedJob, JobOutcome, RepositoryRef } from "../../src/server/queue/job.ts";
import { recountJob } from "../../src/server/queue/job.ts";
import { openReader, type Reader } from "../../src/server/queue/reader.ts";
import type { Stores } from "../../src/server/queue/stores.ts";
import { weekOf } from "../../src/server/queue/usage.ts";
import { leaseMs, reviewJob } from "./jobs.ts";
import { dataOfTests, type StoresUnderTest } from "./suite.ts";

const hour = 3_600_000;
const day = 24 * hour;
const monday = Date.UTC(2026, 10, 2);
const severities = ["critical", "high", "low"] as const;
const states = ["open", "outdated", "fixed", "withdrawn", "dismissed"] as const;

interface History {
  runs: {
    repository: number;
    pull: number;
    at: number;
    ms: number;
    end: "published" | "skipped" | "failed" | "answered";
    posted: number;
    turns: (number | null)[];
  }[];
  pulls: {
    repository: number;
    pull: number;
    /** How it ended, each time that it did: it may be opened again. */
    ends: { state: PullFigures["state"]; at: number }[];
    findings: {
      severity: (typeof severities)[number];
      rule: string | null;
      state: FindingFigure["state"];
      up: number;
      down: number;
    }[];
  }[];
}

const time = fc.integer({ min: 0, max: 28 * 24 - 1 }).map((hours) => monday + hours * hour);
const repository = fc.constantFrom(1, 2, 3);
const history: fc.Arbitrary<History> = fc.record({
  runs: fc.array(
    fc.record({
      repository,
      pull: fc.integer({ min: 1, max: 9 }),
      at: time,
      ms: fc.integer({ min: 0, max: 5 * hour }),
      end: fc.constantFrom("published", "skipped", "failed", "answered"),
      posted: fc.integer({ min: 0, max: 3 }),
      turns: fc.array(fc.option(fc.integer({ min: 1, max: 9 })), { maxLength: 3 }),
    }),
    { maxLength: 8 },
  ),
  pulls: fc.uniqueArray(
    fc.record({
      ...{ repository, pull: fc.integer({ min: 1, max: 99 }) },
      ends: fc.array(fc.record({ state: fc.constantFrom("open", "closed", "merged"), at: time }), {
        minLength: 1,
        maxLength: 3,
      }),
      findings: fc.array(
        fc.record({
          severity: fc.constantFrom(...severities),
          rule: fc.constantFrom(null, "no-print", "money"),
          state: fc.constantFrom(...states),
          up: fc.nat(3),
          down: fc.nat(3),
        }),
        { maxLength: 6 },
      ),
    }),
    { selector: ({ repository, pull }) => `${repository}#${pull}`, maxLength: 8 },
  ),
});

/** The same figures by plain counting over the history, without a database. */
function counted({ runs, pulls }: History, seen: ReadonlySet<number>, from: string, to: string) {
  const isIn = (at: number) => weekOf(at) >= from && weekOf(at) <= to;
  const ofRuns = runs.filter((run) => seen.has(run.repository) && isIn(run.at + run.ms));
  const published = ofRuns.filter(({ end }) => end === "published");
  const paid = runs.filter((run) => seen.has(run.repository) && isIn(run.at)).flatMap(({ turns }) => turns);
  const closed = pulls.flatMap(({ ends, ...pull }) => {
    const last = ends.at(-1);
    return last && last.state !== "open" && seen.has(pull.repository) && isIn(last.at)
      ? [{ ...pull, state: last.state }]
      : [];
  });
  const outcomes = (is: (finding: History["pulls"][number]["findings"][number]) => boolean) => {
    const all = closed.flatMap(({ findings, state }) =>
      findings.filter(is).map((one) => ({ ...one, merged: state === "merged" })),
    );
    const became = (state: string) => all.filter((one) => one.merged && one.state === state).length;
    const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((total, one) => total + of(one), 0);
    return {
      delivered: all.length,
      fixed: became("fixed"),
      dismissed: became("dismissed"),
      ignored: became("open"),
      unclear: became("outdated"),
      withdrawn: became("withdrawn"),
      unmerged: all.filter(({ merged }) => !merged).length,
      ...{ thumbs_up: sum(({ up }) => up), thumbs_down: sum(({ down }) => down) },
    };
  };
  const totals: Line = {
    ...outcomes(() => true),
    reviews: published.length,
    quiet: published.filter(({ posted }) => posted === 0).length,
    complete: published.length,
    skipped: ofRuns.filter(({ end }) => end === "skipped").length,
    failed: ofRuns.filter(({ end }) => end === "failed").length,
    other: ofRuns.filter(({ end }) => end === "answered").length,
    turns: paid.length,
    prompt_tokens: paid.length * 100,
    cached_tokens: paid.length * 40,
    completion_tokens: paid.length * 7,
    cost_usd: paid.reduce<number>((sum, one) => sum + (one ?? 0), 0),
    unpriced: paid.filter((one) => one === null).length,
    merged: closed.filter(({ state }) => state === "merged").length,
    closed: closed.filter(({ state }) => state === "closed").length,
  };
  const ranked = (values: number[]) => {
    const sorted = values.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
    return { median_ms: at(0.5), p90_ms: at(0.9) };
  };
  return {
    totals,
    bySeverity: severities
      .map((value) => ({ value, ...outcomes(({ severity }) => severity === value) }))
      .filter(({ delivered }) => delivered > 0),
    byRule: ["no-print", "money"]
      .map((value) => ({ value, ...outcomes(({ rule }) => rule === value) }))
      .filter(({ delivered }) => delivered > 0),
    times:
      published.length === 0
        ? null
        : { waiting: ranked(published.map(() => 0)), running: ranked(published.map(({ ms }) => ms)) },
  };
}

const byValue = (rows: NonNullable<Insights["by"]>["rule"]) => new Map(rows.map((row) => [row.value, row]));

/** Figures: what is counted when things happen, and what the insights make of it. */
export function describeFigures(create: () => StoresUnderTest): void {
  const data = dataOfTests(create);
  let stores: Stores;
  let reader: Reader;
  let now: number;

  beforeEach(async () => {
    now = monday;
    stores = await data.open({ now: () => now });
    reader = await openReader(await data.place());
  });
  afterEach(async () => {
    await reader.close();
  });

  const of = (id: number): RepositoryRef => ({ installation: 1, id, owner: "octo", name: `shop${id}` });

  async function claimed(id: number, pull: number, kind: "review" | "help" = "review"): Promise<ClaimedJob> {
    const { task } = reviewJob(pull);
    const ref = { repository: of(id), pull };
    const help = {
      kind: "command",
      command: { name: "help" },
      commentId: 1,
      writtenAt: "2026-01-01T00:01:00Z",
      thread: null,
      requestedBy: "ada",
      headSha: null,
    } as const;
    await stores.queue.enqueue({
      ...{ task: kind === "help" ? { ...help, ...ref } : ({ ...task, ...ref } as typeof task) },
      ...{ concurrencyKey: `${id}#${pull}`, coalesce: false, priority: 0 },
    });
    const job = await stores.queue.claim("worker", leaseMs);
    if (!job) throw new Error("no job to claim");
    return job;
  }

  async function pay(job: ClaimedJob, id: number, pull: number, costUsd: number | null): Promise<void> {
    const turn = { model: "m", promptTokens: 100, cachedTokens: 40, completionTokens: 7, costUsd };
    await stores.spending.charge({ installation: 1, repository: id, pull, job: job.id }, turn, now);
  }

  const published = (posted: number): JobOutcome => ({
    ...{ kind: "done", reason: "reviewed" },
    figures: {
      head: "b".repeat(40),
      hunksTotal: 4,
      hunksServed: 4,
      isComplete: true,
      findings: posted,
      posted,
    },
  });
  const endOf = ({ end, posted }: History["runs"][number]): JobOutcome =>
    end === "published"
      ? published(posted)
      : { kind: end === "answered" ? "done" : end, reason: "the model said: secret" };

  function figures(id: number, pull: number, over: Partial<PullFigures> = {}): PullFigures {
    return {
      installation: 1,
      repository: id,
      pull,
      state: "open",
      closedAt: null,
      findings: [],
      deleted: [],
      settled: [],
      ...over,
    };
  }
  const finding = (key: string, over: Partial<FindingFigure> = {}): PullFigures["findings"][number] => ({
    figure: {
      key,
      id: `id-${key}`,
      comment: Number(key) || null,
      place: "comment",
      severity: "high",
      category: "data",
      ...{ source: "model", rule: null, state: "open", dismissal: null, thumbs: { up: 0, down: 0 }, ...over },
    },
    words: { title: `Title ${key}`, path: "src/a.ts", line: 3, url: null, reason: null },
  });
  const rows = async (sql: string) => (await reader.run(sql)).rows;

  it("The figures of a run hold its task, times and cost, and no text but a skip's reason", async () => {
    const job = await claimed(1, 5);
    now += 3_000;
    await pay(job, 1, 5, 0.25);
    await pay(job, 1, 5, null);
    await stores.queue.complete(job, published(2));
    const skipped = await claimed(1, 6);
    await stores.queue.complete(skipped, { kind: "skipped", reason: "it is a draft" });
    const failed = await claimed(1, 7);
    await stores.queue.complete(failed, { kind: "failed", reason: "the model said: secret" });
    expect(await rows("SELECT * FROM run ORDER BY seq")).toMatchObject([
      {
        id: job.id,
        installation: 1,
        repository: 1,
        pull: 5,
        kind: "review",
        origin: "event",
        requested_by: null,
        head: "b".repeat(40),
        outcome: "done",
        reason: null,
        attempts: 1,
        stored_at: monday,
        ended_at: monday + 3_000,
        ...{ hunks_total: 4, hunks_served: 4, is_complete: 1, findings: 2, posted: 2 },
        turns: 2,
        prompt_tokens: 200,
        cached_tokens: 80,
        completion_tokens: 14,
        cost_usd: 0.25,
        unpriced: 1,
      },
      { id: skipped.id, outcome: "skipped", reason: "it is a draft", posted: null, turns: 0 },
      { id: failed.id, outcome: "failed", reason: null },
    ]);
    expect(await rows("SELECT owner, name FROM repository")).toEqual([{ owner: "octo", name: "shop1" }]);
  });

  it("A run that ends twice is counted once", async () => {
    const job = await claimed(1, 5);
    await stores.queue.complete(job, published(0));
    expect(await stores.queue.complete(job, published(0))).toBe(false);
    expect(await rows("SELECT reviews, quiet FROM run_week")).toEqual([{ reviews: 1, quiet: 1 }]);
    expect(await rows("SELECT count(*) AS runs FROM run")).toEqual([{ runs: 1 }]);
  });

  it("A withdrawn finding is not fixed later, and a deleted comment dismisses its finding", async () => {
    const write = (over: Partial<PullFigures>) => stores.figures.write(figures(1, 5, over));
    await write({ findings: [finding("1"), finding("2"), finding("3")] });
    now += day;
    await write({
      findings: [
        finding("1", { state: "withdrawn" }),
        finding("2", { state: "fixed", thumbs: { up: 2, down: 1 } }),
      ],
      deleted: ["id-3"],
    });
    now += day;
    await write({
      findings: [
        finding("1", { state: "fixed", thumbs: null }),
        finding("2", { state: "fixed", thumbs: null }),
      ],
    });
    expect(
      await rows(
        "SELECT key, state, dismissed_how, thumbs_up, thumbs_down, delivered_at, decided_at FROM finding ORDER BY key",
      ),
    ).toEqual([
      {
        key: "1",
        state: "withdrawn",
        dismissed_how: null,
        thumbs_up: 0,
        thumbs_down: 0,
        delivered_at: monday,
        decided_at: monday + day,
      },
      {
        key: "2",
        state: "fixed",
        dismissed_how: null,
        thumbs_up: 2,
        thumbs_down: 1,
        delivered_at: monday,
        decided_at: monday + day,
      },
      {
        key: "3",
        state: "dismissed",
        dismissed_how: "deleted",
        thumbs_up: 0,
        thumbs_down: 0,
        delivered_at: monday,
        decided_at: monday + day,
      },
    ]);
  });

  it("A finding without a comment is fixed when it is settled, and otherwise stays open", async () => {
    const listed = (key: string) => finding(key, { place: "summary", comment: null });
    await stores.figures.write(figures(1, 5, { findings: [listed("a"), listed("b"), listed("c")] }));
    await stores.figures.write(
      figures(1, 5, { findings: [listed("a")], settled: [{ title: "Title b", path: "src/a.ts" }] }),
    );
    expect(await rows("SELECT key, state FROM finding ORDER BY key")).toEqual([
      { key: "a", state: "open" },
      { key: "b", state: "fixed" },
    ]);
    await stores.figures.write(figures(1, 5, { settled: null }));
    expect(await rows("SELECT count(*) AS kept FROM finding")).toEqual([{ kept: 2 }]);
  });

  it("Figures are purged with age, texts earlier, and deleted with their repository", async () => {
    for (const id of [1, 2]) {
      const job = await claimed(id, 5);
      await pay(job, id, 5, 1);
      await stores.queue.complete(job, published(1));
      await stores.figures.write(
        figures(id, 5, { state: "merged", closedAt: now, findings: [finding("1")] }),
      );
    }
    const counts = async () => {
      const tables = [
        "run",
        "finding",
        "finding_text",
        "pull",
        "outcome_week",
        "model_week",
        "run_week",
        "repository",
      ];
      const found = await Promise.all(
        tables.map(async (table) => (await rows(`SELECT count(*) AS n FROM ${table}`))[0]?.n),
      );
      return Object.fromEntries(tables.map((table, at) => [table, found[at]]));
    };
    now += 20 * day;
    await stores.queue.purge(10 * day, 30 * day);
    expect(await counts()).toMatchObject({ run: 2, finding: 2, finding_text: 0, pull: 2, run_week: 2 });
    await stores.queue.forget(1, [1]);
    expect(await counts()).toMatchObject({
      run: 1,
      finding: 1,
      pull: 1,
      model_week: 1,
      run_week: 1,
      repository: 1,
    });
    now += 20 * day;
    await stores.queue.purge(10 * day, 30 * day);
    expect(await counts()).toMatchObject({
      run: 0,
      finding: 0,
      pull: 0,
      outcome_week: 0,
      model_week: 0,
      run_week: 0,
    });
    await stores.queue.forget(1, null);
    expect((await counts()).repository).toBe(0);
  });

  it("Figures that a run left during a deletion go with the next deletion", async () => {
    const job = await claimed(1, 5);
    expect(await stores.queue.forget(1, [1])).toEqual({ running: 1 });
    await pay(job, 1, 5, 1);
    await stores.figures.write(figures(1, 5, { findings: [finding("1")] }));
    await stores.queue.complete(job, published(1));
    expect(await stores.queue.forget(1, [1])).toEqual({ running: 0 });
    for (const table of ["job", "run", "finding", "pull", "model_week", "run_week", "repository"])
      expect([table, ...(await rows(`SELECT count(*) AS n FROM ${table}`))]).toEqual([table, { n: 0 }]);
  });

  it("Recounted figures have the name of their repository, and are deleted with it", async () => {
    const only = { id: 1, owner: "octo", name: "shop" };
    await stores.queue.enqueue(recountJob({ installation: 1, only, since: 0 }));
    const merged = { state: "merged" as const, closedAt: now, findings: [finding("1")] };
    await stores.figures.write(figures(1, 5, merged));
    const week = weekOf(now);
    const { repositories } = await readInsights(reader.run, { repositories: null, from: week, to: week });
    expect(repositories).toMatchObject([{ id: 1, name: "octo/shop", delivered: 1 }]);
    await stores.queue.forget(1, [1]);
    expect(await rows("SELECT count(*) AS n FROM finding")).toEqual([{ n: 0 }]);
  });

  it("The insights of any history equal a plain count", async () => {
    let base = 0;
    await fc.assert(
      fc.asyncProperty(history, async (one) => {
        // A fresh history for each run: its repositories are others.
        base += 10;
        const shifted: History = {
          runs: one.runs.map((run) => ({ ...run, repository: run.repository + base })),
          pulls: one.pulls.map((pull) => ({ ...pull, repository: pull.repository + base })),
        };
        for (const run of shifted.runs) {
          now = run.at;
          const job = await claimed(run.repository, run.pull, run.end === "answered" ? "help" : "review");
          for (const cost of run.turns) await pay(job, run.repository, run.pull, cost);
          now = run.at + run.ms;
          await stores.queue.complete(job, endOf(run));
        }
        for (const { repository, pull, ends, findings } of shifted.pulls) {
          const last = findings.map(({ severity, rule, state, up, down }, at) =>
            finding(String(at + 1), { severity, rule, state, thumbs: { up, down } }),
          );
          await stores.figures.write(
            figures(repository, pull, { findings: findings.map((_, at) => finding(String(at + 1))) }),
          );
          for (const { state, at } of ends)
            await stores.figures.write(
              figures(repository, pull, { state, closedAt: state === "open" ? null : at, findings: last }),
            );
        }
        for (const seen of [[base + 1, base + 2, base + 3], [base + 2], []]) {
          const question = { repositories: seen, from: weekOf(monday), to: weekOf(monday + 14 * day) };
          const insights = await readInsights(reader.run, question);
          const expected = counted(shifted, new Set(seen), question.from, question.to);
          expect(insights.totals).toEqual(expected.totals);
          expect(byValue(insights.by?.severity ?? [])).toEqual(byValue(expected.bySeverity));
          expect(byValue(insights.by?.rule ?? [])).toEqual(byValue(expected.byRule));
          expect(insights.times).toEqual(expected.times);
          expect(insights.weeks.map(({ week }) => week)).toEqual(["2026-11-02", "2026-11-09", "2026-11-16"]);
          for (const part of [insights.weeks, insights.repositories])
            for (const name of ["delivered", "fixed", "reviews", "turns", "cost_usd", "merged"] as const)
              expect(part.reduce((sum, line) => sum + line[name], 0)).toBe(expected.totals[name]);
        }
      }),
      { numRuns: process.env.HUNKWISE_LONG === "1" ? 200 : 20 },
    );
  });

  it("The insights name what a repository dismisses often, and not what it fixes more often", async () => {
    const merged = { state: "merged", closedAt: monday } as const;
    const some = (count: number, from: number, over: Partial<FindingFigure>) =>
      Array.from({ length: count }, (_, at) => finding(String(from + at), { category: null, ...over }));
    const eval_ = { source: "ast-grep/py-eval" };
    const findings = [
      ...some(5, 1, { ...eval_, state: "dismissed" }),
      ...some(2, 10, { ...eval_, state: "fixed" }),
      ...some(1, 20, { ...eval_, state: "open" }),
      ...some(6, 30, { category: "docs", state: "dismissed" }),
      ...some(7, 40, { category: "docs", state: "fixed" }),
      ...some(4, 50, { rule: "money", state: "dismissed" }),
    ];
    await stores.figures.write(figures(1, 5, { ...merged, findings }));
    await stores.figures.write(
      figures(2, 5, { ...merged, findings: some(1, 1, { rule: "money", state: "dismissed" }) }),
    );
    const question = { repositories: [1, 2], from: weekOf(monday), to: weekOf(monday) };
    expect((await readInsights(reader.run, question)).often_dismissed).toEqual([
      {
        repository: "1",
        dimension: "source",
        value: "ast-grep/py-eval",
        dismissed: 5,
        fixed: 2,
        findings: 8,
      },
    ]);
  });

  it("A worker is listed until it ends or is silent for ten minutes", async () => {
    const names = async () => (await rows("SELECT name FROM worker ORDER BY name")).map(({ name }) => name);
    const worker = { version: "0.1.0", concurrency: 2, startedAt: monday };
    for (const name of ["a", "b", "c"]) await stores.queue.showWorker({ name, ...worker });
    await stores.queue.hideWorker("b");
    expect(await names()).toEqual(["a", "c"]);
    now += 9 * 60_000;
    await stores.queue.showWorker({ name: "c", ...worker });
    now += 2 * 60_000;
    await stores.queue.showWorker({ name: "d", ...worker });
    expect(await names()).toEqual(["c", "d"]);
  });
}
