import { parentPort } from "node:worker_threads";
import { extractFacts } from "./extract-facts.ts";
import type { ExtractAnswer, ExtractRequest } from "./index-source.ts";

/** The thread in which texts are parsed: one after the other, as they come. */
parentPort?.on("message", async ({ id, path, text }: ExtractRequest) => {
  // A text that the parser cannot stand is one of which nothing is known.
  const facts = await extractFacts(path, text).catch(() => null);
  parentPort?.postMessage({ id, facts } satisfies ExtractAnswer);
});
