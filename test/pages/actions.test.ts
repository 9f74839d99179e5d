import type { Hono } from "hono";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { allRoutes } from "../../src/pages/pages.ts";
import type { PagesEnv, Viewer } from "../../src/pages/viewer.ts";
import type { FindingFigure, PullFigures } from "../../src/server/queue/figures.ts";
import type { ActTask } from "../../src/server/queue/job.ts";
import { createStores, type Stores } from "../../src/server/queue/stores.ts";
import { leaseMs, reviewJob } from "../contract/jobs.ts";
import { writeOut } from "../support/secret-corpus.ts";
import { seeded } from "../support/seeded.ts";
import { appFor, type OwnDatabase, ownDatabase } from "./rendered.ts";

const repository = { id: 7, installation: 1, owner: "octo", name: "shop" };
const person = (mayWrite: boolean, over: Partial<Viewer> = {}): Viewer => ({
  ...{ account: 5, login: "ada", isOperator: false, repositories: [{ ...repository, mayWrite }] },
  ...over,
});
const [writer, reader] = [person(true), person(false)];
const stranger = person(true, { repositories: [{ ...repository, id: 8, mayWrite: true }] });
const operator = person(true, { isOperator: true, repositories: [] });

let own: OwnDatabase;
let stores: Stores;
let clock: number;
let woken: number;
let id: string;
/** All pages, for one viewer. */
let as: (viewer: Viewer) => Hono<PagesEnv>;

const figure: FindingFigure = {
  ...{ key: "100", id: "f1", comment: 100, place: "comment", severity: "high", category: "correctness" },
  ...{ source: "model", rule: null, state: "open", dismissal: null, thumbs: null },
};
const known = (over: Partial<FindingFigure> = {}, title = "A total is wrong"): Promise<void> =>
  stores.figures.write({
    ...{ installation: 1, repository: 7, pull: 3, state: "open", closedAt: null, deleted: [], settled: null },
    findings: [
      {
        figure: { ...figure, ...over },
        words: {
          title,
          path: "src/cart.js",
          line: 4,
          url: "https://github.example/octo/shop/x",
          reason: null,
        },
      },
    ],
  } satisfies PullFigures);

beforeEach(async () => {
  own = await ownDatabase();
  clock = Date.parse("2026-11-27T10:00:00Z");
  woken = 0;
  const { database } = own;
  stores = createStores(database, { now: () => clock });
  const { queue } = stores;
  id = await queue.enqueue(reviewJob(3));
  const job = await queue.claim("w", leaseMs);
  if (!job) throw new Error("No job");
  await queue.complete(job, { kind: "done", reason: "published" });
  await known();
  const routes = allRoutes({
    ...{ run: database.run, webUrl: "https://github.example", now: () => clock },
    ...{ installationConcurrency: 2, retentionMs: 86_400_000 },
    accept: queue.accept.bind(queue),
    onAccepted: () => void woken++,
    // Pages that are none of these.
    loadConfiguration: () => Promise.reject(new Error("asked for a configuration")),
    checkAll: () => Promise.reject(new Error("asked for checks")),
  });
  as = (viewer) => {
    const app = appFor(viewer);
    for (const route of routes) app.route("/", route);
    return app;
  };
});
afterEach(() => own.remove());

const get = async (path: string, viewer = writer) => {
  const answer = await as(viewer).request(path);
  return { status: answer.status, text: await answer.text() };
};
const post = async (path: string, fields: Record<string, string>, viewer = writer) => {
  const answer = await as(viewer).request(path, { method: "POST", body: new URLSearchParams(fields) });
  return {
    ...{ status: answer.status, location: answer.headers.get("location") },
    text: await answer.text(),
  };
};
/** The hidden field of a page's form. */
const sentOnce = async (path: string) => {
  const [, form = ""] = /name="form" value="([\w-]{22})"/.exec((await get(path)).text) ?? [];
  expect(form).not.toBe("");
  return form;
};
/** What was stored to be done, oldest first. */
async function stored(): Promise<ActTask[]> {
  const tasks: ActTask[] = [];
  for (;;) {
    const job = await stores.queue.claim("w", leaseMs);
    if (!job) return tasks;
    tasks.push(job.task as ActTask);
    await stores.queue.complete(job, { kind: "done", reason: "" });
  }
}
const findingPage = "/findings/7/3/100";
const dismiss = async (fields: Record<string, string>, viewer = writer) =>
  post(findingPage, { form: await sentOnce(findingPage), ...fields }, viewer);

