import { accessSync, constants, statSync } from "node:fs";
import { isAbsolute, normalize } from "node:path";
import { z } from "zod";
import { VariableFault } from "./variable-fault.ts";

export const protocolNames = ["auto", "native", "text"] as const;
export const effortNames = ["minimal", "low", "medium", "high"] as const;
export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

/** Values that no message may quote: keys, and URLs that may hold a password. */
const secretNames = new Set([
  "PRIVATE_KEY",
  "WEBHOOK_SECRET",
  "OPENAI_API_KEY",
  "OPENAI_BASE_URL",
  "AZURE_OPENAI_API_KEY",
  "AZURE_OPENAI_ENDPOINT",
  "HUNKWISE_FALLBACK_API_KEY",
  "HUNKWISE_FALLBACK_BASE_URL",
  "HUNKWISE_EMBEDDING_API_KEY",
  "HUNKWISE_EMBEDDING_BASE_URL",
  "DATABASE_URL",
  "HTTPS_PROXY",
  "HTTP_PROXY",
]);

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

const Variables = z.object({
  APP_ID: whole(1, Number.MAX_SAFE_INTEGER).optional(),
  PRIVATE_KEY: text(),
  PRIVATE_KEY_PATH: text(),
  WEBHOOK_SECRET: text(),
  GHE_HOST: matching(
    /^[\w.-]+(:\d{1,5})?$/,
    "a host name like github.example.com, without https://",
  ).optional(),
  GHE_PROTOCOL: oneOf(["https", "http"]).default("https"),
  GH_ORG: matching(/^[\w-]+$/, "the name of an organisation").optional(),
  HOST: address.optional(),
  PORT: whole(0, 65_535).default(3_000),
  WEBHOOK_PATH: matching(/^\/[\w./~-]*$/, "a path that begins with /")
    .refine((path) => !ownPaths.has(path), must("a path that the server does not use itself"))
    .default("/api/github/webhooks"),
  WEBHOOK_PROXY_URL: plainUrl.optional(),
  LOG_LEVEL: oneOf(logLevels).default("info"),
  OPENAI_API_KEY: bareKey.optional(),
  OPENAI_BASE_URL: plainUrl.optional(),
  AZURE_OPENAI_API_KEY: bareKey.optional(),
  AZURE_OPENAI_ENDPOINT: plainUrl.optional(),
  AZURE_OPENAI_DEPLOYMENT: matching(/^[\w.-]+$/, "the name of a deployment").optional(),
  OPENAI_API_VERSION: matching(/^\d{4}-\d\d-\d\d(-preview)?$/, "a version like 2024-10-21").optional(),
  HUNKWISE_MODEL: text(),
  HUNKWISE_VERIFY_MODEL: text(),
  HUNKWISE_SUMMARIZE_MODEL: text(),
  HUNKWISE_PROTOCOL: z
    .enum(protocolNames, {
      error: ({ input }) =>
        input === "single-shot"
          ? "must be auto, native or text (single-shot was removed; auto replaces it if the model's context window has 16,000 tokens or more)"
          : `must be one of ${protocolNames.join(", ")}`,
    })
    .default("auto"),
  HUNKWISE_REASONING_EFFORT: oneOf(effortNames).optional(),
  HUNKWISE_CONTEXT_TOKENS: whole(8_000, 100_000_000).optional(),
  HUNKWISE_PRICES: readable.optional(),
  HUNKWISE_DAILY_TOKENS: whole(1_000, 999_999_999_999_999).optional(),
  HUNKWISE_DAILY_COST_USD: dollars.optional(),
  HUNKWISE_PERSON_COMMANDS_PER_HOUR: whole(0, 1_000_000).default(60),
  HUNKWISE_PULL_REVIEWS_PER_DAY: whole(0, 1_000_000).default(50),
  HUNKWISE_AUTHOR_REVIEWS_PER_DAY: whole(0, 1_000_000).default(300),
  HUNKWISE_INSTALLATION_REVIEWS_PER_DAY: whole(0, 1_000_000).default(1_000),
  HUNKWISE_DATA_DIR: text(),
  HUNKWISE_CONCURRENCY: whole(1, 64).default(2),
  HUNKWISE_PUSH_WINDOW_SECONDS: seconds(600).default(10),
  HUNKWISE_INSTALLATION_CONCURRENCY: whole(1, 1_000).default(10),
  HUNKWISE_LEASE_SECONDS: seconds(3_600, 1).default(30),
  HUNKWISE_GRACE_SECONDS: seconds(600).default(8),
  HUNKWISE_WRITE_GAP_SECONDS: seconds(60).default(1),
  HUNKWISE_RECONCILE_MINUTES: minutes(1_440).default(60),
  HUNKWISE_RETENTION_DAYS: whole(1, 3_650).default(30),
  HUNKWISE_GRAPH: oneOf(["on", "off"]).default("on"),
  HUNKWISE_LOGSEQ_DIR: folder.optional(),
  HUNKWISE_DISK_LIMIT_GB: gigabytes.default(20),
  HUNKWISE_METRICS_PORT: whole(0, 65_535).optional(),
  HUNKWISE_METRICS_HOST: address.default("127.0.0.1"),
  HUNKWISE_FALLBACK_MODEL: text(),
  HUNKWISE_FALLBACK_BASE_URL: plainUrl.optional(),
  HUNKWISE_FALLBACK_API_KEY: bareKey.optional(),
  HUNKWISE_EMBEDDING_MODEL: text(),
  HUNKWISE_EMBEDDING_BASE_URL: plainUrl.optional(),
  HUNKWISE_EMBEDDING_API_KEY: bareKey.optional(),
  HUNKWISE_EMBEDDING_TOKENS: whole(1_000, 999_999_999_999).default(5_000_000),
  HUNKWISE_SANDBOX_READ: folders.optional(),
  HUNKWISE_SANDBOX_MEMORY_MB: whole(128, 1_000_000).default(2_048),
  DATABASE_URL: postgresUrl.optional(),
  HTTPS_PROXY: proxyUrl.optional(),
  HTTP_PROXY: proxyUrl.optional(),
  NO_PROXY: text(),
  NODE_EXTRA_CA_CERTS: readable.optional(),
});
export type Variables = z.infer<typeof Variables>;

/** What of the variables is right, and what is wrong with the others. */
export interface ParsedVariables {
  given: Variables;
  faults: VariableFault[];
}

/**
 * The variables by themselves, each checked; a wrong one is left out. Blank values count as unset, because compose files pass unset
 * variables on as empty ones; surrounding white space is no part of a value.
 */
export function parseVariables(raw: Readonly<Record<string, string | undefined>>): ParsedVariables {
  const entries = Object.keys(Variables.shape).flatMap((name) => {
    // Proxies are known in both spellings, and tools of all sorts set the small one.
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
