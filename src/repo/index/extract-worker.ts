import { parentPort } from "node:worker_threads";
import { extractFacts } from "./extract-facts.ts";
import type { ExtractRequest } from "./index-source.ts";

// The thread that parses one text after the other.
parentPort?.on("message", async ({ path, text }: ExtractRequest) => {
  // If the parser fails on a text, nothing is known of it.
  parentPort?.postMessage(await extractFacts(path, text).catch(() => null));
});
