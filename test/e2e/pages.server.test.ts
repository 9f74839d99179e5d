import { readFile } from "node:fs/promises";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { readEnv } from "../../src/config/env.ts";
import { startSetup } from "../../src/pages/setup.ts";
import { parseCsv } from "../pages/rendered.ts";
import { logBook } from "../server/webhooks/support.ts";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import { seriousIssues, whyNoChromium } from "../support/chromium.ts";
import type { FakeScript } from "../support/fake-openai.ts";
import { TempFolder } from "../support/git-repo.ts";
import { finding, finish, numbers, turn } from "./conformance-fixture.ts";
import { logIn, operatorLogin, type PagesApp, startPagesApp } from "./pages-fixture.ts";

/*
 * The pages of the real server in a real Chromium, against the GitHub double. People's browsers run no script; only the accessibility check
 * has a browser with script.
 */

const path = "src/numbers.js";
const changed = (n24: string) => ({
  [path]: numbers(60, { 8: "const n8 = 0;", 24: `const n24 = ${n24};`, 40: "const n40 = 0;" }),
});
const at = (line: number, severity: string) =>
  finding({ line, quote: `const n${line} = 0;`, title: `n${line} is no longer ${line}`, severity });

const three: FakeScript = (_, n) =>
  turn(...(n === 0 ? [at(8, "high"), at(24, "high"), at(40, "medium")] : []), finish);
const resolution = (asked: string) => {
  const state = asked.includes("n24 is no longer") ? ("fixed" as const) : ("present" as const);
  return { state, reason: "The number is as it is now." };
};

/** Runs of the seeded history. */
const history = 330;
const narrow = { width: 390, height: 844 };
const wide = { width: 1280, height: 900 };

/** Both widths and both colors; the slow tier has all four pairs. */
const looks = [
  [wide, "light"],
  [narrow, "dark"],
  ...(process.env.HUNKWISE_LONG === "1"
    ? ([
        [wide, "dark"],
        [narrow, "light"],
      ] as const)
    : []),
] as const;

let pages: PagesApp;
/** The id of a run that was really made. */
let review: string;
const addresses = () => [
  ...["/", "/reviews", `/reviews/${review}`, "/findings", "/insights", "/insights?days=365"],
  ...["/configuration?repository=octo-org/shop", "/health", "/nothing"],
];

async function prepare(): Promise<void> {
  pages = await startPagesApp(
    {
      base: { [path]: numbers(60), ".github/hunkwise.yml": "minimum_severity: low\n" },
      head: changed("0"),
      everyRole: withAgreeingSceptic(three, { resolution }).script,
    },
    history,
  );
  const { app } = pages;
  await app.review();
  const [first] = app.threads();
  await app.reply(first!, "octocat", "Won't fix, this is intended.");
  await app.idle();
  await app.push(changed("24.0"));
  app.people.merge(app.pull);
  await app.send("closed");
  await app.idle();
  const [row] = pages.rows("SELECT id FROM run WHERE posted = 3 ORDER BY seq DESC LIMIT 1");
  review = String(row?.id);
}

const count = (sql: string) => Number(pages.rows(`SELECT count(*) AS n FROM ${sql}`)[0]?.n);
const trimmed = (texts: string[]) => texts.map((text) => text.trim());

/** The records of a file, without its head. */
async function csvOf(context: BrowserContext, address: string): Promise<string[][]> {
  const [page = "", query = ""] = address.split("?");
  const answer = await context.request.get(`${page.replace(/(\.csv)?$/, ".csv")}?${query}`);
  expect(answer.status()).toBe(200);
  return parseCsv(await answer.text()).slice(1);
}

const onPage = async <Value>(page: Page, script: string): Promise<Value> =>
  (await page.evaluate(script)) as Value;

/** Clicks on a link; resolves when its page is there. */
async function follow(page: Page, link: Locator): Promise<void> {
  const to = (await link.getAttribute("href")) ?? "";
  await link.click();
  await page.waitForURL(new URL(to, page.url()).href);
}

/** The page needs no sideways scrolling in windows of these sizes. */
async function fits(page: Page, ...sizes: { width: number; height: number }[]): Promise<void> {
  for (const size of sizes) {
    await page.setViewportSize(size);
    // The page is laid out again a moment after its window has another size.
    const width = () => onPage<number>(page, "document.documentElement.scrollWidth");
    await expect.poll(width, { message: page.url() }).toBe(size.width);
  }
}

