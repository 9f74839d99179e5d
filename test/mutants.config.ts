import { defineConfig } from "vitest/config";

/** The tests that `npm run test:mutants` runs: the pure tier, without the projects, which Stryker's runner does not know. */
export default defineConfig({
  test: {
    env: { GITHUB_BASE_REF: "", CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "" },
    include: ["test/**/*.test.ts"],
    // Those that read the source as text would find the mutants in it, and one changes the folder of its process.
    exclude: [
      "**/node_modules/**",
      "test/**/*.{git,server,slow}.test.ts",
      "test/{architecture,built-program,docs}.test.ts",
      "test/config/env.test.ts",
    ],
    // A mutant that loops is ended by Stryker's own limit, which depends on how long the tests took before.
    testTimeout: 60_000,
  },
});
