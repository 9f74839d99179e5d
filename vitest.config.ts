import { globSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";

// biome-ignore lint/style/noProcessEnv: the processes that run the tests inherit it; each of them loads the same code.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules/.cache/vitest-compiled");

/**
 * Tests of pure code: loading it took longer than most of them, so that their files share a process, and must leave nothing
 * behind in it. A file that starts git or another program is none of them (the larger a process, the longer it takes to start
 * one), nor is one that takes over the network of its process.
 */
const pure = [
  "test/errors.test.ts",
  "test/{agent,analyzers,diff,ledger,llm,syntax,text}/**/*.test.ts",
  "test/webhooks/{commands,counting,decide,opening,read-body}.test.ts",
  "test/config/**/!(rebase-pattern).test.ts",
  "test/cli/{check-models,create-model,exit-code,nearest,parse-command,progress,render-result}.test.ts",
  "test/eval/{figures,match-findings}.test.ts",
  "test/github/{issue-references,payload,refusals}.test.ts",
  "test/git/{change-stream,line-splitter,patch-splitter}.test.ts",
  "test/jobs/{attempts,day-budget,history,pull-text,skip-reason,tokens,usage-limits,watched-model}.test.ts",
  "test/jobs/reconcile/rhythm.test.ts",
  "test/review/{compare,merge,plan}/**/*.test.ts",
  "test/review/verify/{after-look,siblings}.test.ts",
  "test/review/context/{pieces,statement,telling-lines}.test.ts",
  "test/review/who-answered.test.ts",
  "test/review/{recheck/needs-check,known/files-to-read,known/reviewed-now}.test.ts",
  "test/review/{anchor,finding-collector,fingerprint,locate-quote,near-lines,place,predict}.test.ts",
  "test/review/{suggestion-check,symbols,unread-hunks}.test.ts",
  "test/tools/{definitions,diff-source,likely-definition,reporting,same-problems}.test.ts",
  "test/tools/report-{resolution,verdict}.test.ts",
  "test/reporters/!(publish-over-http*).test.ts",
  "test/attacks/moved-head.test.ts",
];

/**
 * Tests that start some programs: what their process grows by makes each start dearer, which costs them less than loading the
 * code for each file. Like those of pure code they leave nothing behind.
 */
const shared = [
  "test/{contract,github,github-double,graph,jobs,journal,metrics,queue,sandbox,secrets}/**/*.test.ts",
  "test/cli/*.test.ts",
];
/** What sets variables of its process, takes over its network, or starts a database. */
const ownProcess = [
  "test/cli/{graph,mcp*,range-keeper,tool}.test.ts",
  "test/contract/workspaces/{edited,edited-by-tools,generated}.test.ts",
  "test/github/{client,client-limits,pacing,pull-request-client,review-threads}.test.ts",
  "test/graph/oracle/callers.test.ts",
  "test/jobs/{github-access,github-access-writing,parked-by-limits,token-renewal,tokens}.test.ts",
  "test/queue/postgres.test.ts",
  "test/sandbox/secrets.test.ts",
];

/** Whole servers that are killed, called off, restarted, flooded and refused: `npm run test:e2e`. */
const endToEnd = "test/e2e/**/*.test.ts";

const sharedFiles = globSync(shared, { cwd: import.meta.dirname, exclude: ownProcess });

/** Take a minute each, some in few lines; vitest takes the largest file for the longest where it remembers no earlier run. */
const longest = [
  "kill",
  "fault-at-k",
  "frozen-worker",
  "reconcile",
  "re-review",
  "operating",
  "superseded",
  "certain-findings",
].map((name) => `/test/e2e/${name}.test.ts`);

class LongestFirst extends BaseSequencer {
  override async sort(files: Parameters<BaseSequencer["sort"]>[0]) {
    const place = ({ moduleId }: (typeof files)[number]) => {
      const at = longest.findIndex((path) => moduleId.endsWith(path));
      return at < 0 ? longest.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  test: {
    // Tests open ranges without a base; where they run in CI, no pull request's target is to be one.
    env: { GITHUB_BASE_REF: "", CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "" },
    // So that none of them is left to one worker at the end.
    sequence: { sequencer: LongestFirst },
    // They end what hangs; a machine that is busy with other things may take several times as long as an idle one.
    testTimeout: 900_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 30_000 } },
    // CI's machines are at times ten times slower for some seconds; elsewhere a test has one try.
    // biome-ignore lint/style/noProcessEnv: CI says of itself that it is one.
    retry: process.env.CI ? 1 : 0,
    // Tests start real git, servers and child processes, and the end-to-end ones also wait for the writes that the App spaces
    // out: two workers more than the two cores of CI fill those pauses.
    maxWorkers: 4,
    // In this order, so that the longest files do not come last.
    projects: [
      {
        extends: true,
        test: {
          ...{ name: "a process each", include: ["test/**/*.test.ts"] },
          exclude: [...pure, ...sharedFiles, endToEnd],
        },
      },
      // `npm test` leaves them out: they are a sixteenth of the files and take a quarter of the time.
      { extends: true, test: { name: "e2e", include: [endToEnd] } },
      {
        extends: true,
        test: { name: "shared", include: sharedFiles, exclude: pure, isolate: false },
      },
      { extends: true, test: { name: "pure", include: pure, isolate: false } },
    ],
  },
});
