import OpenAI from "openai";
import { type EndpointOptions, endpointFetch, type Limits, type Provider, parseUrl } from "./endpoint.ts";

/** A deployment of Azure's classic API, which requires its name in the path and a version. */
interface AzureDeployment {
  deployment: string;
  apiVersion: string;
}

export interface OpenAiEndpoint extends EndpointOptions {
  /** Any address that supports Chat Completions; null for OpenAI's own. For Azure's classic API, the resource's endpoint. */
  baseUrl: string | null;
  azure?: AzureDeployment | null;
}

const OPENAI_URL = "https://api.openai.com/v1";

/** The root of `/chat/completions`. Throws `config_invalid` for a bad address. */
export function endpointUrl({ baseUrl, azure }: Pick<OpenAiEndpoint, "baseUrl" | "azure">): URL {
  const url = parseUrl(baseUrl ?? OPENAI_URL, openAi);
  if (!azure) return url;
  // The URL from the Azure portal, or with the /openai that some people add.
  const root = url.href.replace(/\/+$/, "").replace(/\/openai$/, "");
  return new URL(`${root}/openai/deployments/${encodeURIComponent(azure.deployment)}`);
}

/**
 * The headers for authentication; an `authorization` of null keeps the client from sending one. Azure accepts keys as `api-key` and tokens
 * of Entra ID, which are JWTs, as Bearer.
 */
export function accessHeaders(apiKey: string | null, url: URL): Record<string, string | null> {
  if (!apiKey) return { authorization: null };
  if (isAzure(url.hostname) && !apiKey.startsWith("eyJ")) return { authorization: null, "api-key": apiKey };
  return { authorization: `Bearer ${apiKey}` };
}

export function createClient(options: OpenAiEndpoint, url: URL, answer: Limits): OpenAI {
  return new OpenAI({
    // The client requires a key; the key that is sent is in the headers.
    apiKey: options.apiKey || "none",
    defaultHeaders: accessHeaders(options.apiKey, url),
    ...(options.azure ? { defaultQuery: { "api-version": options.azure.apiVersion } } : {}),
    baseURL: url.href,
    timeout: options.timeoutMs,
    // `withRetries` does the retries and explains why.
    maxRetries: 0,
    // If absent, each of these would be read from the environment, and OPENAI_LOG=debug would print requests.
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    logLevel: "off",
    fetch: endpointFetch(url, options, answer, openAi, accessHeaders(options.apiKey, url)),
  });
}

const isAzure = (host: string) => /(^|\.)azure\.(com|us|cn)$/.test(host);

/** OpenAI, and everyone who speaks its Chat Completions. */
export const openAi: Provider = {
  api: "chat completions",
  host: "api.openai.com",
  baseUrl: "OPENAI_BASE_URL",
  addressHint: "it usually ends with /v1",
  keyOf: (host) => (isAzure(host) ? "AZURE_OPENAI_API_KEY" : "OPENAI_API_KEY"),
  errors: OpenAI,
};
