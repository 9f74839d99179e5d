import { accessSync, constants, statSync } from "node:fs";
import { isAbsolute, normalize } from "node:path";
import { distance } from "fastest-levenshtein";
import { z } from "zod";
import { AppError } from "../errors.ts";

export const protocolNames = ["auto", "native", "text"] as const;
export const effortNames = ["minimal", "low", "medium", "high"] as const;
export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** Paths of the server itself; a webhook cannot arrive there. */
const ownPaths = new Set(["/", "/healthz", "/readyz", "/probot", "/probot/setup"]);

const must = (what: string) => ({ error: () => `must be ${what}` });
const text = () => z.string().optional();
const matching = (pattern: RegExp, what: string) => z.string().regex(pattern, must(what));
const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, must(`one of ${values.join(", ")}`));
const whole = (least: number, most: number) => {
  const error = must(`a whole number from ${least} to ${most}`);
  return z
    .string()
    .regex(/^\d{1,15}$/, error)
    .transform(Number)
    .refine((n) => n >= least && n <= most, error);
};
const httpUrl = (what: string, allowPassword: boolean) =>
  z.string().refine((value) => {
    const url = URL.parse(value);
    const bare = url !== null && url.username === "" && url.password === "";
    return url !== null && /^https?:$/.test(url.protocol) && (bare || allowPassword);
  }, must(what));
const readable = z.string().refine((path) => {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}, must("a file that this user can read"));
const folder = z
  .string()
  .refine(
    (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false,
    must("a folder that is there"),
  );

/** Absolute paths, separated by colons. */
const folders = z
  .string()
  .transform((value) => value.split(":").filter((path) => path !== ""))
  .refine(
    (paths) => paths.every((path) => isAbsolute(path) && path === normalize(path) && path !== "/"),
    must("absolute paths of folders, separated by colons, and not /"),
  );

const dollars = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,6})?$/, must("an amount of US dollars like 25 or 7.50"))
  .transform(Number)
  .refine((amount) => amount > 0, must("more than 0"));

const amount = (unit: string, least: number, most: number) => {
  const error = must(`a number of ${unit} from ${least} to ${most}`);
  return z
    .string()
    .regex(/^\d{1,5}(\.\d{1,3})?$/, error)
    .transform(Number)
    .refine((n) => n >= least && n <= most, error);
};
const seconds = (most: number, least = 0) => amount("seconds", least, most);
const minutes = (most: number) => amount("minutes", 0, most);
const gigabytes = amount("gigabytes", 0.01, 99_999);

const postgresUrl = z
  .string()
  .refine(
    (value) => /^postgres(ql)?:$/.test(URL.parse(value)?.protocol ?? ""),
    must("an address like postgres://user:password@host:5432/database"),
  );

const address = matching(/^[\w.:-]+$/, "an address to listen on");
const bareKey = z
  .string()
  .regex(/^[\s\x21-\x7e]+$/, { error: () => "holds characters that no key has" })
  .regex(/^\S+$/, must("the bare key, without spaces or line breaks"));
const plainUrl = httpUrl("an http or https URL without user name and password", false);
const proxyUrl = httpUrl("a URL like http://proxy.example.com:3128", true);

/** The default model if a key is set and no model is named. */
export const defaultModel = "gpt-6.1-sol";
/** Context window assumed for a model, in tokens: every current model has at least this. */
export const defaultContextTokens = 128_000;
/** Instructions, tools and one file of code fill a smaller context window. */
export const leastContextTokens = 16_000;
/** Data folder without `HUNKWISE_DATA_DIR`. */
export const defaultDataFolder = ".hunkwise";

/** Information about a variable besides its type. */
interface About {
  /** For `docs/configuration.md` and `.env.example`. */
  description: string;
  /** Text for the default if the type has none. */
  fallback?: string;
  /** Value that `.env.example` shows if there is no default. */
  example?: string;
  /** No message quotes the value: a key, or an address that may hold a password. */
  secret?: true;
  /** Also read by commands that work on a repository of this machine. */
  local?: true;
  /** A relative path; in `.env`, relative to that file's folder. */
  path?: true;
}

const sections = {
  app: "The GitHub App",
  model: "The model",
  server: "The server",
  network: "The network",
} as const;

const inSection =
  (section: keyof typeof sections) =>
  <Type extends z.ZodType>(type: Type, about: About): Type =>
    type.meta({ ...about, section }) as Type;
const [app, model, server, network] = [
  inSection("app"),
  inSection("model"),
  inSection("server"),
  inSection("network"),
];

