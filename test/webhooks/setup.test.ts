import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { Env } from "../../src/config/env.ts";
import { readServerEnv, storeApp } from "../../src/config/server-env.ts";
import type { RawEnv } from "../../src/config/variables.ts";
import { handledEvents } from "../../src/webhooks/decide.ts";
import { type RunningSetup, startSetup } from "../../src/webhooks/setup.ts";
import { logBook, newFolder, privateKey, smallServer, testEnv } from "./support.ts";

let folder: string;
let github: Awaited<ReturnType<typeof smallServer>>;
let setup: RunningSetup;
let lines: Record<string, unknown>[];
let address: string;
let conversion: () => { status: number; body: unknown };

const appFile = join(import.meta.dirname, "../../app.yml");
const noApp = { APP_ID: "", PRIVATE_KEY: "", WEBHOOK_SECRET: "" };
const rawEnv = (): RawEnv => ({ ...noApp, HUNKWISE_DATA_DIR: folder });
const envOf = (more: RawEnv = {}): Env => testEnv(github.host, folder, { ...noApp, ...more });

async function start(env: Env): Promise<void> {
  const book = logBook();
  lines = book.lines;
  setup = await startSetup({ env, log: book.log });
  address = `http://127.0.0.1:${setup.port}`;
}

beforeEach(async () => {
  folder = newFolder();
  github = await smallServer(() => conversion());
  conversion = () => ({
    status: 201,
    body: {
      ...{ id: 41, slug: "my-hunk", client_id: "c", client_secret: "unused-client-secret", pem: privateKey },
      ...{ webhook_secret: "secret-from-github", html_url: `http://${github.host}/apps/my-hunk` },
    },
  });
  await start(envOf());
});
afterEach(async () => {
  await setup.close();
  await github.close();
  rmSync(folder, { recursive: true, force: true });
});

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(address + path, { redirect: "manual", headers });

/** What the page would send to GitHub, and the cookie it set. */
async function open(path = "/probot", headers: Record<string, string> = {}) {
  const response = await get(path, headers);
  const html = await response.text();
  const plain = (text: string) =>
    text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
  const action = plain(/<form action="([^"]*)" method="post">/.exec(html)?.[1] ?? "");
  const manifest = JSON.parse(plain(/name="manifest" value="([^"]*)"/.exec(html)?.[1] ?? "null"));
  const cookie = (response.headers.get("set-cookie") ?? "").split(";")[0]!;
  return { response, html, action, manifest, cookie, state: URL.parse(action)?.searchParams.get("state") };
}

/** fetch does not let a caller set Host; a proxy in front names it like this. */
const proxied = { "x-forwarded-host": "hunk.example.com", "x-forwarded-proto": "https" };

describe("the set-up page", () => {
  it("is where a server without an App leads", async () => {
    const response = await get("/");
    expect([response.status, response.headers.get("location")]).toEqual([302, "/probot"]);
    expect((await get("/healthz")).status).toBe(200);
    expect((await get("/readyz")).status).toBe(503);
    const webhook = await fetch(`${address}/api/github/webhooks`, { method: "POST", body: "{}" });
    expect(webhook.status).toBe(503);
  });

  it("offers the App of app.yml with this server's addresses and a fresh state", async () => {
    const { manifest, action, state, html, response } = await open();
    const { default_permissions, default_events, name } = parse(readFileSync(appFile, "utf8"));
    expect(manifest).toMatchObject({
      ...{ name, default_permissions, default_events, public: false },
      hook_attributes: { url: `${address}/api/github/webhooks`, active: true },
      redirect_url: `${address}/probot/setup`,
    });
    expect(action).toBe(`http://${github.host}/settings/apps/new?state=${state}`);
    expect((await open()).state).not.toBe(state);
    expect(html).not.toContain("<script");
    expect(html).toContain("GitHub cannot reach this address");
    expect(response.headers.get("content-security-policy")).toContain(
      `form-action 'self' http://${github.host}`,
    );
  });

  it("offers, below it, the App that may write code, which differs in that alone", async () => {
    const { html, manifest } = await open();
    const [, , written] = html.split('name="manifest" value="').map((part) => part.split('"')[0] ?? "");
    const variant = JSON.parse((written ?? "").replaceAll("&quot;", '"').replaceAll("&#39;", "'"));
    const { default_permissions: permissions } = manifest;
    expect(permissions.contents).toBe("read");
    expect(variant).toEqual({ ...manifest, default_permissions: { ...permissions, contents: "write" } });
    expect(html.indexOf("<details>")).toBeLessThan(html.indexOf(written ?? ""));
    for (const command of ["/fix", "/remember"]) expect(html).toContain(`<code>${command}</code> can`);
    expect(html.indexOf("<details>")).toBeGreaterThan(html.indexOf('name="manifest"'));
  });

  it("asks GitHub to deliver where the person or WEBHOOK_PROXY_URL says, and to no service unasked", async () => {
    const told = await open(`/probot?address=${encodeURIComponent("https://hunk.example.com/")}`);
    expect(told.manifest.hook_attributes.url).toBe("https://hunk.example.com/api/github/webhooks");
    const wrong = await open(`/probot?address=${encodeURIComponent('https://"><script>')}`);
    expect(wrong.manifest.hook_attributes.url).toBe(`${address}/api/github/webhooks`);
    await setup.close();
    await start(envOf({ WEBHOOK_PROXY_URL: "https://smee.example.com/abc", GH_ORG: "octo" }));
    const { manifest, action, html } = await open();
    expect(manifest.hook_attributes.url).toBe("https://smee.example.com/abc");
    expect(action).toContain("/organizations/octo/settings/apps/new");
    expect(html).not.toContain("GitHub cannot reach this address");
    expect(github.asked).toEqual([]);
  });

  it("is shown to others only with the key from the log", async () => {
    expect((await get("/probot", proxied)).status).toBe(403);
    expect((await get("/probot?key=guess", proxied)).status).toBe(403);
    const key = /\?key=(\S+)/.exec(
      String(lines.find((line) => String(line.message).includes("?key="))?.message),
    )?.[1];
    const { response, manifest } = await open(`/probot?key=${key}`, proxied);
    expect(response.status).toBe(200);
    expect(manifest.redirect_url).toBe("https://hunk.example.com/probot/setup");
    expect(response.headers.get("set-cookie")).toMatch(/; HttpOnly; SameSite=Lax; .*; Secure$/);
    expect((await get("/probot", { via: "1.1 proxy" })).status).toBe(403);
  });
});

