import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { resolve } from "node:path";
import { timingSafeEqual } from "hono/utils/buffer";
import { parse as parseCookies } from "hono/utils/cookie";
import { LRUCache } from "lru-cache";
import { parse } from "yaml";
import { z } from "zod";
import type { Env } from "../config/env.ts";
import { hasStoredApp, type StoredApp, storeApp } from "../config/server-env.ts";
import { reachOfHost } from "../core/egress.ts";
import { AppError, errorLine } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import { registerSecret } from "../core/secrets/live-secrets.ts";
import { toAppError } from "../pull/github/errors.ts";
import { anonymousOctokit } from "../server/webhooks/app-auth.ts";
import { refuseWriting } from "../server/webhooks/health.ts";
import { type Answer, type Handler, listen, type RunningServer } from "../server/webhooks/http.ts";
import type { Pages } from "../server/webhooks/server.ts";
import { type Checked, repeated } from "./health.ts";
import { type Html, html, notice } from "./html.ts";
import { style } from "./style.ts";

const Permissions = z.record(z.string(), z.enum(["read", "write"]));

const AppFile = z.strictObject({
  name: z.string(),
  description: z.string(),
  public: z.boolean(),
  default_permissions: Permissions,
  default_events: z.array(z.string()),
});

const VariantFile = z.strictObject({ default_permissions: Permissions });

/** Path of a file next to Hunkwise's own `package.json`. */
const besidePackage = (name: string) => resolve(import.meta.dirname, "../..", name);
const appFile = besidePackage("app.yml");
const contentsWriteFile = besidePackage("app.contents-write.yml");

/**
 * The manifest from which GitHub creates the App: `app.yml` with the addresses of this server, and with `app.contents-write.yml` if the App
 * should write code. @throws AppError `config_invalid` if a file cannot be used.
 */
function appManifest(env: Env, choices: Choices): object {
  const { address, visited, contents } = choices;
  const app = readAs(AppFile, appFile);
  const more = contents === "write" ? readAs(VariantFile, contentsWriteFile).default_permissions : {};
  // A proxy may not say that it speaks HTTPS, and the person does.
  const home = URL.parse(address)?.host === URL.parse(visited)?.host ? address : visited;
  return {
    ...app,
    default_permissions: { ...app.default_permissions, ...more },
    url: address,
    hook_attributes: { url: webhookOf(env, choices), active: true },
    redirect_url: home + paths.created,
    // People log in to the pages when they open them, and not when they install the App.
    callback_urls: [`${address}/login/callback`],
    request_oauth_on_install: false,
  };
}

function readAs<Data>(schema: z.ZodType<Data>, file: string): Data {
  const { data, error } = schema.safeParse(parse(readFileSync(file, "utf8")));
  if (data !== undefined) return data;
  const issue = error?.issues[0];
  throw new AppError("config_invalid", `${file} cannot be used: ${issue?.path.join(".")} ${issue?.message}`);
}

/** Scheme, host and port by which the visitor reached this server, also through a proxy. */
function addressOf({ headers, headersDistinct }: IncomingMessage): string | undefined {
  const first = (name: string) => headersDistinct[name]?.[0]?.split(",")[0]?.trim();
  const scheme = first("x-forwarded-proto") ?? "http";
  const host = first("x-forwarded-host") ?? headers.host ?? "";
  const plain = /^https?$/.test(scheme) && /^([\w.-]+|\[[0-9a-f:]+\])(:\d{1,5})?$/i.test(host);
  return plain ? `${scheme}://${host}` : undefined;
}

/** What a check of the configured model found. `remedy` is null if there is no problem. */
type ModelReport = Omit<Checked, "name">;

interface SetupOptions {
  /** `env.app` is null. */
  env: Env;
  log: Logger;
  /** Sends the configured model a short request. Not called without a model. */
  checkModel(signal: AbortSignal): Promise<ModelReport>;
  /** In milliseconds. Default a minute: a local server may have to load its model. */
  modelLimitMs?: number;
  /** In milliseconds. */
  now?: () => number;
}

export interface RunningSetup extends RunningServer {
  /** Resolves when any process has created the App and stored its credentials: close this server and start the real one. */
  configured: Promise<void>;
}

