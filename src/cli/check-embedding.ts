import type { EmbeddingEnv } from "../config/embedding-env.ts";
import { canFindByMeaning } from "../graph/vectors-extension.ts";
import { duration, thousands } from "../reporters/outcome.ts";
import { createEmbedder } from "./create-embedder.ts";
import { type Diagnosis, fail, ok, warn } from "./diagnosis.ts";

const SAMPLE = "export function add(a: number, b: number) { return a + b; }";

/** Asks the model that makes vectors for one of a line of code, once. Rejects for a bad address. */
export async function checkEmbedding(env: EmbeddingEnv, signal: AbortSignal): Promise<Diagnosis> {
  if (!canFindByMeaning())
    return warn(
      `${env.name} is not asked: there is no sqlite-vec for this machine, so the graph finds by words alone`,
      "Install Hunkwise with its optional packages, or unset HUNKWISE_EMBEDDING_MODEL.",
    );
  const embedder = await createEmbedder(env, { maxRetries: 0 });
  const start = performance.now();
  try {
    const [vector] = (await embedder.embed([SAMPLE], signal)).vectors;
    const took = duration(performance.now() - start);
    return ok(`${env.name} makes vectors of ${thousands(vector?.length ?? 0)} numbers, in ${took}`);
  } catch (error) {
    signal.throwIfAborted();
    return fail(error);
  }
}
