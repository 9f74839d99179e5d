import { createPrivateKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { z } from "zod";
import { AppError, errorLine } from "../core/errors.ts";
import { cacheFolder, dataFolder, environmentsFolder, ownFolder } from "./folders.ts";
import {
  defaultClaude,
  defaultContextTokens,
  defaultModel,
  type effortNames,
  leastContextTokens,
  missing,
  namesWith,
  noticesOf,
  parseVariables,
  type protocolNames,
  type RawEnv,
  requireNone,
  unknownOf,
  VariableFault,
  type Variables,
} from "./variables.ts";

export interface ModelEnv {
  /** What the endpoint speaks: Chat Completions, or Anthropic's Messages API. */
  api: "openai" | "anthropic";
  /** Null for a local server that needs none. */
  apiKey: string | null;
  /** Null for OpenAI's own. */
  baseUrl: string | null;
  name: string;
  contextTokens: number;
  /** False if `contextTokens` is assumed; the endpoint's value is then better. */
  contextIsConfigured: boolean;
  protocol: (typeof protocolNames)[number];
  reasoningEffort: (typeof effortNames)[number] | null;
  /** The model that verifies findings. Null: this one. */
  verify: ModelEnv | null;
  /** The fallback while the others are unavailable; it is probed separately. Null for none. */
  fallback: ModelEnv | null;
}

/** All models that a review may ask, this one first. */
export const modelsOf = (model: ModelEnv | null): ModelEnv[] =>
  [model, model?.verify, model?.fallback].flatMap((one) => one ?? []);

/** Whether both are one model of one account. */
export const isSameModel = (one: ModelEnv, other: ModelEnv | null): boolean =>
  one.name === other?.name && one.baseUrl === other.baseUrl && one.apiKey === other.apiKey;

/** The model of the environment; null if neither a key nor an endpoint is set. */
function readModel(given: Variables): ModelEnv | null {
  const endpoint = given.AZURE_OPENAI_ENDPOINT
    ? atAzure(given, given.AZURE_OPENAI_ENDPOINT)
    : wantsAnthropic(given)
      ? atAnthropic(given)
      : atOpenAi(given);
  if (endpoint === null) return null;
  requireContext(given);
  const model: ModelEnv = {
    ...endpoint,
    contextTokens: given.HUNKWISE_CONTEXT_TOKENS ?? defaultContextTokens,
    contextIsConfigured: given.HUNKWISE_CONTEXT_TOKENS !== undefined,
    protocol: given.HUNKWISE_PROTOCOL,
    reasoningEffort: given.HUNKWISE_REASONING_EFFORT ?? null,
    verify: null,
    fallback: null,
  };
  const verify = readOther(given, model, "VERIFY");
  return {
    ...model,
    verify: isSameModel(model, verify) ? null : verify,
    fallback: readOther(given, model, "FALLBACK"),
  };
}

/** A person who names the protocol has a reason for a small window. */
function requireContext({ HUNKWISE_CONTEXT_TOKENS: tokens, HUNKWISE_PROTOCOL: protocol }: Variables): void {
  if (protocol !== "auto" || tokens === undefined || tokens >= leastContextTokens) return;
  const variable = "HUNKWISE_CONTEXT_TOKENS";
  throw new VariableFault(
    variable,
    `${variable} is ${tokens}, but a review needs at least ${leastContextTokens}`,
    {
      remedy:
        "Use a model with a larger window, or set HUNKWISE_PROTOCOL to native or text; reviews may then fail.",
    },
  );
}

/** The model for another role, which may be at another endpoint; null if none is named. */
function readOther(given: Variables, model: ModelEnv, role: "VERIFY" | "FALLBACK"): ModelEnv | null {
  const variable = `HUNKWISE_${role}_MODEL` as const;
  const name = given[variable];
  const baseUrl = given[`HUNKWISE_${role}_BASE_URL` as const];
  const apiKey = given[`HUNKWISE_${role}_API_KEY` as const];
  if (!name) {
    const what = role === "VERIFY" ? "verifies findings" : "answers if the others fail";
    if (baseUrl || apiKey) throw missing(variable, `Set it to the model that ${what}`);
    return null;
  }
  const other = otherProvider(given, model, name, apiKey);
  // The key of one provider must not go to another.
  const place = baseUrl
    ? { api: apiAt(baseUrl), apiKey: apiKey ?? null, baseUrl: withoutSlash(baseUrl) }
    : { ...other, apiKey: apiKey ?? (other ?? model).apiKey };
  const found = { ...model, ...place, name };
  // The configuration describes the models that review and verify at one endpoint.
  if (role === "VERIFY" && found.baseUrl === model.baseUrl) return found;
  return {
    ...found,
    contextTokens: Math.min(model.contextTokens, defaultContextTokens),
    contextIsConfigured: false,
    protocol: "auto",
  };
}

type Endpoint = Pick<ModelEnv, "api" | "apiKey" | "baseUrl" | "name">;

const ANTHROPIC_URL = "https://api.anthropic.com";
const isClaude = (name: string | undefined) => name?.startsWith("claude-") ?? false;

/** The API of an address that no other variable explains. */
const apiAt = (address: string): ModelEnv["api"] =>
  /(^|\.)anthropic\.com$/.test(URL.parse(address)?.hostname ?? "") ? "anthropic" : "openai";

/** A key for OpenAI stays what is used, unless a model is named that OpenAI does not have. */
function wantsAnthropic(given: Variables): boolean {
  const { ANTHROPIC_API_KEY: key, OPENAI_API_KEY, OPENAI_BASE_URL, HUNKWISE_MODEL: name } = given;
  if (!key || OPENAI_BASE_URL) return false;
  // Other programs have a gateway, too: who names no model may not mean Hunkwise.
  if (given.ANTHROPIC_BASE_URL && apiAt(given.ANTHROPIC_BASE_URL) !== "anthropic" && !name) return false;
  return !OPENAI_API_KEY || isClaude(name);
}

const atAnthropic = (given: Variables): Endpoint => ({
  api: "anthropic",
  apiKey: given.ANTHROPIC_API_KEY ?? null,
  baseUrl: withoutSlash(given.ANTHROPIC_BASE_URL ?? ANTHROPIC_URL),
  name: given.HUNKWISE_MODEL ?? defaultClaude,
});

/**
 * Where a model is that the service of the reviewing one cannot have, if there is a key for it; null: at the same endpoint.
 * @param own the key that is set for this model alone
 */
function otherProvider(
  given: Variables,
  model: ModelEnv,
  name: string,
  own: string | undefined,
): Omit<Endpoint, "name"> | null {
  const { ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, OPENAI_API_KEY, OPENAI_BASE_URL } = given;
  if (model.api === "openai" && model.baseUrl === null && (ANTHROPIC_API_KEY || own) && isClaude(name)) {
    const baseUrl = withoutSlash(ANTHROPIC_BASE_URL ?? ANTHROPIC_URL);
    return { api: "anthropic", apiKey: ANTHROPIC_API_KEY ?? null, baseUrl };
  }
  const isAnthropics = model.api === "anthropic" && apiAt(model.baseUrl ?? "") === "anthropic";
  if (isAnthropics && !isClaude(name) && (OPENAI_API_KEY || OPENAI_BASE_URL || own)) {
    const baseUrl = OPENAI_BASE_URL ? withoutSlash(OPENAI_BASE_URL) : null;
    return { api: "openai", apiKey: OPENAI_API_KEY ?? null, baseUrl };
  }
  return null;
}

function atOpenAi(given: Variables): Endpoint | null {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl, HUNKWISE_MODEL: name } = given;
  if (!apiKey && !baseUrl) return null;
  if (!name && baseUrl) throw missing("HUNKWISE_MODEL", "Set it to a model of the server at OPENAI_BASE_URL");
  return {
    api: "openai",
    apiKey: apiKey ?? null,
    baseUrl: baseUrl ? withoutSlash(baseUrl) : null,
    name: name ?? defaultModel,
  };
}

