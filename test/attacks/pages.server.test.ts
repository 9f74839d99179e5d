import { request } from "node:http";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { readEnv } from "../../src/config/env.ts";
import { loadRepoConfig } from "../../src/config/load-config.ts";
import { allRoutes, createPages } from "../../src/pages/pages.ts";
import { openReader, type Reader } from "../../src/server/queue/reader.ts";
import { openSqliteDatabase } from "../../src/server/queue/sqlite-database.ts";
import { openSqliteStores, type Stores } from "../../src/server/queue/stores.ts";
import type { RunningServer } from "../../src/server/webhooks/http.ts";
import { startServer } from "../../src/server/webhooks/server.ts";
import { finding, finish, numbers, turn } from "../e2e/conformance-fixture.ts";
import { operatorLogin, type PagesApp, startPagesApp } from "../e2e/pages-fixture.ts";
import { parseCsv } from "../pages/rendered.ts";
import { logBook } from "../server/webhooks/support.ts";
import { Browser } from "../support/browser.ts";
import { whyNoChromium } from "../support/chromium.ts";
import { TempFolder } from "../support/git-repo.ts";
import type { Repository } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";
import { firstRepository, seedHistory } from "../support/seeded-history.ts";

const minutes = 60_000;
const dayMs = 86_400_000;
const time = Date.parse("2026-11-27T08:00:00Z");
/** Of which the App's installation has the first two, an installation of a stranger the third, and another App the fourth. */
const repositories = 4;