const paths = { page: "/setup", created: "/setup/created", style: "/style.css" };
const cookie = "hunkwise_setup";
/** GitHub's code is valid for an hour; so is the state that comes back with it. */
const stateSeconds = 3_600;
const mostStates = 100;

const Conversion = z.object({
  id: z.int().positive(),
  pem: z.string().min(1),
  webhook_secret: z.string().min(1),
  html_url: z.url(),
  // Without them, only the log-in is missing: that must not cost the key, which GitHub returns only once.
  client_id: z.string().min(1).optional().catch(undefined),
  client_secret: z.string().min(1).optional().catch(undefined),
  /** The person who created the App, or their organization. */
  owner: z.object({ id: z.int().positive(), login: z.string(), type: z.string() }).nullish().catch(null),
});
type Owner = z.infer<typeof Conversion>["owner"];

/**
 * Serves the page with the steps to a working server: its address, its model, and its GitHub App, which GitHub creates after the person has
 * confirmed it there.
 */
export async function startSetup(options: SetupOptions): Promise<RunningSetup> {
  const { env, log } = options;
  const key = randomBytes(18).toString("base64url");
  const done = Promise.withResolvers<void>();
  const stopped = new AbortController();
  const model = watchModel(options, stopped.signal);
  const report = () => (env.model === null ? null : model().newest);
  const page = createSetupPage(env, log, key, report, done.resolve);
  const handler: Handler = async (request, url) => {
    if (url.pathname === "/healthz") return { status: 200, body: "ok" };
    // Another process on this data folder may have been faster: a later visitor must not take the bot over.
    if (hasStoredApp(env.dataDir)) {
      done.resolve();
      return gone;
    }
    if (request.method !== "GET") return { status: 503, body: "The GitHub App is not set up yet." };
    if (url.pathname === "/") return redirect(paths.page + url.search);
    if (url.pathname === paths.page) return page.show(request, url.searchParams);
    if (url.pathname === paths.created) return page.complete(request, url.searchParams);
    if (url.pathname === paths.style) return sheet;
    if (url.pathname === "/readyz") return { status: 503, body: "The GitHub App is not set up yet." };
    return { status: 404, body: "Not found." };
  };
  const server = await listen(handler, { host: env.host, port: env.port, log });
  // Before anyone looks, so that nobody waits for it.
  report();
  const local = `http://localhost:${server.port}`;
  log.info(
    `There is no GitHub App yet. To create it, open ${local}/?key=${key} on this machine; from another one, open the same path at this server's public address`,
  );
  const close = async () => {
    stopped.abort();
    await server.close();
  };
  return { port: server.port, close, configured: done.promise };
}

const recheckMs = 60_000;
const slowModel =
  "Look whether it runs and this machine reaches it. A server that still loads its model answers later.";

/** Checks the model when someone looks, at most once a minute, until the signal fires. */
function watchModel(options: SetupOptions, stopped: AbortSignal) {
  const { log, checkModel, modelLimitMs = 60_000, now = Date.now } = options;
  const check = async (last: ModelReport | null) => {
    const limit = AbortSignal.timeout(modelLimitMs);
    const found = await checkModel(AbortSignal.any([limit, stopped])).catch((error: unknown): ModelReport => {
      const state = "fail";
      if (limit.aborted)
        return { state, says: `It did not answer within ${modelLimitMs / 1_000} s`, remedy: slowModel };
      const remedy = (error instanceof AppError && error.remedy) || null;
      return { state, says: errorLine(error), remedy };
    });
    const line = [`The model: ${found.says}`, found.remedy].filter(Boolean).join(". ");
    if (!stopped.aborted && found.state !== last?.state) log[found.state === "ok" ? "info" : "warn"](line);
    return found;
  };
  return repeated(check, recheckMs, now);
}

