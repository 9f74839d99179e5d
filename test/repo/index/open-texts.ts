import { createHash } from "node:crypto";
import type { Graph, GraphSource, SymbolLocation } from "../../../src/repo/index/graph.ts";
import { type GraphOptions, openGraph } from "../../../src/repo/index/open-graph.ts";

/** Texts by their paths. */
export function sourceOfTexts(texts: ReadonlyMap<string, string>): GraphSource {
  const byOid = new Map<string, string>();
  const files = [...texts].map(([path, text]) => {
    const oid = createHash("sha1").update(text).digest("hex");
    byOid.set(oid, text);
    return { path, oid };
  });
  return { files, read: async (oid) => byOid.get(oid) ?? null };
}

/** A graph in memory of these files. Dispose of it. */
export const openTexts = (files: Record<string, string>, more: Partial<GraphOptions> = {}): Promise<Graph> =>
  openGraph({ file: null, threads: 0, source: sourceOfTexts(new Map(Object.entries(files))), ...more });

/** Calls of the only symbol of a name, or of the one in a file, as `path:line`. */
export function callersOf(graph: Graph, name: string, path?: string): string[] {
  const found = graph.symbols(name).filter((one) => path === undefined || one.path === path);
  if (found.length !== 1) throw new Error(`${found.length} symbols are named ${name}`);
  return graph
    .callers(found[0] as SymbolLocation)
    .map((one) => `${one.path}:${one.line}`)
    .sort();
}