describe("coming back from GitHub", () => {
  it("stores the App for the next start, readable by this user alone, and leads to its installation", async () => {
    const { state, cookie } = await open();
    const response = await get(`/probot/setup?code=abc123&state=${state}`, { cookie });
    expect(response.headers.get("location")).toBe(`http://${github.host}/apps/my-hunk/installations/new`);
    await setup.configured;
    expect(github.asked).toMatchObject([{ method: "POST", url: "/api/v3/app-manifests/abc123/conversions" }]);
    expect(github.asked[0]!.headers.authorization).toBeUndefined();
    expect((statSync(join(folder, "app.json")).mode & 0o777).toString(8)).toBe("600");
    expect(readServerEnv(rawEnv()).app).toEqual({ id: 41, privateKey, webhookSecret: "secret-from-github" });
    expect(JSON.stringify(lines)).not.toMatch(/secret-from-github|BEGIN/);
  });

  it("closes the set-up", async () => {
    const { state, cookie } = await open();
    const other = await open();
    await get(`/probot/setup?code=abc123&state=${state}`, { cookie });
    expect((await get("/probot")).status).toBe(404);
    const again = await get(`/probot/setup?code=def&state=${other.state}`, { cookie: other.cookie });
    expect(again.status).toBe(404);
    expect(github.asked).toHaveLength(1);
  });

  it("is closed as well once another process has set the App up, and what it stored stands", async () => {
    const { state, cookie } = await open();
    const stored = { app_id: 5, private_key: privateKey, webhook_secret: "theirs", html_url: "http://x" };
    storeApp(folder, stored);
    expect((await get(`/probot/setup?code=abc123&state=${state}`, { cookie })).status).toBe(404);
    expect((await get("/probot")).status).toBe(404);
    expect((await get("/healthz")).status).toBe(200);
    await setup.configured;
    expect(github.asked).toEqual([]);
    expect(readServerEnv(rawEnv()).app?.webhookSecret).toBe("theirs");
  });

  it("does not overwrite what another process stored while GitHub was asked", async () => {
    const answer = conversion();
    conversion = () => {
      storeApp(folder, {
        app_id: 5,
        private_key: privateKey,
        webhook_secret: "theirs",
        html_url: "http://x",
      });
      return answer;
    };
    const { state, cookie } = await open();
    expect((await get(`/probot/setup?code=abc123&state=${state}`, { cookie })).status).toBe(404);
    expect(readServerEnv(rawEnv()).app?.webhookSecret).toBe("theirs");
  });

  it("keeps a key that cannot be stored, says what to do, and stores it when the page is opened again", async () => {
    const { state, cookie } = await open();
    rmSync(folder, { recursive: true });
    writeFileSync(folder, "no folder");
    const failed = await get(`/probot/setup?code=abc123&state=${state}`, { cookie });
    expect(failed.status).toBe(500);
    const html = await failed.text();
    expect(html).toContain(`http://${github.host}/apps/my-hunk`);
    expect(html).toContain(`Cannot use ${folder}/app.json: `);
    expect(html).toContain("do not stop it");
    expect(html).not.toContain("PRIVATE KEY");
    expect(JSON.stringify(lines)).toContain("its key is only in the memory of this process");
    expect(JSON.stringify(lines)).not.toContain("PRIVATE KEY-----");

    const still = await get("/probot");
    expect(still.status).toBe(500);
    expect(await still.text()).not.toContain("/settings/apps/new");
    expect((await get("/probot", proxied)).status).toBe(403);

    rmSync(folder);
    const stored = await get("/probot");
    expect([stored.status, stored.headers.get("location")]).toEqual([
      302,
      `http://${github.host}/apps/my-hunk/installations/new`,
    ]);
    await setup.configured;
    expect(github.asked).toHaveLength(1);
    expect(readServerEnv(rawEnv()).app).toMatchObject({ id: 41, webhookSecret: "secret-from-github" });
  });

  it("tries again to store the key whenever the page is reloaded in that browser", async () => {
    const { state, cookie } = await open();
    rmSync(folder, { recursive: true });
    writeFileSync(folder, "no folder");
    const reload = () => get(`/probot/setup?code=abc123&state=${state}`, { cookie });
    for (let times = 0; times < 3; times++) expect((await reload()).status).toBe(500);
    rmSync(folder);
    const stored = await reload();
    expect(stored.headers.get("location")).toBe(`http://${github.host}/apps/my-hunk/installations/new`);
    expect(github.asked).toHaveLength(1);
    expect(readServerEnv(rawEnv()).app).toMatchObject({ id: 41 });
  });

  it("is refused without a state that was issued here to this browser, and GitHub is not asked", async () => {
    const { state, cookie } = await open();
    const other = await open();
    const attempts: [string, Record<string, string>][] = [
      ["code=abc", { cookie }],
      ["code=abc&state=", { cookie: "hunkwise_setup=" }],
      ["code=abc&state=made-up", { cookie: "hunkwise_setup=made-up" }],
      [`code=abc&state=${other.state}`, { cookie }],
      [`code=abc&state=${state}`, {}],
    ];
    for (const [query, headers] of attempts) {
      expect((await get(`/probot/setup?${query}`, headers)).status).toBe(400);
    }
    expect(github.asked).toEqual([]);
  });

  it("uses a state once", async () => {
    conversion = () => ({ status: 404, body: { message: "Not Found" } });
    const { state, cookie } = await open();
    expect((await get(`/probot/setup?code=abc&state=${state}`, { cookie })).status).toBe(502);
    expect((await get(`/probot/setup?code=abc&state=${state}`, { cookie })).status).toBe(400);
  });

  it.each([
    ["GitHub knows no such code", { status: 404, body: { message: "Not Found" } }],
    ["GitHub is down", { status: 500, body: {} }],
    [
      "the answer lacks the secret",
      { status: 201, body: { id: 1, pem: "x", webhook_secret: null, html_url: "http://x" } },
    ],
    [
      "the App is said to be elsewhere",
      {
        status: 201,
        body: { id: 1, pem: "x", webhook_secret: "y", html_url: "https://evil.example.com/apps/x" },
      },
    ],
  ])("stores nothing and says why when %s", async (_, answer) => {
    conversion = () => answer;
    const { state, cookie } = await open();
    const response = await get(`/probot/setup?code=abc&state=${state}`, { cookie });
    expect(response.status).toBe(502);
    expect(await response.text()).toContain("try again");
    expect(readServerEnv(rawEnv()).app).toBeNull();
  });

  it("refuses a code that is none", async () => {
    const { state, cookie } = await open();
    const response = await get(`/probot/setup?code=${encodeURIComponent("../../user")}&state=${state}`, {
      cookie,
    });
    expect(response.status).toBe(400);
    expect(github.asked).toEqual([]);
  });
});