function createSetupPage(
  env: Env,
  log: Logger,
  key: string,
  readReport: () => ModelReport | null,
  onConfigured: () => void,
) {
  const states = new LRUCache<string, true>({ max: mostStates });
  const { webUrl } = env.github;

  function save(app: StoredApp, owner: Owner): Answer {
    try {
      storeApp(env.dataDir, app);
    } catch (error) {
      // The error's remedy suggests another folder, but that would require a restart of this process.
      const why = error instanceof AppError ? error.message : errorLine(error);
      log.error(
        `The GitHub App ${app.html_url} exists, but its key could not be stored: ${why}. Delete the App on GitHub, make the data folder writable and create the App again.`,
      );
      return answer(webUrl, 500, "The GitHub App exists, but its key is not stored", notStored(app, why));
    }
    log.info(`The GitHub App ${app.html_url} is set up; its credentials are in ${env.dataDir}/app.json`);
    if (!app.client_secret)
      log.warn("GitHub returned no client secret of the App, so nobody can log in to the pages");
    const operators = operatorsWith(env, owner);
    if (operators)
      log.info(`To make ${owner?.login}, who owns the App, an operator, set ${operators} and start again`);
    onConfigured();
    return answer(webUrl, 200, "The App exists", created(env, app, owner));
  }

  function newState(): string {
    const state = randomBytes(18).toString("base64url");
    states.set(state, true);
    return state;
  }

  const failed = (status: number, why: string) =>
    answer(webUrl, status, "The App was not created", notCreated(why));

  return {
    async show(request: IncomingMessage, query: URLSearchParams): Promise<Answer> {
      // Who completes the page owns the bot. A proxy may make a stranger look like a visitor from this machine.
      if (!(await timingSafeEqual(query.get("key") ?? "", key)))
        return answer(webUrl, 403, "Key needed", keyWanted(query.has("key")));
      const visited = addressOf(request);
      if (!visited) return { status: 400, body: "The host header is missing or malformed." };
      const state = newState();
      const choices = readChoices(visited, query);
      const shown = answer(webUrl, 200, "Setup", steps(env, choices, state, readReport()));
      const secure = visited.startsWith("https:") ? "; Secure" : "";
      const setCookie = `${cookie}=${state}; HttpOnly; SameSite=Lax; Path=${paths.page}; Max-Age=${stateSeconds}${secure}`;
      return { ...shown, headers: { ...shown.headers, "set-cookie": setCookie } };
    },

    async complete(request: IncomingMessage, query: URLSearchParams): Promise<Answer> {
      const state = query.get("state") ?? "";
      // The state has to be known here and to this browser: otherwise another person's link could make them the owner of the bot.
      const ofBrowser = parseCookies(request.headers.cookie ?? "", cookie)[cookie] ?? "";
      if (!states.delete(state) || !(await timingSafeEqual(ofBrowser, state)))
        return failed(400, "This setup was not started in this browser, or it was started too long ago.");
      const code = query.get("code") ?? "";
      if (!/^[\w-]{1,200}$/.test(code)) return failed(400, "The code from GitHub is missing or malformed.");
      const converted = await convert(env, code);
      if ("problem" in converted) {
        log.error(converted.problem);
        return failed(502, converted.problem);
      }
      // GitHub's answer took time: check again.
      if (hasStoredApp(env.dataDir)) return gone;
      return save(converted.app, converted.owner);
    },
  };
}

const unreturned = "GitHub created the App but did not return its credentials.";

async function convert(
  env: Env,
  code: string,
): Promise<{ app: StoredApp; owner: Owner } | { problem: string }> {
  const call = "POST /app-manifests/{code}/conversions";
  let answer: unknown;
  try {
    ({ data: answer } = await anonymousOctokit(env.github).request(call, { code }));
  } catch (error) {
    return { problem: `${errorLine(toAppError(error, call))}.` };
  }
  const { data } = Conversion.safeParse(answer);
  if (!data) return { problem: `${unreturned} Delete the App on GitHub.` };
  const { webUrl } = env.github;
  if (!data.html_url.startsWith(`${webUrl}/`))
    return {
      problem: `GitHub says that the App is not at ${webUrl}, so its credentials were not stored. Delete the App on GitHub and correct GHE_HOST.`,
    };
  const { id, pem, webhook_secret, html_url, client_id, client_secret, owner } = data;
  for (const secret of [pem, webhook_secret, client_secret])
    if (secret) registerSecret(secret, { keep: true });
  const login = client_id && client_secret ? { client_id, client_secret } : {};
  return { app: { app_id: id, private_key: pem, webhook_secret, html_url, ...login }, owner };
}

/** The form of an organization's name in addresses on GitHub. */
const organizationName = /^\w[\w-]{0,99}$/;

