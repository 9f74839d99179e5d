import { expect, it } from "vitest";
import { type Checked, type HealthDeps, health } from "../../src/pages/health.ts";
import type { Viewer } from "../../src/pages/viewer.ts";
import { createStores } from "../../src/server/queue/stores.ts";
import { appFor, operator, ownDatabase, parsePage, person } from "./rendered.ts";

const fine: Checked = { name: "git", state: "ok", says: "2.39.5", remedy: null };
const broken: Checked = {
  name: "model",
  state: "fail",
  says: "<script> refuses the key",
  remedy: "Set another.",
};

function pages(
  viewer: Viewer,
  checkAll: HealthDeps["checkAll"],
  clock = () => 1_800_000_000_000,
  run: HealthDeps["run"] = async (sql) => ({
    rows: sql.includes("delivery")
      ? [{ at: clock() - 60_000 }]
      : [{ id: "j", reason: "a <b>reason</b>", ended_at: clock() }],
    changes: 0,
  }),
) {
  const app = appFor(viewer).route("/", health({ run, now: clock, checkAll }));
  return async () => {
    const answer = await app.request("/health");
    return { status: answer.status, ...parsePage(await answer.text()) };
  };
}

it("The page Health is for operators: others learn their number, and nothing is checked", async () => {
  let checks = 0;
  const get = pages(person([]), async () => {
    checks++;
    return [fine];
  });
  const page = await get();
  expect([page.status, checks]).toEqual([403, 0]);
  expect(page.text).toMatch(/HUNKWISE_OPERATORS\. Yours is 1\./);
});

it("The page Health does not wait for the checks, and shows their results with what to do, as text", async () => {
  const checking = Promise.withResolvers<Checked[]>();
  const get = pages(operator(), () => checking.promise);
  const before = await get();
  expect(before.text).toContain("The checks are running");
  expect(before.skeleton).toContain("meta http-equiv content");
  checking.resolve([fine, broken]);
  await new Promise((resolve) => setImmediate(resolve));
  const after = await get();
  expect(after.text).toMatch(/model\s*fail\s*<script> refuses the keySet another\./);
  expect(after.text).toContain("a <b>reason</b>");
  expect(after.text).toContain("1 min ago");
  expect(after.elements.filter(({ tagName }) => ["script", "b"].includes(tagName))).toEqual([]);
});

it("The page Health shows the last webhook of GitHub, and no form or event of this server", async () => {
  const { database, remove } = await ownDatabase();
  let now = 1_800_000_000_000;
  const { queue } = createStores(database, { now: () => now });
  const get = pages(
    operator(),
    async () => [fine],
    () => now,
    database.run,
  );
  const receive = (id: string, event: string) => queue.accept({ id, event, action: null }, []);
  await receive("page:1", "page");
  expect((await get()).text).toContain("Last webhooknone yet");
  await receive("1", "pull_request");
  now += 3_600_000;
  await receive("page:2", "page");
  await receive("msg_1", "notify");
  expect((await get()).text).toContain("1 h ago");
  await remove();
});

it("The page Health checks again only after a quarter of an hour, however often somebody looks", async () => {
  let [checks, time] = [0, 1_800_000_000_000];
  const get = pages(
    operator(),
    async () => {
      checks++;
      return [fine];
    },
    () => time,
  );
  for (let look = 0; look < 5; look++) await get();
  expect(checks).toBe(1);
  time += 16 * 60_000;
  await get();
  expect(checks).toBe(2);
});

it("The page Health says that the checks did not end", async () => {
  const get = pages(operator(), async () => {
    throw new Error("aborted");
  });
  await get();
  expect((await get()).text).toContain("The checks did not end in 2 min.");
});
