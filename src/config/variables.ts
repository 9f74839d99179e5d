import { accessSync, constants, statSync } from "node:fs";
import { isAbsolute, normalize } from "node:path";
import { distance } from "fastest-levenshtein";
import { z } from "zod";
import { reachOfHost } from "../core/egress.ts";
import { AppError } from "../core/errors.ts";

export const protocolNames = ["auto", "native", "text"] as const;
export const effortNames = ["minimal", "low", "medium", "high"] as const;
export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** Paths of the server itself; a webhook cannot arrive there. */
const ownPaths = new Set(["/", "/healthz", "/readyz", "/setup", "/setup/created", "/style.css"]);

const must = (what: string) => ({ error: () => `must be ${what}` });
const text = () => z.string().optional();
const matching = (pattern: RegExp, what: string) => z.string().regex(pattern, must(what));
const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, must(`one of ${values.join(", ")}`));
const numeric = (pattern: RegExp, least: number, most: number, what: string) =>
  z
    .string()
    .regex(pattern, must(what))
    .transform(Number)
    .refine((n) => n >= least && n <= most, must(what));
const whole = (least: number, most: number) =>
  numeric(/^\d{1,15}$/, least, most, `a whole number from ${least} to ${most}`);
const amount = (unit: string, least: number, most: number) =>
  numeric(/^\d{1,5}(\.\d{1,3})?$/, least, most, `a number of ${unit} from ${least} to ${most}`);
const dollars = numeric(
  /^\d{1,9}(\.\d{1,6})?$/,
  Number.MIN_VALUE,
  Number.MAX_VALUE,
  "an amount in US dollars above 0, such as 25 or 7.50",
);
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
    must("an existing folder"),
  );

const folders = z
  .string()
  .transform((value) => value.split(":").filter((path) => path !== ""))
  .refine(
    (paths) => paths.every((path) => isAbsolute(path) && path === normalize(path) && path !== "/"),
    must("absolute paths of folders other than /, separated by colons"),
  );

/** Hosts, each with or without a port; one way to write each, in lower case. */
const registries = z
  .string()
  .transform((value) =>
    value
      .toLowerCase()
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one !== ""),
  )
  .refine(
    (hosts) => hosts.every((host) => URL.parse(`tls://${host}`) !== null && isHost.test(host)),
    must("hosts with or without a port, separated by commas, such as packages.example.com,localhost:4873"),
  );
