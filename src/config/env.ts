import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { z } from "zod";
import { AppError } from "../errors.ts";
import { dataFolder, ownFolder } from "./data-folder.ts";
import { type EmbeddingEnv, type ModelEnv, readEmbedding, readModel } from "./model-env.ts";
import { readPrivateKey, readPrivateKeyFile } from "./private-key.ts";
import {
  type logLevels,
  missing,
  namesWith,
  noticesOf,
  parseVariables,
  type RawEnv,
  requireNone,
  VariableFault,
  type Variables,
} from "./variables.ts";

/** What makes this process the App. */
export interface AppCredentials {
  id: number;
  /** PKCS #8 PEM. */
  privateKey: string;
  webhookSecret: string;
}

/** Where GitHub is. URLs have no slash at the end. */
export interface GitHubPlace {
  host: string;
  protocol: "https" | "http";
  apiUrl: string;
  webUrl: string;
}

/** The environment, checked and typed. */
export interface Env {
  /** Null: `serve` shows the set-up page. */
  app: AppCredentials | null;
  github: GitHubPlace;
  /** Organisation in which the set-up page creates the App; null: the person's account. */
  organization: string | null;
  /** Address to listen on; null: all. */
  host: string | null;
  port: number;
  webhookPath: string;
  webhookProxyUrl: string | null;
  logLevel: (typeof logLevels)[number];
  /** Null: the analyzers review alone. */
  model: ModelEnv | null;
  /** Null: the knowledge graph is searched by words alone. */
  embedding: EmbeddingEnv | null;
  pricesFile: string | null;
  /** What the reviews of one installation may take on one calendar day (UTC); null: no limit. */
  dailyBudget: { tokens: number | null; costUsd: number | null };
  /** How much may be asked of us; 0: no limit. */
  usageLimits: {
    /** Of one person. */
    commandsAnHour: number;
    pullReviewsADay: number;
    /** Of all pull requests of one author. */
    authorReviewsADay: number;
    installationReviewsADay: number;
  };
  /** Absolute path. */
  dataDir: string;
  concurrency: number;
  /** How long a pull request has to be quiet after a push before it is reviewed, in whole milliseconds. */
  pushWindowMs: number;
  /** Postgres; null: a file in the data folder. */
  databaseUrl: string | null;
  /** Jobs of one installation that run at a time. */
  installationConcurrency: number;
  leaseMs: number;
  graceMs: number;
  /** Between two writes for one installation. */
  writeGapMs: number;
  /** 0: GitHub is never asked for what was missed. */
  reconcileEveryMs: number;
  retentionMs: number;
  /** The server indexes repositories, and their reviews ask the knowledge graph. */
  usesGraph: boolean;
  /** A Logseq graph that takes notes of reviews; absolute path. Null: none does. */
  logseqDir: string | null;
  /** Of all mirrors and checkouts together. */
  diskLimitBytes: number;
  /** Null: no metrics. */
  metricsPort: number | null;
  /** Address on which they are served: by themselves for this machine alone. */
  metricsHost: string;
  proxy: { https: string | null; http: string | null; no: string | null };
  caFile: string | null;
  /** Of commands that a fix runs. */
  sandbox: {
    /** Absolute paths of folders that they may read. */
    readable: readonly string[];
    /** Absolute paths that they must not see, wherever they lie. */
    hidden: readonly string[];
    memoryMb: number;
  };
  /** What a person should know of the variables though they are valid, one line each: empty ones, and names that nobody reads. */
  notices: readonly string[];
}

/**
 * Reads the environment; without an argument that of the process, on top of the `.env` file beside Hunkwise's own
 * `package.json`. A `.env` of the working directory is never read: `hunkwise review` runs inside repositories of others,
 * who could send the key to an address of theirs with it.
 * @throws AppError `config_invalid`: one line with cause and remedy for all that is wrong.
 */
