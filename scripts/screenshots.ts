/**
 * `npm run screenshots` draws the pages of the server, with made-up data that are the same each time, into docs/images/pages. It needs
 * Debian's Chromium, and makes the files smaller if pngquant is there.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { Hono } from "hono";
import { readEnv } from "../src/config/env.ts";
import { loadRepoConfig } from "../src/config/load-config.ts";
import { createLogger } from "../src/core/logger.ts";
import type { Checked } from "../src/pages/health.ts";
import { allRoutes, servePages } from "../src/pages/pages.ts";
import { startSetup } from "../src/pages/setup.ts";
import type { PagesEnv } from "../src/pages/viewer.ts";
import { openReader } from "../src/server/queue/reader.ts";
import { openSqliteDatabase } from "../src/server/queue/sqlite-database.ts";
import { listen } from "../src/server/webhooks/http.ts";
import { startChromium } from "../test/support/chromium.ts";
import { TempFolder } from "../test/support/git-repo.ts";
import { readableRepositories, seedReadableHistory } from "../test/support/readable-history.ts";

const images = resolve(import.meta.dirname, "../docs/images/pages");
const now = Date.parse("2026-11-27T08:00:00Z");
const log = createLogger("silent", { write: () => undefined });

const files: Record<string, string> = {
  ".github/hunkwise.yml": `minimum_severity: medium
language: en
paths:
  ignore: ["**/generated/**"]
  private: ["secrets/**"]
instructions:
  - path: "src/payments/**"
    text: Money is an integer number of cents.
`,
};
const checked: Checked[] = [
  { name: "Node", state: "ok", says: "24.21.0", remedy: null },
  { name: "git", state: "ok", says: "2.39.5", remedy: null },
  { name: "data folder", state: "ok", says: "/data, 41 GB free", remedy: null },
  { name: "database", state: "ok", says: "SQLite", remedy: null },
  {
    name: "GitHub",
    state: "ok",
    says: "the App acme-hunkwise, installed by acme on 4 repositories",
    remedy: null,
  },
  { name: "model", state: "ok", says: "large-model answers, and calls tools", remedy: null },
  {
    ...{ name: "sandbox", state: "warn", says: "no namespaces, so /fix runs no commands" },
    remedy: "docs/operations.md says what a container needs",
  },
];

await using folder = Object.assign(new TempFolder("screenshots"), {
  [Symbol.asyncDispose]: async () => folder.dispose(),
});
const database = openSqliteDatabase(folder.path);
const review = await seedReadableHistory(database, now);
const reader = await openReader({ databaseUrl: null, dataFolder: folder.path });
const app = new Hono<PagesEnv>().use(async (context, next) => {
  context.set("viewer", {
    account: 583_231,
    login: "ann",
    isOperator: true,
    repositories: readableRepositories,
  });
  await next();
});
const routes = allRoutes({
  ...{ run: reader.run, webUrl: "https://github.com", now: () => now, installationConcurrency: 4 },
  retentionMs: 30 * 86_400_000,
  loadConfiguration: () => loadRepoConfig(async (path) => files[path]),
  checkAll: async () => checked,
  accept: async () => false,
  onAccepted: () => {},
});
for (const route of routes) app.route("/", route);
const server = await listen(servePages(app), { host: "127.0.0.1", port: 0, log });
const address = `http://127.0.0.1:${server.port}`;
let setupKey = "";
const setup = await startSetup({
  env: readEnv({
    ...{ HUNKWISE_DATA_DIR: folder.path, HOST: "127.0.0.1", PORT: "0" },
    ...{ OPENAI_API_KEY: "sk-made-up-1234567890", HUNKWISE_MODEL: "large-model" },
  }),
  // As for a person, the key is only in the log.
  log: createLogger("info", { write: (line) => (setupKey ||= /\?key=([\w-]+)/.exec(line)?.[1] ?? "") }),
  checkModel: async () => ({ state: "ok", says: "large-model answers, and calls tools", remedy: null }),
});

interface Picture {
  url: string;
  theme?: "dark";
  size?: { width: number; height: number };
}
const wide = { width: 1280, height: 900 };
const pictures: Record<string, Picture> = {
  now: { url: `${address}/` },
  reviews: { url: `${address}/reviews` },
  review: { url: `${address}/reviews/${review}` },
  findings: { url: `${address}/findings` },
  insights: { url: `${address}/insights?days=90` },
  "insights-dark": { url: `${address}/insights?days=90`, theme: "dark" },
  "insights-phone": { url: `${address}/insights`, size: { width: 390, height: 844 } },
  configuration: { url: `${address}/configuration?repository=acme/shop` },
  health: { url: `${address}/health` },
  setup: {
    url: `http://127.0.0.1:${setup.port}/setup?key=${setupKey}&address=https://hunkwise.example.com&organization=acme`,
  },
};

mkdirSync(images, { recursive: true });
const browser = await startChromium();
try {
  // The checks run when somebody looks.
  await fetch(`${address}/health`);
  for (const [name, { url, theme = "light", size = wide }] of Object.entries(pictures)) {
    const page = await browser.newPage({ viewport: size, colorScheme: theme, javaScriptEnabled: false });
    await page.goto(url);
    const path = join(images, `${name}.png`);
    await page.screenshot({ path });
    spawnSync("pngquant", ["--force", "--output", path, "128", path]);
    console.log(`${path} ${Math.ceil(statSync(path).size / 1_000)} kB`);
    await page.close();
  }
} finally {
  await browser.close();
  await Promise.all([server.close(), setup.close(), reader.close()]);
  await database.close();
}