/** Every variable that Hunkwise reads, in the order of the documents: the single source of its type, default and description. */
const Variables = z.object({
  APP_ID: app(whole(1, Number.MAX_SAFE_INTEGER).optional(), {
    description: "Id of the GitHub App. Without it and a key, `serve` shows the set-up page.",
  }),
  PRIVATE_KEY: app(text(), {
    description:
      "Private key of the App as PEM; line breaks may be written as `\\n`, or the whole be base64.",
    secret: true,
  }),
  PRIVATE_KEY_PATH: app(text(), {
    description: "File with the private key, where `PRIVATE_KEY` is not set.",
    path: true,
  }),
  WEBHOOK_SECRET: app(text(), {
    description: "Secret with which GitHub signs webhooks. Required with an App; has no default.",
    secret: true,
  }),
  GHE_HOST: app(
    matching(/^[\w.-]+(:\d{1,5})?$/, "a host name like github.example.com, without https://").optional(),
    { description: "Host of a GitHub Enterprise Server, `github.example.com` or with a port." },
  ),
  GHE_PROTOCOL: app(oneOf(["https", "http"]).default("https"), {
    description: "`http` speaks to `GHE_HOST` without TLS, API and git alike.",
  }),
  GH_ORG: app(matching(/^[\w-]+$/, "the name of an organisation").optional(), {
    description: "Organisation in which the set-up page creates the App. Unset: your account.",
  }),
  HOST: server(address.optional(), { description: "Address to listen on. Unset: all." }),
  PORT: server(whole(0, 65_535).default(3_000), { description: "Port to listen on." }),
  WEBHOOK_PATH: server(
    matching(/^\/[\w./~-]*$/, "a path that begins with /")
      .refine((path) => !ownPaths.has(path), must("a path that the server does not use itself"))
      .default("/api/github/webhooks"),
    { description: "Path that receives webhooks." },
  ),
  WEBHOOK_PROXY_URL: app(plainUrl.optional(), {
    description:
      "Address that forwards webhooks to this machine, entered by the set-up page instead of its own address.",
  }),
  LOG_LEVEL: server(oneOf(logLevels).default("info"), {
    description: "`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.",
  }),
  OPENAI_API_KEY: model(bareKey.optional(), {
    description:
      "Key of the model's provider. With neither key nor base URL, reviews use only the analyzers.",
    secret: true,
    local: true,
  }),
  OPENAI_BASE_URL: model(plainUrl.optional(), {
    description:
      "Root of any API that speaks Chat Completions. Unset: OpenAI's own. Local servers need no key.",
    secret: true,
    local: true,
  }),
  AZURE_OPENAI_ENDPOINT: model(plainUrl.optional(), {
    description:
      "Endpoint of an Azure OpenAI resource, in place of `OPENAI_BASE_URL`; with `/openai/v1` at its end it needs no API version.",
    secret: true,
    local: true,
  }),
  AZURE_OPENAI_API_KEY: model(bareKey.optional(), {
    description: "Key of that resource. Required with it.",
    secret: true,
    local: true,
  }),
  AZURE_OPENAI_DEPLOYMENT: model(matching(/^[\w.-]+$/, "the name of a deployment").optional(), {
    description: "Deployment to ask. Unset: the one that `HUNKWISE_MODEL` names.",
    local: true,
  }),
  OPENAI_API_VERSION: model(
    matching(/^\d{4}-\d\d-\d\d(-preview)?$/, "a version like 2024-10-21").optional(),
    { description: "API version of Azure's classic API, such as `2024-10-21`.", local: true },
  ),
  HUNKWISE_MODEL: model(text(), {
    description: "Model to ask. Required with `OPENAI_BASE_URL`.",
    fallback: defaultModel,
    local: true,
  }),
  HUNKWISE_VERIFY_MODEL: model(text(), {
    description: "Model at the same endpoint that checks findings. Unset: `HUNKWISE_MODEL`.",
    local: true,
  }),
  HUNKWISE_SUMMARIZE_MODEL: model(text(), {
    description: "Model at the same endpoint that merges and sums up. Unset: `HUNKWISE_MODEL`.",
    local: true,
  }),
  HUNKWISE_FALLBACK_MODEL: model(text(), {
    description:
      "Model that is asked while one of the others is overloaded or cannot be reached. Unset: reviews wait.",
    local: true,
  }),
  HUNKWISE_FALLBACK_BASE_URL: model(plainUrl.optional(), {
    description: "Endpoint of that model. Unset: that of the others.",
    secret: true,
    local: true,
  }),
  HUNKWISE_FALLBACK_API_KEY: model(bareKey.optional(), {
    description: "Key for it. Unset: at the same endpoint that of the others, at another one none.",
    secret: true,
    local: true,
  }),
  HUNKWISE_EMBEDDING_MODEL: model(text(), {
    description:
      "Model that makes vectors of code, such as `text-embedding-3-small`, so that the knowledge graph also finds by meaning. Unset: by words alone, and no code is sent for it.",
    example: "text-embedding-3-small",
    local: true,
  }),
  HUNKWISE_EMBEDDING_BASE_URL: model(plainUrl.optional(), {
    description:
      "Endpoint of that model, which speaks OpenAI's embeddings. Unset: that of the reviews' model.",
    secret: true,
    local: true,
  }),
  HUNKWISE_EMBEDDING_API_KEY: model(bareKey.optional(), {
    description: "Key for it. Unset: at the same endpoint that of the reviews' model, at another one none.",
    secret: true,
    local: true,
  }),
  HUNKWISE_EMBEDDING_TOKENS: model(whole(1_000, 999_999_999_999).default(5_000_000), {
    description:
      "Tokens that one update of a repository's index may take; what is left follows with the next one.",
    local: true,
  }),
  HUNKWISE_PROTOCOL: model(
    z
      .enum(protocolNames, {
        error: ({ input }) =>
          input === "single-shot"
            ? "must be auto, native or text (single-shot was removed; auto replaces it if the model's context window has 16,000 tokens or more)"
            : `must be one of ${protocolNames.join(", ")}`,
      })
      .default("auto"),
    {
      description:
        "How the model calls tools: `native` (through its API), `text` (with JSON in its text), or `auto`, which asks the model once.",
      local: true,
    },
  ),
  HUNKWISE_REASONING_EFFORT: model(oneOf(effortNames).optional(), {
    description:
      "`minimal`, `low`, `medium` or `high`, sent as `reasoning_effort`. Unset: the model decides.",
    local: true,
  }),
  HUNKWISE_CONTEXT_TOKENS: model(whole(8_000, 100_000_000).optional(), {
    description: `Size of the model's context window in tokens, ${leastContextTokens.toLocaleString("en")} or more (with a configured protocol, 8,000). Unset: what its endpoint tells, else ${defaultContextTokens.toLocaleString("en")}.`,
    local: true,
  }),
  HUNKWISE_PRICES: model(readable.optional(), {
    description: "JSON file with prices of models that extend the built-in table.",
    local: true,
    path: true,
  }),
  HUNKWISE_DAILY_TOKENS: server(whole(1_000, 999_999_999_999_999).optional(), {
    description:
      "Prompt and completion tokens of all reviews of one installation on one day (UTC). Unset: no limit.",
  }),
  HUNKWISE_DAILY_COST_USD: server(dollars.optional(), {
    description: "US dollars of all reviews of one installation on one day (UTC). Unset: no limit.",
  }),
  HUNKWISE_PERSON_COMMANDS_PER_HOUR: server(whole(0, 1_000_000).default(60), {
    description:
      "Commands, replies and re-runs of one person within an hour, in all repositories of an installation; further ones are left without an answer, and nothing is asked of GitHub or a model for them. `0`: no limit.",
  }),
  HUNKWISE_PULL_REVIEWS_PER_DAY: server(whole(0, 1_000_000).default(50), {
    description:
      "Reviews of one pull request on one day (UTC). The check run of a further one says why there is none; a push or a command on the next day has everything reviewed that came meanwhile. `0`: no limit.",
  }),
  HUNKWISE_AUTHOR_REVIEWS_PER_DAY: server(whole(0, 1_000_000).default(300), {
    description:
      "The same for all pull requests that one person or bot opened, in all repositories of an installation. `0`: no limit.",
  }),
  HUNKWISE_INSTALLATION_REVIEWS_PER_DAY: server(whole(0, 1_000_000).default(1_000), {
    description: "The same for all pull requests of one installation together. `0`: no limit.",
  }),
  HUNKWISE_DATA_DIR: server(text(), {
    description:
      "Folder for the queue, mirrors of repositories and the App's credentials from the set-up page. A relative path starts at the folder of Hunkwise's `package.json`, wherever a command is run.",
    fallback: defaultDataFolder,
    local: true,
  }),
  HUNKWISE_CONCURRENCY: server(whole(1, 64).default(2), { description: "Jobs one worker runs at a time." }),
  HUNKWISE_PUSH_WINDOW_SECONDS: server(seconds(600).default(10), {
    description:
      "How long a pull request has to be quiet after a push before it is reviewed, so that pushes in a row are one review; at most six times as long after the first. `0` to `600`.",
  }),
  HUNKWISE_INSTALLATION_CONCURRENCY: server(whole(1, 1_000).default(10), {
    description: "Jobs of one installation that all workers together run at a time.",
  }),
  HUNKWISE_LEASE_SECONDS: server(seconds(3_600, 1).default(30), {
    description: "After how long without a sign of life a worker's job is taken over by another one.",
  }),
  HUNKWISE_GRACE_SECONDS: server(seconds(600).default(8), {
    description:
      "How long running jobs may take to hand themselves back after SIGTERM; less than what the machine grants before it kills.",
  }),
  HUNKWISE_WRITE_GAP_SECONDS: server(seconds(60).default(1), {
    description:
      "Time between two writes for one installation. GitHub asks for one second. `0` is for an Enterprise Server without rate limits.",
  }),
  HUNKWISE_RECONCILE_MINUTES: server(minutes(1_440).default(60), {
    description:
      "How often GitHub is asked for pull requests and deliveries that were missed, the first time at the start. `0`: never.",
  }),
  HUNKWISE_RETENTION_DAYS: server(whole(1, 3_650).default(30), {
    description:
      "How long ended jobs and the records of local reviews are kept, with what the model said and read.",
    local: true,
  }),
  HUNKWISE_GRAPH: server(oneOf(["on", "off"]).default("on"), {
    description:
      "`on` indexes each repository after its reviews, so that the next ones know callers by more than names, earlier commits, and may ask the knowledge graph (`graph_rag_query`). `off` indexes nothing and reads no index.",
  }),
  HUNKWISE_LOGSEQ_DIR: server(folder.optional(), {
    description:
      "Folder of a Logseq graph in which reviews leave their notes, each on a page. Without it no review is offered to leave any.",
    example: "/home/me/logseq",
    local: true,
    path: true,
  }),
  HUNKWISE_DISK_LIMIT_GB: server(gigabytes.default(20), {
    description:
      "Size of all mirrors and checkouts together; those unused for longest are deleted beyond it.",
  }),
  HUNKWISE_METRICS_PORT: server(whole(0, 65_535).optional(), {
    description:
      "Port for `/metrics`, `/healthz` and `/readyz` of this process, worker or server. Unset: none.",
    example: "9464",
  }),
  HUNKWISE_METRICS_HOST: server(address.default("127.0.0.1"), {
    description:
      "Address on which that port listens. They ask nobody who they are: `0.0.0.0` is for a network of your own.",
  }),
  HUNKWISE_SANDBOX_READ: server(folders.optional(), {
    description:
      "Folders that commands of a fix may read beside /usr, separated by colons: tool chains like `/opt/node:/home/ci/.pyenv/versions/3.14`. The `bin` of each comes first on their PATH. No folder with secrets or sockets.",
    example: "/opt/node:/opt/python",
    local: true,
  }),
  HUNKWISE_SANDBOX_MEMORY_MB: server(whole(128, 1_000_000).default(2_048), {
    description: "Memory of one command, its processes and files together. Half of it is room for files.",
    local: true,
  }),
  DATABASE_URL: server(postgresUrl.optional(), {
    description:
      "Postgres database for queue and records, `postgres://user:password@host:5432/database`. Unset: a file in the data folder.",
    example: "postgres://user:password@host:5432/database",
    secret: true,
  }),
  HTTPS_PROXY: network(proxyUrl.optional(), {
    description: "Proxy for GitHub's API, git and the model.",
    secret: true,
    local: true,
  }),
  HTTP_PROXY: network(proxyUrl.optional(), {
    description: "Proxy for addresses without TLS.",
    secret: true,
    local: true,
  }),
  NO_PROXY: network(text(), {
    description: "Hosts that are reached without the proxy, separated by commas.",
    local: true,
  }),
  NODE_EXTRA_CA_CERTS: network(readable.optional(), {
    description: "PEM file of further certificate authorities to trust.",
    local: true,
    path: true,
  }),
});
export type Variables = z.infer<typeof Variables>;

