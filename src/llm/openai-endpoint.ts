import OpenAI from "openai";
import { type AnswerLimits, createEgress } from "../egress.ts";
import { AppError } from "../errors.ts";
import { holdsPlainSecret } from "../secrets/live-secrets.ts";

/** A deployment of Azure's classic API, which names it in the path and wants a version. */
export interface AzureDeployment {
  deployment: string;
  apiVersion: string;
}

export interface EndpointOptions {
  /** Null for servers without keys. */
  apiKey: string | null;
  /** Any address that speaks Chat Completions; null is OpenAI's own. For Azure's classic API the resource's endpoint. */
  baseUrl: string | null;
  azure?: AzureDeployment | null;
  timeoutMs: number;
  fetch?: typeof globalThis.fetch;
}

const OPENAI_URL = "https://api.openai.com/v1";

/** The root under which `/chat/completions` lies. Throws `config_invalid` for a bad address. */
export function endpointUrl({ baseUrl, azure }: Pick<EndpointOptions, "baseUrl" | "azure">): URL {
  const url = parseUrl(baseUrl ?? OPENAI_URL);
  if (!azure) return url;
  // As the Azure portal shows it, or with the /openai that some people add.
  const root = url.href.replace(/\/+$/, "").replace(/\/openai$/, "");
  return new URL(`${root}/openai/deployments/${encodeURIComponent(azure.deployment)}`);
}

/**
 * The headers that let a request in; an `authorization` of null keeps the client from sending one. Azure takes keys as
 * `api-key` and tokens of Entra ID, which are JWTs, as Bearer.
 */
export function accessHeaders(apiKey: string | null, url: URL): Record<string, string | null> {
  if (!apiKey) return { authorization: null };
  const isAzure = /(^|\.)azure\.(com|us|cn)$/.test(url.hostname);
  if (isAzure && !apiKey.startsWith("eyJ")) return { authorization: null, "api-key": apiKey };
  return { authorization: `Bearer ${apiKey}` };
}

export function createClient(options: EndpointOptions, url: URL, answer: AnswerLimits): OpenAI {
  return new OpenAI({
    // The client requires a key; the headers hold the one that is sent.
    apiKey: options.apiKey || "none",
    defaultHeaders: accessHeaders(options.apiKey, url),
    ...(options.azure ? { defaultQuery: { "api-version": options.azure.apiVersion } } : {}),
    baseURL: url.href,
    timeout: options.timeoutMs,
    // Retries are in `retry.ts`, which says why.
    maxRetries: 0,
    // Left out, each of these would be read from the environment, and OPENAI_LOG=debug would print requests.
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    logLevel: "off",
    fetch: endpointFetch(url, options, answer),
  });
}

/** A list of models, read once at the start: OpenRouter's has 1 MB and 25,000 members. */
export const modelList: AnswerLimits = { bytes: 4_000_000, depth: 64, elements: 50_000, members: 50_000 };

/** An answer to a conversation. No model writes a million characters or two thousand calls at once. */
export const chatAnswer: AnswerLimits = { bytes: 2_000_000, depth: 64, elements: 20_000, members: 15_000 };

/** A gateway may redirect to another path of its own. */
const mostRedirects = 3;

/**
 * The `fetch` of all requests to the endpoint: it reaches that origin and no other, whatever redirects say. A redirect would take
 * along the key in its header and the code in the body.
 */
export function endpointFetch(
  url: URL,
  { timeoutMs, fetch }: Pick<EndpointOptions, "timeoutMs" | "fetch">,
  answer: AnswerLimits,
): typeof globalThis.fetch {
  return createEgress({
    ...{ origins: [url.origin], timeoutMs, mostRedirects, answer, fetch },
    // Bodies are long and sent again with every turn: a search for each spelling would block the process.
    holdsSecret: holdsPlainSecret,
    refuse: (what, remedy = "Set OPENAI_BASE_URL to the address at which the endpoint itself answers.") =>
      new AppError("model_refused", `The model endpoint ${url.href} ${what}`, { remedy }),
  });
}

function parseUrl(address: string): URL {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new AppError("config_invalid", "OPENAI_BASE_URL is not an http or https address", {
      remedy: "Write it whole, for example https://api.openai.com/v1.",
    });
  }
  // fetch refuses the first two, and the paths of the API would end up behind the others. Not shown: it may be a secret.
  if (url.username || url.password || url.search || url.hash) {
    throw new AppError("config_invalid", "OPENAI_BASE_URL holds a user, a password, a query or a fragment", {
      remedy: "Write the bare address and put the key into OPENAI_API_KEY.",
    });
  }
  return url;
}