/** Whether each permission of a file has a comment above it. */
function isReasoned(file: string, permissions: object): boolean {
  const text = readFileSync(file, "utf8").split("\n");
  return Object.keys(permissions).every((name) => {
    const line = text.findIndex((one) => one.startsWith(`  ${name}:`));
    return /^ {2}# /.test(text[line - 1] ?? "");
  });
}

describe("app.yml", () => {
  const app = parse(readFileSync(appFile, "utf8"));

  it("subscribes to exactly the events that are handled, but those that every App is sent", () => {
    const events = new Set(handledEvents.map((pair) => pair.split(".")[0]));
    for (const unasked of ["installation", "installation_repositories"]) events.delete(unasked);
    expect(app.default_events.toSorted()).toEqual([...events].toSorted());
  });

  it("asks for no permission to write code, and gives each its reason", () => {
    expect(app.default_permissions).toEqual({
      contents: "read",
      pull_requests: "write",
      issues: "read",
      checks: "write",
      statuses: "read",
      merge_queues: "read",
      metadata: "read",
    });
    expect(isReasoned(appFile, app.default_permissions)).toBe(true);
  });
});

describe("app.contents-write.yml", () => {
  it("holds nothing but the permission to write code, and what it is for", () => {
    const file = join(import.meta.dirname, "../../app.contents-write.yml");
    const variant = parse(readFileSync(file, "utf8"));
    expect(variant).toEqual({ default_permissions: { contents: "write" } });
    expect(isReasoned(file, variant.default_permissions)).toBe(true);
  });

  it.each(["package.json", ".dockerignore"])("is shipped where app.yml is: %s", (name) => {
    const text = readFileSync(join(import.meta.dirname, "../..", name), "utf8");
    const times = (file: string) => text.split(file).length - 1;
    expect(times("app.yml")).toBeGreaterThan(0);
    expect(times("app.contents-write.yml")).toBe(times("app.yml"));
  });
});
