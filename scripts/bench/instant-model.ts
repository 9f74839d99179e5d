import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** An OpenAI endpoint in a separate process whose model answers at once. */
export interface InstantModel extends Disposable {
  url: string;
  /** The command line's environment for this endpoint. */
  env: Record<string, string>;
}

export const modelName = "instant";
export const apiKey = "test-key";

export async function startInstantModel(): Promise<InstantModel> {
  const child = fork(join(import.meta.dirname, "model-process.ts"));
  const [url] = (await once(child, "message")) as [string];
  return {
    url,
    env: {
      OPENAI_BASE_URL: url,
      OPENAI_API_KEY: apiKey,
      HUNKWISE_MODEL: modelName,
      HUNKWISE_PROTOCOL: "native",
    },
    [Symbol.dispose]: () => child.disconnect(),
  };
}
