import {
  defaultContextTokens,
  defaultModel,
  type effortNames,
  leastContextTokens,
  missing,
  type protocolNames,
  VariableFault,
  type Variables,
} from "./variables.ts";

export interface ModelEnv {
  /** Null for a local server that wants none. */
  apiKey: string | null;
  /** Null: OpenAI's own. */
  baseUrl: string | null;
  /** Azure's classic API at `baseUrl`, which names the deployment in its paths; null everywhere else. */
  azure: { deployment: string; apiVersion: string } | null;
  /** Names of the models by what they are asked for; of Azure's classic API all but the first are deployments. */
  name: string;
  verifyName: string;
  summarizeName: string;
  contextTokens: number;
  /** False where `contextTokens` is assumed, and the endpoint knows better. */
  contextIsConfigured: boolean;
  protocol: (typeof protocolNames)[number];
  /** Null: the model decides. */
  reasoningEffort: (typeof effortNames)[number] | null;
  /** Stands in for the others while they cannot be asked; what is found out of it is its own. Null: nobody does. */
  fallback: ModelEnv | null;
}

/** The model that the variables name; null where they name neither a key nor an endpoint. */
export function readModel(given: Variables): ModelEnv | null {
  const endpoint = given.AZURE_OPENAI_ENDPOINT
    ? atAzure(given, given.AZURE_OPENAI_ENDPOINT)
    : atOpenAi(given);
  if (endpoint === null) return null;
  requireContext(given);
  const model: ModelEnv = {
    ...endpoint,
    verifyName: given.HUNKWISE_VERIFY_MODEL ?? endpoint.name,
    summarizeName: given.HUNKWISE_SUMMARIZE_MODEL ?? endpoint.name,
    contextTokens: given.HUNKWISE_CONTEXT_TOKENS ?? defaultContextTokens,
    contextIsConfigured: given.HUNKWISE_CONTEXT_TOKENS !== undefined,
    protocol: given.HUNKWISE_PROTOCOL,
    reasoningEffort: given.HUNKWISE_REASONING_EFFORT ?? null,
    fallback: null,
  };
  return { ...model, fallback: readFallback(given, model) };
}

/** A person who names the protocol has a reason for a small window. */
function requireContext({ HUNKWISE_CONTEXT_TOKENS: tokens, HUNKWISE_PROTOCOL: protocol }: Variables): void {
  if (protocol !== "auto" || tokens === undefined || tokens >= leastContextTokens) return;
  const variable = "HUNKWISE_CONTEXT_TOKENS";
  throw new VariableFault(variable, `${variable} is ${tokens}, and a review needs ${leastContextTokens}`, {
    remedy:
      "Use a model with a larger window, or set HUNKWISE_PROTOCOL to native or text, with which reviews may fail.",
  });
}

function readFallback(given: Variables, model: ModelEnv): ModelEnv | null {
  const { HUNKWISE_FALLBACK_BASE_URL: baseUrl, HUNKWISE_FALLBACK_API_KEY: apiKey } = given;
  const name = given.HUNKWISE_FALLBACK_MODEL;
  if (!name) {
    if (baseUrl || apiKey)
      throw missing("HUNKWISE_FALLBACK_MODEL", "Name the model that shall stand in for the others");
    return null;
  }
  const { azure } = model;
  // The key of one provider must not go to another.
  const place = baseUrl
    ? { apiKey: apiKey ?? null, baseUrl: withoutSlash(baseUrl), azure: null }
    : { apiKey: apiKey ?? model.apiKey, azure: azure && { ...azure, deployment: name } };
  return {
    ...{ ...model, ...place, name, verifyName: name, summarizeName: name },
    // What is configured is true of the other models.
    contextTokens: Math.min(model.contextTokens, defaultContextTokens),
    contextIsConfigured: false,
    protocol: "auto",
  };
}

type Endpoint = Pick<ModelEnv, "apiKey" | "baseUrl" | "azure" | "name">;

function atOpenAi(given: Variables): Endpoint | null {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl, HUNKWISE_MODEL: name } = given;
  if (!apiKey && !baseUrl) return null;
  if (!name && baseUrl)
    throw missing("HUNKWISE_MODEL", "Name the model that the server at OPENAI_BASE_URL shall use");
  return {
    apiKey: apiKey ?? null,
    baseUrl: baseUrl ? withoutSlash(baseUrl) : null,
    azure: null,
    name: name ?? defaultModel,
  };
}

function atAzure(given: Variables, address: string): Endpoint {
  if (given.OPENAI_BASE_URL) {
    throw new VariableFault("OPENAI_BASE_URL", "OPENAI_BASE_URL and AZURE_OPENAI_ENDPOINT are both set", {
      remedy: "Unset the one that is not meant.",
    });
  }
  // OpenAI's own key must not go to another place, and no key is a mistake there.
  const apiKey = given.AZURE_OPENAI_API_KEY;
  if (!apiKey) throw missing("AZURE_OPENAI_API_KEY", "Set a key of the resource at AZURE_OPENAI_ENDPOINT");
  const deployment = given.AZURE_OPENAI_DEPLOYMENT ?? given.HUNKWISE_MODEL;
  if (!deployment) throw missing("AZURE_OPENAI_DEPLOYMENT", "Name the deployment that shall be asked");
  const baseUrl = withoutSlash(address);
  // The newer API needs no version: there a deployment is named like a model.
  if (/\/openai\/v1$/.test(baseUrl)) return { apiKey, baseUrl, azure: null, name: deployment };
  const apiVersion = given.OPENAI_API_VERSION;
  if (!apiVersion)
    throw missing("OPENAI_API_VERSION", "Set the API version, or end AZURE_OPENAI_ENDPOINT in /openai/v1");
  return { apiKey, baseUrl, azure: { deployment, apiVersion }, name: given.HUNKWISE_MODEL ?? deployment };
}

const withoutSlash = (address: string) => address.replace(/\/+$/, "");

/** The model that makes vectors of code, and where it is asked. */
export interface EmbeddingEnv {
  name: string;
  /** Null for a local server that wants none. */
  apiKey: string | null;
  /** Null: OpenAI's own. */
  baseUrl: string | null;
  azure: ModelEnv["azure"];
  /** Tokens that one update of a repository's index may take. */
  maxTokens: number;
}

/** Null where no such model is named. Asked at the endpoint of the reviews' model, unless it has one of its own. */
export function readEmbedding(given: Variables, model: ModelEnv | null): EmbeddingEnv | null {
  const { HUNKWISE_EMBEDDING_MODEL: name, HUNKWISE_EMBEDDING_TOKENS: maxTokens } = given;
  const { HUNKWISE_EMBEDDING_BASE_URL: baseUrl, HUNKWISE_EMBEDDING_API_KEY: apiKey } = given;
  if (!name) {
    if (baseUrl || apiKey)
      throw missing("HUNKWISE_EMBEDDING_MODEL", "Name the model that shall make vectors");
    return null;
  }
  // The key of one provider must not go to another.
  if (baseUrl)
    return { name, apiKey: apiKey ?? null, baseUrl: withoutSlash(baseUrl), azure: null, maxTokens };
  if (!model && !apiKey)
    throw missing(
      "HUNKWISE_EMBEDDING_API_KEY",
      "Set it, or HUNKWISE_EMBEDDING_BASE_URL to a server without one",
    );
  const azure = model?.azure ? { ...model.azure, deployment: name } : null;
  return { name, apiKey: apiKey ?? model?.apiKey ?? null, baseUrl: model?.baseUrl ?? null, azure, maxTokens };
}
