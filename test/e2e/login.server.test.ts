import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Hono } from "hono";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readEnv } from "../../src/config/env.ts";
import { createPages } from "../../src/pages/pages.ts";
import type { PagesEnv } from "../../src/pages/viewer.ts";
import { openSqliteStores, type Stores } from "../../src/server/queue/stores.ts";
import type { RunningServer } from "../../src/server/webhooks/http.ts";
import { startServer } from "../../src/server/webhooks/server.ts";
import { logBook } from "../server/webhooks/support.ts";
import { type AppUnderTest, startApp } from "../support/app-under-test.ts";
import { Browser, type Page } from "../support/browser.ts";
import { TempFolder } from "../support/git-repo.ts";
import { deliver } from "../support/github-double/deliver.ts";
import { authorizationRevokedPayload, revokeAuthorization } from "../support/github-double/login.ts";
import type { Repository } from "../support/github-double/model.ts";
import { fullName } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

/*
 * Log-in on the real web server with its real database, against the GitHub double. The page behind it shows what the person may see; the
 * clock is the test's.
 */

const minutes = 60_000;
const files = { "a.txt": "a\n" };
let scenario: Scenario;
let stores: Stores;
let server: RunningServer;
let data: TempFolder;
let clock: number;
let book: ReturnType<typeof logBook>;
/** A second repository of the installation, which octocat may not see. */
let hidden: Repository;
let browser: Browser;

/** For what the page /slow waits. */
let slow: PromiseWithResolvers<void>;
const whoami = new Hono<PagesEnv>()
  .get("/", ({ json, var: { viewer } }) =>
    json({ ...viewer, repositories: viewer.repositories.map(({ owner, name }) => `${owner}/${name}`) }),
  )
  .get("/reviews", ({ text, req }) => text(`reviews ${new URL(req.url).search}`))
  .get("/reviews/:id", ({ text, req }) => text(`one review ${req.param("id")}`))
  .post("/act", async ({ text, req, var: { viewer } }) =>
    text(`${viewer.login} did ${(await req.parseBody()).what}`),
  )
  .get("/slow", async () => {
    let sends = 1;
    const pull = async (stream: ReadableStreamDefaultController) => {
      await slow.promise;
      if (sends-- > 0) stream.enqueue(new TextEncoder().encode("slow"));
      else stream.close();
    };
    return new Response(new ReadableStream({ pull }));
  })
  .get("/style.css", ({ text }) => text("body{}", 200, { "content-type": "text/css" }));

const startPages = async (app: Scenario, more: Record<string, string> = {}) => {
  const env = readEnv({ ...app.env, ...more, HOST: "127.0.0.1", PORT: "0", HUNKWISE_DATA_DIR: data.path });
  if (!env.login || !env.app) throw new Error("No log-in");
  const { log } = book;
  const pages = createPages({
    ...{ env, credentials: env.login, appId: env.app.id, routes: [whoami] },
    ...{ userAgent: "hunkwise/test", log, now: () => clock },
  });
  return startServer({ env, queue: stores.queue, log, pages });
};

beforeEach(async () => {
  scenario = await createScenario({ base: files, head: { "a.txt": "b\n" } });
  const { github, people, app, installation } = scenario;
  hidden = people.createRepository("octo-org/hidden", files);
  installation.repositories.push(hidden);
  // The port of the server is not known before it runs, and only its path counts here.
  const client = github.state.enableLogin(app, "http://127.0.0.1/login/callback");
  github.state.visitor = github.state.account("octocat");
  clock = Date.now();
  book = logBook();
  data = new TempFolder("login");
  stores = openSqliteStores(data.path, { now: () => clock });
  server = await startPages(scenario, {
    GITHUB_CLIENT_ID: client.clientId,
    GITHUB_CLIENT_SECRET: client.clientSecret,
  });
  browser = newBrowser();
});
afterEach(async () => {
  const { violations } = scenario.github;
  await server.close();
  await stores.close();
  data.dispose();
  await scenario.github.close();
  expect(violations).toEqual([]);
});

const newBrowser = () => new Browser(`http://127.0.0.1:${server.port}`);
const sessionCookie = "__Host-hunkwise";
const loginCookie = "__Host-hunkwise-login";
const seen = async (who = browser) => JSON.parse((await who.get("/")).text) as Record<string, unknown>;
const asked = (path: RegExp) => scenario.github.requests.filter((one) => path.test(one.path)).length;
const visitor = (login: string) => {
  scenario.github.state.visitor = scenario.github.state.account(login);
};