const isHost = /^([a-z0-9]([a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:[1-9]\d{0,4})?$/;

/** Numbers, separated by commas: a name could be taken over by another person. */
const accountIds = z
  .string()
  .regex(/^\s*[1-9]\d{0,14}(\s*,\s*[1-9]\d{0,14})*\s*$/, must("numeric account ids, separated by commas"))
  .transform((value) => value.split(",").map(Number));

const postgresUrl = z
  .string()
  .refine(
    (value) => /^postgres(ql)?:$/.test(URL.parse(value)?.protocol ?? ""),
    must("an address such as postgres://user:password@host:5432/database"),
  );

const address = matching(/^[\w.:-]+$/, "an address to listen on");
const bareKey = z
  .string()
  .regex(/^[\s\x21-\x7e]+$/, { error: () => "contains characters that are not allowed in a key" })
  .regex(/^\S+$/, must("only the key, without spaces or line breaks"));
/** The key in a secret of Standard Webhooks; null if it is none. */
export function signingKeyOf(secret: string): Buffer | null {
  const [, written = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const key = Buffer.from(written, "base64");
  return key.length >= 24 && key.length <= 64 ? key : null;
}

const plainUrl = httpUrl("an http or https URL without a user name and password", false);
const proxyUrl = httpUrl("a URL such as http://proxy.example.com:3128", true);

/** The default model if a key is set and no model is named. */
export const defaultModel = "gpt-6.1-sol";
/** The same with a key of Anthropic. */
export const defaultClaude = "claude-sonnet-5-5";
/** Context window assumed for a model, in tokens: every current model has at least this. */
export const defaultContextTokens = 128_000;
/** Instructions, tools and one file of code fill a smaller context window. */
export const leastContextTokens = 16_000;

interface About {
  /** For `docs/configuration.md` and `.env.example`. */
  description: string;
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
  (section: keyof typeof sections, shared: Pick<About, "local" | "secret"> = {}) =>
  <Type extends z.ZodType>(type: Type, about: About): Type =>
    type.meta({ ...shared, ...about, section }) as Type;
const app = inSection("app");
const appSecret = inSection("app", { secret: true });
const server = inSection("server");
const serverSecret = inSection("server", { secret: true });
const model = inSection("model", { local: true });
const modelSecret = inSection("model", { local: true, secret: true });
const keyOfOther = (what: string) =>
  `API key for the ${what}. Unset: the key of the reviewing model if the endpoint is the same, otherwise no key.`;
const network = inSection("network", { local: true });
const networkSecret = inSection("network", { local: true, secret: true });

/** Times that only a test of a whole process changes (`leaseMs=3000&writeGapMs=0`). They are no setting, and no document names them. */
const Times = z.strictObject({
  /** If a worker does not renew the lease of its job in this time, another one takes over the job. */
  leaseMs: z.coerce.number().default(30_000),
  /** Between two writes for one installation; GitHub asks for one second. */
  writeGapMs: z.coerce.number().default(1_000),
  /** Between two checks of GitHub for missed events. 0: no checks. */
  reconcileEveryMs: z.coerce.number().default(3_600_000),
});

/** Every variable that Hunkwise reads, in the order of the documents: the single source of its type, default and description. */
const Variables = z.object({
  APP_ID: app(whole(1, Number.MAX_SAFE_INTEGER).optional(), {
    description: "ID of the GitHub App. If neither this nor a key is set, `serve` shows the setup page.",
  }),
  PRIVATE_KEY: appSecret(text(), {
    description:
      "Private key of the App in PEM format. Line breaks may be written as `\\n`, or the whole key may be base64.",
  }),
  PRIVATE_KEY_PATH: app(text(), {
    description: "File with the private key, used if `PRIVATE_KEY` is not set.",
    path: true,
  }),
  WEBHOOK_SECRET: appSecret(text(), {
    description: "Secret with which GitHub signs webhooks. Required with an App.",
  }),
  GITHUB_CLIENT_ID: app(
    matching(/^[\w.-]{1,100}$/, "the client ID of the App, such as Iv23liAbc").optional(),
    {
      description:
        "Client ID of the App, for the log-in to the dashboard. The setup page stores it. Unset: people cannot log in.",
      example: "Iv23liAbcDefGhiJklMn",
    },
  ),
  GITHUB_CLIENT_SECRET: appSecret(bareKey.optional(), {
    description: "Client secret of the App. Required with `GITHUB_CLIENT_ID`.",
  }),
  HUNKWISE_OPERATORS: app(accountIds.optional(), {
    description:
      "Numeric IDs of the GitHub accounts that operate this server, separated by commas (`https://api.github.com/users/NAME` shows the ID). On the dashboard, they also see the server's health, and the runs, costs and figures of all repositories.",
    example: "583231",
  }),
  GHE_HOST: app(
    matching(/^[\w.-]+(:\d{1,5})?$/, "a host name such as github.example.com, without https://").optional(),
    {
      description: "Host of a GitHub Enterprise Server, such as `github.example.com`, with a port if needed.",
    },
  ),
  GHE_PROTOCOL: app(oneOf(["https", "http"]).default("https"), {
    description: "Protocol for `GHE_HOST`. `http`: both the API and git are used without TLS.",
  }),
  HOST: server(address.optional(), { description: "Address to listen on. Unset: all addresses." }),
  PORT: server(whole(0, 65_535).default(3_000), { description: "Port to listen on." }),
  WEBHOOK_PATH: server(
    matching(/^\/[\w./~-]*$/, "a path that begins with /")
      .refine((path) => !ownPaths.has(path), must("a path that the server does not use itself"))
      .default("/api/github/webhooks"),
    { description: "Path that receives webhooks." },
  ),
  WEBHOOK_PROXY_URL: app(plainUrl.optional(), {
    description:
      "Address of a service that forwards webhooks to this machine. The setup page gives it to GitHub instead of its own address.",
  }),
  LOG_LEVEL: server(oneOf(logLevels).default("info"), {
    description: "Least severe level to log: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.",
  }),
  OPENAI_API_KEY: modelSecret(bareKey.optional(), {
    description:
      "API key of the model's provider. If neither a key nor a base URL is set, reviews use only the analyzers.",
  }),
  OPENAI_BASE_URL: modelSecret(plainUrl.optional(), {
    description:
      "Base URL of any API that supports Chat Completions. Unset: OpenAI's API. Local servers need no key.",
  }),
  AZURE_OPENAI_ENDPOINT: modelSecret(plainUrl.optional(), {
    description:
      "Endpoint of an Azure OpenAI resource, instead of `OPENAI_BASE_URL`. `HUNKWISE_MODEL` names the deployment.",
  }),
  AZURE_OPENAI_API_KEY: modelSecret(bareKey.optional(), {
    description: "API key of the Azure OpenAI resource. Required with `AZURE_OPENAI_ENDPOINT`.",
  }),
  ANTHROPIC_API_KEY: modelSecret(bareKey.optional(), {
    description:
      "API key for Claude through Anthropic's Messages API. Used if neither `OPENAI_API_KEY` nor `OPENAI_BASE_URL` is set, or if `HUNKWISE_MODEL` begins with `claude-` and `OPENAI_BASE_URL` is unset.",
  }),
  ANTHROPIC_BASE_URL: modelSecret(plainUrl.optional(), {
    description:
      "Base URL of another service with the Messages API. Needs `ANTHROPIC_API_KEY`. Unset: Anthropic's own.",
  }),
  HUNKWISE_MODEL: model(text(), {
    description: `Model that reviews. Required with \`OPENAI_BASE_URL\`, \`AZURE_OPENAI_ENDPOINT\` and \`ANTHROPIC_BASE_URL\`; \`${defaultClaude}\` at Anthropic if unset.`,
    fallback: defaultModel,
  }),
  HUNKWISE_VERIFY_MODEL: model(text(), {
    description:
      "Model that verifies findings. Unset: `HUNKWISE_MODEL`, which also verifies if this one fails.",
  }),
  HUNKWISE_VERIFY_BASE_URL: modelSecret(plainUrl.optional(), {
    description: "Endpoint of the model that verifies. Unset: the endpoint of `HUNKWISE_MODEL`.",
  }),
  HUNKWISE_VERIFY_API_KEY: modelSecret(bareKey.optional(), {
    description: keyOfOther("model that verifies"),
  }),
  HUNKWISE_FALLBACK_MODEL: model(text(), {
    description:
      "Model that answers while one of the others is overloaded or cannot be reached. Unset: reviews wait.",
  }),
  HUNKWISE_FALLBACK_BASE_URL: modelSecret(plainUrl.optional(), {
    description: "Endpoint of the fallback model. Unset: the endpoint of the other models.",
  }),
  HUNKWISE_FALLBACK_API_KEY: modelSecret(bareKey.optional(), {
    description: keyOfOther("fallback model"),
  }),
  HUNKWISE_EMBEDDING_MODEL: model(text(), {
    description:
      "Embedding model, such as `text-embedding-3-small`, with which the knowledge graph searches by meaning too. Unset: the graph searches only by words and sends no code.",
    example: "text-embedding-3-small",
  }),
  HUNKWISE_EMBEDDING_BASE_URL: modelSecret(plainUrl.optional(), {
    description:
      "Endpoint of the embedding model; it must support OpenAI's `/embeddings`. Unset: the endpoint of the reviewing model.",
  }),
  HUNKWISE_EMBEDDING_API_KEY: modelSecret(bareKey.optional(), {
    description: keyOfOther("embedding model"),
  }),
  HUNKWISE_PROTOCOL: model(oneOf(protocolNames).default("auto"), {
    description:
      "How the model calls tools: `native` (through its API), `text` (as JSON in its text) or `auto` (a probe asks the model once).",
  }),
  HUNKWISE_REASONING_EFFORT: model(oneOf(effortNames).optional(), {
    description:
      "`minimal`, `low`, `medium` or `high`, sent as `reasoning_effort`, or to Claude as thinking and effort. Unset: the model decides.",
  }),
  HUNKWISE_CONTEXT_TOKENS: model(whole(8_000, 100_000_000).optional(), {
    description: `Size of the model's context window in tokens, at least ${leastContextTokens.toLocaleString("en")} (at least 8,000 if \`HUNKWISE_PROTOCOL\` is \`native\` or \`text\`). Unset: the size that the endpoint reports, otherwise ${defaultContextTokens.toLocaleString("en")}.`,
  }),
  HUNKWISE_PRICES: model(readable.optional(), {
    description: "JSON file with model prices that extend the built-in table.",
    path: true,
  }),
  HUNKWISE_POLICY: server(z.enum(["optional", "required"]).default("optional"), {
    description:
      "`required`: no model reads anything in a repository unless the organization's file is found and has a `policy`. `optional`: a repository `.github` that the App cannot read counts as one without a policy, because GitHub reports it as one that does not exist.",
  }),
  HUNKWISE_DAILY_TOKENS: server(whole(1_000, 999_999_999_999_999).optional(), {
    description:
      "Maximum number of prompt and completion tokens for all reviews of one installation in one day (UTC). Unset: no limit.",
  }),
  HUNKWISE_DAILY_COST_USD: server(dollars.optional(), {
    description:
      "Maximum cost in US dollars for all reviews of one installation in one day (UTC). Unset: no limit.",
  }),
  HUNKWISE_INSTALLATION_REVIEWS_PER_DAY: server(whole(0, 1_000_000).default(1_000), {
    description:
      "Maximum number of reviews of one installation in one day (UTC). After that, the check run says why there is no review; a push or a command on the next day starts a review of everything that was added since. One person or bot gets at most 300 of these for the pull requests that they opened, and one pull request 50. `0`: no limit.",
  }),
  HUNKWISE_DATA_DIR: server(text(), {
    description:
      "Folder for the queue, mirrors of repositories, and the App's credentials from the setup page. Unset: the user's data folder, such as `~/.local/share/hunkwise`; in a checkout of Hunkwise, `.hunkwise` beside its `package.json`. A relative path is relative to the folder of Hunkwise's `package.json`, never to the current one.",
    example: "/var/lib/hunkwise",
    local: true,
  }),
  HUNKWISE_CONCURRENCY: server(whole(1, 64).default(2), {
    description: "Number of jobs that one worker runs at the same time.",
  }),
  HUNKWISE_PUSH_WINDOW_SECONDS: server(amount("seconds", 0, 600).default(10), {
    description:
      "Seconds without another push after which a pull request is reviewed, so that several pushes in a row get one review. The review starts at the latest six times as long after the first push. `0` to `600`.",
  }),
  HUNKWISE_RETENTION_DAYS: server(whole(1, 3_650).default(30), {
    description:
      "Number of days to keep ended jobs and the records of local reviews, including the model's input and output.",
    local: true,
  }),
  HUNKWISE_EVENTS_URL: serverSecret(
    plainUrl
      .refine((address) => {
        const url = URL.parse(address);
        return url?.protocol === "https:" || (url !== null && reachOfHost(url.hostname) !== "internet");
      }, must("an https URL, or an http URL of a host in a private network"))
      .optional(),
    {
      description:
        "Address that receives an event when a review ends and when a finding is fixed or dismissed, as signed JSON (docs/events.md). Unset: no events.",
      example: "https://events.example.com/hunkwise",
    },
  ),
  HUNKWISE_EVENTS_SECRET: serverSecret(
    z
      .string()
      .refine(
        (secret) => signingKeyOf(secret) !== null,
        must("whsec_ followed by the Base64 of 24 to 64 bytes"),
      )
      .optional(),
    {
      description:
        'Secret that signs the events, as Standard Webhooks writes it: `echo "whsec_$(openssl rand -base64 32)"`. Required with `HUNKWISE_EVENTS_URL`.',
    },
  ),
  HUNKWISE_GRAPH: server(oneOf(["on", "off"]).default("on"), {
    description:
      "`on`: each repository is indexed after its reviews. Later reviews then find callers that a search by name misses, see earlier commits, and can query the knowledge graph (`graph_rag_query`). `off`: no index is made or read.",
  }),
  HUNKWISE_LOGSEQ_DIR: server(folder.optional(), {
    description: "Folder of a Logseq graph in which reviews leave notes. Unset: reviews cannot leave notes.",
    example: "/home/me/logseq",
    local: true,
    path: true,
  }),
  HUNKWISE_DISK_LIMIT_GB: server(amount("gigabytes", 0.01, 99_999).default(20), {
    description:
      "Maximum size of all mirrors and checkouts together. Above it, the least recently used ones are deleted.",
  }),
  HUNKWISE_METRICS_PORT: server(whole(0, 65_535).optional(), {
    description:
      "Port for `/metrics`, `/healthz` and `/readyz` of this process, worker or server. Unset: no port.",
    example: "9464",
  }),
  HUNKWISE_METRICS_HOST: server(address.default("127.0.0.1"), {
    description:
      "Address on which the metrics port listens. The port has no authentication: use `0.0.0.0` only in a private network.",
  }),
  HUNKWISE_SANDBOX_READ: server(folders.optional(), {
    description:
      "Folders that the commands of a fix may read in addition to /usr, separated by colons: toolchains, such as `/opt/node:/home/ci/.pyenv/versions/3.14`. The `bin` folder of each comes first on their PATH. Do not list folders with secrets or sockets.",
    example: "/opt/node:/opt/python",
    local: true,
  }),
  HUNKWISE_SANDBOX_MEMORY_MB: server(whole(128, 1_000_000).default(2_048), {
    description:
      "Maximum memory in MB for one command, its processes and files together. Files may use half of it.",
    local: true,
  }),
  HUNKWISE_PROVE_REGISTRIES: server(registries.optional(), {
    description:
      "Hosts that the command of `prove.prepare` may reach over HTTP, separated by commas, such as `packages.example.com` or `registry.example.com:8443`; without a port, 443 and 80. Unset: it has no network. Nothing else in a sandbox ever has network access.",
    example: "packages.example.com,localhost:4873",
    local: true,
  }),
  DATABASE_URL: serverSecret(postgresUrl.optional(), {
    description:
      "Postgres database for the queue and records, such as `postgres://user:password@host:5432/database`. Unset: a file in the data folder.",
    example: "postgres://user:password@host:5432/database",
  }),
  HTTPS_PROXY: networkSecret(proxyUrl.optional(), {
    description: "Proxy for GitHub's API, git and the model.",
  }),
  HTTP_PROXY: networkSecret(proxyUrl.optional(), {
    description: "Proxy for addresses without TLS.",
  }),
  NO_PROXY: network(text(), {
    description: "Hosts that are reached without the proxy, separated by commas.",
  }),
  NODE_EXTRA_CA_CERTS: network(readable.optional(), {
    description: "PEM file with additional certificate authorities to trust.",
    path: true,
  }),
  HUNKWISE_TEST_TIMES: z
    .string()
    .default("")
    .transform((times): Record<string, unknown> => Object.fromEntries(new URLSearchParams(times)))
    .pipe(Times),
});
export type Variables = z.infer<typeof Variables>;

/** Each with the title of its section, and its default; null for none. */
export const environmentDocs = Object.entries(Variables.shape).flatMap(([name, type]) => {
  const meta = type.meta() as (About & { section: keyof typeof sections }) | undefined;
  if (meta === undefined) return [];
  const { fallback, section, ...about } = meta;
  const value = type.safeParse(undefined).data;
  const standard = value === undefined ? (fallback ?? null) : String(value);
  return [{ ...about, name, default: standard, section: sections[section] }];
});

export const namesWith = (what: "secret" | "local" | "path"): ReadonlySet<string> =>
  new Set(environmentDocs.filter((one) => one[what]).map(({ name }) => name));

const secretNames = namesWith("secret");

export type RawEnv = Readonly<Record<string, string | undefined>>;

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

/** @throws AppError `config_invalid`: one line with all faults, and names in `raw` that may be misspelled, so that a person can correct all at once. */
export function requireNone(faults: readonly VariableFault[], raw: RawEnv = {}): void {
  const [first, ...others] = faults;
  if (first === undefined) return;
  const hints = unknownOf(raw, true);
  if (others.length === 0 && hints.length === 0) throw first;
  const byRemedy = Map.groupBy(faults, ({ remedy = "" }) => remedy);
  const lines = [...byRemedy].map(
    ([remedy, alike]) => `${alike.map(({ message }) => message).join("; ")}. ${remedy}`,
  );
  throw new AppError("config_invalid", [...lines, ...hints].join(" "));
}

/** Checks each variable separately and leaves out invalid ones. A blank value counts as unset, because compose files pass unset variables on so. */
export function parseVariables(raw: RawEnv): { given: Variables; faults: VariableFault[] } {
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

const known: ReadonlySet<string> = new Set(Object.keys(Variables.shape));

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

/** @param isMisspelled names only those that are close to the name of one that is read, and unset */
export const unknownOf = (raw: RawEnv, isMisspelled = false): string[] =>
  Object.entries(raw).flatMap(([name, value]) => {
    if (!value?.trim() || known.has(name) || isShared(name.toUpperCase())) return [];
    const meant = nearest(name.toUpperCase());
    if (meant !== undefined)
      return raw[meant]?.trim() ? [] : [`${name} is not a known variable. Did you mean ${meant}?`];
    const isOurs = !isMisspelled && /^HUNKWISE_(?!SKIP_HOOK$)/.test(name);
    return isOurs ? [`${name} is not a known variable`] : [];
  });

/** Shorter names are similar to too many others. */
const guessable = [...known].filter((name) => name.length > 8 && !isShared(name));

/** `OPENAI_KEY` and `OPENAI_API_BASE` are names of others for `OPENAI_API_KEY` and `OPENAI_BASE_URL`. */
const bare = (name: string) => name.replaceAll(/_(?:API|URL)(?=_|$)/g, "");

function nearest(name: string): string | undefined {
  const edits = (one: string) => (bare(one) === bare(name) ? 0 : distance(name.slice(0, 64), one));
  const ranked = guessable.map((one) => ({ one, edits: edits(one) }));
  const [best] = ranked.toSorted((a, b) => a.edits - b.edits);
  return best && best.edits <= 2 ? best.one : undefined;
}
