import { openGraph } from "../../../../src/repo/index/open-graph.ts";
import { sourceOfTexts } from "../open-texts.ts";
import type { CallerFinder } from "./agreement.ts";
import type { Files } from "./truth.ts";

/** The knowledge graph over these files, held in memory. */
export async function openGraphFinder(
  files: Files,
  what: "callers" | "uses" = "callers",
): Promise<CallerFinder & Disposable> {
  const graph = await openGraph({ file: null, source: sourceOfTexts(files) });
  return {
    callersOf: ({ path, name, line }) => graph[what]({ path, name, line }),
    [Symbol.dispose]: () => graph[Symbol.dispose](),
  };
}
