import { describe, expect, it } from "vitest";
import type { LineMatch, SearchHits, Workspace } from "../../../../src/repo/git/workspace.ts";
import { inQuotes, loadAhead, searchWords } from "../../../../src/tasks/review/context/lookup.ts";

/** A workspace in which each search finds the same lines of one file. */
function finding(lines: readonly string[]): Workspace {
  const matches = lines.map((text, at): LineMatch => {
    return { path: "a.ts", line: at + 1, text, before: [], after: [], hasLatin1: false };
  });
  const program = { command: "rg", returnCode: 0, stderr: "" };
  const hits: SearchHits = { limited: false, program, mode: "content", matches };
  return { search: async () => hits } as Partial<Workspace> as Workspace;
}

const limits = { wants: () => true, signal: new AbortController().signal, timeLeft: () => 1_000 };

describe("searchWords", () => {
  it.each([
    ["two texts that share a quote", 'f("one"two")', ["one", "two"]],
    ["two texts in different quotes", "f('one', `two`)", ["one", "two"]],
    ["a text within another one", "f(\"say 'one'\")", ["one"]],
    ["a text with more in its quotes", 'f("one more")', []],
    ["a text in quotes that differ", "f(\"one')", []],
  ])("Lines are found by what is in quotes: %s", async (_, line, expected) => {
    const words = ["one", "two"];
    const hits = await searchWords(finding([line]), words.map(inQuotes), limits);
    expect(words.filter((word) => hits.of(inQuotes(word)).length === 1)).toEqual(expected);
  });

  it.each([
    ["let ümlaut = größe;", ["ümlaut", "größe"]],
    ["let plain = $size;", ["plain", "$size"]],
    ["let plainer = sized;", []],
  ])("Lines are found by whole words: %s", async (line, expected) => {
    const words = ["ümlaut", "größe", "plain", "$size"];
    const hits = await searchWords(finding([line]), words, limits);
    expect(words.filter((word) => hits.of(word).length === 1)).toEqual(expected);
  });
});

describe("loadAhead", () => {
  const items = Array.from({ length: 20 }, (_, at) => at);

  it("Items arrive in their order, however long each takes", async () => {
    const all: number[] = [];
    const load = async (item: number) => {
      for (let turn = item % 3; turn < 3; turn++) await Promise.resolve();
      return item;
    };
    for await (const item of loadAhead(items, load)) all.push(item);
    expect(all).toEqual(items);
  });

  it("Only a few items are loaded ahead", async () => {
    const started: number[] = [];
    const load = async (item: number) => started.push(item);
    for await (const count of loadAhead(items, load)) if (count >= 3) break;
    expect(started.length).toBeLessThan(8);
    expect(new Set(started).size).toBe(started.length);
  });

  it("An error is thrown at its turn, and not before", async () => {
    const taken: number[] = [];
    const load = async (item: number) => (item === 2 ? Promise.reject(new Error("unreadable")) : item);
    const all = (async () => {
      for await (const item of loadAhead(items, load)) taken.push(item);
    })();
    await expect(all).rejects.toThrow("unreadable");
    expect(taken).toEqual([0, 1]);
  });
});