/** One variable, as in the documents. */
interface EnvironmentVariable extends Omit<About, "fallback"> {
  name: string;
  /** Null if unset. */
  default: string | null;
  /** Title of the section that it belongs to. */
  section: string;
}

/** Every variable, in the order of the documents. */
export const environmentDocs: readonly EnvironmentVariable[] = Object.entries(Variables.shape).map(
  ([name, type]) => {
    const { fallback, section, ...about } = type.meta() as unknown as About & {
      section: keyof typeof sections;
    };
    const value = type.safeParse(undefined).data;
    const standard = value === undefined ? (fallback ?? null) : String(value);
    return { ...about, name, default: standard, section: sections[section] };
  },
);

/** The names of the variables with this property. */
export const namesWith = (what: "secret" | "local" | "path"): ReadonlySet<string> =>
  new Set(environmentDocs.filter((one) => one[what]).map(({ name }) => name));

const secretNames = namesWith("secret");

export type RawEnv = Readonly<Record<string, string | undefined>>;

/** A fault of one environment variable. */
export class VariableFault extends AppError {
  readonly variable: string;

  constructor(variable: string, message: string, options: { remedy: string; cause?: unknown }) {
    super("config_invalid", message, options);
    this.variable = variable;
  }
}

export function missing(name: string, remedy: string): VariableFault {
  return new VariableFault(name, `${name} is missing`, { remedy: `${remedy}.` });
}