type Choices = ReturnType<typeof readChoices>;

/** What the person has said on the page, in its address. */
function readChoices(visited: string, query: URLSearchParams) {
  const given = query.get("address")?.trim() ?? "";
  const address = originOf(given);
  const organization = query.get("organization")?.trim();
  return {
    /** The parameters of the page, to pass on. */
    query,
    /** The origin by which the visitor's browser reached this page. */
    visited,
    /** The origin of this server for GitHub and for people. */
    address: address ?? visited,
    /** A given address that is none. */
    badAddress: given !== "" && address === null ? given : null,
    organization: organization ?? "",
    contents: query.get("contents") === "write" ? "write" : "read",
    /** Whether the person has continued with these choices. */
    isChosen: organization !== undefined,
  };
}

/** The origin that a person wrote, with or without `https://`; null if it is no plain address of a server. */
function originOf(written: string): string | null {
  const url = URL.parse(/^[a-z]+:\/\//i.test(written) ? written : `https://${written}`);
  if (!url || !/^https?:$/.test(url.protocol) || !/^([\w.-]+|\[[\da-f:]+\])$/.test(url.hostname)) return null;
  return url.href === `${url.origin}/` ? url.origin : null;
}

type StepState = "done" | "attention" | "missing" | "next" | "waiting";
/** Its state, for the style of the page and in words, and what is to be read about it. */
type Step = [state: StepState, word: string, body: Html];

function steps(env: Env, choices: Choices, state: string, report: ModelReport | null): Html {
  const address = addressStep(env, choices);
  const all = {
    Address: address,
    Model: modelStep(env, choices, report),
    "GitHub App": appStep(env, choices, state, address),
  };
  const missing = Object.entries(all).filter(([, [state]]) => state === "missing" || state === "next");
  return html`<p>Three steps until Hunkwise reviews pull requests, in any order; the model may also follow later. ${
    missing.length > 0 && html`<strong>Missing: ${missing.map(([name]) => name).join(", ")}.</strong>`
  }</p>
<ol class="steps">${Object.entries(all).map(
    ([name, [state, word, body]], at) => html`
<li id="step-${at + 1}" class="${state}"><h2>${at + 1}. ${name} <span class="state">${word}</span></h2>
${body}</li>`,
  )}
</ol>`;
}

const webhookOf = (env: Env, { address }: Choices) => env.webhookProxyUrl ?? `${address}${env.webhookPath}`;

function addressStep(env: Env, choices: Choices): Step {
  const { address, visited, badAddress } = choices;
  const webhook = webhookOf(env, choices);
  const host = URL.parse(webhook)?.hostname ?? "";
  const reach = reachOfHost(host);
  const step = (state: StepState, word: string, about: Html): Step => {
    const form = env.webhookProxyUrl === null && addressForm(choices, state === "done");
    const body = html`<p>GitHub will send webhooks to <code>${webhook}</code>.</p>
${about}${form}`;
    return [state, word, body];
  };
  if (badAddress !== null)
    return step(
      "missing",
      "Not an address",
      html`<p><code>${badAddress}</code> is not the address of a server. Write it without a path, such as
<code>https://hunkwise.example.com</code>.</p>`,
    );
  // GitHub's own hosts are reached through the internet.
  const isHosted = /^(github\.com|.*\.ghe\.com)$/.test(env.github.host);
  if (reach === "machine" || (reach === "network" && isHosted))
    return step("missing", "Not reachable", unreachable(env, reach, host));
  if (env.webhookProxyUrl !== null)
    return step(
      "done",
      "Forwarded",
      html`<p>This is <code>WEBHOOK_PROXY_URL</code>. The service there must forward webhooks to this server, and has to run as long as
Hunkwise does. People will log in at <code>${address}</code>.</p>`,
    );
  if (address.startsWith("http:"))
    return step(
      "attention",
      "Not encrypted",
      html`<p>Without HTTPS, anyone on the way can read what GitHub sends, and people cannot log in to the pages. Put a reverse proxy
with a certificate in front of this server, and enter its address.</p>`,
    );
  if (reach === "network")
    return step(
      "done",
      "In your network",
      html`<p>${env.github.host} has to reach this name from its own network.</p>`,
    );
  return step(
    "done",
    "Looks right",
    address === visited
      ? html`<p>You reached this page there. Whether GitHub can, too, shows when it delivers the first webhook.</p>`
      : html`<p>Hunkwise has not tried it. <a href="${address}/healthz">${address}/healthz</a> must answer “ok” from outside your
network.</p>`,
  );
}

const unreachable = (
  env: Env,
  reach: "machine" | "network",
  host: string,
) => html`<p>GitHub cannot reach <code>${host}</code>: ${
  reach === "machine" ? "there, that name means GitHub’s own machine" : "it exists only in your network"
}. Do one of these:</p>
<ul>
${
  env.webhookProxyUrl === null
    ? html`<li>Put a reverse proxy with a certificate in front of this server, and enter its public address below.</li>
<li>To try Hunkwise on your own machine, start it with <code>WEBHOOK_PROXY_URL</code> set to a service that forwards webhooks, such
as one from <a href="https://smee.io">smee.io</a>. Its operator sees what GitHub sends.</li>`
    : html`<li>Set <code>WEBHOOK_PROXY_URL</code> to a public address, or unset it, and start Hunkwise again.</li>`
}
</ul>`;

/** @param isDone whether it is only there for people who want another address */
function addressForm(choices: Choices, isDone: boolean): Html {
  const { address, visited, badAddress } = choices;
  const value = badAddress ?? (address === visited ? "" : address);
  const form = html`<form action="${paths.page}" method="get">${passedOn(choices, "key", "organization", "contents")}
<p><label for="address">Public address of this server</label>
<input id="address" name="address" inputmode="url" autocomplete="url" placeholder="https://hunkwise.example.com" value="${value}" required></p>
<button>Use this address</button></form>`;
  return isDone ? html`<details><summary>Use another address</summary>${form}</details>` : form;
}

function modelStep(env: Env, choices: Choices, report: ModelReport | null): Step {
  if (env.model === null)
    return [
      "missing",
      "None",
      html`<p>Without a model, reviews use only the built-in analyzers: they find committed secrets and some kinds of mistakes, and
read nothing else. To have a model read the changes, set one of these in the environment or in <code>.env</code>, and start Hunkwise
again, now or later:</p>
<ul><li><code>OPENAI_API_KEY</code></li><li><code>ANTHROPIC_API_KEY</code></li>
<li><code>OPENAI_BASE_URL</code> and <code>HUNKWISE_MODEL</code>, for any server with Chat Completions, also a local one</li></ul>`,
    ];
  const again = (words: string) => html`<a href="${linkTo(choices, 2)}">${words}</a>`;
  if (report === null)
    return [
      "waiting",
      "Being asked",
      html`<p>Hunkwise is sending <code>${env.model.name}</code> a short request. ${again("Look again")}</p>`,
    ];
  const [state, word] = {
    ok: ["done", "Answers"] as const,
    warn: ["attention", "Needs attention"] as const,
    fail: ["missing", "Does not work"] as const,
  }[report.state];
  return [
    state,
    word,
    html`<p>Hunkwise sent <code>${env.model.name}</code> a short request.</p>
${
  state !== "done" &&
  html`<p>The log of Hunkwise says what is wrong, and what to do. Until then, reviews fail or use only the analyzers. A correction of the
environment needs a new start; otherwise, ${again("look again")} in a minute.</p>`
}`,
  ];
}

function appStep(env: Env, choices: Choices, state: string, [reach]: Step): Step {
  const { organization, isChosen } = choices;
  const isBad = organization !== "" && !organizationName.test(organization);
  if (reach === "missing")
    return [
      "missing",
      "Needs an address",
      html`<p>GitHub creates the App with the address of step 1, and refuses one that it cannot reach.</p>${haveOne(env, choices)}`,
    ];
  if (!isChosen || isBad)
    return ["next", "To do", html`${chooseForm(choices, isBad)}${haveOne(env, choices)}`];
  return ["next", "Ready to create", createForm(env, choices, state)];
}

const chooseForm = (
  choices: Choices,
  isBad: boolean,
) => html`<form action="${paths.page}#step-3" method="get">${passedOn(choices, "key", "address")}
<p><label for="organization">Organization that will own the App</label>
<input id="organization" name="organization" value="${choices.organization}" autocomplete="off" spellcheck="false"
 aria-describedby="organization-help"${isBad && html` aria-invalid="true"`}>
<small id="organization-help">${
  isBad && html`<strong class="problem">This is not the name of an organization.</strong> `
}Its name in addresses on GitHub; you have to be an owner of it. Leave this empty for your own account. The App can only review
repositories of its owner.</small></p>
<p><label class="check"><input type="checkbox" name="contents" value="write"${choices.contents === "write" && html` checked`}
 aria-describedby="contents-help"> Let it write code</label>
<small id="contents-help">Only needed to resolve the threads of fixed findings, for repairs that <code>/fix</code> pushes to the branch of a
pull request, and for rules that <code>/remember</code> proposes in a pull request. You can grant it later.</small></p>
<button>Continue</button></form>`;

function createForm(env: Env, choices: Choices, state: string): Html {
  const { webUrl } = env.github;
  const owner = choices.organization === "" ? null : choices.organization;
  const place = owner === null ? "" : `/organizations/${owner}`;
  return html`<dl><dt>Owner</dt><dd>${
    owner === null ? "your own account" : html`the organization <a href="${webUrl}/${owner}">${owner}</a>`
  }</dd>
<dt>Code</dt><dd>${choices.contents === "write" ? "read and write" : "read only"}</dd></dl>
<p>GitHub shows what the App may do and asks for its name. Then you choose the repositories that it reviews.${
    owner !== null &&
    html` If GitHub answers with a 404, the organization does not exist, or you are not an owner of it.`
  }</p>
<form action="${webUrl}${place}/settings/apps/new?state=${state}" method="post">
<input type="hidden" name="manifest" value="${JSON.stringify(appManifest(env, choices))}">
<button class="primary">Create the App on GitHub</button>
<a href="${linkTo(choices, 3, ["key", "address"])}">Choose again</a></form>`;
}

const haveOne = (env: Env, choices: Choices) => html`<details><summary>You already have an App</summary>
<p>Set these variables in the environment or in <code>.env</code>, and start Hunkwise again. They are on the page of the App in
GitHub's settings.</p>
<ul><li><code>APP_ID</code></li><li><code>PRIVATE_KEY</code> or <code>PRIVATE_KEY_PATH</code></li><li><code>WEBHOOK_SECRET</code></li>
<li><code>GITHUB_CLIENT_ID</code> and <code>GITHUB_CLIENT_SECRET</code>, with which people log in to the pages</li></ul>
<p>There, the webhook's URL has to be <code>${webhookOf(env, choices)}</code>, and the callback URL
<code>${choices.address}/login/callback</code>.</p></details>`;

const passable = ["key", "address", "organization", "contents"];

/** The choices so far as parameters. */
const choicesAs = ({ query }: Choices, names: readonly string[]) =>
  [...query].filter(([name, value]) => names.includes(name) && (value !== "" || name === "organization"));

const passedOn = (choices: Choices, ...names: string[]) =>
  choicesAs(choices, names).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );

