import { join } from "node:path";
import { defineConfig } from "vitest/config";

// biome-ignore lint/style/noProcessEnv: the processes that run the tests inherit it; each of them loads the same code.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/vitest-compiled");

/**
 * The tiers, by the end of a file's name. `test/architecture.test.ts` checks that a name without a tier is true.
 *
 * - `*.test.ts` starts no program. These files share a process, because loading the code takes longer than most of their tests,
 *   and leave nothing behind in it.
 * - `*.git.test.ts` starts git, ripgrep or another program.
 * - `*.server.test.ts` starts whole servers or a database.
 * - `*.slow.test.ts` takes minutes: floods, long kills, oracles over many cases. Only `npm run test:slow` runs them.
 */
const tier = (name: string) => `test/**/*.${name}.test.ts`;
/** Those of `ciTargets` in src/config/env.ts. */
const targetVariables = [
  "GITHUB_BASE_REF",
  "CI_MERGE_REQUEST_TARGET_BRANCH_NAME",
  "BITBUCKET_PR_DESTINATION_BRANCH",
  "SYSTEM_PULLREQUEST_TARGETBRANCH",
  "CHANGE_TARGET",
  "BUILDKITE_PULL_REQUEST_BASE_BRANCH",
  "DRONE_TARGET_BRANCH",
  "CI_COMMIT_TARGET_BRANCH",
  "TRAVIS_BRANCH",
  "APPVEYOR_REPO_BRANCH",
];

const tiers = ["git", "server", "slow"];

export default defineConfig({
  test: {
    // Tests open ranges without a base. A pull request's target must not become one if they run in CI, and there as elsewhere they are not
    // a build.
    env: { CI: "", ...Object.fromEntries(targetVariables.map((name) => [name, ""])) },
    // These only end what hangs; a busy machine may take several times as long as an idle one.
    testTimeout: 900_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 30_000 } },
    // CI's machines are at times ten times slower for some seconds; elsewhere a test has one try.
    // biome-ignore lint/style/noProcessEnv: CI says of itself that it is one.
    retry: process.env.CI ? 1 : 0,
    // Children that tests start, and writes that the App spaces out, leave a core idle at times.
    maxWorkers: 3,
    projects: [
      ...tiers.map((name) => ({ extends: true as const, test: { name, include: [tier(name)] } })),
      {
        extends: true,
        test: {
          name: "pure",
          include: ["test/**/*.test.ts"],
          exclude: [...tiers.map(tier), "**/node_modules/**"],
          isolate: false,
        },
      },
    ],
  },
});
