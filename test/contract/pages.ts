import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Bounds,
  type Part,
  type Place,
  readPart,
  type Selection,
  type Table,
} from "../../src/pages/listing.ts";
import type { Viewer } from "../../src/pages/viewer.ts";
import type { Database, Parameters, Run } from "../../src/server/queue/database.ts";
import type { Reader } from "../../src/server/queue/reader.ts";
import { linkOf, operator, pagesOf, parseCsv, parsePage, person } from "../pages/rendered.ts";
import { seededId, seededRepository, seedHistory } from "../support/seeded-history.ts";

export interface DatabaseUnderTest {
  database: Database;
  reader: Reader;
  /** The lines of a plan, for a statement that prefers an index wherever there is one. */
  plan(sql: string, parameters: Parameters): Promise<string[]>;
  remove(): Promise<void>;
}

const time = Date.parse("2026-11-27T08:00:00Z");
const size = { runs: 900, repositories: 40, now: time, waiting: 40, active: 6, days: 90, recorded: 600 };
const repositories = Array.from({ length: size.repositories }, (_, index) => seededRepository(index));

type Row = Record<string, string | number | null>;

const every = (page: string) => `SELECT * FROM (${page}) AS page`;
const listed: Table = {
  name: "run",
  order: ["ended_at", "seq"],
  texts: [],
  select: every,
};
const found: Table = {
  ...{ name: "finding", order: ["delivered_at", "repository", "pull", "key"], texts: ["key"] },
  select: every,
};