function atAzure(given: Variables, address: string): Endpoint {
  if (given.OPENAI_BASE_URL) {
    throw new VariableFault("OPENAI_BASE_URL", "OPENAI_BASE_URL and AZURE_OPENAI_ENDPOINT are both set", {
      remedy: "Unset one of them.",
    });
  }
  // OpenAI's own key must not go to another server, and a missing key is a mistake there.
  const apiKey = given.AZURE_OPENAI_API_KEY;
  if (!apiKey)
    throw missing("AZURE_OPENAI_API_KEY", "Set it to a key of the resource at AZURE_OPENAI_ENDPOINT");
  const name = given.HUNKWISE_MODEL;
  if (!name) throw missing("HUNKWISE_MODEL", "Set it to the deployment to use");
  // The portal shows the address without the path.
  const root = withoutSlash(address).replace(/\/openai(?:\/v1)?$/, "");
  return { api: "openai", apiKey, baseUrl: `${root}/openai/v1`, name };
}

const withoutSlash = (address: string) => address.replace(/\/+$/, "");

export interface EmbeddingEnv {
  name: string;
  apiKey: string | null;
  baseUrl: string | null;
}

/** Null if no such model is named. It uses the endpoint of the review model, unless it has its own; Anthropic's has no such models. */
function readEmbedding(given: Variables, reviewing: ModelEnv | null): EmbeddingEnv | null {
  const openAi = { apiKey: given.OPENAI_API_KEY ?? null, baseUrl: given.OPENAI_BASE_URL ?? null };
  const ofOpenAi = given.OPENAI_API_KEY || given.OPENAI_BASE_URL ? openAi : null;
  const model = reviewing?.api === "anthropic" ? ofOpenAi : reviewing;
  const {
    HUNKWISE_EMBEDDING_MODEL: name,
    HUNKWISE_EMBEDDING_BASE_URL: baseUrl,
    HUNKWISE_EMBEDDING_API_KEY: apiKey,
  } = given;
  if (!name) {
    if (baseUrl || apiKey) throw missing("HUNKWISE_EMBEDDING_MODEL", "Set it to an embedding model");
    return null;
  }
  // The key of one provider must not go to another.
  if (baseUrl) return { name, apiKey: apiKey ?? null, baseUrl: withoutSlash(baseUrl) };
  if (!model && !apiKey)
    throw missing(
      "HUNKWISE_EMBEDDING_API_KEY",
      "Set it, or set HUNKWISE_EMBEDDING_BASE_URL to a server that needs no key",
    );
  return { name, apiKey: apiKey ?? model?.apiKey ?? null, baseUrl: model?.baseUrl ?? null };
}