export function readEnv(raw: RawEnv = rawEnv()): Env {
  const { env, faults } = inspectEnv(raw);
  requireNone(faults);
  return env;
}

/** What `read` gives; null where it throws, which counts as a fault of the variable. */
type Attempt = <T>(variable: string, read: () => T) => T | null;

/** The environment without what is wrong in it. */
export interface InspectedEnv {
  env: Env;
  /** One for each variable at most. */
  faults: VariableFault[];
}

/** Reads the environment as `readEnv` does, and goes on beyond faults. */
export function inspectEnv(raw: RawEnv = rawEnv()): InspectedEnv {
  const { given, faults } = parseVariables(raw);
  const attempt: Attempt = (variable, read) => {
    try {
      return read();
    } catch (error) {
      const fault = faultOf(variable, error);
      // A wrong value was left out, and is missing now.
      if (!faults.some((one) => one.variable === fault.variable)) faults.push(fault);
      return null;
    }
  };
  const app = readApp(given, attempt);
  const model = attempt("OPENAI_BASE_URL", () => readModel(given));
  const embedding = attempt("HUNKWISE_EMBEDDING_MODEL", () => readEmbedding(given, model));
  return { env: { ...settingsOf(given), app, model, embedding, notices: noticesOf(raw) }, faults };
}

function faultOf(variable: string, error: unknown): VariableFault {
  if (error instanceof VariableFault) return error;
  if (!(error instanceof AppError)) throw error;
  const { message, remedy = "", cause } = error;
  return new VariableFault(variable, message, { remedy, cause });
}

function settingsOf(given: Variables): Omit<Env, "app" | "model" | "embedding" | "notices"> {
  return {
    github: githubAt(given),
    organization: given.GH_ORG ?? null,
    host: given.HOST ?? null,
    port: given.PORT,
    webhookPath: given.WEBHOOK_PATH,
    webhookProxyUrl: given.WEBHOOK_PROXY_URL ?? null,
    logLevel: given.LOG_LEVEL,
    pricesFile: given.HUNKWISE_PRICES ? resolve(given.HUNKWISE_PRICES) : null,
    dailyBudget: {
      tokens: given.HUNKWISE_DAILY_TOKENS ?? null,
      costUsd: given.HUNKWISE_DAILY_COST_USD ?? null,
    },
    usageLimits: {
      commandsAnHour: given.HUNKWISE_PERSON_COMMANDS_PER_HOUR,
      pullReviewsADay: given.HUNKWISE_PULL_REVIEWS_PER_DAY,
      authorReviewsADay: given.HUNKWISE_AUTHOR_REVIEWS_PER_DAY,
      installationReviewsADay: given.HUNKWISE_INSTALLATION_REVIEWS_PER_DAY,
    },
    dataDir: dataFolder(given.HUNKWISE_DATA_DIR),
    concurrency: given.HUNKWISE_CONCURRENCY,
    pushWindowMs: Math.round(given.HUNKWISE_PUSH_WINDOW_SECONDS * 1_000),
    databaseUrl: given.DATABASE_URL ?? null,
    installationConcurrency: given.HUNKWISE_INSTALLATION_CONCURRENCY,
    leaseMs: Math.round(given.HUNKWISE_LEASE_SECONDS * 1_000),
    graceMs: Math.round(given.HUNKWISE_GRACE_SECONDS * 1_000),
    writeGapMs: Math.round(given.HUNKWISE_WRITE_GAP_SECONDS * 1_000),
    reconcileEveryMs: Math.round(given.HUNKWISE_RECONCILE_MINUTES * 60_000),
    retentionMs: given.HUNKWISE_RETENTION_DAYS * 86_400_000,
    usesGraph: given.HUNKWISE_GRAPH === "on",
    logseqDir: given.HUNKWISE_LOGSEQ_DIR ? resolve(given.HUNKWISE_LOGSEQ_DIR) : null,
    diskLimitBytes: Math.round(given.HUNKWISE_DISK_LIMIT_GB * 1_000_000_000),
    metricsPort: given.HUNKWISE_METRICS_PORT ?? null,
    metricsHost: given.HUNKWISE_METRICS_HOST,
    proxy: {
      https: given.HTTPS_PROXY ?? null,
      http: given.HTTP_PROXY ?? null,
      no: given.NO_PROXY ?? null,
    },
    caFile: given.NODE_EXTRA_CA_CERTS ? resolve(given.NODE_EXTRA_CA_CERTS) : null,
    sandbox: {
      readable: given.HUNKWISE_SANDBOX_READ ?? [],
      hidden: placesOfSecrets(given),
      memoryMb: given.HUNKWISE_SANDBOX_MEMORY_MB,
    },
  };
}

