import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { openSqliteDatabase } from "../../src/server/queue/sqlite-database.ts";
import { type AppOptions, type AppUnderTest, startApp } from "../support/app-under-test.ts";
import { startChromium } from "../support/chromium.ts";
import type { Repository } from "../support/github-double/model.ts";
import { firstRepository, seedHistory } from "../support/seeded-history.ts";
import { type Case, caseOf } from "./conformance-fixture.ts";

/** The login of an operator who is nobody's collaborator. */
export const operatorLogin = "operator";
/** Repositories with a made-up history, which only octocat sees, beside the one whose pull requests are really reviewed. */
const seededNames = ["octo/repo-1", "octo/repo-2"];

/** The real server with its pages, and a real browser before them. */
export interface PagesApp extends AsyncDisposable {
  app: Case & AppUnderTest;
  /** Of the pages, as a browser writes it. */
  origin: string;
  browser: Browser;
  seeded: Repository[];
  /** A browser of somebody who is not logged in. What it must not do is added to `faults`. */
  open(options?: BrowserContextOptions): Promise<BrowserContext>;
  /** A browser of somebody who is. All browsers of a person share a session. */
  openAs(login: string, options?: BrowserContextOptions): Promise<BrowserContext>;
  /** Requests to other hosts than the server and GitHub, answers without the policy, and errors in the console. */
  faults: string[];
  rows(sql: string): Record<string, unknown>[];
  /** Changes what is on record, beside the server. */
  write(statements: readonly string[], given: Record<string, string>): void;
}

/** @param history runs that the server has on record beforehand, in the seeded repositories */
export async function startPagesApp(options: AppOptions, history: number): Promise<PagesApp> {
  const seeded: Repository[] = [];
  const app = await startApp({
    ...options,
    prepare: ({ github: { state }, people, app, repository }) => {
      for (const [index, name] of seededNames.entries()) {
        const one = people.createRepository(name, { "a.txt": "a\n" }, { private: true });
        one.id = firstRepository + index;
        people.addCollaborator(one, "octocat", "write");
        seeded.push(one);
      }
      state.install(app, seeded);
      people.addCollaborator(repository, "reader", "read");
      const { clientId, clientSecret } = state.enableLogin(app);
      return {
        ...{ GITHUB_CLIENT_ID: clientId, GITHUB_CLIENT_SECRET: clientSecret },
        HUNKWISE_OPERATORS: String(state.account(operatorLogin).id),
      };
    },
  });
  const origin = app.server.url.replace("127.0.0.1", "localhost");
  app.app.oauth?.callbackUrls.push(`${origin}/login/callback`);
  const database = openSqliteDatabase(app.dataFolder);
  const size = { repositories: seeded.length, now: Date.now() - 3_600_000, days: 60, recorded: history };
  await seedHistory(database, { ...size, runs: history, findings: 4 });
  await database.close();

  const browser = await startChromium();
  const faults: string[] = [];
  const hosts = new Set([new URL(origin).host, new URL(app.github.url).host]);
  const sessions = new Map<string, Promise<Awaited<ReturnType<BrowserContext["storageState"]>>>>();

  async function open(given: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await browser.newContext({ baseURL: origin, javaScriptEnabled: false, ...given });
    // A machine of CI is at times ten times slower.
    context.setDefaultTimeout(120_000);
    watch(context, { origin, hosts, faults });
    return context;
  }

  async function sessionOf(login: string) {
    const context = await open();
    const page = await context.newPage();
    await logIn(page, app, login);
    const state = await context.storageState();
    await context.close();
    return state;
  }

  return {
    ...{ app: caseOf(app), origin, browser, seeded, faults, open },
    async openAs(login, given) {
      const known = sessions.get(login) ?? sessionOf(login);
      sessions.set(login, known);
      return open({ storageState: await known, ...given });
    },
    rows(sql) {
      using file = new DatabaseSync(join(app.dataFolder, "queue.db"), { readOnly: true });
      return file.prepare(sql).all();
    },
    write(statements, given) {
      using file = new DatabaseSync(join(app.dataFolder, "queue.db"), { timeout: 10_000 });
      for (const sql of statements) file.prepare(sql).run(sql.includes(":") ? given : {});
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await app[Symbol.asyncDispose]();
    },
  };
}

/** Logs in by clicks; the page is then where GitHub sent it. */
export async function logIn(
  page: Page,
  { github: { state } }: Pick<AppUnderTest, "github">,
  login: string,
): Promise<void> {
  state.visitor = state.account(login);
  if (!page.url().includes("/login")) await page.goto("/login");
  await page.getByRole("button", { name: "Log in with GitHub" }).click();
  // Whoever has authorized the App before is sent on at once.
  const authorize = page.getByRole("button", { name: "Authorize Hunkwise" });
  const out = page.getByRole("button", { name: "Log out" });
  await authorize.or(out).first().waitFor();
  if (await authorize.isVisible()) await authorize.click();
  await out.waitFor();
}

interface Watched {
  origin: string;
  hosts: ReadonlySet<string>;
  faults: string[];
}

function watch(context: BrowserContext, { origin, hosts, faults }: Watched): void {
  context.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol !== "data:" && !hosts.has(host)) faults.push(`asks ${request.url()}`);
  });
  context.on("response", (response) => {
    if (!response.url().startsWith(`${origin}/`)) return;
    const headers = response.headers();
    const policy = headers["content-security-policy"] ?? "";
    if (!policy.startsWith("default-src 'none'") || policy.includes("script-src"))
      faults.push(`${response.url()} has the policy ${policy}`);
    if (headers["cache-control"] !== "no-store") faults.push(`${response.url()} may be kept`);
    if (response.status() >= 500) faults.push(`${response.url()} is answered with ${response.status()}`);
  });
  context.on("console", (message) => {
    const { url } = message.location();
    // A page that is not found is also said in the console.
    if (message.type() === "error" && !/status of 40\d/.test(message.text()))
      faults.push(`${url}: ${message.text()}`);
  });
  context.on("weberror", (error) => faults.push(String(error.error())));
  context.on("dialog", (dialog) => faults.push(`opens a dialog: ${dialog.message()}`));
}