/** What a person reaches with the Tab key, in order; each with whether it shows that it has the focus. */
async function tabThrough(page: Page): Promise<{ at: string; isShown: boolean }[]> {
  await onPage(
    page,
    "document.body.querySelectorAll('*').forEach((one, at) => one.setAttribute('data-at', at))",
  );
  const reached = new Map<string, { at: string; isShown: boolean }>();
  for (;;) {
    await page.keyboard.press("Tab");
    const now = await onPage<{ at: string; isShown: boolean } | null>(
      page,
      `(() => {
        const one = document.activeElement;
        if (!one || one === document.body || !document.hasFocus()) return null;
        const { outlineStyle, outlineWidth } = getComputedStyle(one);
        const { right, bottom, width } = one.getBoundingClientRect();
        const isShown = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 && right > 0 && bottom > 0 && width > 0;
        return { at: one.dataset.at, isShown, what: one.outerHTML.slice(0, 80) };
      })()`,
    );
    // A date has a stop for each of its parts.
    if (now === null || (reached.has(now.at) && [...reached.keys()].at(-1) !== now.at))
      return [...reached.values()];
    reached.set(now.at, now);
  }
}

/** Leaves two rows of each kind in a table: the others differ only in their words, and each takes a check as long as these. */
const fewRows = `(() => {
  const seen = {};
  for (const row of document.querySelectorAll('tbody tr')) {
    const kind = row.innerHTML.replaceAll(/>[^<]*/g, '>').replaceAll(/ (href|datetime|title)="[^"]*"/g, '');
    seen[kind] = (seen[kind] ?? 0) + 1;
    if (seen[kind] > 2) row.remove();
  }
})()`;

const focusable = `[...document.querySelectorAll('a[href],button,input:not([type=hidden]),select,summary,[tabindex="0"]')]
  .filter((one) => one.checkVisibility() && one.tabIndex >= 0).map((one) => one.dataset.at)`;

