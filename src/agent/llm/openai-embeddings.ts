import { z } from "zod";
import type { AnswerLimits } from "../../core/egress.ts";
import { AppError } from "../../core/errors.ts";
import { failedProxy } from "../../core/proxies.ts";
import { holdsPlainSecret, withoutLiveSecrets } from "../../core/secrets/live-secrets.ts";
import {
  type Endpoint,
  type EndpointOptions,
  keyHider,
  type RetryOptions,
  toAppError,
  withRetries,
} from "./endpoint.ts";
import { createClient, endpointUrl, openAi } from "./openai.ts";

export interface EmbeddingsOptions extends EndpointOptions, RetryOptions {
  model: string;
}

/** 96 vectors of 4,096 numbers, more than models return, with 40 characters for each number. */
const vectorsAnswer: AnswerLimits = { bytes: 16_000_000, depth: 16, elements: 400_000, members: 5_000 };

const Answer = z.looseObject({
  data: z.array(z.looseObject({ index: z.int().min(0).nullish(), embedding: z.array(z.number()).min(1) })),
  usage: z
    .looseObject({ prompt_tokens: z.number().min(0) })
    .nullish()
    .catch(null),
});

/** Any endpoint that supports OpenAI's `/embeddings`. Throws `config_invalid` for a bad address. */
export function createOpenAiEmbeddings(options: EmbeddingsOptions) {
  const url = endpointUrl(options);
  const { model, timeoutMs } = options;
  const hideKey = keyHider(options.apiKey);
  const endpoint: Endpoint = {
    provider: { ...openAi, api: "embeddings" },
    model,
    address: url.href,
    timeoutMs,
    hideKey,
  };
  const client = createClient(options, url, vectorsAnswer);

  async function send(input: string[], signal: AbortSignal) {
    try {
      // Set explicitly, because the client otherwise requests base64, which many servers do not support.
      const raw: unknown = await client.embeddings.create(
        { model, input, encoding_format: "float" },
        { signal },
      );
      return readAnswer(raw, input, endpoint);
    } catch (error) {
      throw inOwnWords(error, endpoint, signal);
    }
  }

  return {
    /** The endpoint and the model. Vectors are only comparable within one model. */
    name: `${model} ${url.href}`,
    /** One vector for each text, in their order; without texts, nothing is sent. Rejects with an AppError. */
    async embed(texts: readonly string[], signal: AbortSignal) {
      if (texts.length === 0) return { vectors: [], tokens: 0 };
      // The caller has removed secrets. A secret of this server would be refused a moment later, together with the whole request.
      const input = texts.map((text) => (holdsPlainSecret(text) ? withoutLiveSecrets(text) : text));
      return withRetries(() => send(input, signal), options, signal);
    },
  };
}

function readAnswer(raw: unknown, input: readonly string[], endpoint: Endpoint) {
  const answer = Answer.safeParse(raw);
  if (!answer.success) throw unusable("is not an answer of an embedding model", endpoint);
  const { data, usage } = answer.data;
  const vectors = new Array<Float32Array | undefined>(input.length);
  for (const [at, { index, embedding }] of data.entries())
    vectors[index ?? at] = Float32Array.from(embedding);
  const [first] = vectors;
  const isWhole = (one: Float32Array | undefined): one is Float32Array =>
    one !== undefined && one.length === first?.length && one.every(Number.isFinite);
  const whole = vectors.filter(isWhole);
  if (whole.length !== input.length || data.length !== input.length)
    throw unusable(`does not have one vector for each of ${input.length} texts`, endpoint);
  const characters = input.reduce((sum, text) => sum + text.length, 0);
  return { vectors: whole, tokens: usage?.prompt_tokens ?? Math.ceil(characters / 3) };
}

const remedy = "Check HUNKWISE_EMBEDDING_MODEL, which must be an embedding model, and its endpoint.";

const unusable = (what: string, { address }: Endpoint) =>
  new AppError("model_failed", `The answer of ${address} ${what}`, { remedy });

/** Converts errors like those of any model, but names the variables for embeddings. */
function inOwnWords(error: unknown, endpoint: Endpoint, signal: AbortSignal): AppError {
  const known = toAppError(error, endpoint, signal);
  if (known.code === "aborted") return known;
  const { code, message, retryable, retryAfterMs } = known;
  const ownRemedy = failedProxy(error, new URL(endpoint.address)) ? known.remedy : remedy;
  return new AppError(code, endpoint.hideKey(message), { retryable, remedy: ownRemedy, retryAfterMs });
}