const remedy = "Download a private key from the App's settings page and pass its PEM file unchanged.";

/**
 * The App's private key as PKCS #8 PEM. Accepts what `.env` files and secret stores make of a PEM file: quotes, written-out line breaks,
 * base64.
 * @throws AppError `config_invalid`; the message never quotes the value
 */
function readPrivateKey(text: string, source: string): string {
  const lines = text
    .trim()
    .replace(/^(["'])(.*)\1$/s, "$2")
    .replaceAll("\\n", "\n");
  const pem = lines.includes("-----BEGIN") ? lines : Buffer.from(lines, "base64").toString("utf8");
  if (!/-----BEGIN (RSA |EC |ENCRYPTED )?PRIVATE KEY-----/.test(pem))
    throw new AppError("config_invalid", `${source} is not a private key in PEM format`, { remedy });
  const unusable = (what: string) =>
    new AppError("config_invalid", `The private key in ${source} ${what}`, { remedy });
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    // The error of OpenSSL is left out: a person cannot act on it.
    throw unusable(pem.includes("ENCRYPTED") ? "is protected by a passphrase" : "is damaged or cut off");
  }
  if (key.asymmetricKeyType !== "rsa")
    throw unusable(`is of type ${key.asymmetricKeyType}, but GitHub uses RSA`);
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

export interface AppCredentials {
  id: number;
  /** PKCS #8 PEM. */
  privateKey: string;
  webhookSecret: string;
}

export interface LoginCredentials {
  clientId: string;
  clientSecret: string;
}

/** Where events go, and what signs them. */
export interface EventsEnv {
  url: string;
  /** As `signingKeyOf` reads it. */
  secret: string;
}

/** Addresses of GitHub. URLs have no slash at the end. */
export interface GitHubPlace {
  host: string;
  protocol: "https" | "http";
  apiUrl: string;
  webUrl: string;
}

export interface Env extends ReturnType<typeof settingsOf> {
  /** Null if `serve` should show the setup page. */
  app: AppCredentials | null;
  /** With which people log in to the pages; null if nobody can. */
  login: LoginCredentials | null;
  model: ModelEnv | null;
  /** Null if the knowledge graph is searched only by words. */
  embedding: EmbeddingEnv | null;
  /** Null if no events are sent. */
  events: EventsEnv | null;
  /** Notices about valid variables, one line each: empty ones, and unknown names. */
  notices: readonly string[];
}

/**
 * Reads the environment, by default that of the process on top of the `.env` next to Hunkwise's own `package.json`. One in the working
 * directory, often a foreign repository, could send the key elsewhere and is never read.
 * @throws AppError `config_invalid`: one line with cause and remedy for all faults
 */
export function readEnv(raw: RawEnv = rawEnv()): Env {
  const { env, faults } = inspectEnv(raw);
  requireNone(faults, raw);
  return env;
}

/** The result of `read`; null if it throws, which becomes a fault of the variable. */
type Attempt = <T>(variable: string, read: () => T) => T | null;

export interface InspectedEnv {
  env: Env;
  /** At most one for each variable. */
  faults: VariableFault[];
}

/** Reads the environment like `readEnv`, but continues after faults. */
export function inspectEnv(raw: RawEnv = rawEnv()): InspectedEnv {
  const { given, faults } = parseVariables(raw);
  const attempt: Attempt = (variable, read) => {
    try {
      return read();
    } catch (error) {
      const fault = faultOf(variable, error);
      // An invalid value was left out, and is missing now.
      if (!faults.some((one) => one.variable === fault.variable)) faults.push(fault);
      return null;
    }
  };
  const app = readApp(given, attempt);
  const login = attempt("GITHUB_CLIENT_SECRET", () => readLogin(given));
  const events = attempt("HUNKWISE_EVENTS_URL", () => readEvents(given));
  const model = attempt("OPENAI_BASE_URL", () => readModel(given));
  const embedding = attempt("HUNKWISE_EMBEDDING_MODEL", () => readEmbedding(given, model));
  return {
    env: {
      ...settingsOf(given),
      app,
      login,
      events,
      model,
      embedding,
      notices: [
        ...noticesOf(raw),
        ...(faults.length > 0 ? [] : unusedOf(given, [model, ...modelsOf(model), embedding])),
      ],
    },
    faults,
  };
}

/** Keys and addresses that are set, and that no model uses. */
function unusedOf(
  given: Variables,
  models: readonly (Pick<Endpoint, "apiKey" | "baseUrl"> | null | undefined)[],
) {
  const used = new Set(models.flatMap((one) => [one?.apiKey, one?.baseUrl]));
  const names = [
    "OPENAI_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
  ] as const;
  const unused = names
    .filter((name) => given[name] && !used.has(given[name]) && !used.has(withoutSlash(given[name])))
    .map(
      (name) => `${name} is set but not used: docs/models.md says what goes before it, or what else it needs`,
    );
  if (!given.HUNKWISE_MODEL || models[0] || unused.length > 0) return unused;
  return ["HUNKWISE_MODEL is set, but no key and no address of a model; see docs/models.md"];
}

function readEvents(given: Variables): EventsEnv | null {
  const { HUNKWISE_EVENTS_URL: url, HUNKWISE_EVENTS_SECRET: secret } = given;
  if (url && secret) return { url, secret };
  if (url)
    throw missing(
      "HUNKWISE_EVENTS_SECRET",
      'Set it to a secret that the receiver knows: echo "whsec_$(openssl rand -base64 32)"',
    );
  if (secret) throw missing("HUNKWISE_EVENTS_URL", "Set it to the address that receives events");
  return null;
}

export function faultOf(variable: string, error: unknown): VariableFault {
  if (error instanceof VariableFault) return error;
  if (!(error instanceof AppError)) throw error;
  const { message, remedy = "", cause } = error;
  return new VariableFault(variable, message, { remedy, cause });
}

/** The settings that each come from one variable. */
function settingsOf(given: Variables) {
  const reviewsADay = given.HUNKWISE_INSTALLATION_REVIEWS_PER_DAY;
  return {
    github: githubOf(given.GHE_HOST ?? "", given.GHE_PROTOCOL),
    /** Numeric ids of the accounts that operate this server. */
    operators: new Set(given.HUNKWISE_OPERATORS ?? []),
    /** Address to listen on; null for all. */
    host: given.HOST ?? null,
    port: given.PORT,
    webhookPath: given.WEBHOOK_PATH,
    webhookProxyUrl: given.WEBHOOK_PROXY_URL ?? null,
    logLevel: given.LOG_LEVEL,
    pricesFile: given.HUNKWISE_PRICES ? resolve(given.HUNKWISE_PRICES) : null,
    /** Whether no model reads anything without a policy of the organization. */
    requiresPolicy: given.HUNKWISE_POLICY === "required",
    /** Limits for the reviews of one installation on one calendar day (UTC); null for no limit. */
    dailyBudget: {
      tokens: given.HUNKWISE_DAILY_TOKENS ?? null,
      costUsd: given.HUNKWISE_DAILY_COST_USD ?? null,
    },
    /** Without a limit for an installation, its authors and pull requests have none either. */
    usageLimits: {
      /** Of one person. */
      commandsAnHour: 60,
      pullReviewsADay: reviewsADay === 0 ? 0 : 50,
      /** Of all pull requests of one author. */
      authorReviewsADay: reviewsADay === 0 ? 0 : 300,
      installationReviewsADay: reviewsADay,
    },
    /** Absolute path. */
    dataDir: dataFolder(given.HUNKWISE_DATA_DIR),
    concurrency: given.HUNKWISE_CONCURRENCY,
    /** How long a pull request has to be quiet after a push before it is reviewed, in whole milliseconds. */
    pushWindowMs: Math.round(given.HUNKWISE_PUSH_WINDOW_SECONDS * 1_000),
    /** Postgres; null for a file in the data folder. */
    databaseUrl: given.DATABASE_URL ?? null,
    /** Times that only tests change. */
    times: given.HUNKWISE_TEST_TIMES,
    retentionMs: given.HUNKWISE_RETENTION_DAYS * 86_400_000,
    /** The server indexes repositories, and their reviews use the knowledge graph. */
    usesGraph: given.HUNKWISE_GRAPH === "on",
    /** A Logseq graph that receives notes of reviews; absolute path. Null for none. */
    logseqDir: given.HUNKWISE_LOGSEQ_DIR ? resolve(given.HUNKWISE_LOGSEQ_DIR) : null,
    /** Of all mirrors and checkouts together. */
    diskLimitBytes: Math.round(given.HUNKWISE_DISK_LIMIT_GB * 1_000_000_000),
    metricsPort: given.HUNKWISE_METRICS_PORT ?? null,
    /** Address that serves the metrics; by default only this machine. */
    metricsHost: given.HUNKWISE_METRICS_HOST,
    proxy: {
      https: given.HTTPS_PROXY ?? null,
      http: given.HTTP_PROXY ?? null,
      no: given.NO_PROXY ?? null,
    },
    caFile: given.NODE_EXTRA_CA_CERTS ? resolve(given.NODE_EXTRA_CA_CERTS) : null,
    /** Of commands that a fix runs. */
    sandbox: {
      /** Absolute paths of folders that they may read. */
      readable: given.HUNKWISE_SANDBOX_READ ?? [],
      /** Absolute paths that they must not see, also inside readable folders. */
      hidden: placesOfSecrets(given),
      memoryMb: given.HUNKWISE_SANDBOX_MEMORY_MB,
      /** Hosts that a command that prepares an environment may reach: `name` or `name:port`, in lower case. */
      registries: given.HUNKWISE_PROVE_REGISTRIES ?? [],
    },
  };
}

/** The data folder, environments of other repositories, the key file, and the folder of the program, which may hold a `.env`. */
function placesOfSecrets({ HUNKWISE_DATA_DIR, PRIVATE_KEY_PATH }: Variables): string[] {
  const key = PRIVATE_KEY_PATH === undefined ? [] : [resolve(PRIVATE_KEY_PATH)];
  const data = dataFolder(HUNKWISE_DATA_DIR);
  return [...new Set([data, environmentsFolder(data), ...key, ownFolder])];
}

type LocalName =
  | ("model" | "embedding" | "pricesFile" | "proxy" | "caFile")
  | ("retentionMs" | "logseqDir" | "sandbox" | "notices");

/** The variables for commands that work on a repository of this machine. */
export interface LocalEnv extends Pick<Env, LocalName> {
  /** The folder for abilities of models; null if there is none. Never in the repository under review. */
  modelFolder: string | null;
  /** The folder for records of reviews; null if there is none. */
  runsFolder: string | null;
}

const localNames = namesWith("local");

/** Variables of the server are ignored: a developer's shell sets `PORT` and `DATABASE_URL` for other programs. Throws `config_invalid`. */
export function readLocalEnv(raw: RawEnv = rawEnv()): LocalEnv {
  const own = Object.fromEntries(Object.entries(raw).filter(([name]) => localNames.has(name.toUpperCase())));
  const { env, faults } = inspectEnv(own);
  requireNone(faults, raw);
  // The user may not be allowed to write to the server's own folder.
  const modelFolder = own.HUNKWISE_DATA_DIR?.trim() ? env.dataDir : cacheFolder();
  const notices = [...new Set([...env.notices, ...unknownOf(raw)])];
  return { ...env, notices, modelFolder, runsFolder: modelFolder && join(modelFolder, "runs") };
}

/** The environment with another model for reviews. A model that a variable names for another role stays. */
export const withModel = (raw: RawEnv, name: string | undefined): RawEnv =>
  name === undefined ? raw : { ...raw, HUNKWISE_MODEL: name };

/** A branch name that git accepts (git check-ref-format), and cannot read as anything else. */
const BranchName = z
  .string()
  .max(255)
  .regex(/^(?![-/.])(?!.*(?:\.\.|\/\/|\/\.|@\{))[^\s\p{C}~^:?*[\\]+(?<![/.])$/u);

/** How CI systems name the target branch of a pull request, and what says in other jobs that they are none (unset, 0 or false). CircleCI has none. */
const ciTargets: readonly (readonly [target: string, pull?: string])[] = [
  // GitHub Actions, Gitea and Forgejo
  ["GITHUB_BASE_REF"],
  // GitLab CI
  ["CI_MERGE_REQUEST_TARGET_BRANCH_NAME"],
  ["BITBUCKET_PR_DESTINATION_BRANCH"],
  // Azure Pipelines: the whole name of the ref for its own repositories, the branch for GitHub's
  ["SYSTEM_PULLREQUEST_TARGETBRANCH"],
  // Jenkins, in a multibranch job
  ["CHANGE_TARGET", "CHANGE_ID"],
  ["BUILDKITE_PULL_REQUEST_BASE_BRANCH"],
  ["DRONE_TARGET_BRANCH", "DRONE_PULL_REQUEST"],
  // Woodpecker
  ["CI_COMMIT_TARGET_BRANCH", "CI_COMMIT_PULL_REQUEST"],
  ["TRAVIS_BRANCH", "TRAVIS_PULL_REQUEST"],
  ["APPVEYOR_REPO_BRANCH", "APPVEYOR_PULL_REQUEST_NUMBER"],
];

/** The target branch according to a CI system; null outside of a pull request. Throws `config_invalid` for a value that is no branch name. */
export function ciTargetBranch(raw: RawEnv = process.env): { variable: string; branch: string } | null {
  for (const [variable, pull] of ciTargets) {
    const value = raw[variable]?.trim() ?? "";
    const isPull = pull === undefined || !/^(?:false|0|)$/.test(raw[pull]?.trim() ?? "");
    if (value === "" || !isPull) continue;
    const branch = variable.startsWith("SYSTEM_") ? value.replace(/^refs\/heads\//, "") : value;
    if (BranchName.safeParse(branch).success) return { variable, branch };
    throw new AppError(
      "config_invalid",
      `${variable} is '${value.slice(0, 100)}', which is not a valid branch name`,
      { remedy: "Unset it, or name the target branch with --base." },
    );
  }
  return null;
}

export function secretsOf(env: Env): string[] {
  const passwords = [env.databaseUrl, env.proxy.https, env.proxy.http].flatMap(passwordOf);
  const keys = [
    env.app?.privateKey,
    env.app?.webhookSecret,
    env.login?.clientSecret,
    env.events?.secret,
    ...modelsOf(env.model).map(({ apiKey }) => apiKey),
    env.embedding?.apiKey,
  ];
  return [...keys, ...passwords].filter((value): value is string => Boolean(value));
}

/** The password of an address, as written and decoded. */
function passwordOf(address: string | null): string[] {
  const written = (address && URL.parse(address)?.password) || "";
  try {
    return [...new Set([written, decodeURIComponent(written)])];
  } catch {
    return [written];
  }
}

/** The environment on top of a folder's `.env`. Paths in that file are relative to its folder, those of the environment to the current one. */
export function rawEnv(folder = ownFolder): RawEnv {
  try {
    const file = parseEnv(readFileSync(join(folder, ".env"), "utf8"));
    for (const name of pathNames) if (file[name]?.trim()) file[name] = resolve(folder, file[name].trim());
    return { ...file, ...process.env };
  } catch {
    return process.env;
  }
}

const pathNames = namesWith("path");

function readApp(given: Variables, attempt: Attempt): AppCredentials | null {
  const { APP_ID, PRIVATE_KEY, PRIVATE_KEY_PATH } = given;
  if (APP_ID === undefined && !PRIVATE_KEY && !PRIVATE_KEY_PATH) return null;
  const id = attempt("APP_ID", () => {
    if (APP_ID === undefined) throw missing("APP_ID", "Copy it from the App's settings page");
    return APP_ID;
  });
  const privateKey = attempt("PRIVATE_KEY", () => readKey(given));
  const webhookSecret = attempt("WEBHOOK_SECRET", () => readWebhookSecret(given));
  return id !== null && privateKey !== null && webhookSecret !== null
    ? { id, privateKey, webhookSecret }
    : null;
}

function readLogin({
  GITHUB_CLIENT_ID: clientId,
  GITHUB_CLIENT_SECRET: clientSecret,
}: Variables): LoginCredentials | null {
  if (!clientId && !clientSecret) return null;
  if (!clientId) throw missing("GITHUB_CLIENT_ID", "Copy it from the App's settings page");
  if (!clientSecret)
    throw missing("GITHUB_CLIENT_SECRET", "Generate a client secret on the App's settings page, and set it");
  return { clientId, clientSecret };
}

function readKey({ PRIVATE_KEY: key, PRIVATE_KEY_PATH: path }: Variables): string {
  if (key) return readPrivateKey(key, "PRIVATE_KEY");
  if (!path) throw missing("PRIVATE_KEY", "Set it, or set PRIVATE_KEY_PATH to the App's PEM file");
  try {
    return readPrivateKey(readFileSync(path, "utf8"), `PRIVATE_KEY_PATH (${path})`);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("config_invalid", `PRIVATE_KEY_PATH cannot be read: ${errorLine(error)}`, {
      remedy:
        "Set it to the PEM file that you downloaded from the App's settings page, and make the file readable for this user.",
      cause: error,
    });
  }
}

function readWebhookSecret({ WEBHOOK_SECRET: webhookSecret }: Variables): string {
  if (!webhookSecret) {
    throw missing(
      "WEBHOOK_SECRET",
      "Set it to the webhook secret in the App's settings; `openssl rand -hex 32` creates a good one",
    );
  }
  if (webhookSecret === "development") {
    throw new VariableFault("WEBHOOK_SECRET", 'WEBHOOK_SECRET is "development", which anyone can guess', {
      remedy: "Set another secret in the App's settings and here; `openssl rand -hex 32` creates a good one.",
    });
  }
  return webhookSecret;
}

export function githubOf(host: string, protocol: GitHubPlace["protocol"]): GitHubPlace {
  if (host === "" || host === "github.com") {
    const [apiUrl, webUrl] = ["https://api.github.com", "https://github.com"];
    return { host: "github.com", protocol: "https", apiUrl, webUrl };
  }
  // GitHub Enterprise Cloud with data residency has its API on a host of its own, a server below a path.
  const apiUrl = host.endsWith(".ghe.com") ? `${protocol}://api.${host}` : `${protocol}://${host}/api/v3`;
  return { host, protocol, apiUrl, webUrl: `${protocol}://${host}` };
}
