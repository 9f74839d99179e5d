import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { sendJson } from "./fake-openai.ts";
import { listenHere } from "./local-server.ts";

export interface EmbeddingsRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: { model: string; input: string[]; encoding_format?: string };
}

/** An answer instead of vectors: a status with a body, or a cut connection without an answer. */
export type EmbeddingsFault = { status: number; body?: unknown; headers?: Record<string, string> } | "reset";

export interface FakeEmbeddings {
  /** Base URL as a client takes it, with `/v1`. */
  url: string;
  requests: EmbeddingsRequest[];
  [Symbol.asyncDispose](): Promise<void>;
}

export interface FakeEmbeddingsOptions {
  /** Default "test-key". */
  apiKey?: string;
  dimensions?: number;
  /** Called for each request, counted from 0; null answers normally. */
  fault?: (request: number) => EmbeddingsFault | null;
  /** Changes the answer, to simulate servers that deviate from the dialect. */
  deviate?: (answer: { data: { index?: number; embedding: number[] }[]; usage?: unknown }) => unknown;
}

/** An endpoint on 127.0.0.1 that speaks `/v1/embeddings`: texts with the same words lie in the same direction. */
export async function startFakeEmbeddings(options: FakeEmbeddingsOptions = {}): Promise<FakeEmbeddings> {
  const requests: EmbeddingsRequest[] = [];
  const server = createServer((request, response) => {
    let raw = "";
    request.setEncoding("utf8").on("data", (piece: string) => {
      raw += piece;
    });
    request.on("end", () => {
      const { url: path = "", headers } = request;
      const count = requests.push({ path, headers, body: JSON.parse(raw) }) - 1;
      answer(requests[count]!, response, options, count);
    });
  });
  const { origin, close } = await listenHere(server);
  return { url: `${origin}/v1`, requests, [Symbol.asyncDispose]: close };
}

function answer(
  { path, headers, body }: EmbeddingsRequest,
  response: ServerResponse,
  { apiKey = "test-key", dimensions = 64, fault, deviate = (whole) => whole }: FakeEmbeddingsOptions,
  count: number,
): void {
  const wrong = fault?.(count) ?? null;
  if (wrong === "reset") response.socket?.resetAndDestroy();
  else if (wrong) sendJson(response, wrong.status, wrong.body ?? { error: { message: "no" } }, wrong.headers);
  else if (headers.authorization !== `Bearer ${apiKey}`)
    sendJson(response, 401, { error: { message: `Incorrect API key provided: ${headers.authorization}` } });
  else if (path !== "/v1/embeddings") sendJson(response, 404, { error: { message: "Invalid URL" } });
  else {
    const data = body.input.map((text, index) => ({
      ...{ object: "embedding", index },
      embedding: vectorOf(text, dimensions),
    }));
    const tokens = body.input.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);
    const usage = { prompt_tokens: tokens, total_tokens: tokens };
    sendJson(response, 200, deviate({ ...{ object: "list", model: body.model }, data, usage }));
  }
}

/** Each word gets a dimension that depends on its spelling. */
function vectorOf(text: string, dimensions: number): number[] {
  const vector = new Array<number>(dimensions).fill(-0.001);
  for (const word of text.toLowerCase().match(/\p{L}{3,}/gu) ?? []) {
    let hash = 7;
    for (const character of word) hash = (hash * 31 + character.charCodeAt(0)) % 10_007;
    vector[hash % dimensions]! += 1;
  }
  return vector;
}
