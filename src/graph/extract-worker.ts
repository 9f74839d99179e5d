import { parentPort } from "node:worker_threads";
import { extractFacts } from "./extract-facts.ts";
import type { ExtractAnswer, ExtractRequest } from "./index-source.ts";

// The thread that parses texts, in the order of the requests.
parentPort?.on("message", async ({ id, path, text }: ExtractRequest) => {
  // If the parser fails on a text, nothing is known of it.
  const facts = await extractFacts(path, text).catch(() => null);
  parentPort?.postMessage({ id, facts } satisfies ExtractAnswer);
});
