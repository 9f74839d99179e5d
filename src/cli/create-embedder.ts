import type { EmbeddingEnv } from "../config/model-env.ts";
import type { Embedder } from "../graph/vectors.ts";
import { registerSecret } from "../secrets/live-secrets.ts";

/** For one try of a request. */
const TIMEOUT_MS = 60_000;
const MAX_RETRIES = 4;

/** The model that makes vectors of code. Loads its client. Rejects with `config_invalid` for a bad address. */
export async function createEmbedder(
  { name, apiKey, baseUrl, azure }: EmbeddingEnv,
  { maxRetries = MAX_RETRIES }: { maxRetries?: number } = {},
): Promise<Embedder> {
  if (apiKey) registerSecret(apiKey, { keep: true });
  const { createOpenAiEmbeddings } = await import("../llm/openai-embeddings.ts");
  const limits = { timeoutMs: TIMEOUT_MS, maxRetries };
  return createOpenAiEmbeddings({ ...{ model: name, apiKey, baseUrl, azure }, ...limits });
}
