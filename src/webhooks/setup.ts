import { randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import type { Env } from "../config/env.ts";
import { hasStoredApp, type StoredApp, storeApp } from "../config/server-env.ts";
import { AppError, errorLine } from "../errors.ts";
import { toAppError } from "../github/errors.ts";
import type { Logger } from "../logger.ts";
import { registerSecret } from "../secrets/live-secrets.ts";
import { anonymousOctokit } from "./app-auth.ts";
import { type Answer, type Handler, listen, type RunningServer } from "./http.ts";
import { escapeHtml, htmlPage } from "./pages.ts";

const Permissions = z.record(z.string(), z.enum(["read", "write"]));

const AppFile = z.strictObject({
  name: z.string(),
  description: z.string(),
  public: z.boolean(),
  default_permissions: Permissions,
  default_events: z.array(z.string()),
});

/** The additions and replacements of a variant to `app.yml`. */
const VariantFile = z.strictObject({ default_permissions: Permissions });

/** Path of a file next to Hunkwise's own `package.json`. */
const besidePackage = (name: string) => resolve(import.meta.dirname, "../..", name);
const appFile = besidePackage("app.yml");
const contentsWriteFile = besidePackage("app.contents-write.yml");

/** Addresses of this server for GitHub. */
interface ServerAddresses {
  home: string;
  webhook: string;
  redirect: string;
}

/**
 * The manifest from which GitHub creates the App: `app.yml` with the addresses of this server. If the App should write code,
 * `app.contents-write.yml` is merged into it.
 * @throws AppError `config_invalid` if a file cannot be used.
 */
function appManifest(addresses: ServerAddresses, contents: "read" | "write" = "read"): object {
  const app = readAs(AppFile, appFile);
  const more = contents === "write" ? readAs(VariantFile, contentsWriteFile).default_permissions : {};
  return {
    ...app,
    default_permissions: { ...app.default_permissions, ...more },
    url: addresses.home,
    hook_attributes: { url: addresses.webhook, active: true },
    redirect_url: addresses.redirect,
  };
}

function readAs<Data>(schema: z.ZodType<Data>, file: string): Data {
  const { data, error } = schema.safeParse(parse(readFileSync(file, "utf8")));
  if (data !== undefined) return data;
  const issue = error?.issues[0];
  throw new AppError("config_invalid", `${file} cannot be used: ${issue?.path.join(".")} ${issue?.message}`);
}

/** The page on which a person creates an App from a manifest; GitHub returns `state`. */
function createAppUrl({ github, organization }: Env, state: string): string {
  const place = organization ? `/organizations/${organization}/settings/apps/new` : "/settings/apps/new";
  return `${github.webUrl}${place}?state=${state}`;
}

/**
 * Whether the visitor of the setup page is local. The person who completes the page owns the bot, so a remote visitor needs the key that
 * the server printed; a browser on this machine needs none.
 */
function isLocal(request: IncomingMessage): boolean {
  const { headers, socket } = request;
  const address = (socket.remoteAddress ?? "").replace(/^::ffff:/, "");
  if (!(address.startsWith("127.") || address === "::1")) return false;
  // A proxy on this machine also connects from here, but adds headers; the check of the host name keeps rebound domains out.
  const proxied = Object.keys(headers).some((name) =>
    /^(x-forwarded-|forwarded$|via$|x-real-ip$|cf-)/.test(name),
  );
  return !proxied && isLoopbackName(headers.host ?? "");
}

/** Scheme, host and port by which the visitor reached this server, also through a proxy. */
function addressOf({ headers }: IncomingMessage): string | undefined {
  const scheme = first(headers, "x-forwarded-proto") ?? "http";
  const host = first(headers, "x-forwarded-host") ?? headers.host ?? "";
  const plain = /^https?$/.test(scheme) && /^([\w.-]+|\[[0-9a-f:]+\])(:\d{1,5})?$/i.test(host);
  return plain ? `${scheme}://${host}` : undefined;
}

/** Whether GitHub cannot reach this host, because the name means the visitor's own machine. */
function isLoopbackName(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(host);
}

function first(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value.split(",")[0]?.trim() : undefined;
}

function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const pairs = (headers.cookie ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

interface SetupOptions {
  /** `env.app` is null. */
  env: Env;
  log: Logger;
}

export interface RunningSetup extends RunningServer {
  /** Resolves when any process has created the App and stored its credentials: close this server and start the real one. */
  configured: Promise<void>;
}

const cookie = "hunkwise_setup";
/** GitHub's code is valid for an hour; so is the state that comes back with it. */
const stateSeconds = 3_600;
const mostStates = 100;

/** The fields that we use of GitHub's answer to the conversion of a manifest. */
const Conversion = z.object({
  id: z.int().positive(),
  pem: z.string().min(1),
  webhook_secret: z.string().min(1),
  html_url: z.url(),
});

/**
 * Serves the page that creates the GitHub App from `app.yml`: GitHub shows a form, the person confirms, and the credentials from GitHub are
 * stored below the data folder. A forwarding service is only used if `WEBHOOK_PROXY_URL` names one.
 */
export async function startSetup({ env, log }: SetupOptions): Promise<RunningSetup> {
  const key = randomBytes(18).toString("base64url");
  const done = Promise.withResolvers<void>();
  const page = createSetupPage(env, log, key, done.resolve);
  const handler: Handler = async (request, url) => {
    if (url.pathname === "/healthz") return { status: 200, body: "ok" };
    // Another process on this data folder may have been faster: a later visitor must not take the bot over.
    if (hasStoredApp(env.dataDir)) {
      done.resolve();
      return gone;
    }
    if (request.method !== "GET") return { status: 503, body: "The GitHub App is not set up yet." };
    if (url.pathname === "/") return redirect(`/probot${url.search}`);
    if (url.pathname === "/probot") return page.show(request, url.searchParams);
    if (url.pathname === "/probot/setup") return page.complete(request, url.searchParams);
    if (url.pathname === "/readyz") return { status: 503, body: "The GitHub App is not set up yet." };
    return { status: 404, body: "Not found." };
  };
  const server = await listen(handler, { host: env.host, port: env.port, log });
  const local = `http://localhost:${server.port}`;
  log.info(
    `There is no GitHub App yet. To create it, open ${local} on this machine, or this server's address with /?key=${key} on another`,
  );
  return { ...server, configured: done.promise };
}

function createSetupPage(env: Env, log: Logger, key: string, onConfigured: () => void) {
  const states = new Set<string>();
  /** An App that exists on GitHub and is not stored yet: its key cannot be requested again. */
  let unsaved: StoredApp | null = null;

  /** @param state of the browser that returned from GitHub, which may try again by a reload */
  function save(app: StoredApp, state?: string): Answer {
    try {
      storeApp(env.dataDir, app);
    } catch (error) {
      unsaved = app;
      if (state !== undefined) states.add(state);
      // The error's remedy suggests another folder, but that would require a restart of this process.
      const why = error instanceof AppError ? error.message : errorLine(error);
      log.error(
        `The GitHub App ${app.html_url} exists, but its key is only in the memory of this process: ${why}. Make the data folder writable and open the setup page again.`,
      );
      return notStored(app, why, key, env.github.webUrl);
    }
    unsaved = null;
    log.info(`The GitHub App ${app.html_url} is set up; its credentials are in ${env.dataDir}/app.json`);
    onConfigured();
    return redirect(`${app.html_url}/installations/new`);
  }

  function newState(): string {
    const state = randomBytes(18).toString("base64url");
    states.add(state);
    const [oldest] = states;
    if (states.size > mostStates && oldest) states.delete(oldest);
    return state;
  }

  return {
    async show(request: IncomingMessage, query: URLSearchParams): Promise<Answer> {
      if (!isLocal(request) && !same(query.get("key") ?? "", key)) return keyWanted;
      const home = addressOf(request);
      if (!home) return { status: 400, body: "The host header is missing or malformed." };
      if (unsaved) return save(unsaved);
      const state = newState();
      const answer = formPage(env, home, query, state);
      const secure = home.startsWith("https:") ? "; Secure" : "";
      const setCookie = `${cookie}=${state}; HttpOnly; SameSite=Lax; Path=/probot; Max-Age=${stateSeconds}${secure}`;
      return { ...answer, headers: { ...answer.headers, "set-cookie": setCookie } };
    },

    async complete(request: IncomingMessage, query: URLSearchParams): Promise<Answer> {
      const state = query.get("state") ?? "";
      // The state has to be known here and to this browser: otherwise another person's link could make them the owner of the bot.
      if (!states.delete(state) || !same(cookieOf(request, cookie) ?? "", state)) return startAgain;
      if (unsaved) return save(unsaved, state);
      const code = query.get("code") ?? "";
      if (!/^[\w-]{1,200}$/.test(code))
        return { status: 400, body: "The code from GitHub is missing or malformed." };
      const converted = await convert(env, code);
      if ("problem" in converted) {
        log.error(converted.problem);
        return { status: 502, body: `${converted.problem} Open the setup page and try again.` };
      }
      // GitHub's answer took time: check again.
      if (hasStoredApp(env.dataDir)) return gone;
      return save(converted, state);
    },
  };
}

async function convert(env: Env, code: string): Promise<StoredApp | { problem: string }> {
  const call = "POST /app-manifests/{code}/conversions";
  let answer: unknown;
  try {
    ({ data: answer } = await anonymousOctokit(env.github).request(call, { code }));
  } catch (error) {
    return { problem: `${errorLine(toAppError(error, call))}.` };
  }
  const { data } = Conversion.safeParse(answer);
  if (!data) {
    return {
      problem: "GitHub created the App but did not return its credentials. Delete the App on GitHub.",
    };
  }
  const { webUrl } = env.github;
  if (!data.html_url.startsWith(`${webUrl}/`)) {
    const problem = `GitHub says that the App is not at ${webUrl}, so its credentials were not stored. Delete the App on GitHub and correct GHE_HOST.`;
    return { problem };
  }
  for (const secret of [data.pem, data.webhook_secret]) registerSecret(secret, { keep: true });
  const { id, pem, webhook_secret, html_url } = data;
  return { app_id: id, private_key: pem, webhook_secret, html_url };
}

function formPage(env: Env, home: string, query: URLSearchParams, state: string): Answer {
  const [, given] = /^\s*(https?:\/\/[\w.:-]+)\/*\s*$/.exec(query.get("address") ?? "") ?? [];
  const address = given ?? home;
  const webhook = env.webhookProxyUrl ?? `${address}${env.webhookPath}`;
  const addresses = { home: address, webhook, redirect: `${home}/probot/setup` };
  const unreachable = isLoopbackName(URL.parse(webhook)?.host ?? "");
  const target = createAppUrl(env, state);
  return htmlPage(
    "Set up Hunkwise",
    `<h1>Create the GitHub App of this server</h1>
<p>GitHub shows what the App may do and asks for its name. Afterwards you choose the repositories it reviews.
Webhooks will go to <code>${escapeHtml(webhook)}</code>.</p>
${unreachable ? addressForm(query.get("key")) : ""}
${createForm(target, appManifest(addresses), "Create the GitHub App")}
<details><summary>Also let it write code</summary>
<p>GitHub only lets Apps with this permission resolve the threads of fixed findings. <code>/fix</code> can then push repairs to
the branch of the pull request, and <code>/remember</code> can propose a rule in a pull request. Nothing else needs it. You can
grant it later in the App's settings.</p>
${createForm(target, appManifest(addresses, "write"), "Create it with write access to code")}
</details>`,
    env.github.webUrl,
  );
}

/** The page for an App that could not be stored. Opening the page again stores it, as soon as that is possible. */
function notStored({ html_url }: StoredApp, why: string, key: string, webUrl: string): Answer {
  const page = htmlPage(
    "Hunkwise cannot store the App",
    `<h1>The GitHub App exists, but its key is not stored</h1>
<p>GitHub created <a href="${escapeHtml(html_url)}">${escapeHtml(html_url)}</a> and shows its private key only once.
The key could not be written to the disk:</p>
<p><code>${escapeHtml(why)}</code></p>
<p>The key is kept in the memory of this process, so do not stop it. Make the data folder writable, then try again.
If that is impossible, delete the App in its settings on GitHub, start Hunkwise with another <code>HUNKWISE_DATA_DIR</code> and
create the App again.</p>
<form action="/probot" method="get"><input type="hidden" name="key" value="${escapeHtml(key)}">
<button type="submit">Try again</button></form>`,
    webUrl,
  );
  return { ...page, status: 500 };
}

function createForm(target: string, manifest: object, button: string): string {
  return `<form action="${escapeHtml(target)}" method="post">
<input type="hidden" name="manifest" value="${escapeHtml(JSON.stringify(manifest))}">
<button type="submit">${button}</button>
</form>`;
}

function addressForm(key: string | null): string {
  const hidden = key ? `<input type="hidden" name="key" value="${escapeHtml(key)}">` : "";
  return `<div class="note"><p>GitHub cannot reach this address. Enter the public address of this server, or start it with
<code>WEBHOOK_PROXY_URL</code> set to a service that forwards webhooks.</p>
<form action="/probot" method="get">${hidden}
<input type="url" name="address" placeholder="https://hunkwise.example.com" required>
<button type="submit">Use this address</button></form></div>`;
}

const redirect = (location: string): Answer => ({ status: 302, body: "See there.", headers: { location } });
/** The same answer as that of the server which starts next. */
const gone: Answer = { status: 404, body: "Not found." };
const startAgain: Answer = {
  status: 400,
  body: "This setup was not started in this browser. Open the setup page again.",
};
const keyWanted: Answer = {
  status: 403,
  body: "Open this page on the machine that runs Hunkwise, or add /?key= with the key in its log.",
};

function same(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