it.each([
  ["review-new", { name: "review", mode: "new" }, "review"],
  ["review-full", { name: "review", mode: "full" }, "review"],
  ["pause", { name: "pause" }, "pause"],
  ["resume", { name: "resume" }, "resume"],
])(
  "The form of a pull request stores %s as a job of the person, wakes the worker, and leads back",
  async (act, what, name) => {
    const page = `/reviews/${id}`;
    const form = await sentOnce(page);
    expect((await get(page)).text).toContain(`<button name="act" value="${act}">`);
    const sent = await post(page, { form, act });
    expect([sent.status, sent.location, woken]).toEqual([303, `${page}?done=${name}`, 1]);
    expect((await get(`${page}?done=${name}`)).text).toMatch(/role="status">You asked/);
    expect(await stored()).toEqual([
      {
        ...{ kind: "act", act: what, repository, pull: 3, account: 5, requestedBy: "ada", headSha: null },
        id: expect.stringMatching(/^[\w-]{22}$/),
      },
    ]);
  },
);

it("The form of a pull request is done once however often it is sent, and again if it is asked for again", async () => {
  const page = `/reviews/${id}`;
  const form = await sentOnce(page);
  const all = await Promise.all(Array.from({ length: 5 }, () => post(page, { form, act: "pause" })));
  expect(all.map(({ status }) => status)).toEqual([303, 303, 303, 303, 303]);
  await post(page, { form: await sentOnce(page), act: "pause" });
  // The same form in the browser of somebody else is another act.
  await post(page, { form, act: "pause" }, { ...writer, account: 6, login: "bob" });
  const tasks = await stored();
  expect(tasks.map(({ requestedBy }) => requestedBy)).toEqual(["ada", "ada", "bob"]);
  expect(new Set(tasks.map((task) => task.id)).size).toBe(3);
  expect(woken).toBe(3);
});

it("The form of a pull request counts among the runs as done on a page, with who did it", async () => {
  await post(`/reviews/${id}`, { form: await sentOnce(`/reviews/${id}`), act: "pause" });
  await stored();
  const { text } = await get("/reviews?kind=pause");
  expect(text).toContain("by ada on a page");
  const [, run = ""] = /href="\/reviews\/([\w-]{36})"/.exec(text) ?? [];
  expect((await get(`/reviews/${run}`)).text).toContain("by ada on a page");
});

it.each([
  [{ why: "wrong", words: "" }, "The finding is wrong"],
  [
    { why: "intended", words: " Sums are\r\n in cents. " },
    "The code is meant to be like this: Sums are in cents.",
  ],
  [{ why: "other", words: "Ask me\u0000\u001b[31m." }, "Ask me [31m."],
  [{ why: "intended", words: "😀".repeat(230) }, `The code is meant to be like this: ${"😀".repeat(230)}`],
])("A dismissal has the reason that was chosen and written: %j", async (fields, reason) => {
  const sent = await dismiss(fields);
  expect([sent.status, sent.location]).toEqual([303, `${findingPage}?done=dismiss`]);
  expect((await get(`${findingPage}?done=dismiss`)).text).toContain("You asked to dismiss the finding");
  expect(await stored()).toMatchObject([{ act: { name: "dismiss", comment: 100, reason }, pull: 3 }]);
});

it.each([
  ["without a choice", { why: "", words: "x" }],
  ["with a choice that there is not", { why: "constructor", words: "x" }],
  ["without words that it needs", { why: "other", words: " \u0000 " }],
  ["with too many words", { why: "wrong", words: "x".repeat(461) }],
  ["without the field for words", { why: "wrong" }],
  ["with a made-up form", { why: "wrong", words: "", form: "x" }],
])("A dismissal %s is refused, and nothing is done", async (_, fields) => {
  const { status, text } = await dismiss(fields);
  expect([status, text]).toEqual([400, expect.stringContaining("Nothing was done.")]);
  expect(await stored()).toEqual([]);
});

