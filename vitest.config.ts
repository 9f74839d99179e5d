import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Tests start real git, servers and child processes: more workers than cores only makes them wait for each other.
    maxWorkers: 2,
  },
});
