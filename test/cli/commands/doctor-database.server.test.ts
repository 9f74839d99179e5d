import { expect, it } from "vitest";
import { checks } from "../../../src/cli/commands/doctor.ts";
import type { Env } from "../../../src/config/env.ts";
import { openStores } from "../../../src/server/queue/stores.ts";
import { reviewJob } from "../../contract/jobs.ts";
import { query, sharedPostgres } from "../../support/postgres.ts";

const check = checks.find(({ name }) => name === "database");
async function diagnose(databaseUrl: string) {
  const env = { databaseUrl, dataDir: "/nowhere" } as Env;
  return check?.run({ env, faults: [] }, new AbortController().signal);
}
const emptyDatabase = async () => (await sharedPostgres()).createDatabase();

it("Doctor names the version of a Postgres, and sets nothing up in it", async () => {
  const url = await emptyDatabase();
  expect(await diagnose(url)).toEqual({
    ...{
      state: "ok",
      says: expect.stringMatching(/^Postgres \d+.*: set up at the first start$/),
      remedy: null,
    },
  });
  expect(await query(url, "SELECT to_regnamespace('hunkwise') AS ours")).toEqual([{ ours: null }]);
});

it("Doctor writes to a database that is set up, and counts its jobs", async () => {
  const databaseUrl = await emptyDatabase();
  const stores = await openStores({ databaseUrl, dataFolder: "/nowhere" });
  await stores.queue.enqueue(reviewJob(1));
  await stores.close();
  expect(await diagnose(databaseUrl)).toMatchObject({
    state: "ok",
    says: expect.stringMatching(/: 1 waiting, 0 active/),
  });
});

it("Doctor says if the user of a database may not create what is needed", async () => {
  const url = await emptyDatabase();
  const user = `u${url.slice(-12)}`;
  await query(url, `CREATE USER ${user} PASSWORD 'pass-word'`);
  const diagnosis = await diagnose(url.replace("hunkwise:a-password", `${user}:pass-word`));
  expect(diagnosis).toMatchObject({ state: "fail", remedy: expect.stringContaining("Grant CREATE") });
});

it("Doctor names an unreachable Postgres without its password", async () => {
  const diagnosis = await diagnose("postgres://ada:pass-word@127.0.0.1:1/shop");
  expect(diagnosis).toMatchObject({ state: "fail", says: expect.stringContaining("127.0.0.1:1/shop") });
  expect(JSON.stringify(diagnosis)).not.toContain("pass-word");
});