/** This page with the choices so far, at one of its steps. */
const linkTo = (choices: Choices, step: number, names: readonly string[] = passable) =>
  `${paths.page}?${new URLSearchParams(choicesAs(choices, names))}#step-${step}`;

/** The page of an App without a client secret says how to add it. It does not repeat the address of the visitor: anyone can name a host. */
export function landing(webUrl: string): Pages {
  const page = answer(webUrl, 200, "Hunkwise is running", withoutLogin(webUrl));
  const handler: Handler = async (request, { pathname }) => {
    if (pathname !== "/" && pathname !== paths.style) return { status: 404, body: "Not found." };
    refuseWriting(request.method);
    return pathname === "/" ? page : sheet;
  };
  return { handler, onRevoked: () => {} };
}

const withoutLogin = (
  webUrl: string,
) => html`<p>It reviews pull requests in the repositories in which its GitHub App is installed: open
a pull request, or write <code>/review</code> in one.</p>
<h2>Pages for people</h2>
<p>This server also has pages that show what was reviewed, what came of it, and what it cost. Nobody can log in to them yet, because
the client secret of the App is missing here. To add it:</p>
<ol>
<li>Open the settings of the App: <a href="${webUrl}/settings/apps">${webUrl}/settings/apps</a>, or
<em>Developer settings, GitHub Apps</em> in the settings of the organization that owns it, and there <em>Edit</em>.</li>
<li>As the first <em>Callback URL</em>, enter the address of this server, with <code>/login/callback</code> at its end, such as
<code>https://hunkwise.example.com/login/callback</code>, and save.</li>
<li>Under <em>Client secrets</em>, choose <em>Generate a new client secret</em>.</li>
<li>Set <code>GITHUB_CLIENT_ID</code> to the <em>Client ID</em> at the top of that page, and <code>GITHUB_CLIENT_SECRET</code> to the new
secret, and restart Hunkwise.</li>
</ol>`;