/** The data folder, the key file, and the folder of the program, in which a `.env` may lie. */
function placesOfSecrets({ HUNKWISE_DATA_DIR, PRIVATE_KEY_PATH }: Variables): string[] {
  const key = PRIVATE_KEY_PATH === undefined ? [] : [resolve(PRIVATE_KEY_PATH)];
  return [dataFolder(HUNKWISE_DATA_DIR), ...key, ownFolder];
}

/** What the commands need that work on a repository of this machine. */
export interface LocalEnv
  extends Pick<
    Env,
    | "model"
    | "embedding"
    | "pricesFile"
    | "proxy"
    | "caFile"
    | "retentionMs"
    | "logseqDir"
    | "sandbox"
    | "notices"
  > {
  /** Where it is kept what models can do; null where there is no such folder. Never in the repository that is reviewed. */
  modelFolder: string | null;
  /** Where reviews leave their records; null where there is no such folder. */
  runsFolder: string | null;
}

const localNames = namesWith("local");

/**
 * The environment of such a command. Variables of the server are not looked at: a developer's shell holds `PORT` and
 * `DATABASE_URL` for programs of its own.
 * @throws AppError `config_invalid`.
 */
export function readLocalEnv(raw: RawEnv = rawEnv()): LocalEnv {
  const own = Object.fromEntries(Object.entries(raw).filter(([name]) => localNames.has(name.toUpperCase())));
  const { dataDir, ...env } = readEnv(own);
  // The server's own folder need not be one in which whoever reviews may write.
  const modelFolder = own.HUNKWISE_DATA_DIR?.trim() ? dataDir : cacheFolder();
  const runsFolder = modelFolder && runsIn(modelFolder);
  const { model, embedding, pricesFile, proxy, caFile, retentionMs, logseqDir, sandbox, notices } = env;
  const read = { model, embedding, pricesFile, proxy, caFile, retentionMs, logseqDir, sandbox, notices };
  return { ...read, modelFolder, runsFolder };
}

/** Where local reviews leave their records, in the folder that keeps what this user's commands find out. */
export const runsIn = (folder: string): string => join(folder, "runs");

/**
 * Where a person's commands keep what can be found out again; null without a home. An empty or relative HOME is none: it would lead
 * into the current folder, which is often the repository under review.
 */
export function cacheFolder(): string | null {
  try {
    const home = homedir();
    return isAbsolute(home) ? join(home, ".cache", "hunkwise") : null;
  } catch {
    return null;
  }
}

/** PATH, on which git is looked for. */
export function programPath(): string {
  return process.env.PATH ?? "";
}

/** COLUMNS, where that is a width a text can have; null elsewhere. */
export function givenColumns(raw: RawEnv = process.env): number | null {
  const columns = Number(raw.COLUMNS);
  return Number.isInteger(columns) && columns >= 20 ? columns : null;
}

