import { describe, expect, it } from "vitest";
import { KeptGraph, type LocalGraph, type openLocalGraph } from "../../src/cli/local-graph.ts";
import { AppError } from "../../src/core/errors.ts";
import type { Graph } from "../../src/repo/index/graph.ts";
import type { VectorReport } from "../../src/repo/index/vectors.ts";

const never = new AbortController().signal;
const none = { nodes: [], edges: [] };

interface Faults {
  /** Settles the opening that is asked for so many times before; resolves at once without. */
  opening?: (time: number) => Promise<void>;
  embedding?: (signal: AbortSignal) => Promise<VectorReport | null>;
  makesVectors?: boolean;
  patienceMs?: number;
}

/** A kept graph whose index is not there, and what becomes of it. */
function keep({ opening, embedding, makesVectors = true, patienceMs = 60_000 }: Faults = {}) {
  const told: string[] = [];
  let times = 0;
  const open: typeof openLocalGraph = async ({ signal, onStep }) => {
    told.push("opens");
    onStep?.({ step: "indexing", done: 7, total: 1_200 });
    await opening?.(times++);
    signal.throwIfAborted();
    const graph = { query: async () => none } as unknown as Graph;
    const embed: LocalGraph["embed"] = async (until) => {
      told.push("embeds");
      return (await embedding?.(until)) ?? null;
    };
    return { graph, embed, [Symbol.dispose]: () => void told.push("closes") };
  };
  const range = {} as never;
  const about = {
    range,
    repo: "/somewhere",
    isPrivate: () => false,
    warn: (text: string) => told.push(text),
  };
  return { kept: new KeptGraph({ ...about, makesVectors, patienceMs }, open), told };
}

describe("A kept graph", () => {
  it("A graph is opened by the first query, once for all, and closed with its range", async () => {
    const { kept, told } = keep();
    expect(told).toEqual([]);
    await Promise.all([kept.query("a", 5, never), kept.query("b", 5, never)]);
    await kept.query("c", 5, never);
    expect(told).toEqual(["opens", "embeds"]);
    await kept[Symbol.asyncDispose]();
    expect(told).toEqual(["opens", "embeds", "closes"]);
  });

  it("A graph is not opened without a query, and closes silently", async () => {
    const { kept, told } = keep();
    await kept[Symbol.asyncDispose]();
    expect(told).toEqual([]);
  });

  it("A graph answers before the vectors are made, and ends their making before it closes", async () => {
    const begun = Promise.withResolvers<void>();
    const { kept, told } = keep({
      embedding: (signal) => {
        begun.resolve();
        return new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            told.push("stops");
            reject(signal.reason);
          }),
        );
      },
    });
    expect(await kept.query("a", 5, never)).toEqual(none);
    await begun.promise;
    await kept[Symbol.asyncDispose]();
    expect(told).toEqual(["opens", "embeds", "stops", "closes"]);
  });

  it("A graph makes no vectors for a command that ends with its answer", async () => {
    const { kept, told } = keep({ makesVectors: false });
    await kept.query("a", 5, never);
    expect(told).toEqual(["opens"]);
    await kept[Symbol.asyncDispose]();
  });

  it("A graph says why vectors could not be made, and answers all the same", async () => {
    const { kept, told } = keep({ embedding: () => Promise.reject(new Error("no disk")) });
    await kept.query("a", 5, never);
    expect(await kept.query("b", 5, never)).toEqual(none);
    await kept[Symbol.asyncDispose]();
    expect(told).toContain("Vectors could not be created: no disk");
  });

  it("A graph goes on opening if the first query is aborted", async () => {
    const gate = Promise.withResolvers<void>();
    const { kept, told } = keep({ opening: () => gate.promise });
    const givingUp = new AbortController();
    const first = kept.query("a", 5, givingUp.signal);
    const second = kept.query("b", 5, never);
    givingUp.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
    gate.resolve();
    expect(await second).toEqual(none);
    expect(told).toEqual(["opens", "embeds"]);
    await kept[Symbol.asyncDispose]();
  });

  it("A query that waited long enough says that the index is being made, and the graph goes on", async () => {
    const gate = Promise.withResolvers<void>();
    const { kept, told } = keep({ opening: () => gate.promise, patienceMs: 1 });
    await expect(kept.query("a", 5, never)).rejects.toThrow(
      "This repository is being indexed. Ask again in a moment. Now: indexing 7/1,200 files.",
    );
    gate.resolve();
    await new Promise(setImmediate);
    expect(told).toEqual(["opens", "embeds"]);
    await kept[Symbol.asyncDispose]();
  });

  it("A graph does not keep its server from ending while the index is being made", async () => {
    const { kept, told } = keep({ opening: () => new Promise(() => {}), patienceMs: 1 });
    await expect(kept.query("a", 5, never)).rejects.toThrow("is being indexed");
    await kept[Symbol.asyncDispose]();
    expect(told).toEqual(["opens"]);
  });

  it("A graph is opened again after a failure", async () => {
    const fault = new AppError("data_folder_unusable", "no disk");
    const { kept, told } = keep({
      opening: async (time) => (time === 0 ? Promise.reject(fault) : undefined),
    });
    await expect(kept.query("a", 5, never)).rejects.toBe(fault);
    expect(await kept.query("b", 5, never)).toEqual(none);
    expect(told.slice(0, 2)).toEqual(["opens", "opens"]);
    await kept[Symbol.asyncDispose]();
  });
});