/** The line that makes the person who owns the App an operator; null if there is no such person, or if they already are one. */
function operatorsWith({ operators }: Env, owner: Owner): string | null {
  if (owner?.type !== "User" || operators.has(owner.id)) return null;
  return `HUNKWISE_OPERATORS=${[...operators, owner.id]}`;
}

function created(env: Env, { html_url }: StoredApp, owner: Owner): Html {
  const line = operatorsWith(env, owner);
  const { apiUrl } = env.github;
  return html`<p>GitHub created <a href="${html_url}">${html_url}</a>, and Hunkwise has stored its credentials and starts with them.</p>
<ol class="steps">
<li class="next"><h2>1. Repositories</h2><p><a href="${html_url}/installations/new">Choose the repositories that it reviews</a></p></li>
${
  (line || env.operators.size === 0) &&
  html`<li><h2>2. Operators</h2><p>An operator also sees the server's health, and the runs and costs of all repositories. To be one, add this line to the
environment of Hunkwise, and start it again:</p>
<pre>${line ?? "HUNKWISE_OPERATORS=ID"}</pre>
<p>${
    line
      ? html`This is the number of the account <code>${owner?.login}</code>, which owns the App.`
      : html`<code>ID</code> is the number of your account: the <code>id</code> at <code>${apiUrl}/users/YOUR-LOGIN</code>.`
  } With Docker Compose, the line belongs in <code>.env</code> beside <code>compose.yml</code>; in a checkout, in <code>.env</code> beside
<code>package.json</code>; with systemd, in <code>/etc/hunkwise.env</code>.</p></li>`
}
</ol>`;
}