/** @throws AppError `config_invalid`: one line with all faults, so that a person can correct them at once. */
export function requireNone(faults: readonly VariableFault[]): void {
  const [first, ...others] = faults;
  if (first === undefined) return;
  if (others.length === 0) throw first;
  const byRemedy = Map.groupBy(faults, ({ remedy = "" }) => remedy);
  const lines = [...byRemedy].map(
    ([remedy, alike]) => `${alike.map(({ message }) => message).join("; ")}. ${remedy}`,
  );
  throw new AppError("config_invalid", lines.join(" "));
}

/** The valid variables, and the faults of the others. */
interface ParsedVariables {
  given: Variables;
  faults: VariableFault[];
}

/**
 * Checks each variable separately and leaves out invalid ones. Blank values count as unset, because compose files pass unset variables on
 * as empty ones; surrounding white space is removed.
 */
export function parseVariables(raw: RawEnv): ParsedVariables {
  const entries = Object.keys(Variables.shape).flatMap((name) => {
    // Both spellings of proxies are common, and many tools set the lower-case one.
    const value = (raw[name] ?? (name.endsWith("_PROXY") ? raw[name.toLowerCase()] : undefined))?.trim();
    return value ? [[name, value] as const] : [];
  });
  const values = new Map(entries);
  const { success, data, error } = Variables.safeParse(Object.fromEntries(values));
  if (success) return { given: data, faults: [] };
  const issues = new Map(error.issues.map((issue) => [String(issue.path[0]), issue.message]));
  const faults = [...issues].map(([name, message]) => {
    const value = secretNames.has(name) ? "" : `, not ${JSON.stringify(values.get(name))}`;
    return new VariableFault(name, `${name} ${message}${value}`, {
      remedy: "Correct it in the environment or in .env.",
    });
  });
  const right = entries.filter(([name]) => !issues.has(name));
  return { given: Variables.parse(Object.fromEntries(right)), faults };
}