/** What git takes for the name of a branch (git check-ref-format), and cannot read as anything else. */
const BranchName = z
  .string()
  .max(255)
  .regex(/^(?![-/.])(?!.*(?:\.\.|\/\/|\/\.|@\{))[^\s\p{C}~^:?*[\\]+(?<![/.])$/u);

/**
 * The branch into which a CI system says that this change is to be merged, and the variable that says so; null outside of a pull
 * request.
 * @throws AppError `config_invalid` if that is no name of a branch.
 */
export function ciTargetBranch(raw: RawEnv = process.env): { variable: string; branch: string } | null {
  for (const variable of ["GITHUB_BASE_REF", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"]) {
    const branch = raw[variable]?.trim() ?? "";
    if (branch === "") continue;
    if (BranchName.safeParse(branch).success) return { variable, branch };
    throw new AppError(
      "config_invalid",
      `${variable} is '${branch.slice(0, 100)}', which is no name of a branch`,
      {
        remedy: "Unset it, or name what the change is to be merged into with --base.",
      },
    );
  }
  return null;
}

/** Values that must never stand in a log, a comment or a file. */
export function secretsOf(env: Env): string[] {
  const passwords = [env.databaseUrl, env.proxy.https, env.proxy.http].flatMap(passwordOf);
  const keys = [
    env.app?.privateKey,
    env.app?.webhookSecret,
    env.model?.apiKey,
    env.model?.fallback?.apiKey,
    env.embedding?.apiKey,
  ];
  return [...keys, ...passwords].filter((value): value is string => Boolean(value));
}

/** The password of an address, as it stands there and as it is. */
function passwordOf(address: string | null): string[] {
  const written = (address && URL.parse(address)?.password) || "";
  try {
    return [...new Set([written, decodeURIComponent(written)])];
  } catch {
    return [written];
  }
}

/** Whether whoever runs this asked for stack traces. Never throws: it is asked while reporting an error. */
export function wantsStackTraces(): boolean {
  return ["debug", "trace"].includes(process.env.LOG_LEVEL?.trim() ?? "");
}

/**
 * The environment as it was given, with the `.env` of a folder below it: that beside `package.json`. Paths in that file are relative to
 * its folder; those of the environment itself to the current one, as for every program.
 */
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
    if (APP_ID === undefined) throw missing("APP_ID", "Take it from the App's settings page");
    return APP_ID;
  });
  const privateKey = attempt("PRIVATE_KEY", () => readKey(given));
  const webhookSecret = attempt("WEBHOOK_SECRET", () => readWebhookSecret(given));
  return id !== null && privateKey !== null && webhookSecret !== null
    ? { id, privateKey, webhookSecret }
    : null;
}

function readKey({ PRIVATE_KEY: key, PRIVATE_KEY_PATH: path }: Variables): string {
  if (key) return readPrivateKey(key, "PRIVATE_KEY");
  if (path) return readPrivateKeyFile(path);
  throw missing("PRIVATE_KEY", "Set it, or PRIVATE_KEY_PATH to the App's PEM file");
}

function readWebhookSecret({ WEBHOOK_SECRET: webhookSecret }: Variables): string {
  if (!webhookSecret) {
    throw missing(
      "WEBHOOK_SECRET",
      "Set the secret from the App's settings, at best of `openssl rand -hex 32`",
    );
  }
  if (webhookSecret === "development") {
    throw new VariableFault("WEBHOOK_SECRET", 'WEBHOOK_SECRET is "development", which everybody can guess', {
      remedy: "Enter another one in the App's settings and here, at best of `openssl rand -hex 32`.",
    });
  }
  return webhookSecret;
}

function githubAt({ GHE_HOST: host, GHE_PROTOCOL: protocol }: Variables): GitHubPlace {
  if (!host || host === "github.com") {
    const [apiUrl, webUrl] = ["https://api.github.com", "https://github.com"];
    return { host: "github.com", protocol: "https", apiUrl, webUrl };
  }
  // GitHub Enterprise Cloud with data residency has its API on a host of its own, a server below a path.
  const apiUrl = host.endsWith(".ghe.com") ? `${protocol}://api.${host}` : `${protocol}://${host}/api/v3`;
  return { host, protocol, apiUrl, webUrl: `${protocol}://${host}` };
}