describe("a person who logs in with GitHub", () => {
  it("A person sees the repositories that GitHub lets them see through the App, and no others", async () => {
    const { github, people, repository } = scenario;
    const other = people.createRepository("octocat/own", files);
    const otherApp = github.state.addApp({ slug: "other", owner: "octocat", publicKey: "", permissions: {} });
    github.state.install(otherApp, [other]);

    const done = await browser.login();
    expect([done.status, done.location]).toEqual([303, "/"]);
    expect(await seen()).toEqual({
      account: github.state.account("octocat").id,
      login: "octocat",
      isOperator: false,
      repositories: [fullName(repository)],
    });
  });

  it("A person gets a cookie that only this browser can use, over HTTPS, and that no script reads", async () => {
    const done = await browser.login();
    const [cookie] = done.cookies.filter((one) => one.startsWith(`${sessionCookie}=`));
    expect(cookie).toMatch(
      /^__Host-hunkwise=[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    expect(browser.cookies.has(loginCookie)).toBe(false);
  });

  it("A person gets some pages at a time, and waits beyond; others get theirs", async () => {
    slow = Promise.withResolvers();
    await browser.login();
    const refused: Page[] = [];
    const allRefused = Promise.withResolvers<void>();
    const many = Array.from({ length: 40 }, async () => {
      const page = await browser.get("/slow");
      if (page.status === 429 && refused.push(page) === 40 - 16) allRefused.resolve();
      return page;
    });
    await allRefused.promise;
    expect(refused[0]?.headers.get("retry-after")).toBe("5");
    visitor("octo-org");
    const other = newBrowser();
    await other.login();
    expect((await other.get("/")).status).toBe(200);
    slow.resolve();
    const all = await Promise.all(many);
    expect(all.filter(({ status, text }) => status === 200 && text === "slow")).toHaveLength(16);
    expect((await browser.get("/")).status).toBe(200);
  });

  it("A person returns after log-in to the page that they asked for", async () => {
    const asked = await browser.get("/reviews?outcome=failed&page=2");
    expect([asked.status, asked.location]).toEqual([
      302,
      "/login?to=%2Freviews%3Foutcome%3Dfailed%26page%3D2",
    ]);
    expect((await browser.get(asked.location)).text).toContain('value="/reviews?outcome=failed&amp;page=2"');
    expect((await browser.login("/reviews?outcome=failed&page=2")).location).toBe(
      "/reviews?outcome=failed&page=2",
    );
  });

  it("Log-out ends the session here and its token at GitHub", async () => {
    await browser.login();
    const id = browser.cookies.get(sessionCookie) ?? "";
    const { state } = scenario.github;
    expect(state.userTokens.size).toBe(1);
    const out = await browser.post("/logout");
    expect([out.status, out.location]).toEqual([303, "/login"]);
    expect(browser.cookies.has(sessionCookie)).toBe(false);
    browser.cookies.set(sessionCookie, id);
    expect((await browser.get("/")).location).toBe("/login");
    await expect.poll(() => state.userTokens.size).toBe(0);
  });

  it("A person is logged out after eight hours, also if the cookie is kept", async () => {
    await browser.login();
    clock += 8 * 60 * minutes - 1;
    expect((await browser.get("/")).status).toBe(200);
    clock += 1;
    expect((await browser.get("/")).location).toBe("/login");
  });

  it("A person who cancels on GitHub can try again", async () => {
    const back = await browser.authorize(await browser.beginLogin("/reviews"), "cancel");
    const page = await browser.get(back);
    expect([page.status, page.text]).toEqual([403, expect.stringContaining("You canceled")]);
    expect(page.text).toContain('value="/reviews"');
    expect((await browser.login()).status).toBe(303);
  });

  it("A person who may see nothing reads so, and can log out", async () => {
    visitor("stranger");
    await browser.login();
    const page = await browser.get("/reviews");
    expect([page.status, page.text]).toEqual([403, expect.stringContaining("does not show stranger any")]);
    expect((await browser.post("/logout")).location).toBe("/login");
  });

  it("A person sees nothing of an installation that is suspended", async () => {
    scenario.installation.suspendedAt = new Date();
    await browser.login();
    expect((await browser.get("/")).status).toBe(403);
  });

  it("Log-in leaves no token, code or session id in the log or the database", async () => {
    const address = await browser.beginLogin();
    const back = await browser.authorize(address);
    await browser.get(back);
    const { state } = scenario.github;
    const [token = ""] = state.userTokens.keys();
    const code = new URL(back, browser.origin).searchParams.get("code") ?? "";
    const id = browser.cookies.get(sessionCookie) ?? "";
    const kept = ["queue.db", "queue.db-wal"].map((name) => readFileSync(join(data.path, name), "latin1"));
    const places = [JSON.stringify(book.lines), ...kept];
    for (const secret of [token, code, id, scenario.app.oauth?.clientSecret ?? ""]) {
      expect(secret.length).toBeGreaterThan(15);
      for (const place of places) expect(place).not.toContain(secret);
    }
  });
});

describe("an operator", () => {
  it("An operator is let in without a repository, by the number of the account and not by its name", async () => {
    await server.close();
    const { github, app } = scenario;
    const operator = github.state.account("operator");
    server = await startPages(scenario, {
      GITHUB_CLIENT_ID: app.oauth?.clientId ?? "",
      GITHUB_CLIENT_SECRET: app.oauth?.clientSecret ?? "",
      HUNKWISE_OPERATORS: String(operator.id),
    });
    browser = newBrowser();
    visitor("operator");
    await browser.login();
    expect(await seen()).toMatchObject({ isOperator: true, repositories: [] });
  });
});

describe("access that ends", () => {
  beforeEach(() => browser.login());

  it("Access to a private repository is gone within two minutes", async () => {
    const { repository } = scenario;
    expect(await seen()).toMatchObject({ repositories: ["octo-org/shop"] });
    scenario.people.addCollaborator(hidden, "octocat", "read");
    repository.collaborators.delete("octocat");
    clock += 2 * minutes;
    expect(await seen()).toMatchObject({ repositories: ["octo-org/hidden"] });
    hidden.collaborators.delete("octocat");
    clock += 2 * minutes;
    expect((await browser.get("/")).status).toBe(403);
  });

  it("Access is gone within two minutes after the App was uninstalled", async () => {
    scenario.github.state.uninstall(scenario.installation);
    clock += 2 * minutes;
    expect((await browser.get("/")).status).toBe(403);
  });

  it("Access is gone within two minutes after the person revoked it, without a webhook", async () => {
    const { github, app } = scenario;
    await seen();
    revokeAuthorization(github.state, app, github.state.account("octocat"));
    clock += 2 * minutes;
    const page = await browser.get("/");
    expect([page.status, page.location]).toEqual([302, "/login"]);
    expect(browser.cookies.has(sessionCookie)).toBe(false);
  });

  it("Access is gone in every browser with GitHub's webhook that the person revoked it", async () => {
    const { github, webhookSecret } = scenario;
    const [second, stranger] = [newBrowser(), newBrowser()];
    await second.login();
    visitor("octo-org");
    await stranger.login();
    const payload = authorizationRevokedPayload(github.state, github.state.account("octocat"));
    const url = `${browser.origin}/api/github/webhooks`;
    const unsigned = { url, secret: webhookSecret, signature: `sha256=${"0".repeat(64)}` };
    expect((await deliver(github.state, "github_app_authorization", payload, unsigned)).status).toBe(401);
    expect((await browser.get("/")).status).toBe(200);
    const signed = { url, secret: webhookSecret };
    expect((await deliver(github.state, "github_app_authorization", payload, signed)).status).toBe(202);
    for (const one of [browser, second]) expect((await one.get("/")).location).toBe("/login");
    expect((await stranger.get("/")).status).toBe(200);
  });

  it("Nothing is shown after five minutes of silence of GitHub", async () => {
    await seen();
    scenario.github.faults.add({ match: /^GET \/user/, kind: "bad-gateway", nth: "all" });
    clock += 2 * minutes;
    expect((await browser.get("/")).status).toBe(200);
    clock += 3 * minutes - 1;
    expect((await browser.get("/")).status).toBe(200);
    clock += 1;
    const page = await browser.get("/reviews");
    expect([page.status, page.text]).toEqual([503, expect.stringContaining("GitHub does not answer")]);
    scenario.github.faults.clear();
    clock += 15_000;
    expect((await browser.get("/")).status).toBe(200);
  });
});

describe("what a person may see", () => {
  it("GitHub is asked once in two minutes what a person may see, however many pages are opened", async () => {
    await browser.login();
    await Promise.all(Array.from({ length: 20 }, () => browser.get("/")));
    clock += 2 * minutes - 1;
    await browser.get("/");
    expect(asked(/^\/user\/installations$/)).toBe(1);
    clock += 1;
    await Promise.all(Array.from({ length: 20 }, () => browser.get("/")));
    expect(asked(/^\/user\/installations$/)).toBe(2);
  });

  it("GitHub's list of repositories is read to the last page", async () => {
    const { people, installation } = scenario;
    const more = Array.from({ length: 120 }, (_, n) => {
      const one = { ...hidden, id: hidden.id + 1_000 + n, name: `r${n}`, collaborators: new Map() };
      people.addCollaborator(one, "octocat", "read");
      return one;
    });
    installation.repositories.push(...more);
    await browser.login();
    expect((await seen()).repositories).toHaveLength(121);
  });
});

describe("a restart", () => {
  it("A restart asks people to log in again, because no token outlives the process", async () => {
    await browser.login();
    await server.close();
    const { oauth } = scenario.app;
    server = await startPages(scenario, {
      GITHUB_CLIENT_ID: oauth?.clientId ?? "",
      GITHUB_CLIENT_SECRET: oauth?.clientSecret ?? "",
    });
    const again = newBrowser();
    again.cookies.set(sessionCookie, browser.cookies.get(sessionCookie) ?? "");
    expect((await again.get("/")).location).toBe("/login");
    expect((await again.login()).status).toBe(303);
    expect((await again.get("/")).status).toBe(200);
  });
});

describe("before log-in", () => {
  it("A visitor without log-in gets only health, the webhook, the log-in and the style", async () => {
    for (const path of [
      "/",
      "/reviews",
      "/reviews/7",
      "/nothing",
      "/logout",
      "/api",
      "/login/",
      "/login/x",
    ]) {
      const page = await browser.get(path);
      expect([path, page.status]).toEqual([path, 302]);
      expect(page.location).toMatch(/^\/login(\?to=%2F.*)?$/);
    }
    for (const path of ["/act", "/reviews", "/nothing", "/login/callback"])
      expect([path, (await browser.post(path)).status]).toEqual([path, 401]);
    expect((await browser.get("/healthz")).text).toBe("ok\n");
    expect((await browser.get("/readyz")).status).toBe(200);
    expect((await browser.get("/style.css")).headers.get("content-type")).toBe("text/css");
    expect((await browser.get("/login")).status).toBe(200);
    expect((await browser.send("PUT", "/act", {})).status).toBe(405);
    expect(asked(/^\/user/)).toBe(0);
  });

  it("No path leads around the log-in", async () => {
    const port = server.port;
    const { request } = await import("node:http");
    const raw = (path: string) =>
      new Promise<{ status: number; location: string; body: string }>((done, fail) => {
        request({ port, host: "127.0.0.1", path, headers: { host: "x" } }, async (answer) => {
          const body = Buffer.concat(await answer.toArray()).toString();
          done({ status: answer.statusCode ?? 0, location: answer.headers.location ?? "", body });
        })
          .on("error", fail)
          .end();
      });
    const readOtherwise = [
      "//reviews",
      "//evil.test/reviews",
      "http://evil.test/reviews",
      "/style.css/../reviews",
      "/%2e%2e/reviews",
      "/./reviews",
      "/style.css/%2e%2e/reviews",
      "/\\evil.test",
      "/login/../reviews",
    ];
    for (const path of readOtherwise) {
      const { status, location, body } = await raw(path);
      expect([path, status, location, body]).toEqual([path, 404, "", "Not found.\n"]);
    }
    // Node takes no such request.
    expect((await raw("\\reviews")).status).toBe(400);
    const plain = [
      "/style.css%2f..%2freviews",
      "/style.css%5c..%5creviews",
      "/style.css;/reviews",
      "/style.css%00",
      "/STYLE.CSS",
      "/login%2freviews",
      "/%72eviews",
      "/reviews%2f7",
      "/reviews?to=//evil.test",
    ];
    for (const path of plain) {
      const { status, location, body } = await raw(path);
      expect([path, status]).toEqual([path, 302]);
      expect(location).toMatch(/^\/login\?to=%2F[^/\\]*$/);
      expect(body).not.toMatch(/review/);
    }
  });
});

describe("an attacker", () => {
  it("A log-in ends only in the browser that began it", async () => {
    const attacker = newBrowser();
    const back = await attacker.authorize(await attacker.beginLogin());
    const own = await browser.authorize(await browser.beginLogin());
    const page = await browser.get(back, { "sec-fetch-site": "cross-site" });
    expect([page.status, page.text]).toEqual([400, expect.stringContaining("did not start in this browser")]);
    expect(browser.cookies.has(sessionCookie)).toBe(false);
    expect(asked(/access_token$/)).toBe(0);
    // It does not end the person's own, either.
    expect((await browser.get(own)).status).toBe(303);
  });

  it("A state that is made up, used, old or missing is worth nothing", async () => {
    const forged = "A".repeat(43);
    browser.cookies.set(loginCookie, forged);
    expect((await browser.get(`/login/callback?code=abc&state=${forged}`)).status).toBe(400);
    browser.cookies.set(loginCookie, "");
    expect((await browser.get("/login/callback?code=abc&state=")).status).toBe(400);
    expect((await browser.get("/login/callback?code=abc")).status).toBe(400);
    const late = await browser.authorize(await browser.beginLogin());
    clock += 10 * minutes;
    expect((await browser.get(late)).status).toBe(400);
    expect(asked(/access_token$/)).toBe(0);
    const back = await browser.authorize(await browser.beginLogin());
    const state = new URL(back, browser.origin).searchParams.get("state") ?? "";
    expect((await browser.get(back)).status).toBe(303);
    browser.cookies.set(loginCookie, state);
    expect((await browser.get(back)).status).toBe(400);
    expect(asked(/access_token$/)).toBe(1);
  });

  it("A code that is made up, malformed, or of another log-in is worth nothing", async () => {
    const stateOf = (address: URL) => address.searchParams.get("state") ?? "";
    for (const code of ["0".repeat(20), "a b", "%0a", "x".repeat(201), ""]) {
      const state = stateOf(await browser.beginLogin());
      const page = await browser.get(`/login/callback?code=${code}&state=${state}`);
      expect([code, page.status]).toEqual([code, 400]);
    }
    expect(asked(/access_token$/)).toBe(1);
    const attacker = newBrowser();
    const stolen = new URL(await browser.authorize(await browser.beginLogin()), browser.origin).searchParams;
    const state = stateOf(await attacker.beginLogin());
    // Without the verifier of the log-in that got it, GitHub does not take it.
    const page = await attacker.get(`/login/callback?code=${stolen.get("code")}&state=${state}`);
    expect([page.status, attacker.cookies.has(sessionCookie)]).toEqual([400, false]);
    expect(asked(/access_token$/)).toBe(2);
  });

  it("A session's id is always new, and one that was planted is worth nothing", async () => {
    const planted = "B".repeat(43);
    browser.cookies.set(sessionCookie, planted);
    await browser.login();
    const first = browser.cookies.get(sessionCookie) ?? "";
    expect(first).not.toBe(planted);
    const attacker = newBrowser();
    attacker.cookies.set(sessionCookie, planted);
    expect((await attacker.get("/")).location).toBe("/login");
    await browser.login();
    expect(browser.cookies.get(sessionCookie)).not.toBe(first);
    attacker.cookies.set(sessionCookie, first);
    expect((await attacker.get("/")).location).toBe("/login");
  });

  it.each([
    ["from another site", { origin: "https://evil.test", "sec-fetch-site": "cross-site" }],
    ["from another host of the same site", { origin: "https://x.127.0.0.1", "sec-fetch-site": "same-site" }],
    ["from a sandboxed frame", { origin: "null", "sec-fetch-site": "cross-site" }],
    ["from another port", { origin: "http://127.0.0.1:9", "sec-fetch-site": "same-site" }],
    ["without the origin of an old browser", { origin: "", "sec-fetch-site": "" }],
  ])("A form that a person's browser sends %s is refused", async (_, headers) => {
    await browser.login();
    for (const path of ["/act", "/logout", "/login"]) {
      const page = await browser.post(path, { what: "harm" }, headers);
      expect([path, page.status]).toEqual([path, 403]);
    }
    expect((await browser.get("/")).status).toBe(200);
    expect((await browser.post("/act", { what: "good" })).text).toBe("octocat did good");
    const old = await browser.post("/act", { what: "good" }, { "sec-fetch-site": "" });
    expect(old.text).toBe("octocat did good");
  });

  it("A request that is not a small form is refused", async () => {
    await browser.login();
    for (const type of ["text/plain", "application/json", "multipart/form-data; boundary=x", ""])
      expect([type, (await browser.post("/act", {}, { "content-type": type })).status]).toEqual([type, 415]);
    expect((await browser.post("/act", { what: "x".repeat(64 * 1024) })).status).toBe(413);
    expect((await browser.post("/act", { what: "x".repeat(60 * 1024) })).status).toBe(200);
  });

  it.each([
    "//evil.test",
    "///evil.test",
    "/\\evil.test",
    "\\\\evil.test",
    "https://evil.test/",
    "/\t/evil.test",
    "/.//evil.test",
    "/%2e/%2e./..//evil.test",
    "javascript:alert(1)",
    "reviews",
    "/login",
    "/logout",
    "/login/callback?code=1",
    `/${"x".repeat(1_000)}`,
    "/a\r\nset-cookie: x=y",
  ])("Log-in does not lead to %j", async (to) => {
    expect((await browser.login(to)).location).toBe("/");
  });

  it("No page is shown in a frame, runs a script or is kept, before and after log-in", async () => {
    const check = (headers: Headers) => {
      const csp = headers.get("content-security-policy") ?? "";
      expect(csp).toContain("default-src 'none'");
      expect(csp).toContain("frame-ancestors 'none'");
      expect(csp).toContain("form-action 'self'");
      expect(csp).not.toMatch(/script|unsafe|\*/);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("same-origin");
      expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
    };
    const before = ["/", "/login", "/login/callback?state=x", "/style.css", "/%2e"];
    for (const path of before) check((await browser.get(path)).headers);
    for (const path of ["/act", "/login"]) check((await browser.post(path)).headers);
    check((await browser.post("/act", {}, { "content-type": "text/plain" })).headers);
    check((await browser.login()).headers);
    for (const path of ["/", "/nothing", "/reviews/7"]) check((await browser.get(path)).headers);
  });
});

describe("the whole program", () => {
  let app: AppUnderTest;
  beforeAll(async () => {
    const options = { base: files, head: { "a.txt": "b\n" } };
    const secret = {
      GITHUB_CLIENT_ID: "Iv23li00000000100001",
      GITHUB_CLIENT_SECRET: "a-client-secret-for-tests-1",
    };
    app = await startApp({ ...options, env: secret });
    app.github.state.enableLogin(app.app, `${app.server.url}/login/callback`);
    Object.assign(app.app.oauth ?? {}, {
      clientId: secret.GITHUB_CLIENT_ID,
      clientSecret: secret.GITHUB_CLIENT_SECRET,
    });
    app.github.state.visitor = app.github.state.account("octocat");
  });
  afterAll(() => app[Symbol.asyncDispose]());

  it("The whole program logs in, ends the session at GitHub's word, and asks again after a restart", async () => {
    const person = new Browser(app.server.url);
    const login = async (who: Browser) => {
      app.github.state.visitor = app.github.state.account("octocat");
      if (app.app.oauth) app.app.oauth.callbackUrls = [`${app.server.url}/login/callback`];
      return who.login("/nowhere");
    };
    expect((await login(person)).location).toBe("/nowhere");
    expect((await person.get("/nowhere")).status).toBe(404);
    const payload = authorizationRevokedPayload(app.github.state, app.github.state.account("octocat"));
    const target = { url: app.server.webhookUrl, secret: app.webhookSecret };
    expect((await deliver(app.github.state, "github_app_authorization", payload, target)).status).toBe(202);
    expect((await person.get("/nowhere")).location).toBe("/login?to=%2Fnowhere");
    await login(person);
    await app.killAndRestart();
    const again = new Browser(app.server.url);
    again.cookies.set(sessionCookie, person.cookies.get(sessionCookie) ?? "");
    expect((await again.get("/nowhere")).location).toBe("/login?to=%2Fnowhere");
    expect((await login(again)).status).toBe(303);
    expect((await again.get("/nowhere")).status).toBe(404);
    expect(app.github.violations).toEqual([]);
  });
});