it("A dismissal stores no secret that somebody pastes into the reason", async () => {
  const token = writeOut("ghp_{base62:36}", seeded(7));
  await dismiss({ why: "other", words: `It is ${token} again` });
  const [task] = await stored();
  expect(JSON.stringify(task)).not.toContain(token);
  expect(task?.act).toMatchObject({ reason: expect.stringMatching(/^It is .+ again$/) });
});

it.each(["fixed", "withdrawn", "dismissed"] as const)(
  "A dismissal from a page that is stale says that the finding is %s by now",
  async (state) => {
    const form = await sentOnce(findingPage);
    await known({ state });
    expect((await get(findingPage)).text).not.toContain("<form class=");
    const sent = await post(findingPage, { form, why: "wrong", words: "" });
    expect([sent.status, sent.text]).toEqual([
      409,
      expect.stringContaining(`The finding is ${state} by now.`),
    ]);
    expect(await stored()).toEqual([]);
  },
);

it.each(["annotation", "summary"] as const)(
  "A dismissal is not offered for a finding in the %s, with why",
  async (place) => {
    const form = await sentOnce(findingPage);
    await known({ place, key: "f2", id: "f2", comment: null });
    const { text } = await get("/findings/7/3/f2");
    expect(text).toContain("It has no thread on GitHub");
    expect(text).not.toContain('name="why"');
    expect((await post("/findings/7/3/f2", { form, why: "wrong", words: "" })).status).toBe(409);
    expect(await stored()).toEqual([]);
  },
);

it("The page of a finding is linked from the list, and tells its state, who decided, and why", async () => {
  expect((await get("/findings")).text).toContain(`<a href="${findingPage}"`);
  await known({ state: "dismissed", dismissal: { by: "bob", how: "page" } });
  await stores.figures.write({
    ...{
      installation: 1,
      repository: 7,
      pull: 3,
      state: "open",
      closedAt: null,
      deleted: [],
      settled: null,
    },
    findings: [
      {
        figure: { ...figure, state: "dismissed", dismissal: { by: "bob", how: "page" } },
        words: {
          title: "A total is wrong",
          path: "src/cart.js",
          line: 4,
          url: null,
          reason: "Sums are in cents",
        },
      },
    ],
  });
  const { status, text } = await get(findingPage, reader);
  expect(status).toBe(200);
  for (const words of [
    "A total is wrong",
    "src/cart.js:4",
    "dismissed",
    "on this page, by bob",
    "“Sums are in cents”",
  ])
    expect(text).toContain(words);
  expect(text).toContain('href="https://github.example/octo/shop/x"');
});

it("The page of a finding leads to GitHub also when its words are no longer on record", async () => {
  const day = 86_400_000;
  clock += 31 * day;
  await stores.queue.purge(30 * day, 400 * day);
  const { text } = await get(findingPage);
  expect(text).toContain("A finding of octo/shop#3");
  expect(text).toContain('href="https://github.example/octo/shop/pull/3#discussion_r100"');
  expect(text).not.toContain("A total is wrong");
});

