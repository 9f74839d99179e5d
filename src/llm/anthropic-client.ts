import Anthropic from "@anthropic-ai/sdk";
import { type EndpointOptions, endpointFetch, type Limits, type Provider, parseUrl } from "./endpoint.ts";

const ANTHROPIC_URL = "https://api.anthropic.com";

/** The address without the `/v1` that the paths of the API begin with. Throws `config_invalid` for a bad one. */
export function endpointUrl({ baseUrl }: Pick<EndpointOptions, "baseUrl">): URL {
  const url = parseUrl(baseUrl ?? ANTHROPIC_URL, anthropic);
  return new URL(url.href.replace(/\/+(?:v1\/*)?$/, ""));
}

export function createClient(options: EndpointOptions, url: URL, answer: Limits): Anthropic {
  return new Anthropic({
    apiKey: options.apiKey ?? "none",
    baseURL: url.href.replace(/\/$/, ""),
    timeout: options.timeoutMs,
    // `withRetries` does the retries and explains why.
    maxRetries: 0,
    // If absent, each of these would be read from the environment or from files, and ANTHROPIC_LOG=debug would print requests.
    authToken: null,
    credentials: null,
    config: null,
    profile: null,
    webhookKey: null,
    logLevel: "off",
    openTelemetry: false,
    fetch: endpointFetch(url, options, answer, anthropic, { authorization: `Bearer ${options.apiKey}` }),
  });
}

/** Anthropic, and everyone who speaks its Messages API. */
export const anthropic: Provider = {
  api: "Anthropic's Messages API",
  host: "api.anthropic.com",
  baseUrl: "ANTHROPIC_BASE_URL",
  addressHint: "it has no /v1 at its end",
  keyOf: () => "ANTHROPIC_API_KEY",
  errors: Anthropic,
};
