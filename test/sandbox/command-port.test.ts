import { describe, expect, it } from "vitest";
import { ignoreRules } from "../../src/sandbox/command-port.ts";
import { MemoryFiles } from "./memory-files.ts";

describe("what a repository ignores", () => {
  it("is told by its rules, as they stand", async () => {
    const isIgnored = await ignoreRules(
      new MemoryFiles({ ".gitignore": "dist/\n", "a/.gitignore": "*.log\n" }),
    );
    expect(["dist/a", "a/x.log", "x.log", "src/dist.ts"].map(isIgnored)).toEqual([true, true, false, false]);
  });

  it("is not told beyond what anybody waits for, however many rules and files there are", async () => {
    const rules = Array.from({ length: 4_000 }, (_, n) => `${n}*x`).join("\n");
    const isIgnored = await ignoreRules(new MemoryFiles({ ".gitignore": `new*\n${rules}` }));
    const first = Array.from({ length: 4_000 }, (_, n) => isIgnored(`new${n}`)).indexOf(false);
    expect(first).toBeGreaterThan(2_000);
    expect(first).toBeLessThan(3_000);
  });

  it("is told by the beginning of a file of rules that has no end", async () => {
    const files = new MemoryFiles({ ".gitignore": `first\n${"#\n".repeat(40_000)}last\n` });
    const isIgnored = await ignoreRules(files);
    expect(["first", "last"].map(isIgnored)).toEqual([true, false]);
  });
});