/** The pages over what a server has on record, in either database. */
export function describePages(open: () => Promise<DatabaseUnderTest>): void {
  let under: DatabaseUnderTest;
  let run: Run;
  let runs: Row[];
  let findings: Row[];
  beforeAll(async () => {
    under = await open();
    run = under.reader.run;
    await seedHistory(under.database, size);
    runs = (await run("SELECT * FROM run ORDER BY ended_at DESC, seq DESC")).rows as Row[];
    findings = (
      await run("SELECT * FROM finding ORDER BY delivered_at DESC, repository DESC, pull DESC, key DESC")
    ).rows as Row[];
  });
  afterAll(() => under.remove());

  const textOf = async (viewer: Viewer, address: string) => {
    const answer = await pagesOf(run, viewer, time).request(address);
    return { status: answer.status, text: await answer.text() };
  };
  const csvOf = async (viewer: Viewer, address: string) =>
    parseCsv((await textOf(viewer, address)).text).slice(1);

  describe("a list", () => {
    const few = fc.uniqueArray(fc.integer({ min: 0, max: 39 }), { maxLength: 30 });
    const selections = fc.record({
      ids: fc.option(few.map((indexes) => indexes.map((index) => repositories[index]!.id))),
      since: fc.constantFrom(0, time - 30 * 86_400_000),
      until: fc.constantFrom(Number.MAX_SAFE_INTEGER, time - 10 * 86_400_000),
      isFiltered: fc.boolean(),
      isIndexed: fc.boolean(),
    });
    const bounds = fc.record({
      // More than the findings of one review, which were delivered at one time.
      scanned: fc.integer({ min: 100, max: 400 }),
      apart: fc.integer({ min: 0, max: 40 }),
    });

    /** All parts of a list, from its begin. */
    async function partsOf(table: Table, selection: Selection, pageSize: number, bound: Bounds) {
      const parts: Row[][] = [];
      let place: Place | null = null;
      for (let count = 0; count < 5_000; count++) {
        const part = await readPart(run, table, selection, place, pageSize, bound);
        expect(part.rows.length).toBeLessThanOrEqual(pageSize);
        parts.push(part.rows as Row[]);
        place = part.older;
        if (place === null) return parts;
      }
      throw new Error("the list does not end");
    }

    const cases = [
      { table: listed, rows: () => runs, filter: ["outcome", "failed"], indexed: ["pull", 1] },
      { table: found, rows: () => findings, filter: ["severity", "critical"], indexed: ["state", "open"] },
    ] as const;
    for (const { table, rows, filter, indexed } of cases)
      it(`A list of the table ${table.name} shows every row once and in order, whatever its bounds`, async () => {
        const [time_] = table.order;
        await fc.assert(
          fc.asyncProperty(
            selections,
            bounds,
            fc.integer({ min: 20, max: 400 }),
            async (given, bound, pageSize) => {
              const { ids, since, until, isFiltered, isIndexed } = given;
              const selection: Selection = {
                ...{ repositories: ids, since, until },
                filters: isFiltered ? [`${filter[0]} = :filter`] : [],
                indexed: isIndexed ? [`${indexed[0]} = :indexed`] : [],
                parameters: { filter: filter[1], indexed: indexed[1] },
              };
              const expected = rows().filter(
                (row) =>
                  (ids === null || ids.includes(Number(row.repository))) &&
                  Number(row[time_]) >= since &&
                  Number(row[time_]) < until &&
                  (!isFiltered || row[filter[0]] === filter[1]) &&
                  (!isIndexed || row[indexed[0]] === indexed[1]),
              );
              expect((await partsOf(table, selection, pageSize, bound)).flat()).toEqual(expected);
            },
          ),
          { numRuns: 25 },
        );
      });

    it("The address of the next page holds no row of another repository", async () => {
      const ids = repositories.slice(20, 23).map(({ id }) => id);
      const selection: Selection = {
        ...{ repositories: ids, since: 0, until: Number.MAX_SAFE_INTEGER, indexed: [], parameters: {} },
        filters: ["rule = 'never'"],
      };
      let place: Place | null = null;
      let parts = 0;
      for (; parts < 20; parts++) {
        const bounds = { scanned: 300, apart: 0 };
        const part: Part = await readPart(run, found, selection, place, 50, bounds);
        place = part.older;
        if (place === null) break;
        expect(place.slice(1)).toEqual([-1, -1, ""]);
      }
      expect(parts).toBeGreaterThan(1);
    });

    it("A list reads no more rows than its limit and says that it continues", async () => {
      const selection: Selection = {
        ...{ repositories: null, since: 0, until: Number.MAX_SAFE_INTEGER, indexed: [], parameters: {} },
        filters: ["kind = 'never'"],
      };
      const part = await readPart(run, listed, selection, null, 50, { scanned: 100, apart: 0 });
      expect(part).toMatchObject({ rows: [], isCutOff: true, older: [Number(runs[99]?.ended_at) + 1, -1] });
    });
  });

  describe("Reviews", () => {
    const filters: readonly (readonly [string, (row: Row) => boolean])[] = [
      ["", () => true],
      ["outcome=failed", ({ outcome }) => outcome === "failed"],
      ["kind=dry_run", ({ kind }) => kind === "dry_run"],
      ["repository=OCTO/Repo-1", ({ repository }) => repository === 1001],
      [
        "from=2026-10-01&to=2026-10-31",
        ({ ended_at }) => dayIn(ended_at) >= "2026-10-01" && dayIn(ended_at) <= "2026-10-31",
      ],
      ["q=%231", ({ pull }) => pull === 1],
      ["q=octo/repo-1", ({ repository }) => repository === 1001],
      ["q=@ANN", ({ requested_by }) => requested_by === "ann"],
      [
        "q=octo/repo-1&kind=review&outcome=done",
        (row) => row.repository === 1001 && row.kind === "review" && row.outcome === "done",
      ],
      ["repository=octo/repo-1&q=octo/repo-2", () => false],
      ["repository=nobody/nothing", () => false],
    ];
    const dayIn = (at: Row[string] | undefined) => new Date(Number(at)).toISOString().slice(0, 10);
    const viewers: readonly (readonly [string, Viewer])[] = [
      ["a person with 3 repositories", person(repositories.slice(0, 3))],
      ["a person with 30 repositories", person(repositories.slice(0, 30))],
      ["a person with none", person([])],
      ["an operator", operator()],
    ];
    for (const [who, viewer] of viewers)
      it(`The page Reviews shows ${who} what fits each filter, and nothing of other repositories`, async () => {
        const visible = new Set(viewer.repositories.map(({ id }) => id));
        for (const [query, fits] of filters) {
          const expected = runs.filter(
            (row) => (viewer.isOperator || visible.has(Number(row.repository))) && fits(row),
          );
          expect((await csvOf(viewer, `/reviews.csv?${query}`)).map(([id]) => id)).toEqual(
            expected.map(({ id }) => id),
          );
        }
      });

    it("The page Reviews finds a run by the beginning of its head", async () => {
      const { head, id, repository } = runs[5]!;
      const viewer = person([seededRepository(Number(repository) - 1001)]);
      const rows = await csvOf(viewer, `/reviews.csv?q=${String(head).slice(0, 12).toUpperCase()}`);
      expect(rows.map(([one]) => one)).toEqual([id]);
    });

    it("The pages of a list link to the next one until its end", async () => {
      const viewer = person(repositories.slice(0, 30));
      const expected = runs.filter(({ repository }) => Number(repository) <= 1030).map(({ id }) => id);
      const idsOn = (text: string) =>
        Array.from(text.matchAll(/href="\/reviews\/([^"?]+)"/g), ([, id]) => id);
      const pages: (string | undefined)[][] = [];
      let address: string | null = "/reviews?kind=";
      while (address !== null) {
        const { text } = await textOf(viewer, address);
        pages.push(idsOn(text));
        address = linkOf(parsePage(text), "next");
      }
      expect(pages.flat()).toEqual(expected);
    });

    it("An operator sees runs of a hidden repository without their reasons and records", async () => {
      const viewer = operator(repositories.slice(0, 1));
      const rows = await csvOf(viewer, "/reviews.csv?outcome=skipped");
      const reasons = Map.groupBy(rows, ([, , repository]) => repository === "octo/repo-1");
      expect(new Set(reasons.get(true)?.map((row) => row[9]))).toEqual(new Set(["its author is a bot"]));
      expect(new Set(reasons.get(false)?.map((row) => row[9]))).toEqual(new Set([""]));
      const { text } = await textOf(viewer, "/reviews?q=octo/repo-2");
      expect(text).toContain("octo/repo-2#");
      expect(text).not.toContain('href="/reviews/0');
    });

    it("The page Reviews ignores a malformed place in its address", async () => {
      const viewer = person(repositories.slice(0, 3));
      const { text } = await textOf(viewer, "/reviews");
      for (const place of ["x", "1", "1.x", "..", "9e99.1", "'; DROP TABLE run"]) {
        const other = await textOf(viewer, `/reviews?older=${encodeURIComponent(place)}`);
        expect(other.status).toBe(200);
        expect(parsePage(other.text).text.includes("Runs that have ended")).toBe(
          parsePage(text).text.includes("Runs that have ended"),
        );
      }
    });
  });

  describe("one review", () => {
    it("The page of a hidden run equals that of a missing one, even for an operator", async () => {
      const { id } = runs.find(({ repository }) => repository === 1001)!;
      const shown = await textOf(person(repositories.slice(0, 1)), `/reviews/${id}`);
      expect(shown.status).toBe(200);
      for (const viewer of [person(repositories.slice(1, 3)), operator()]) {
        const forbidden = await textOf(viewer, `/reviews/${id}`);
        const unknown = await textOf(viewer, `/reviews/${seededId(5_000_000)}`);
        expect(forbidden).toEqual(unknown);
        expect(forbidden.status).toBe(404);
      }
    });

    it("The page of a run that has not ended says where it is", async () => {
      const [row] = (await run("SELECT id, repository FROM job WHERE state = 'active' ORDER BY seq")).rows;
      const viewer = person(repositories);
      expect((await textOf(viewer, `/reviews/${row?.id}`)).text).toContain("This run is under way");
      const others = person(repositories.filter(({ id }) => id !== row?.repository));
      expect((await textOf(others, `/reviews/${row?.id}`)).status).toBe(404);
    });
  });

  describe("Findings", () => {
    it("The page Findings shows what fits each filter, and nothing of other repositories", async () => {
      const closed = new Map(
        (await run("SELECT * FROM pull")).rows.map((row) => [`${row.repository}#${row.number}`, row as Row]),
      );
      const pullOf = (row: Row) => closed.get(`${row.repository}#${row.pull}`);
      const filters: readonly (readonly [string, (row: Row) => boolean])[] = [
        ["", () => true],
        ["state=dismissed", ({ state }) => state === "dismissed"],
        [
          "severity=high&category=security",
          ({ severity, category }) => severity === "high" && category === "security",
        ],
        ["rule=no-sync-io", ({ rule }) => rule === "no-sync-io"],
        [
          "source=leftovers/debugger&state=fixed",
          ({ source, state }) => source === "leftovers/debugger" && state === "fixed",
        ],
        ["repository=octo/repo-1&pull=1", ({ repository, pull }) => repository === 1001 && pull === 1],
        ["pull_state=merged", (row) => pullOf(row)?.state === "merged"],
        [
          "closed_from=2026-10-05&closed_to=2026-10-19",
          (row) =>
            String(pullOf(row)?.closed_week ?? "") >= "2026-10-05" &&
            String(pullOf(row)?.closed_week ?? "~") <= "2026-10-19",
        ],
      ];
      for (const viewer of [
        person(repositories.slice(0, 3)),
        person(repositories.slice(0, 30)),
        operator(),
      ]) {
        const visible = new Set(viewer.repositories.map(({ id }) => id));
        for (const [query, fits] of filters) {
          const expected = findings.filter(
            (row) => (viewer.isOperator || visible.has(Number(row.repository))) && fits(row),
          );
          const rows = await csvOf(viewer, `/findings.csv?${query}`);
          expect(rows.map(([, pull, key]) => `${pull} ${key}`)).toEqual(
            expected.slice(0, 10_000).map(({ pull, key }) => `${pull} ${key}`),
          );
        }
      }
    });

    it("The page Findings shows titles only to people who see the repository", async () => {
      const viewer = operator(repositories.slice(0, 1));
      const rows = await csvOf(viewer, "/findings.csv?from=2026-11-01");
      const titles = Map.groupBy(rows, ([repository]) => repository === "octo/repo-1");
      expect(titles.get(true)?.every((row) => row[16]?.startsWith("The condition assigns"))).toBe(true);
      expect(new Set(titles.get(false)?.flatMap((row) => [row[10], row[16], row[17], row[19]]))).toEqual(
        new Set([""]),
      );
      const page = parsePage(
        (await textOf(viewer, "/findings?repository=octo/repo-2&from=2026-11-01")).text,
      ).text;
      expect(page).toContain("words not shown");
      expect(page).not.toContain("The condition assigns");
    });

    it("The page Findings says that a title is no longer stored", async () => {
      const { text } = await textOf(person(repositories.slice(0, 3)), "/findings?to=2026-10-01");
      expect(text).toContain("words no longer on record");
    });
  });

  describe("Now", () => {
    it("The page Now shows what runs and waits in visible repositories only, and why", async () => {
      const all = parsePage((await textOf(operator(), "/")).text).text;
      for (const words of [
        ...[
          "another run of this pull request is under way",
          "quiet time after a push, until",
          "its attempt failed; next try at",
        ],
        ...[
          "parked, because a service that it needs does not answer",
          "its installation is at its limit of 1 run at a time",
        ],
        ...["reading the change", "worker-3", "silent"],
      ])
        expect(all).toContain(words);
      // Where they are and what they wait for is for operators who may see the repository.
      expect(all).not.toContain("10.0.0.7");
      expect(parsePage((await textOf(operator(repositories), "/")).text).text).toContain("10.0.0.7");
      const one = parsePage((await textOf(person(repositories.slice(4, 5)), "/")).text).text;
      expect(one).not.toContain("10.0.0.7");
      expect(one).not.toContain("worker-3");
      expect(new Set(one.match(/octo\/repo-\d+/g))).toEqual(new Set(["octo/repo-5"]));
    });
  });

  it("No page reads a whole table", async () => {
    const asked = new Map<string, Parameters>();
    const watched: Run = (sql, parameters = {}) => {
      asked.set(sql, parameters);
      return run(sql, parameters);
    };
    const [row] = runs;
    const addresses = [
      ...[
        "/",
        "/reviews",
        "/reviews?outcome=failed",
        "/reviews?q=%2312",
        "/reviews?q=ann",
        "/reviews?q=1234567",
      ],
      ...[`/reviews?older=${time}.500`, "/reviews?repository=octo/repo-1&from=2026-10-01"],
      ...["/reviews.csv?kind=ask", `/reviews/${row?.id}`, `/reviews/${seededId(900_000)}`],
      ...[
        "/findings",
        "/findings?state=open",
        "/findings?severity=low&rule=x",
        `/findings?older=${time}.1.1.1`,
        "/findings.csv",
      ],
      ...[
        "/findings?repository=octo/repo-1&pull=1&state=fixed",
        "/findings?closed_from=2026-10-05&pull_state=merged",
        ...["/insights", "/insights?repository=octo/repo-1&days=365", "/insights.csv?by=rule"],
      ],
    ];
    for (const viewer of [
      person(repositories.slice(0, 3)),
      person(repositories),
      operator(),
      operator(repositories),
    ])
      for (const address of addresses) await (await pagesOf(watched, viewer, time).request(address)).text();
    expect(asked.size).toBeGreaterThan(40);
    const wholeIn = async (sql: string, parameters: Parameters) =>
      (await under.plan(sql, parameters)).filter((line) =>
        /\b(?:SCAN|Seq Scan on) (?:run|finding|finding_text|pull|job|other|trajectory|words|outcome_week|model_week|run_week)\b/.test(
          line,
        ),
      );
    for (const table of ["run", "job", "finding", "trajectory"])
      expect(
        await wholeIn(
          `SELECT * FROM ${table} WHERE installation + 1 = 2`.replace(
            "trajectory WHERE installation",
            "trajectory WHERE fence",
          ),
          {},
        ),
      ).toHaveLength(1);
    for (const [sql, parameters] of asked) expect(await wholeIn(sql, parameters), sql).toEqual([]);
  });
}