describe.skipIf(whyNoChromium !== null)(
  whyNoChromium === null ? "the pages in Chromium" : `the pages in Chromium: NOT TRIED, ${whyNoChromium}`,
  () => {
    beforeAll(prepare);
    afterAll(async () => {
      const { violations } = pages.app.github;
      await pages[Symbol.asyncDispose]();
      expect(violations).toEqual([]);
    });
    afterEach(() => {
      expect(pages.faults.splice(0)).toEqual([]);
    });

    const opened = async (login: string, options = {}) => (await pages.openAs(login, options)).newPage();

    it("A person who logs in by clicks comes to the page that they asked for, and out again", async () => {
      const context = await pages.open();
      const page = await context.newPage();
      await page.goto("/findings?state=open");
      expect(await page.title()).toBe("Log in · Hunkwise");
      await logIn(page, pages.app, "octocat");
      expect(page.url()).toBe(`${pages.origin}/findings?state=open`);
      await page.getByRole("button", { name: "Log out" }).click();
      await page.waitForURL("**/login");
      await page.goBack();
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Log in");
      await context.close();
    });

    it("The keyboard alone is enough for log-in, a filter, and log-out", async () => {
      const { state } = pages.app.github;
      state.visitor = state.account("octocat");
      const context = await pages.open();
      const page = await context.newPage();
      const focus = async (name: string) => {
        for (let presses = 0; presses < 200; presses++) {
          await page.keyboard.press("Tab");
          const text = await onPage<string>(
            page,
            "document.activeElement.closest('label')?.firstChild.textContent.trim() ?? document.activeElement.textContent.trim()",
          );
          if (text === name) return;
        }
        throw new Error(`Tab does not reach ${name}`);
      };
      await page.goto("/reviews");
      await focus("Log in with GitHub");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Log out" }).waitFor();
      await focus("Outcome");
      await page.keyboard.type("failed");
      await focus("Show");
      await page.keyboard.press("Enter");
      await page.waitForURL(/outcome=failed/);
      expect(new Set(trimmed(await page.locator("td[data-name=Outcome] .badge").allTextContents()))).toEqual(
        new Set(["failed"]),
      );
      await focus("Log out");
      await page.keyboard.press("Enter");
      await page.waitForURL("**/login");
      await context.close();
    });

    it("Each page shows where one is, and leads to each other", async () => {
      const page = await opened("octocat");
      await page.goto("/");
      const names = ["Now", "Reviews", "Findings", "Insights", "Configuration", "Health"];
      for (const name of names) {
        await page
          .getByRole("navigation", { name: "Pages" })
          .getByRole("link", { name, exact: true })
          .click();
        expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe(name);
        expect(await page.title()).toBe(`${name} · Hunkwise`);
        expect(await page.locator("[aria-current=page]").allTextContents()).toEqual([name]);
      }
      await page.context().close();
    });

    it("The page of a review tells its findings, what became of them, and what was read and written", async () => {
      const page = await opened("reader");
      await page.goto("/reviews");
      await page.locator(`a[href="/reviews/${review}"]`).click();
      const text = (await page.locator("main").textContent()) ?? "";
      for (const line of [8, 24, 40]) expect(text).toContain(`n${line} is no longer ${line}`);
      expect(text).toContain("Changes a few numbers.");
      expect(text).toContain("3 of 3 hunks in 1 file were read");
      const states = trimmed(await page.locator(".finding p:last-child .badge").allTextContents());
      expect(states.toSorted()).toEqual(["dismissed", "fixed", "open"]);
      const links = await Promise.all(
        (await page.locator(".finding a").all()).map(async (link) => (await link.getAttribute("href")) ?? ""),
      );
      // To GitHub, and to the finding's own page.
      expect(links.filter((href) => /\/octo-org\/shop\/pull\/1#discussion_r\d+$/.test(href))).toHaveLength(3);
      expect(links.filter((href) => /^\/findings\/\d+\/1\/\d+$/.test(href))).toHaveLength(3);
      expect(links).toHaveLength(6);
      await page.getByText("All findings of this pull request").click();
      expect(await page.locator("tbody tr").count()).toBe(3);
      expect(await page.locator("main").textContent()).toContain("in a reply, by octocat");
      await page.context().close();
    });

    it("A list has pages to its end and back, and is given whole as a file", async () => {
      const page = await opened("octocat");
      await page.goto("/reviews");
      const ids = () =>
        onPage<string[]>(
          page,
          "[...document.querySelectorAll('tbody th a')].map((one) => one.getAttribute('href'))",
        );
      const parts = [await ids()];
      const older = page.getByRole("link", { name: "Older" });
      while (await older.isVisible()) {
        await follow(page, older);
        parts.push(await ids());
      }
      const all = parts.flat();
      expect(all).toHaveLength(count("run"));
      expect(new Set(all).size).toBe(all.length);
      await follow(page, page.getByRole("link", { name: "Newest" }));
      expect(await ids()).toEqual(parts[0]);
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "CSV of this list" }).click(),
      ]);
      expect(download.suggestedFilename()).toBe("reviews.csv");
      const [head, ...records] = parseCsv(await readFile(await download.path(), "utf8"));
      expect(head?.[0]).toBe("id");
      expect(records.map(([id]) => `/reviews/${id}`)).toEqual(all);
      await page.context().close();
    });

    it("A filter holds what is chosen and searched, also on the next pages", async () => {
      const page = await opened("octocat");
      await page.goto("/findings");
      await page.getByLabel("State").selectOption("fixed");
      await page.getByLabel("Severity").selectOption("medium");
      await page.getByLabel("Repository").fill("Octo/Repo-1");
      await page.getByRole("button", { name: "Show" }).click();
      let rows = await page.locator("tbody tr").count();
      for (const next = page.getByRole("link", { name: "Older" }); await next.isVisible(); ) {
        await follow(page, next);
        rows += await page.locator("tbody tr").count();
        expect(await page.getByLabel("State").inputValue()).toBe("fixed");
      }
      expect(rows).toBe(count("finding WHERE state = 'fixed' AND severity = 'medium' AND repository = 1001"));
      expect(rows).toBeGreaterThan(5);
      await page.goto("/reviews");
      await page.getByLabel("Search").fill("octo-org/shop#1");
      await page.keyboard.press("Enter");
      await page.waitForURL(/q=/);
      expect(await page.locator("tbody tr").count()).toBe(count("run WHERE repository > 2000"));
      await page.context().close();
    });

    it("Each number of Insights leads to a list of as many rows", async () => {
      for (const [login, address] of [
        ["octocat", "/insights?days=90"],
        ["reader", "/insights"],
      ] as const) {
        const context = await pages.openAs(login);
        const page = await context.newPage();
        await page.goto(address);
        const links = await onPage<[string, string][]>(
          page,
          "[...document.querySelectorAll('main a')].map((one) => [one.getAttribute('href'), one.textContent])",
        );
        const counted = links.filter(
          ([href, text]) => /^\/(reviews|findings)\?/.test(href) && /^\d/.test(text),
        );
        expect(counted.length).toBeGreaterThan(login === "octocat" ? 100 : 10);
        const wrong: string[] = [];
        for (const [href, text] of new Map(counted)) {
          const { length } = await csvOf(context, href);
          if (length !== Number(text.replace(/\D.*$/, ""))) wrong.push(`${text} at ${href} are ${length}`);
        }
        // A bar of the chart of outcomes has its numbers in its title.
        const bars = links.filter(([, text]) => /^Week of .*\d+ fixed/.test(text));
        expect(bars.length).toBeGreaterThan(4);
        for (const [href, text] of bars) {
          const sum = [...text.matchAll(/(\d+) [a-z]/g)].reduce((all, [, one]) => all + Number(one), 0);
          const { length } = await csvOf(context, href);
          if (length !== sum) wrong.push(`${text} at ${href} are ${length}`);
        }
        expect(wrong).toEqual([]);
        await context.close();
      }
    });

    it("What the last weeks cost and brought fits one screen, and leads to the list behind it", async () => {
      const page = await opened("reader", { viewport: wide });
      await page.goto("/");
      await page.getByRole("link", { name: "Results and cost of the last weeks" }).click();
      const story = page.locator(".story");
      expect(await story.textContent()).toMatch(
        /This week so far.*3 reviews cost.*1 reviewed pull request was merged, with 3 findings:\s+1 fixed, 1 dismissed, 1 ignored/s,
      );
      const box = await story.boundingBox();
      expect((box?.y ?? 999) + (box?.height ?? 999)).toBeLessThan(wide.height);
      await story.getByRole("link", { name: "3 findings" }).click();
      expect(await page.locator("tbody tr").count()).toBe(3);
      await page.context().close();
    });

    it("No page and no file shows a repository that GitHub does not show the person", async () => {
      const context = await pages.openAs("reader");
      const page = await context.newPage();
      for (const address of addresses()) {
        await page.goto(address);
        expect(await page.locator("html").textContent()).not.toMatch(/octo\/repo/);
      }
      expect((await csvOf(context, "/reviews")).length).toBe(count("run WHERE repository > 2000"));
      expect((await csvOf(context, "/findings")).length).toBe(3);
      for (const by of ["repository", "week", "severity", "category", "rule", "source", "model"])
        for (const record of await csvOf(context, `/insights?days=365&by=${by}`))
          expect(record.join()).not.toMatch(/octo\/|large-model|money-is-decimal|leftovers/);
      const [other] = pages.rows("SELECT id FROM run WHERE repository = 1001 LIMIT 1");
      for (const address of [`/reviews/${other?.id}`, "/configuration?repository=octo/repo-1"])
        expect((await page.goto(address))?.status()).toBe(404);
      for (const list of ["/reviews", "/findings"]) {
        await page.goto(`${list}?repository=octo/repo-1`);
        expect(await page.locator("tbody tr").count()).toBe(0);
      }
      await context.close();
    });

    it("The health of the server is shown to an operator, and to nobody else", async () => {
      const page = await opened(operatorLogin);
      await page.goto("/health");
      // The page loads itself again until the checks have run.
      await page.getByRole("row", { name: /^Node/ }).waitFor({ timeout: 120_000 });
      const checks = await page.locator("tbody th[data-name=Check]").allTextContents();
      expect(checks).toEqual(expect.arrayContaining(["git", "ripgrep", "database", "GitHub", "model"]));
      expect(await page.locator("footer").textContent()).toContain("You are an operator");
      const other = await opened("octocat");
      expect((await other.goto("/health"))?.status()).toBe(403);
      const text = await other.locator("main").textContent();
      expect(text).toContain("Only operators of this server see its health");
      expect(text).toContain(String(pages.app.github.state.account("octocat").id));
      await Promise.all([page.context().close(), other.context().close()]);
    });

    it("An operator sees runs and costs of all repositories, but no words", async () => {
      const page = await opened(operatorLogin);
      await page.goto("/findings");
      const text = await page.locator("main").textContent();
      expect(text).toContain("octo-org/shop#1");
      expect(text).toContain("words not shown");
      expect(text).not.toContain("is no longer");
      expect((await page.goto(`/reviews/${review}`))?.status()).toBe(404);
      await page.context().close();
    });

    it("The page of the configuration says what holds and where it comes from", async () => {
      const page = await opened("octocat");
      await page.goto("/configuration");
      await page.getByLabel("Repository").selectOption("octo-org/shop");
      await page.getByRole("button", { name: "Show" }).click();
      const text = await page.locator("main pre").textContent();
      expect(text).toContain("minimum_severity: low # .github/hunkwise.yml");
      expect(text).toContain("max_comments: null # default");
      await page.context().close();
    });

    it("A page loads itself again only if somebody asks for that, and stops on request", async () => {
      const page = await opened("octocat");
      await page.goto("/");
      expect(await page.locator("meta[http-equiv=refresh]").count()).toBe(0);
      await page.getByRole("link", { name: "Reload every 10 seconds" }).click();
      expect(await page.locator("meta[http-equiv=refresh]").getAttribute("content")).toBe("10");
      await page.getByRole("link", { name: "Stop that" }).click();
      expect(await page.locator("meta[http-equiv=refresh]").count()).toBe(0);
      await page.context().close();
    });

    it("All pages fit a phone without scrolling sideways, and a wide screen", async () => {
      const page = await opened("octocat");
      for (const address of [...addresses(), "/login"]) {
        await page.goto(address);
        await fits(page, narrow, { width: 320, height: 640 }, wide, { width: 1920, height: 1080 });
      }
      await page.context().close();
    });

    it("No table needs sideways scrolling on a wide screen", async () => {
      const page = await opened("octocat", { viewport: wide });
      for (const address of addresses()) {
        await page.goto(address);
        const hidden = await onPage<string[]>(
          page,
          "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.getAttribute('aria-label'))",
        );
        expect([address, hidden]).toEqual([address, []]);
      }
      await page.context().close();
    });

    it("The pages follow the reader's setting of light and dark", async () => {
      const grounds: string[] = [];
      for (const colorScheme of ["light", "dark"] as const) {
        const page = await opened("octocat", { colorScheme });
        await page.goto("/insights");
        grounds.push(
          await onPage<string>(page, "getComputedStyle(document.documentElement).backgroundColor"),
        );
        await page.context().close();
      }
      expect(grounds).toEqual(["rgb(255, 255, 255)", "rgb(13, 17, 23)"]);
    });

    it("A page prints without what only a screen needs, dark on white", async () => {
      const page = await opened("octocat", { colorScheme: "dark" });
      await page.emulateMedia({ media: "print" });
      for (const address of ["/reviews", `/reviews/${review}`, "/findings", "/insights"]) {
        await page.goto(address);
        for (const gone of ["body > header", ".filters", ".pager"])
          for (const one of await page.locator(gone).all()) expect(await one.isVisible()).toBe(false);
        expect(await page.getByRole("heading", { level: 1 }).isVisible()).toBe(true);
        expect(await onPage(page, "getComputedStyle(document.documentElement).color")).toBe("rgb(0, 0, 0)");
        const pdf = await page.pdf({ format: "A4" });
        expect(pdf.subarray(0, 5).toString()).toBe("%PDF-");
        expect(pdf.length).toBeGreaterThan(20_000);
      }
      await page.context().close();
    });

    it("Tab reaches everything, and each stop shows that it has the focus", async () => {
      const page = await opened("octocat", { viewport: wide });
      for (const address of addresses()) {
        await page.goto(address);
        await onPage(page, fewRows);
        const reached = await tabThrough(page);
        const wanted = await onPage<string[]>(page, focusable);
        expect([address, reached.map((one) => one.at)]).toEqual([address, wanted]);
        expect(reached.filter(({ isShown }) => !isShown)).toEqual([]);
      }
      await page.goto("/reviews");
      await page.keyboard.press("Tab");
      const skip = page.getByRole("link", { name: "Skip to the content" });
      expect((await skip.boundingBox())?.x).toBeGreaterThanOrEqual(0);
      await page.keyboard.press("Enter");
      expect(await onPage(page, "document.activeElement.id")).toBe("content");
      await page.keyboard.press("Tab");
      expect(await onPage(page, "document.activeElement.name")).toBe("q");
      await page.context().close();
    });

    it("The setup page fits a phone, needs no script and has no serious fault", async () => {
      using folder = new TempFolder("setup-in-chromium");
      const book = logBook();
      const setup = await startSetup({
        env: readEnv({
          ...{ HOST: "127.0.0.1", PORT: "0", HUNKWISE_DATA_DIR: folder.path },
          OPENAI_API_KEY: "sk-1234567890",
        }),
        log: book.log,
        checkModel: async () => ({ state: "fail", says: "The model does not answer", remedy: "Start it." }),
      });
      const home = /http:\S+key=\S+/.exec(JSON.stringify(book.lines))?.[0] ?? "";
      for (const javaScriptEnabled of [false, true]) {
        const context = await pages.browser.newContext({ javaScriptEnabled, bypassCSP: javaScriptEnabled });
        const page = await context.newPage();
        await page.goto(home);
        expect(await page.locator(".steps .state").allTextContents()).toEqual([
          "Not reachable",
          "Does not work",
          "Needs an address",
        ]);
        await page.getByLabel("Public address").fill("hunkwise.example.com");
        await page.keyboard.press("Enter");
        await page.waitForURL(/address=/);
        await page.getByLabel("Organization").fill("octo-org");
        await page.getByRole("button", { name: "Continue" }).click();
        expect(await page.getByRole("button", { name: "Create the App on GitHub" }).isVisible()).toBe(true);
        expect(await page.locator(".steps").textContent()).toContain(
          "https://hunkwise.example.com/api/github/webhooks",
        );
        for (const [viewport, colorScheme] of looks) {
          await page.emulateMedia({ colorScheme });
          await fits(page, viewport);
          if (javaScriptEnabled) expect(await seriousIssues(page)).toEqual([]);
        }
        await context.close();
      }
      await setup.close();
    });

    it("No page has a serious fault of accessibility, wide or narrow, light or dark", async () => {
      const found: string[] = [];
      for (const login of ["octocat", operatorLogin]) {
        const context = await pages.openAs(login, { javaScriptEnabled: true, bypassCSP: true });
        const page = await context.newPage();
        const visited = login === operatorLogin ? ["/", "/health", "/findings"] : [...addresses(), "/login"];
        for (const address of visited) {
          await page.goto(address);
          await onPage(page, fewRows);
          for (const [viewport, colorScheme] of looks) {
            await page.setViewportSize(viewport);
            await page.emulateMedia({ colorScheme });
            // Only a person who asked for that has a page that loads itself again.
            for (const issue of await seriousIssues(page))
              found.push(`${address} ${viewport.width} ${colorScheme}: ${issue}`);
          }
        }
        await context.close();
      }
      expect(found).toEqual([]);
    });

    // Last: it changes what is on record.
    it("A finding of long words and its form fit a small phone", async () => {
      const long = "src/a_very_long_name_without_a_space/".repeat(6);
      const words = { path: `${long}x.ts`, title: `\`${long}\` is ${"W".repeat(120)}` };
      const open = "SELECT repository, pull, key FROM finding WHERE state = 'open' AND place = 'comment'";
      const sql = `UPDATE finding_text SET path = :path, title = :title WHERE (repository, pull, key) IN (${open})`;
      pages.write([sql], words);
      for (const login of ["octocat", operatorLogin]) {
        const page = await opened(login);
        await page.goto("/findings?state=open");
        const found = await page
          .locator("a[href^='/findings/']")
          .evaluateAll((all) => all.map((one) => one.getAttribute("href")));
        expect(found.length > 0).toBe(login === "octocat");
        for (const address of [...found.slice(0, 3), ...addresses()]) {
          await page.goto(address!);
          await fits(page, { width: 320, height: 640 }, { width: 360, height: 740 });
        }
        await page.context().close();
      }
    });
  },
);