it("The page of a finding shows hostile words as what they are", async () => {
  await known({}, `</h1><script>alert(1)</script>\u202e" onclick="x`);
  const { text } = await get(findingPage);
  expect(text).not.toMatch(/<script|" onclick=|\u202e/);
  expect(text).toContain("&lt;script&gt;");
});

it.each([
  "/findings/7/3/101",
  "/findings/7/4/100",
  "/findings/9/3/100",
  "/findings/7x/3/100",
  "/findings/7/-3/100",
  "/findings/7/3/100%00",
])("The page of a finding is not found at %s", async (path) => {
  expect((await get(path)).status).toBe(404);
  expect((await post(path, { form: "x" })).status).toBe(404);
});

it("People who may not write get no form, and a forged one is refused with why", async () => {
  const form = await sentOnce(findingPage);
  for (const [path, fields] of [
    [`/reviews/${id}`, { form, act: "review-full" }],
    [findingPage, { form, why: "wrong", words: "" }],
  ] as const) {
    expect((await get(path, reader)).text).not.toMatch(/name="(form|act|why)"/);
    const { status, text } = await post(path, fields, reader);
    expect([status, text]).toEqual([403, expect.stringContaining("GitHub does not let you write")]);
  }
  expect(await stored()).toEqual([]);
});

it.each([
  ["a stranger", stranger],
  ["an operator whom GitHub does not show the repository", operator],
])("A person who may not write %s learns nothing from the answer", async (_, viewer) => {
  const form = await sentOnce(findingPage);
  for (const [path, unknown, fields] of [
    [`/reviews/${id}`, "/reviews/none", { form, act: "pause" }],
    [findingPage, "/findings/7/3/999", { form, why: "wrong", words: "" }],
  ] as const) {
    for (const answer of [get, (at: string, by: Viewer) => post(at, fields, by)]) {
      const [one, other] = [await answer(path, viewer), await answer(unknown, viewer)];
      expect(one.status).toBe(404);
      expect(one).toEqual(other);
    }
  }
  expect(await stored()).toEqual([]);
});

it.each(["<b>x</b>", "constructor", "__proto__", "", "Review"])(
  "An address puts no words on a page: done=%s",
  async (done) => {
    for (const path of [`/reviews/${id}`, findingPage]) {
      const plain = (await get(path)).text.replace(/value="[\w-]{22}"/, "");
      const said = await get(`${path}?done=${encodeURIComponent(done)}`);
      expect(said.text.replace(/value="[\w-]{22}"/, "")).toBe(plain);
    }
  },
);

it("A flood of forms of one person ends after 30 in a minute, and hinders nobody else", async () => {
  const page = `/reviews/${id}`;
  const send = async (viewer: Viewer) =>
    (await post(page, { form: await sentOnce(page), act: "resume" }, viewer)).status;
  const statuses: number[] = [];
  for (let n = 0; n < 32; n++) statuses.push(await send(writer));
  expect(statuses).toEqual([...Array(30).fill(303), 429, 429]);
  expect(await send({ ...writer, account: 6 })).toBe(303);
  clock += 60_000;
  expect(await send(writer)).toBe(303);
  expect(await stored()).toHaveLength(32);
});

describe("a proposal", () => {
  const docs = (state: FindingFigure["state"], from: number) => (_: unknown, at: number) => {
    const comment = from + at;
    const one = { ...figure, key: String(comment), id: `f${comment}`, comment, category: "docs", state };
    return { figure: one, words: null };
  };
  const history = (pull: number, dismissed: number, from: number) =>
    stores.figures.write({
      ...{
        installation: 1,
        repository: 7,
        pull,
        state: "merged",
        closedAt: clock,
        deleted: [],
        settled: null,
      },
      findings: [
        ...Array.from({ length: dismissed }, docs("dismissed", from)),
        ...Array.from({ length: 2 }, docs("fixed", from + 50)),
      ],
    });
  const fields = async () => ({
    ...{ repository: "7", dimension: "category", value: "docs", days: "30" },
    form: await sentOnce("/insights"),
  });

  it("A proposal is stored with the evidence of the figures, on the newest pull request with such a finding", async () => {
    await history(8, 3, 1_000);
    clock += 60_000;
    await history(9, 3, 2_000);
    const form = await fields();
    const answer = await post("/insights", { ...form, dismissed: "99", findings: "1" });
    expect([answer.status, answer.location]).toEqual([303, "/insights?done=demote"]);
    await post("/insights", form);
    expect(await stored()).toMatchObject([
      {
        ...{ kind: "act", pull: 9, account: 5, requestedBy: "ada" },
        act: { name: "demote", dimension: "category", value: "docs", dismissed: 6, findings: 10 },
      },
    ]);
    expect((await get("/insights?done=demote")).text).toContain(
      "You asked for a change to the configuration",
    );
  });

  it("A proposal is offered to nobody who may not write, and refused if the figures do not say it", async () => {
    await history(8, 5, 1_000);
    const form = await fields();
    for (const viewer of [reader, operator])
      expect((await get("/insights", viewer)).text).not.toContain("Propose it");
    expect((await post("/insights", form, reader)).status).toBe(403);
    for (const viewer of [stranger, operator])
      expect((await post("/insights", form, viewer)).status).toBe(404);
    for (const over of [{ value: "security" }, { dimension: "source" }])
      expect((await post("/insights", { ...form, ...over })).status).toBe(409);
    for (const over of [{ dimension: "rule" }, { repository: "x" }, { form: "no" }])
      expect((await post("/insights", { ...form, ...over })).status).toBe(400);
    expect(await stored()).toEqual([]);
  });
});