const known: ReadonlySet<string> = new Set(environmentDocs.map(({ name }) => name));

/** Variables that many programs share: an empty one is usual, and one with a similar name belongs to another program. */
const isShared = (name: string) => name.endsWith("_PROXY") || name.startsWith("NODE_");

/** Notices for a person about a valid environment, one line each. */
export const noticesOf = (raw: RawEnv): string[] => [...emptyOf(raw), ...unknownOf(raw)];

/** CI systems pass a missing secret as an empty variable. */
function emptyOf(raw: RawEnv): string[] {
  return Object.entries(raw)
    .filter(([name, value]) => known.has(name) && !isShared(name) && value?.trim() === "")
    .map(([name]) => `${name} is set but empty; it counts as unset`);
}

function unknownOf(raw: RawEnv): string[] {
  return Object.entries(raw).flatMap(([name, value]) => {
    if (!value?.trim() || known.has(name) || isShared(name.toUpperCase())) return [];
    const meant = nearest(name.toUpperCase());
    if (meant !== undefined) return [`${name} is not known. Did you mean ${meant}?`];
    return name.startsWith("HUNKWISE_") ? [`${name} is not known`] : [];
  });
}

/** Shorter names are similar to too many others. */
const guessable = [...known].filter((name) => name.length > 8 && !isShared(name));

function nearest(name: string): string | undefined {
  const ranked = guessable.map((one) => ({ one, edits: distance(name.slice(0, 64), one) }));
  const [best] = ranked.toSorted((a, b) => a.edits - b.edits);
  return best && best.edits <= 2 ? best.one : undefined;
}
