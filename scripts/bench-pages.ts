/**
 * `npm run bench:pages [-- runs]`: measures the server's own time for each page, with a history of 100,000 runs and a million findings
 * in 1,000 repositories, in SQLite and in Postgres. Fails if the median of a page is 200 ms or more.
 */
import { Hono } from "hono";
import pc from "picocolors";
import { loadRepoConfig } from "../src/config/load-config.ts";
import { allRoutes } from "../src/pages/pages.ts";
import type { PagesEnv, Viewer } from "../src/pages/viewer.ts";
import { openPostgresDatabase } from "../src/server/queue/postgres-database.ts";
import { openReader, type Reader } from "../src/server/queue/reader.ts";
import { openSqliteDatabase } from "../src/server/queue/sqlite-database.ts";
import type { DatabaseLocation } from "../src/server/queue/stores.ts";
import { TempFolder } from "../test/support/git-repo.ts";
import { query, startPostgres } from "../test/support/postgres.ts";
import { seededId, seededRepository, seedHistory } from "../test/support/seeded-history.ts";
import { describeMachine } from "./bench/machine.ts";
import { median } from "./bench/measure.ts";

const [runs, repositories, mostMs, rounds] = [Number(process.argv[2] ?? 100_000), 1_000, 200, 15];
const time = Date.parse("2026-11-27T08:00:00Z");
const sizes = { runs, repositories, now: time, waiting: 2_000, active: 8 };

const person = (count: number): Viewer => ({
  ...{ account: 1, login: "ann", isOperator: false },
  repositories: Array.from({ length: count }, (_, index) => seededRepository((index * 37) % repositories)),
});
const viewers = {
  "3 repositories": person(3),
  "300 repositories": person(300),
  "an operator": { ...person(0), isOperator: true },
  "an operator with 300": { ...person(300), isOperator: true },
};

const deep = time - 200 * 86_400_000;
const addresses = [
  "/",
  "/reviews",
  `/reviews?older=${deep}.${Math.floor(runs / 2)}`,
  `/reviews?newer=${deep}.${Math.floor(runs / 2)}`,
  "/reviews?outcome=failed",
  "/reviews?kind=never",
  "/reviews?from=2026-03-01&to=2026-03-31",
  "/reviews?q=%2312",
  "/reviews?q=nobody",
  "/reviews?q=1234567",
  "/reviews?repository=octo/repo-1",
  "/reviews.csv",
  "/findings",
  `/findings?older=${deep}.1500.1.1`,
  "/findings?state=open",
  "/findings?severity=critical&category=security",
  "/findings?rule=never",
  "/findings?closed_from=2026-06-01&closed_to=2026-06-29&pull_state=merged",
  "/findings?repository=octo/repo-1&state=dismissed",
  "/insights",
  "/insights?days=90",
  "/insights?days=365",
  "/insights?days=365&repository=octo/repo-1",
  "/health",
  "/findings.csv",
  `/reviews/${seededId(runs)}`,
];

async function measure(where: string, reader: Reader): Promise<number> {
  const { run } = reader;
  const routes = allRoutes({
    ...{ run, webUrl: "https://github.com", now: () => time, installationConcurrency: 4 },
    retentionMs: 30 * 86_400_000,
    loadConfiguration: () => loadRepoConfig(async () => undefined),
    checkAll: async () => [],
    accept: async () => false,
    onAccepted: () => {},
  });
  let slow = 0;
  for (const [who, viewer] of Object.entries(viewers)) {
    const app = new Hono<PagesEnv>().use(async (context, next) => {
      context.set("viewer", viewer);
      await next();
    });
    for (const route of routes) app.route("/", route);
    for (const address of addresses) {
      const took: number[] = [];
      let bytes = 0;
      for (let round = 0; round < rounds; round++) {
        const start = performance.now();
        bytes = (await (await app.request(address)).text()).length;
        took.push(performance.now() - start);
      }
      const middle = median(took);
      // A file is no page: it is written while it is read.
      const isSlow = middle >= mostMs && !address.includes(".csv");
      if (isSlow) slow++;
      const times = `${middle.toFixed(1).padStart(7)} ms  most ${Math.max(...took)
        .toFixed(0)
        .padStart(5)} ms`;
      const line = `${where.padEnd(9)} ${who.padEnd(21)} ${times} ${String(bytes).padStart(8)} B  ${address}`;
      console.log(isSlow ? pc.red(line) : line);
    }
  }
  return slow;
}

async function onDatabase(
  where: string,
  location: DatabaseLocation,
  seed: () => Promise<void>,
): Promise<number> {
  const start = performance.now();
  await seed();
  console.log(
    pc.dim(`${where}: ${runs} runs were written in ${((performance.now() - start) / 1_000).toFixed(0)} s`),
  );
  const reader = await openReader(location);
  try {
    return await measure(where, reader);
  } finally {
    await reader.close();
  }
}

console.log(`${describeMachine()}\n`);
const folder = new TempFolder("bench-pages");
let slow = await onDatabase("SQLite", { databaseUrl: null, dataFolder: folder.path }, async () => {
  const database = openSqliteDatabase(folder.path);
  await seedHistory(database, sizes);
  await database.close();
});
await using server = await startPostgres();
const databaseUrl = await server.createDatabase();
slow += await onDatabase("Postgres", { databaseUrl, dataFolder: "" }, async () => {
  const database = await openPostgresDatabase(databaseUrl);
  // Longer than a statement of the server may take.
  await database.transaction(async (run) => {
    await run("SET LOCAL statement_timeout = 0");
    await seedHistory({ run }, sizes);
  });
  await database.close();
  await query(databaseUrl, "ANALYZE");
});
if (slow > 0) process.exitCode = 1;
