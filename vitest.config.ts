import { join } from "node:path";
import { defineConfig } from "vitest/config";

// biome-ignore lint/style/noProcessEnv: the processes that run the tests inherit it; each of them loads the same code.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/vitest-compiled");

/**
 * Tests of pure code: loading it took longer than most of them, so that their files share a process, and must leave nothing
 * behind in it. A file that starts git or another program is none of them (the larger a process, the longer it takes to start
 * one), nor is one that takes over the network of its process.
 */
const pure = [
  "test/errors.test.ts",
  "test/{agent,analyzers,diff,ledger,llm,syntax,text,webhooks}/**/*.test.ts",
  "test/config/*.test.ts",
  "test/review/{compare,merge,plan}/**/*.test.ts",
  "test/review/verify/{after-look,siblings}.test.ts",
  "test/review/{anchor,finding-collector,locate-quote,near-lines,place,suggestion-check,unread-hunks}.test.ts",
  "test/reporters/!(publish-over-http*).test.ts",
];

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Tests start real git, servers and child processes, and the end-to-end ones also wait for the writes that the App spaces
    // out: one worker more than the two cores of CI fills those pauses.
    maxWorkers: 3,
    // In this order, so that the longest files do not come last.
    projects: [
      { extends: true, test: { name: "a process each", include: ["test/**/*.test.ts"], exclude: pure } },
      { extends: true, test: { name: "pure", include: pure, isolate: false } },
    ],
  },
});
