import type { ModelEnv } from "./model-env.ts";
import { missing } from "./variable-fault.ts";
import type { Variables } from "./variables.ts";

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
    return { name, apiKey: apiKey ?? null, baseUrl: baseUrl.replace(/\/+$/, ""), azure: null, maxTokens };
  if (!model && !apiKey)
    throw missing(
      "HUNKWISE_EMBEDDING_API_KEY",
      "Set it, or HUNKWISE_EMBEDDING_BASE_URL to a server without one",
    );
  const azure = model?.azure ? { ...model.azure, deployment: name } : null;
  return { name, apiKey: apiKey ?? model?.apiKey ?? null, baseUrl: model?.baseUrl ?? null, azure, maxTokens };
}
