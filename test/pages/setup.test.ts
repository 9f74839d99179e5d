import { once } from "node:events";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parse } from "yaml";
import type { Env } from "../../src/config/env.ts";
import { readServerEnv, storeApp } from "../../src/config/server-env.ts";
import type { RawEnv } from "../../src/config/variables.ts";
import { registerSecret } from "../../src/core/secrets/live-secrets.ts";
import { withoutSecrets } from "../../src/core/secrets/redact.ts";
import { type RunningSetup, startSetup } from "../../src/pages/setup.ts";
import { handledEvents } from "../../src/server/webhooks/decide.ts";
import { logBook, newFolder, privateKey, smallServer, testEnv } from "../server/webhooks/support.ts";

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

type Options = Partial<Parameters<typeof startSetup>[0]>;

async function start(env: Env, options: Options = {}): Promise<void> {
  const book = logBook();
  lines = book.lines;
  const checkModel = () => Promise.reject(new Error("no model is configured"));
  setup = await startSetup({ env, log: book.log, checkModel, ...options });
  address = `http://127.0.0.1:${setup.port}`;
}

beforeEach(async () => {
  folder = newFolder();
  github = await smallServer(() => conversion());
  conversion = () => ({
    status: 201,
    body: {
      ...{
        id: 41,
        slug: "my-hunk",
        client_id: "Iv23liAbc",
        client_secret: "client-secret-from-github",
        pem: privateKey,
      },
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

const given = encodeURIComponent("https://hunk.example.com/");
/** The page after a person has entered an address and has chosen their own account. */
const ready = `/setup?address=${given}&organization=`;

const plain = (text: string) =>
  text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&amp;", "&");

/** What the page would send to GitHub, its steps, and the cookie it set. */
async function open(path = ready, headers: Record<string, string> = {}) {
  const response = await get(`${path}${path.includes("?") ? "&" : "?"}key=${keyInLog()}`, headers);
  const html = await response.text();
  const action = plain(/<form action="([^"]*)" method="post">/.exec(html)?.[1] ?? "");
  const manifest = JSON.parse(plain(/name="manifest" value="([^"]*)"/.exec(html)?.[1] ?? "null"));
  const cookie = (response.headers.get("set-cookie") ?? "").split(";")[0]!;
  const steps = html.split('<li id="step-').slice(1);
  const states = steps.map((step) => /<span class="state">([^<]*)</.exec(step)?.[1]);
  const state = URL.parse(action)?.searchParams.get("state");
  return { response, html, steps, states, action, manifest, cookie, state };
}

/** fetch does not let a caller set Host; a proxy in front names it like this. */
const proxied = { "x-forwarded-host": "hunk.example.com", "x-forwarded-proto": "https" };

const keyInLog = () =>
  /\?key=(\S+)/.exec(String(lines.find((line) => String(line.message).includes("?key="))?.message))?.[1];

it("The setup page is where a server without an App leads", async () => {
  const response = await get("/?address=x");
  expect([response.status, response.headers.get("location")]).toEqual([302, "/setup?address=x"]);
  expect((await get("/healthz")).status).toBe(200);
  expect((await get("/readyz")).status).toBe(503);
  const webhook = await fetch(`${address}/api/github/webhooks`, { method: "POST", body: "{}" });
  expect(webhook.status).toBe(503);
  expect((await get("/probot")).status).toBe(404);
});

it("The setup page runs no script, has its style from here, and sends forms to itself and to GitHub only", async () => {
  const { html, response } = await open();
  expect(html).not.toMatch(/<script|<style|style=| on\w+=/);
  expect(response.headers.get("content-security-policy")).toBe(
    `default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' http://${github.host}; base-uri 'none'; frame-ancestors 'none'`,
  );
  const style = await get("/style.css");
  expect([style.status, style.headers.get("content-type")]).toEqual([200, "text/css"]);
});

it("The setup page says what is missing at first", async () => {
  const { states, html } = await open("/setup");
  expect(states).toEqual(["Not reachable", "None", "Needs an address"]);
  expect(html).toContain("Missing: Address, Model, GitHub App.");
  expect(html).not.toContain('name="manifest"');
});

it("The setup page creates an App without a model, and says what reviews use then", async () => {
  const { states, steps, manifest } = await open();
  expect(states).toEqual(["Looks right", "None", "Ready to create"]);
  expect(steps[1]).toContain("reviews use only the built-in analyzers");
  expect(manifest).not.toBeNull();
});

describe("the step of the address", () => {
  const hosted = { GHE_HOST: "", GHE_PROTOCOL: "" };
  const at = (written: string) => open(`/setup?address=${encodeURIComponent(written)}&organization=`);

  it.each([
    ["https://hunk.example.com", "Looks right"],
    ["hunk.example.com:8443/", "Looks right"],
    ["http://hunk.example.com", "Not encrypted"],
    ["https://8.8.8.8", "Looks right"],
    ["http://localhost:3000", "Not reachable"],
    ["https://127.1", "Not reachable"],
    ["https://[::1]:3000", "Not reachable"],
    ["https://192.168.1.7", "Not reachable"],
    ["https://[fd12::7]", "Not reachable"],
    ["https://hunk.internal", "Not reachable"],
    ["https://build-server", "Not reachable"],
    ["https://hunk.example.com/behind", "Not an address"],
    ["https://me:secret@hunk.example.com", "Not an address"],
    ["ftp://hunk.example.com", "Not an address"],
    ['https://"><script>', "Not an address"],
    ["javascript:alert(1)", "Not an address"],
  ])("The step of the address says of %s for github.com: %s", async (written, word) => {
    await setup.close();
    await start(envOf(hosted));
    const { states, manifest, html } = await at(written);
    expect(states[0]).toBe(word);
    expect(manifest === null).toBe(/^Not (reachable|an)/.test(word));
    expect(html).not.toContain("<script");
  });

  it("The step of the address lets an own GitHub server reach a private name, and no name of this machine", async () => {
    expect((await at("https://hunk.internal")).states[0]).toBe("In your network");
    expect((await at("http://localhost:3000")).states[0]).toBe("Not reachable");
  });

  it("The step of the address gives GitHub the address, for webhooks and for the log-in, and returns where the visitor is", async () => {
    const { manifest } = await open();
    expect(manifest).toMatchObject({
      url: "https://hunk.example.com",
      hook_attributes: { url: "https://hunk.example.com/api/github/webhooks", active: true },
      redirect_url: `${address}/setup/created`,
      callback_urls: ["https://hunk.example.com/login/callback"],
      request_oauth_on_install: false,
    });
  });

  it("The step of the address returns by HTTPS if the person says that this name has it and the proxy does not", async () => {
    const quiet = { "x-forwarded-host": "hunk.example.com" };
    const { manifest } = await open(ready, quiet);
    expect(manifest.redirect_url).toBe("https://hunk.example.com/setup/created");
  });

  it("The step of the address takes WEBHOOK_PROXY_URL for webhooks, with the log-in on this machine, and asks no service", async () => {
    await setup.close();
    await start(envOf({ WEBHOOK_PROXY_URL: "https://smee.example.com/abc" }));
    const { manifest, states, html } = await open("/setup?organization=");
    expect(states[0]).toBe("Forwarded");
    expect(manifest).toMatchObject({
      hook_attributes: { url: "https://smee.example.com/abc" },
      callback_urls: [`${address}/login/callback`],
    });
    expect(html).not.toContain('name="address"');
    expect(github.asked).toEqual([]);
    await setup.close();
    await start(envOf({ WEBHOOK_PROXY_URL: "http://localhost:4000/abc" }));
    expect((await open("/setup?organization=")).states[0]).toBe("Not reachable");
  });
});

describe("the step of the model", () => {
  const withModel = (more: RawEnv = {}) =>
    envOf({
      OPENAI_API_KEY: "key-of-the-provider-1234",
      OPENAI_BASE_URL: "http://127.0.0.1:2/v1",
      HUNKWISE_MODEL: "gpt-x",
      ...more,
    });
  const modelStep = async () => {
    const { steps, states } = await open();
    return { word: states[1], html: steps[1]! };
  };
  const settled = () => vi.waitFor(async () => expect((await modelStep()).word).not.toBe("Being asked"));

  it("The step of the model never waits for the model, nor for the end of a check when the server closes", async () => {
    await setup.close();
    let aborted = false;
    const checkModel = async (signal: AbortSignal): Promise<never> => {
      await once(signal, "abort");
      aborted = true;
      throw signal.reason;
    };
    await start(withModel(), { checkModel });
    expect(await modelStep()).toMatchObject({ word: "Being asked" });
    await setup.close();
    expect(aborted).toBe(true);
    expect(lines.filter((line) => /The model/.test(String(line.message)))).toEqual([]);
    await start(envOf());
  });

  it("The step of the model says that a model did not answer in time", async () => {
    await setup.close();
    const checkModel = async (signal: AbortSignal): Promise<never> => {
      await once(signal, "abort");
      throw new Error("aborted");
    };
    await start(withModel(), { checkModel, modelLimitMs: 30 });
    await settled();
    expect(await modelStep()).toMatchObject({
      word: "Does not work",
    });
    expect(lines.at(-1)?.message).toBe(
      "The model: It did not answer within 0.03 s. Look whether it runs and this machine reaches it. A server that still loads its model answers later.",
    );
  });

  it("The step of the model asks at most once a minute, and not at the request of a stranger", async () => {
    await setup.close();
    let time = 0;
    let asked = 0;
    const checkModel = async () => {
      asked++;
      return { state: asked === 1 ? "warn" : "ok", says: "", remedy: null } as const;
    };
    await start(withModel(), { checkModel, now: () => time });
    await settled();
    time = 59_999;
    await modelStep();
    expect(asked).toBe(1);
    time = 60_000;
    expect((await get("/setup", proxied)).status).toBe(403);
    expect(asked).toBe(1);
    expect((await modelStep()).word).toBe("Needs attention");
    expect(asked).toBe(2);
    await vi.waitFor(async () => expect((await modelStep()).word).toBe("Answers"));
  });

  it("The step of the model shows neither keys nor addresses, and logs them without the key", async () => {
    await setup.close();
    const says = "https://models.example.com/v1 refused the API key key-of-the-provider-1234 (401)";
    const remedy = "Check http://10.0.0.5:8000/v1, or list models.example.com in NO_PROXY.";
    const checkModel = async () => ({ state: "fail", says, remedy }) as const;
    registerSecret("key-of-the-provider-1234", { keep: true });
    await start(withModel({ OPENAI_BASE_URL: "https://models.example.com/v1" }), { checkModel });
    await settled();
    const { word, html } = await modelStep();
    expect(word).toBe("Does not work");
    expect(html).toContain("The log of Hunkwise says what is wrong");
    expect(html).not.toMatch(/key-of-the-provider|models\.example|10\.0\.0\.5/);
    expect((await open()).states[2]).toBe("Ready to create");
    const logged = JSON.stringify(lines);
    expect(logged).toContain("models.example.com/v1 refused");
    expect(logged).not.toContain("key-of-the-provider");
  });
});

describe("the step of the App", () => {
  const chosen = (query: string) => open(`/setup?address=${given}&${query}`);

  it("The step of the App offers the App of app.yml in the person's own account, with a fresh state", async () => {
    const { manifest, action, state, html } = await open();
    const { default_permissions, default_events, name } = parse(readFileSync(appFile, "utf8"));
    expect(manifest).toMatchObject({ name, default_permissions, default_events, public: false });
    expect(action).toBe(`http://${github.host}/settings/apps/new?state=${state}`);
    expect((await open()).state).not.toBe(state);
    expect(html).toContain("<dd>your own account</dd>");
  });

  it("The step of the App offers one that may write code, which differs in that alone", async () => {
    const { manifest } = await open();
    const { manifest: variant, html } = await chosen("organization=&contents=write");
    const { default_permissions: permissions } = manifest;
    expect(permissions.contents).toBe("read");
    expect(variant).toEqual({ ...manifest, default_permissions: { ...permissions, contents: "write" } });
    expect(html).toContain("<dd>read and write</dd>");
    const { html: form } = await open(`/setup?address=${given}`);
    for (const command of ["/fix", "/remember"]) expect(form).toContain(`<code>${command}</code>`);
  });

  it("The step of the App asks who owns it before there is a button to GitHub", async () => {
    const first = await chosen("");
    expect([first.states[2], first.manifest]).toEqual(["To do", null]);
    expect((await chosen("organization=octo")).action).toContain(
      `${github.host}/organizations/octo/settings/apps/new?`,
    );
    expect((await chosen("organization=")).action).toContain(`${github.host}/settings/apps/new?`);
  });

  it.each(["../evil", "o/x", "a b", '"><script>', "-x", "octo?", "é", "a".repeat(101)])(
    "The step of the App does not take %j for an organization",
    async (name) => {
      const { html, manifest, states } = await chosen(`organization=${encodeURIComponent(name)}`);
      expect([manifest, states[2]]).toEqual([null, "To do"]);
      expect(html).toContain("This is not the name of an organization.");
      expect(html).not.toContain("<script");
    },
  );

  it("The step of the App keeps what was chosen in every other form and link", async () => {
    const { html } = await chosen("organization=octo&contents=write");
    expect(html).toContain('<input type="hidden" name="organization" value="octo">');
    expect(html).toContain('<input type="hidden" name="contents" value="write">');
    const kept = `address=${given}&amp;key=${keyInLog()}`;
    expect(html).toContain(`href="/setup?${kept}#step-3"`);
  });

  it("The step of the App says what to set for an App that exists", async () => {
    const { html } = await open(`/setup?address=${given}`);
    for (const name of [
      "APP_ID",
      "PRIVATE_KEY",
      "WEBHOOK_SECRET",
      "GITHUB_CLIENT_ID",
      "GITHUB_CLIENT_SECRET",
    ])
      expect(html).toContain(`<code>${name}</code>`);
    expect(html).toContain("<code>https://hunk.example.com/login/callback</code>");
  });
});

it.each([{}, proxied, { host: "127.0.0.1" }, { via: "1.1 proxy" }])(
  "The setup page is shown only with the key from the log, whatever the way: %j",
  async (way) => {
    expect((await get("/setup", way as Record<string, string>)).status).toBe(403);
  },
);

it("The setup page passes the key on, and returns by the name of the proxy", async () => {
  const guessed = await get("/setup?key=guess", proxied);
  expect([guessed.status, guessed.headers.get("set-cookie")]).toEqual([403, null]);
  expect(await guessed.text()).toMatch(/This is not the key of the running server.*name="key"/s);
  const key = keyInLog();
  const { response, manifest, html } = await open("/setup?organization=", proxied);
  expect(response.status).toBe(200);
  expect(html).toContain(`<input type="hidden" name="key" value="${key}">`);
  expect(manifest.redirect_url).toBe("https://hunk.example.com/setup/created");
  expect(response.headers.get("set-cookie")).toMatch(/; HttpOnly; SameSite=Lax; .*; Secure$/);
});

it("The return from GitHub stores the App for the next start, readable by this user alone, and leads to its installation", async () => {
  const { state, cookie } = await open();
  const response = await get(`/setup/created?code=abc123&state=${state}`, { cookie });
  expect(response.status).toBe(200);
  expect(await response.text()).toContain(`href="http://${github.host}/apps/my-hunk/installations/new"`);
  await setup.configured;
  expect(github.asked).toMatchObject([{ method: "POST", url: "/api/v3/app-manifests/abc123/conversions" }]);
  expect(github.asked[0]!.headers.authorization).toBeUndefined();
  expect((statSync(join(folder, "app.json")).mode & 0o777).toString(8)).toBe("600");
  expect(readServerEnv(rawEnv()).app).toEqual({ id: 41, privateKey, webhookSecret: "secret-from-github" });
  expect(readServerEnv(rawEnv()).login).toEqual({
    clientId: "Iv23liAbc",
    clientSecret: "client-secret-from-github",
  });
  expect(withoutSecrets("client-secret-from-github")).not.toContain("client-secret");
  expect(JSON.stringify(lines)).not.toMatch(/secret-from-github|BEGIN/);
});

describe("the last page", () => {
  const person = { id: 583231, login: "octo<b>", type: "User" };

  async function lastPage(owner: unknown, env: RawEnv = {}) {
    const { status, body } = conversion();
    conversion = () => ({ status, body: { ...(body as object), owner } });
    await setup.close();
    await start(envOf(env));
    const { state, cookie } = await open();
    const page = await get(`/setup/created?code=abc123&state=${state}`, { cookie });
    const html = await page.text();
    expect(html).not.toMatch(/secret-from-github|BEGIN|<b>/);
    expect(readServerEnv(rawEnv()).app?.id).toBe(41);
    return { html, line: /<pre>(.*)<\/pre>/.exec(html)?.[1] };
  }

  it("The last page offers the account that owns the App as an operator, and so does the log", async () => {
    const { html, line } = await lastPage(person);
    expect(line).toBe("HUNKWISE_OPERATORS=583231");
    expect(html).toContain("octo&lt;b&gt;");
    expect(JSON.stringify(lines)).toContain("an operator, set HUNKWISE_OPERATORS=583231 and start again");
    expect(readServerEnv({ HUNKWISE_OPERATORS: "583231" }).operators).toEqual(new Set([583231]));
  });

  it("The last page keeps the operators that are named, and offers nobody who already is one", async () => {
    expect((await lastPage(person, { HUNKWISE_OPERATORS: "7" })).line).toBe("HUNKWISE_OPERATORS=7,583231");
    rmSync(join(folder, "app.json"));
    expect((await lastPage(person, { HUNKWISE_OPERATORS: "583231" })).html).not.toContain(
      "HUNKWISE_OPERATORS",
    );
  });

  it.each([{ ...person, type: "Organization" }, null, undefined, "x", { ...person, id: -1 }])(
    "The last page says where a person's number is if GitHub names none as the owner: %j",
    async (owner) => {
      const { html, line } = await lastPage(owner);
      expect(line).toBe("HUNKWISE_OPERATORS=ID");
      expect(html).toContain(`http://${github.host}/api/v3/users/YOUR-LOGIN`);
    },
  );

  it("The last page needs no style of a server that has closed meanwhile", async () => {
    expect((await get("/style.css")).headers.get("cache-control")).toBe("private, max-age=3600");
  });
});

it("The return from GitHub stores the key also if GitHub returns no client secret, and says what does not work then", async () => {
  const { status, body } = conversion();
  conversion = () => ({ status, body: { ...(body as object), client_secret: null } });
  const { state, cookie } = await open();
  await get(`/setup/created?code=abc123&state=${state}`, { cookie });
  await setup.configured;
  expect(readServerEnv(rawEnv())).toMatchObject({ app: { id: 41 }, login: null });
  expect(JSON.stringify(lines)).toContain("nobody can log in to the pages");
});

it("The return from GitHub closes the setup", async () => {
  const { state, cookie } = await open();
  const other = await open();
  await get(`/setup/created?code=abc123&state=${state}`, { cookie });
  expect((await get("/setup")).status).toBe(404);
  const again = await get(`/setup/created?code=def&state=${other.state}`, { cookie: other.cookie });
  expect(again.status).toBe(404);
  expect(github.asked).toHaveLength(1);
});

it("The setup closes once another process has set the App up, whose credentials stay", async () => {
  const { state, cookie } = await open();
  const stored = { app_id: 5, private_key: privateKey, webhook_secret: "theirs", html_url: "http://x" };
  storeApp(folder, stored);
  expect((await get(`/setup/created?code=abc123&state=${state}`, { cookie })).status).toBe(404);
  expect((await get("/setup")).status).toBe(404);
  expect((await get("/healthz")).status).toBe(200);
  await setup.configured;
  expect(github.asked).toEqual([]);
  expect(readServerEnv(rawEnv()).app?.webhookSecret).toBe("theirs");
});

it("The return from GitHub does not overwrite what another process stored while GitHub was asked", async () => {
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
  expect((await get(`/setup/created?code=abc123&state=${state}`, { cookie })).status).toBe(404);
  expect(readServerEnv(rawEnv()).app?.webhookSecret).toBe("theirs");
});

it("The return from GitHub says what to do when the key cannot be stored, and shows the key nowhere", async () => {
  const { state, cookie } = await open();
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "no folder");
  const failed = await get(`/setup/created?code=abc123&state=${state}`, { cookie });
  expect(failed.status).toBe(500);
  const html = await failed.text();
  expect(html).toContain(`http://${github.host}/apps/my-hunk`);
  expect(html).toContain(`Cannot use ${folder}/app.json: `);
  expect(html).toContain("Delete the App in its settings on GitHub");
  expect(html).not.toContain("PRIVATE KEY");
  expect(JSON.stringify(lines)).toContain("its key could not be stored");
  expect(JSON.stringify(lines)).not.toContain("PRIVATE KEY-----");
});

it("The return from GitHub is refused without a state that was issued here to this browser, and GitHub is not asked", async () => {
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
    expect((await get(`/setup/created?${query}`, headers)).status).toBe(400);
  }
  expect(github.asked).toEqual([]);
});

it("The return from GitHub uses a state once", async () => {
  conversion = () => ({ status: 404, body: { message: "Not Found" } });
  const { state, cookie } = await open();
  expect((await get(`/setup/created?code=abc&state=${state}`, { cookie })).status).toBe(502);
  expect((await get(`/setup/created?code=abc&state=${state}`, { cookie })).status).toBe(400);
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
])("The return from GitHub stores nothing and says why when %s", async (_, answer) => {
  conversion = () => answer;
  const { state, cookie } = await open();
  const response = await get(`/setup/created?code=abc&state=${state}`, { cookie });
  expect(response.status).toBe(502);
  expect(await response.text()).toContain("try again");
  expect(readServerEnv(rawEnv()).app).toBeNull();
});

it("The return from GitHub refuses a malformed code", async () => {
  const { state, cookie } = await open();
  const response = await get(`/setup/created?code=${encodeURIComponent("../../user")}&state=${state}`, {
    cookie,
  });
  expect(response.status).toBe(400);
  expect(github.asked).toEqual([]);
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

  it("app.yml subscribes to exactly the events that are handled, but those that every App is sent", () => {
    const events = new Set(handledEvents.map((pair) => pair.split(".")[0]));
    for (const unasked of ["installation", "installation_repositories"]) events.delete(unasked);
    expect(app.default_events.toSorted()).toEqual([...events].toSorted());
  });

  it("app.yml asks for no permission to write code, and gives each its reason", () => {
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

it("app.contents-write.yml holds nothing but the permission to write code, and what it is for", () => {
  const file = join(import.meta.dirname, "../../app.contents-write.yml");
  const variant = parse(readFileSync(file, "utf8"));
  expect(variant).toEqual({ default_permissions: { contents: "write" } });
  expect(isReasoned(file, variant.default_permissions)).toBe(true);
});

it.each(["package.json", ".dockerignore"])(
  "app.contents-write.yml is shipped where app.yml is: %s",
  (name) => {
    const text = readFileSync(join(import.meta.dirname, "../..", name), "utf8");
    const times = (file: string) => text.split(file).length - 1;
    expect(times("app.yml")).toBeGreaterThan(0);
    expect(times("app.contents-write.yml")).toBe(times("app.yml"));
  },
);