describe("somebody who is logged in", () => {
  let scenario: Scenario;
  let stores: Stores;
  let reader: Reader;
  let server: RunningServer;
  let browser: Browser;
  let clock = time;
  let seeded: Repository[];
  /** A run of each repository, by its place. */
  let runs: string[];
  const data = new TempFolder("attacked-pages");

  beforeAll(async () => {
    scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
    const { github, people, app } = scenario;
    const { state } = github;
    seeded = Array.from({ length: repositories }, (_, index) => {
      const one = people.createRepository(
        `${index === 2 ? "stranger" : "octo"}/repo-${index + 1}`,
        {
          "a.txt": "a\n",
        },
        { private: true },
      );
      one.id = firstRepository + index;
      if (index !== 2) people.addCollaborator(one, "octocat", "write");
      return one;
    });
    state.install(app, seeded.slice(0, 2));
    state.install(app, seeded.slice(2, 3));
    const other = state.addApp({ slug: "other", owner: "octocat", publicKey: "", permissions: {} });
    state.install(other, seeded.slice(3));
    const client = state.enableLogin(app, "http://127.0.0.1/login/callback");
    state.visitor = state.account("octocat");

    const database = openSqliteDatabase(data.path);
    await seedHistory(database, {
      runs: 120,
      repositories,
      now: time,
      days: 20,
      recorded: 120,
      waiting: 8,
      active: 2,
    });
    await database.run(
      "UPDATE finding_text SET title = 'words-of-' || repository, path = 'words-of-' || repository",
    );
    runs = await Promise.all(
      seeded.map(async ({ id }) => {
        const { rows } = await database.run(
          "SELECT id FROM run WHERE repository = :id AND posted > 0 LIMIT 1",
          { id },
        );
        return String(rows[0]?.id);
      }),
    );
    await database.close();
    stores = openSqliteStores(data.path, { now: () => clock });
    reader = await openReader({ databaseUrl: null, dataFolder: data.path });
    const env = readEnv({
      ...{ ...scenario.env, HOST: "127.0.0.1", PORT: "0", HUNKWISE_DATA_DIR: data.path },
      ...{ GITHUB_CLIENT_ID: client.clientId, GITHUB_CLIENT_SECRET: client.clientSecret },
    });
    if (!env.login || !env.app) throw new Error("No log-in");
    const { log } = logBook();
    const pages = createPages({
      ...{ env, credentials: env.login, appId: env.app.id, log, now: () => clock },
      userAgent: "hunkwise/test",
      routes: allRoutes({
        ...{ run: reader.run, webUrl: env.github.webUrl, now: () => time, installationConcurrency: 1 },
        ...{ retentionMs: 60 * dayMs, checkAll: async () => [] },
        ...{ accept: stores.queue.accept.bind(stores.queue), onAccepted: () => {} },
        loadConfiguration: ({ owner, name }) =>
          loadRepoConfig(async () => `instructions: [{ path: "**", text: words of ${owner}/${name} }]\n`),
      }),
    });
    server = await startServer({ env, queue: stores.queue, log, pages });
    browser = new Browser(`http://127.0.0.1:${server.port}`);
    await browser.login();
  });
  afterAll(async () => {
    await server.close();
    await Promise.all([reader.close(), stores.close(), scenario.github.close()]);
    data.dispose();
  });

  /** Every route, with every way to name a repository or one of its runs. */
  const routesAbout = (index: number): string[] => {
    const { owner, name, id } = seeded[index]!;
    const of = `repository=${owner.login}/${name}`;
    return [
      ...["/", "/?live", "/reviews", "/reviews.csv", "/findings", "/findings.csv", "/insights?days=365"],
      ...[`/reviews?${of}`, `/reviews?q=${owner.login}/${name}`, `/reviews.csv?${of}`, "/reviews?q=%231"],
      ...[`/findings?${of}`, `/findings.csv?${of}`, `/findings?${of}&state=open`, "/findings?pull=1"],
      ...[`/insights?${of}`, `/configuration?${of}`, "/configuration", `/reviews/${runs[index]}`],
      ...["repository", "week", "severity", "rule", "model"].map((by) => `/insights.csv?${of}&by=${by}`),
      ...[`/findings?older=${time}.${id}.1.1`, `/reviews?older=${time}.1`, `/findings/${id}/1/1`, "/health"],
    ];
  };
  const marks = (index: number) => {
    const { owner, name, id } = seeded[index]!;
    return [`${owner.login}/${name}`, `words-of-${id}`, runs[index] ?? ""];
  };

  /** The routes whose answers say anything of a repository, except what the request said. */
  async function leaks(index: number): Promise<string[]> {
    const found: string[] = [];
    for (const route of routesAbout(index)) {
      const { text } = await browser.get(route);
      // Fields show what was searched for.
      const shown = text.replaceAll(/<(?:input|option)[^>]*>|href="[^"]*"/g, "");
      if (marks(index).some((mark) => mark !== "" && shown.includes(mark))) found.push(route);
    }
    return found;
  }

  /** The answer for a path exactly as it is written. */
  const raw = (path: string) =>
    new Promise<{ status: number; body: string }>((done, fail) => {
      const cookie = [...browser.cookies].map((pair) => pair.join("=")).join("; ");
      request({ port: server.port, host: "127.0.0.1", path, headers: { cookie } }, async (answer) =>
        done({ status: answer.statusCode ?? 0, body: Buffer.concat(await answer.toArray()).toString() }),
      )
        .on("error", fail)
        .end();
    });

  it("A person sees their repositories on every list and page, so that the next tests can fail", async () => {
    const found = await leaks(0);
    for (const route of ["/reviews", "/reviews.csv", "/findings", "/findings.csv", "/insights?days=365"])
      expect(found).toContain(route);
    expect((await browser.get(`/reviews/${runs[0]}`)).status).toBe(200);
    expect((await browser.get("/configuration?repository=octo/repo-1")).text).toContain(
      "words of octo/repo-1",
    );
  });

  it.each([
    ["a stranger's installation", 2],
    ["another App", 3],
  ])("A person sees nothing of the repositories of %s, on any route", async (_, index) => {
    expect(await leaks(index)).toEqual([]);
    const { owner, name } = seeded[index]!;
    expect((await browser.get(`/reviews/${runs[index]}`)).status).toBe(404);
    expect((await browser.get(`/configuration?repository=${owner.login}/${name}`)).status).toBe(404);
  });

  it("A forbidden run is answered in every spelling like one that does not exist", async () => {
    const forbidden = runs[2]!;
    const spellings = (id: string) => [
      ...[
        `/reviews/${id}`,
        `/reviews/${id}/`,
        `//reviews/${id}`,
        `/./reviews/${id}`,
        `/reviews/../reviews/${id}`,
      ],
      ...[
        `/reviews/${runs[0]}/../${id}`,
        `/reviews/%2e%2e/reviews/${id}`,
        `/reviews%2f${id}`,
        `/reviews/${id}%00`,
      ],
      ...[
        `/reviews/${id}%2f..`,
        `/reviews/${id};x`,
        `/reviews/${id}?x`,
        `/REVIEWS/${id}`,
        `/reviews/${id.toUpperCase()}`,
      ],
      ...[`/reviews/${id.replaceAll("-", "%2d")}`, `/reviews/ ${id}`.replace(" ", "%20"), `/reviews\\${id}`],
      ...[
        `/reviews/${id}.csv`,
        `/style.css/../reviews/${id}`,
        `/reviews/${id}'--`,
        `/reviews/%27or%27%27=%27`,
      ],
    ];
    const nobodys = spellings("00000000-0000-4000-8000-999999999999");
    for (const [at, path] of spellings(forbidden).entries()) {
      const [one, other] = [await raw(path), await raw(nobodys[at] ?? "")];
      expect([path, one.status, one.body]).toEqual([path, 404, other.body]);
    }
  });

  it("Any path and any parameters get an answer, and never an error of the server", async () => {
    const names = [
      ...["repository", "days", "by", "q", "older", "from", "to", "closed_from", "closed_to", "pull"],
      ...[
        "state",
        "outcome",
        "kind",
        "result",
        "live",
        "severity",
        "category",
        "rule",
        "source",
        "pull_state",
      ],
      ...["__proto__", "constructor", "to"],
    ];
    const odd = [
      ...["", "0", "-1", "1e309", "NaN", "9007199254740993", "9".repeat(300), "2026-02-31", "+275760-09-14"],
      ...["1.2.3.4.5", ".", "...", `${Number.MAX_SAFE_INTEGER}.1`, "-5.-5", "1.1.1.x.y", "%", "'", '"', "\\"],
      ...[
        "\0",
        "\ud800",
        "' OR 1=1 --",
        ":place0",
        "octo/repo-1",
        "octo/",
        "/",
        "#1",
        "#999999999",
        "abcdef0",
      ],
      ...["octo/repo-1#1", "merged", "all", "a".repeat(3_000), "9999-12-31", "0001-01-01"],
    ];
    const value = fc.oneof(fc.constantFrom(...odd), fc.string({ unit: "binary", maxLength: 40 }));
    const path = fc.oneof(
      fc.constantFrom(
        ...[
          "/",
          "/reviews",
          "/reviews.csv",
          "/findings",
          "/findings.csv",
          "/insights",
          "/insights.csv",
          "/configuration",
        ],
        ...["/health", "/style.css", "/login", "/nothing", `/reviews/${runs[0]}`],
      ),
      value.map((id) => `/reviews/${encodeURIComponent(id.toWellFormed())}`),
      fc.webPath(),
    );
    const query = fc.oneof(
      fc
        .array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 6 })
        .map((pairs) => String(new URLSearchParams(pairs))),
      fc.webQueryParameters(),
      fc.constantFrom("repository=%ff", "q=%zz", "older=%00&newer=%c0%80", "=", "&&&", "days[]=7", "q=1&q=2"),
    );
    await fc.assert(
      fc.asyncProperty(path, query, async (where, given) => {
        const address = `${where}?${given}`;
        if (address.length > 8_000) return;
        const { status } = await raw(address);
        expect([200, 302, 400, 403, 404], `${status} for ${address}`).toContain(status);
      }),
      { numRuns: process.env.HUNKWISE_LONG ? 20_000 : 400 },
    );
  });

  // Last, because it takes the access away.
  it("Two minutes after GitHub took the access away, no route shows the private repository", async () => {
    expect(await leaks(1)).not.toEqual([]);
    seeded[1]!.collaborators.delete("octocat");
    clock += 2 * minutes;
    expect(await leaks(1)).toEqual([]);
    expect((await browser.get(`/reviews/${runs[1]}`)).status).toBe(404);
    expect((await browser.get("/configuration?repository=octo/repo-2")).status).toBe(404);
    expect(await leaks(0)).not.toEqual([]);
  });
});

