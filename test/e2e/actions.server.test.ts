import { describe, expect, it } from "vitest";
import type { AppUnderTest } from "../support/app-under-test.ts";
import { Browser } from "../support/browser.ts";
import type { FakeScript } from "../support/fake-openai.ts";
import { type Case, finding, finish, numbers, onApp, patient, turn, until } from "./conformance-fixture.ts";

/*
 * What people do on the pages, from a form in a browser to GitHub, with the whole program between them.
 */

const path = "src/numbers.js";
const base = { [path]: numbers(60), "src/other.js": numbers(60) };
const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
const wrong = finding({ line: 24, quote: "const n24 = 0;", title: "n24 is no longer 24 for its readers" });
const script: FakeScript = () => turn(wrong, finish);

const client = {
  GITHUB_CLIENT_ID: "Iv23li00000000100001",
  GITHUB_CLIENT_SECRET: "a-client-secret-for-tests-1",
};

type App = Case & AppUnderTest;

const withPages = (play: (app: App) => Promise<void>) =>
  onApp({ base, head, script, env: client }, async (app) => {
    app.people.addCollaborator(app.repository, "reader", "read");
    await app.review();
    await app.idle();
    await play(app);
  });

/** The browser of a person who has logged in. */
async function browserOf(app: App, login: string): Promise<Browser> {
  const { state } = app.github;
  state.enableLogin(app.app, `${app.server.url}/login/callback`);
  Object.assign(app.app.oauth ?? {}, {
    clientId: client.GITHUB_CLIENT_ID,
    clientSecret: client.GITHUB_CLIENT_SECRET,
  });
  state.visitor = state.account(login);
  const browser = new Browser(app.server.url);
  expect((await browser.login()).status).toBe(303);
  return browser;
}

const first = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? "";
/** The pages of the newest review and of the finding, as the lists link to them. */
async function pagesOf(browser: Browser) {
  const review = first((await browser.get("/reviews")).text, /href="(\/reviews\/[\w-]{36})"/);
  const one = first((await browser.get("/findings")).text, /href="(\/findings\/\d+\/\d+\/\d+)"/);
  expect([review, one]).not.toContain("");
  return { review, one };
}
const sentOnce = async (browser: Browser, page: string) =>
  first((await browser.get(page)).text, /name="form" value="([\w-]{22})"/);

/** Sends a form of a page as it is there, and follows the redirect. */
async function send(browser: Browser, page: string, fields: Record<string, string>) {
  const sent = await browser.post(page, { form: await sentOnce(browser, page), ...fields });
  return {
    status: sent.status,
    text: sent.status === 303 ? (await browser.get(sent.location)).text : sent.text,
  };
}

/** Our comments in the conversation, but the summary. */
const ownComments = (app: App) =>
  app.pull.comments
    .filter(({ via }) => via === app.app)
    .map(({ body }) => body)
    .slice(1);

const jobs = async (browser: Browser) =>
  ((await browser.get("/reviews.csv")).text.match(/,page,/g) ?? []).length;