const notStored = (
  { html_url }: StoredApp,
  why: string,
) => html`<p>GitHub created <a href="${html_url}">${html_url}</a> and
shows its private key only once. The key could not be written to the disk:</p>
<p><code>${why}</code></p>
<p>Delete the App in its settings on GitHub and make the data folder writable. Then
<a href="${paths.page}">open the setup page</a> and create the App again.</p>`;

const notCreated = (why: string) =>
  html`<p>${why} <a href="${paths.page}">Open the setup page</a> and try again.</p>`;

const keyWanted = (isWrong: boolean) => html`<p>${
  isWrong && html`<strong>This is not the key of the running server; each start makes a new one.</strong> `
}Whoever completes the setup owns the bot. Enter the key from the log of Hunkwise, or open the address there.</p>
<form action="${paths.page}" method="get"><p><label for="key">Key</label> <input id="key" name="key" autocomplete="off" spellcheck="false" required></p>
<button>Continue</button></form>`;

/** An answer with a page. Forms may only be sent to this server and to GitHub. */
const answer = (webUrl: string, status: number, title: string, body: Html): Answer => ({
  status,
  type: "text/html",
  body: notice(title, body).toString(),
  headers: {
    "content-security-policy": `default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' ${webUrl}; base-uri 'none'; frame-ancestors 'none'`,
    // The address of the page may contain its key. The host by itself is not secret, and tells GitHub the origin of a form.
    "referrer-policy": "origin",
  },
});

/** Kept by the browser: when the last page is shown, this server has closed and the next one may not listen yet. */
const sheet: Answer = {
  status: 200,
  body: style,
  headers: { "content-type": "text/css", "cache-control": "private, max-age=3600" },
};
const redirect = (location: string): Answer => ({ status: 302, body: "See there.", headers: { location } });
/** The same answer as that of the server which starts next. */
const gone: Answer = { status: 404, body: "Not found." };
