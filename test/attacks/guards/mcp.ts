import type { Guard } from "../guard.ts";

const row = "mcp-client";
const answers = "test/tools/to-mcp.test.ts";
const reviews = "test/cli/mcp-model.test.ts";
const cancelled = "ends with the request that asked for it: the model is hung up on, and nothing runs on";

export const guards: readonly Guard[] = [
  {
    ...{ row, guard: "what hides in a file is spelled out in the data, too" },
    file: "src/tools/to-mcp.ts",
    from: 'if (typeof value === "string") return escapeInvisible(value);',
    to: "",
    test: answers,
    title: "spells out what hides in the data, at any depth, for many clients show a model nothing else",
  },
  {
    ...{ row, guard: "data has a limit of its own" },
    file: "src/tools/to-mcp.ts",
    from: "byteLength(JSON.stringify(shown)) > MAX_STRUCTURED_BYTES ? undefined : shown",
    to: "shown",
    test: answers,
    title: "leaves the data out where it is too large, and the text answers alone",
  },
  {
    ...{ row, guard: "so many calls run at once" },
    file: "src/cli/gate.ts",
    from: "if (running < most) running += 1;",
    to: "if (most > 0) running += 1;",
    test: "test/cli/gate.test.ts",
    title: "lets so many in at once, the others in the order in which they came",
  },
  {
    ...{ row, guard: "one review runs at a time" },
    file: "src/cli/mcp-review.ts",
    from: "if (!running.asked.aborted) return",
    to: "if (!running.asked.aborted && args === null) return",
    test: reviews,
    title: cancelled,
  },
  {
    ...{ row, guard: "a request that is taken back ends its review" },
    file: "src/cli/mcp-review.ts",
    from: "AbortSignal.any([ending, context.mcpReq.signal])",
    to: "AbortSignal.any([ending])",
    test: reviews,
    title: cancelled,
  },
  {
    ...{ row, guard: "a range stays for those who are at work on it" },
    file: "src/cli/range-keeper.ts",
    from: "if (old.users === 0) old.unused.resolve();",
    to: "old.unused.resolve();",
    test: "test/cli/range-keeper.test.ts",
    title: "waits at its end for those at work, and lets nobody in any more",
  },
  {
    ...{ row, guard: "the server goes when its input has ended, and what it opened goes with it" },
    file: "src/cli/range-keeper.ts",
    from: "await held.end();",
    to: "",
    test: "test/cli/range-keeper.test.ts",
    title: "leaves no file when it ends, not even of work that failed",
  },
];