describe.concurrent("a person who may write", patient, () => {
  it("A writer reviews again, pauses and resumes on a page, and the pull request shows who did", () =>
    withPages(async (app) => {
      const browser = await browserOf(app, "octocat");
      const { review } = await pagesOf(browser);
      const asked = await send(browser, review, { act: "review-full" });
      expect(asked.text).toContain("You asked for a review");
      await app.idle();
      expect(app.reviewRequests).toHaveLength(2);
      expect(ownComments(app)).toEqual([
        expect.stringContaining(
          "Asked for by `octocat` on a page of Hunkwise. I review the whole change again.",
        ),
      ]);
      expect(app.repository.checkRuns.at(-1)).toMatchObject({
        externalId: expect.stringMatching(/^[0-9a-f]{40}:page:[\w-]{22}$/),
        status: "completed",
      });

      await send(browser, review, { act: "pause" });
      await app.idle();
      expect(app.summary()).toMatch(/paused\*\* by `octocat` on a page of Hunkwise since/);
      await app.push({ "src/other.js": numbers(60, { 9: "const n9 = 0;" }) });
      expect(app.reviewRequests).toHaveLength(2);

      await send(browser, review, { act: "resume" });
      await app.idle();
      expect(app.summary()).not.toMatch(/paused/i);
      expect(app.reviewRequests).toHaveLength(3);
      expect(ownComments(app)).toHaveLength(3);
      expect((await browser.get("/reviews")).text.match(/by octocat on a page/g)).toHaveLength(3);
    }));

  it("A writer dismisses a finding with a reason: its thread, the summary, the check and the pages say so", () =>
    withPages(async (app) => {
      const browser = await browserOf(app, "octocat");
      const { one } = await pagesOf(browser);
      const words =
        "@everyone --> <!-- hunkwise:fixed --> [x](https://evil.test) ![y](https://evil.test/y.png) <b>";
      const asked = await send(browser, one, { why: "intended", words });
      expect(asked.text).toContain("You asked to dismiss the finding");
      await app.idle();

      const [reply = ""] = app.replies();
      expect(reply).toMatch(
        /^Dismissed by `octocat` on a page of Hunkwise: The code is meant to be like this: /,
      );
      expect(reply.split("\n")[0]).not.toMatch(/@everyone|(^|[^\\])<|\]\(https/);
      expect(app.end()).toMatchObject({ check: "success", comments: [`${path} RIGHT 24`] });
      expect(app.summary()).toMatch(/dismissed by `octocat`.*on a page of Hunkwise: The code is meant/);
      expect(app.summary()).not.toMatch(/@everyone|(^|[^\\])!\[y\]/);
      const page = (await browser.get(one)).text;
      expect(page).toContain("on this page, by octocat");
      expect(page).toContain("&lt;!-- hunkwise:fixed --&gt; [x](https://evil.test)");
      expect(page).not.toContain('name="why"');

      // A form that was open in another tab.
      const again = await browser.post(one, { form: "A".repeat(22), why: "wrong", words: "" });
      expect([again.status, again.text]).toEqual([409, expect.stringContaining("dismissed by now")]);
      await app.idle();
      expect(app.replies()).toHaveLength(1);
    }));

  it("An action is shown once on GitHub although the server is killed when it has answered", () =>
    withPages(async (app) => {
      const browser = await browserOf(app, "octocat");
      const { one } = await pagesOf(browser);
      await send(browser, one, { why: "wrong", words: "" });
      await until(() => app.replies().length > 0);
      await app.killAndRestart();
      await app.idle();
      expect(app.replies()).toHaveLength(1);
      expect(app.end()).toMatchObject({ check: "success" });
      expect((await (await browserOf(app, "octocat")).get(one)).text).toContain("on this page, by octocat");
    }));

  it("An action is shown once although GitHub's answer is lost, and a form that is sent twice counts once", () =>
    withPages(async (app) => {
      const browser = await browserOf(app, "octocat");
      const { review, one } = await pagesOf(browser);
      app.fault(`POST /pulls/\\d+/comments/\\d+/replies`, "reset-after");
      app.fault(`POST /issues/\\d+/comments`, "reset-after");
      const form = await sentOnce(browser, review);
      await Promise.all([1, 2, 3].map(() => browser.post(review, { form, act: "pause" })));
      await send(browser, one, { why: "wrong", words: "" });
      await app.idle();
      expect(app.struck()).toHaveLength(2);
      expect([app.replies().length, ownComments(app).length]).toEqual([1, 1]);
      expect(await jobs(browser)).toBe(2);
    }));
});

describe.concurrent("a person who may not write", patient, () => {
  it("A person who may only read sees no form, and is refused a forged one", () =>
    withPages(async (app) => {
      const browser = await browserOf(app, "reader");
      const { review, one } = await pagesOf(browser);
      for (const [page, fields] of [
        [review, { act: "review-full" }],
        [one, { why: "wrong", words: "" }],
      ] as const) {
        expect((await browser.get(page)).text).not.toMatch(/name="(form|act|why)"/);
        const forged = await browser.post(page, { form: "A".repeat(22), ...fields });
        expect([forged.status, forged.text]).toEqual([
          403,
          expect.stringContaining("does not let you write"),
        ]);
      }
      await app.idle();
      expect(await jobs(browser)).toBe(0);
      expect(app.replies().concat(ownComments(app))).toEqual([]);
    }));

  it("A form is refused if write access ended since the page was shown, or the login is another's now", () =>
    withPages(async (app) => {
      const browser = await browserOf(app, "octocat");
      const { review, one } = await pagesOf(browser);
      const summary = app.summary();
      app.people.addCollaborator(app.repository, "octocat", "read");
      await send(browser, one, { why: "wrong", words: "" });
      await app.idle();
      app.people.addCollaborator(app.repository, "octocat", "write");
      const account = app.github.state.account("octocat");
      const own = account.id;
      Object.assign(account, { id: own + 1_000_000 });
      await send(browser, review, { act: "pause" });
      await app.idle();
      Object.assign(account, { id: own });
      expect(app.replies().concat(ownComments(app))).toEqual([]);
      expect(app.summary()).toBe(summary);
      expect((await browser.get("/reviews")).text.match(/octocat has no write access/g)).toHaveLength(2);
    }));

  it("A form of another origin or without a session changes nothing", () =>
    withPages(async (app) => {
      const browser = await browserOf(app, "octocat");
      const { review, one } = await pagesOf(browser);
      const form = await sentOnce(browser, review);
      for (const [page, fields] of [
        [review, { form, act: "pause" }],
        [one, { form, why: "wrong", words: "" }],
      ] as const) {
        for (const headers of [
          { origin: "https://evil.test", "sec-fetch-site": "cross-site" },
          { origin: "null", "sec-fetch-site": "cross-site" },
          { origin: "http://127.0.0.1:9", "sec-fetch-site": "same-site" },
          { origin: "", "sec-fetch-site": "" },
        ])
          expect((await browser.post(page, fields, headers)).status).toBe(403);
        expect((await new Browser(app.server.url).post(page, fields)).status).toBe(401);
        // A link or an image is no form.
        await browser.get(`${page}?${new URLSearchParams(fields)}`);
      }
      await app.idle();
      expect(await jobs(browser)).toBe(0);
      expect(app.replies().concat(ownComments(app))).toEqual([]);
    }));
});