const run = "window.hit=1";
/** What an author, a reader with write access and an obedient model write wherever they can. */
const attacks = [
  `<script>${run}</script>`,
  `"><img src=x onerror=${run}>`,
  `'><svg/onload=${run}>`,
  `' onmouseover='${run}`,
  `javascript:${run}`,
  `[read this](javascript:${run}) ![x](https://evil.test/x.png)`,
  "</title></textarea></style></table><iframe src=//evil.test></iframe>",
  "<meta http-equiv=refresh content='0;url=https://evil.test'><base href=//evil.test>",
  '=HYPERLINK("https://evil.test","x")',
  "+1+cmd|'/c calc'!A0",
  "@SUM(A1:A9)",
  "-2+3",
  "\u202egnp.exe \u2066hidden\u2069 \u200b\u{e0041}",
  "Your session has ended. Log in at https://evil.test/login",
  "A".repeat(150),
];
const file = `src/x"><img src=x onerror=${run}>.js`;

describe.skipIf(whyNoChromium !== null)(
  whyNoChromium === null
    ? "hostile text in the pages of a real server, in Chromium"
    : `hostile text in Chromium: NOT TRIED, ${whyNoChromium}`,
  () => {
    let pages: PagesApp;
    /** Of the pull request's review, and a made-up one. */
    let stories: string[];

    beforeAll(async () => {
      const lines = attacks.length;
      const findings = attacks.map((text, at) =>
        finding({
          ...{
            path: file,
            line: at + 1,
            quote: `const n${at + 1} = 0;`,
            title: text,
            body: `${text} in ${at}`,
          },
          ...{
            suggestion: `const n = "${text}";`,
            evidence: [{ path: file, start_line: 1, end_line: 1, note: text }],
          },
        }),
      );
      pages = await startPagesApp(
        {
          base: {
            [file]: numbers(lines),
            ".github/hunkwise.yml": `language: "en"\ninstructions: [{path: "**", text: "${attacks[0]}"}]\n`,
          },
          head: {
            [file]: numbers(
              lines,
              Object.fromEntries(attacks.map((_, at) => [at + 1, `const n${at + 1} = 0;`])),
            ),
          },
          title: `${attacks[0]}${attacks[1]}`,
          branch: `x"><img/src=x/onerror=${run}>`,
          script: (_, n) => turn(...(n === 0 ? findings : []), finish),
        },
        150,
      );
      const { app } = pages;
      await app.review();
      await app.reply(app.threads()[0]!, "octocat", `Won't fix: ${attacks.slice(0, 3).join(" ")}`);
      await app.idle();
      stories = [
        writeEverywhere(),
        String(pages.rows("SELECT id FROM run WHERE posted > 3 AND repository > 2000")[0]?.id),
      ];
    });
    afterAll(() => pages[Symbol.asyncDispose]());
    afterEach(() => {
      expect(pages.faults.splice(0)).toEqual([]);
    });

    /** Writes the texts into what else is on record, so that each stands in each cell of a list. Returns the id of a run. */
    function writeEverywhere(): string {
      const text = (number: string) =>
        `json_extract(:texts, '$[' || ((${number}) % ${attacks.length}) || ']')`;
      pages.write(
        [
          `UPDATE finding_text SET title = ${text("line")}, path = ${text("line")}, reason = ${text("line + 1")}, url = ${text("line + 2")} WHERE repository < 2000`,
          `UPDATE finding SET rule = ${text("comment")}, source = ${text("comment + 1")}, category = ${text("comment + 2")}, dismissed_by = ${text("comment")}, dismissed_how = ${text("comment + 3")} WHERE repository < 2000`,
          `UPDATE run SET requested_by = ${text("seq")}, reason = ${text("seq")}, kind = ${text("seq + 1")}, origin = ${text("seq + 2")} WHERE repository < 2000`,
          `UPDATE outcome_week SET value = ${text("delivered")} || value WHERE dimension <> 'all' AND repository < 2000`,
          "UPDATE outcome_week SET dimension = 'rule' WHERE dimension = 'source' AND repository = 1002",
          `UPDATE model_week SET model = ${text("turns")} || model WHERE repository < 2000`,
          `UPDATE job SET reason = ${text("seq")} WHERE repository < 2000`,
          `UPDATE repository SET name = ${text("id")} WHERE id < 2000`,
          "UPDATE run SET reason = 'before' || char(0) || 'behind' WHERE seq = 1",
        ],
        { texts: JSON.stringify(attacks) },
      );
      return String(pages.rows("SELECT id FROM run WHERE repository = 1001 AND posted > 0")[0]?.id);
    }

    const addresses = () => [
      ...[
        "/",
        "/reviews",
        "/findings",
        "/insights?days=365",
        "/configuration?repository=octo-org/shop",
        "/health",
      ],
      ...[
        "/reviews?q=%3Cscript%3Ewindow.hit%3D1%3C%2Fscript%3E",
        "/findings?rule=%22%3E%3Cimg%20src%3Dx%20onerror%3Dwindow.hit%3D1%3E",
      ],
      ...[
        "/insights?repository=%22%3E%3Csvg%2Fonload%3Dwindow.hit%3D1%3E",
        "/nothing%3Cscript%3E",
        "/login?to=javascript:window.hit=1",
      ],
      ...stories.map((id) => `/reviews/${id}`),
    ];
    const looked = `(() => {
      const strange = [...document.querySelectorAll(
        'script,img,iframe,object,embed,base,style,form[action^=http],[onerror],[onload],[onmouseover],svg:not(.chart > svg),link:not([href="/style.css"]),meta[content*=evil]')];
      const hosts = [...document.querySelectorAll('[href],[src],[action]')]
        .map((one) => new URL(one.getAttribute('href') ?? one.getAttribute('src') ?? one.getAttribute('action'), location.href))
        .map(({ protocol, host }) => protocol + host);
      return { hit: window.hit ?? null, strange: strange.map((one) => one.outerHTML.slice(0, 100)), hosts: [...new Set(hosts)],
        text: document.documentElement.textContent, width: document.documentElement.scrollWidth };
    })()`;

    it.each([
      ["without the policy of the page", true],
      ["with it", false],
    ])("Hostile text runs nothing and adds no element, %s", async (_, bypassCSP) => {
      const own = new Set([pages.origin, pages.app.github.url].map((one) => one.replace("//", "")));
      let texts = "";
      for (const login of ["octocat", operatorLogin]) {
        const viewport = { width: 390, height: 844 };
        const context = await pages.openAs(login, { javaScriptEnabled: true, bypassCSP, viewport });
        const page = await context.newPage();
        for (const address of addresses()) {
          await page.goto(address);
          // What a mouse finds on its way.
          await page.mouse.move(200, 300);
          // Images and frames have loaded or failed by now; what their ends started is done after the next frame.
          await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
          const { hit, strange, hosts, text, width } = (await page.evaluate(looked)) as {
            hit: unknown;
            strange: string[];
            hosts: string[];
            text: string;
            width: number;
          };
          expect([address, hit, strange, width]).toEqual([address, null, [], 390]);
          expect(hosts.filter((host) => !own.has(host))).toEqual([]);
          expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b\u{e0000}-\u{e007f}]/u);
          texts += text;
        }
        await context.close();
      }
      // It was there: as text.
      for (const text of attacks.slice(0, 4)) expect(texts).toContain(text);
      expect(texts).toContain(file);
    });

    it("No text is a formula in any file", async () => {
      for (const login of ["octocat", operatorLogin]) {
        const context = await pages.openAs(login);
        const by = ["repository", "severity", "category", "rule", "source", "model"];
        for (const address of [
          "/reviews.csv",
          "/findings.csv",
          ...by.map((one) => `/insights.csv?days=365&by=${one}`),
        ]) {
          const answer = await context.request.get(address);
          expect(answer.headers()["content-type"]).toMatch(/^text\/csv/);
          const [head, ...records] = parseCsv(await answer.text());
          expect([address, records.length > 0]).toEqual([address, true]);
          for (const record of records) {
            expect(record).toHaveLength(head?.length ?? 0);
            for (const cell of record) expect(cell.trimStart()).not.toMatch(/^[=+\-@]/);
          }
        }
        await context.close();
      }
    });
  },
);
