import { afterEach, describe, expect, it } from "vitest";
import { createGitHubClient } from "../../src/github/client.ts";
import { type Clock, createPacing } from "../../src/github/pacing.ts";
import { createPullRequestApi } from "../../src/github/pull-request-client.ts";
import { openCheckRun } from "../../src/reporters/check-run.ts";
import { publishReview } from "../../src/reporters/github-review.ts";
import type { FaultKind } from "../support/github-double/faults.ts";
import { headOf } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";
import { sampleFinding, sampleResult } from "./sample-result.ts";

const lines = (to: number) => Array.from({ length: to }, (_, index) => `line ${index + 1}\n`).join("");

let scenario: Scenario;
afterEach(async () => {
  // GitHub refusing a review for a line is what one of the tests is about; everything else it must understand.
  const misunderstood = scenario.github.violations.filter(
    ({ problems }) => !problems.includes("Line could not be resolved"),
  );
  expect(misunderstood).toEqual([]);
  await scenario.github.close();
});

/** Waits that pass at once: what is waited for is told by other tests. */
function impatient(): Clock {
  let now = Date.now();
  return {
    now: () => now,
    sleep: async (milliseconds) => {
      now += milliseconds;
    },
  };
}

async function publish(lineNumbers: number[], trigger = "event") {
  const { github, pull, app, installation } = scenario;
  const clock = impatient();
  const client = createGitHubClient({
    baseUrl: github.apiUrl,
    token: async () => github.state.issueToken(installation).value,
    userAgent: "hunkwise-test",
    pacing: createPacing(clock),
    clock,
  });
  const api = createPullRequestApi({ client, owner: "octo-org", repo: "shop", pull: pull.number, app });
  const sleep = async () => {};
  const findings = lineNumbers.map((line) => ({
    finding: sampleFinding({ id: `f${line}`, path: "a.txt", line, suggestion: null }),
    placement: { kind: "inline" as const },
  }));
  const onFile = sampleFinding({ id: "file", path: "a.txt", line: 1, severity: "low" });
  const result = sampleResult({
    head_sha: headOf(pull),
    findings: [
      ...findings,
      { finding: onFile, placement: { kind: "file", reason: "it is about the whole file" } },
    ],
  });
  const check = await openCheckRun(api, result.head_sha, trigger, sleep);
  return publishReview({
    result,
    api,
    trigger,
    repositoryUrl: `${github.url}/octo-org/shop`,
    version: "0.1.0",
    maxComments: 40,
    checkPolicy: { threshold: "high", fail: false },
    check,
    sleep,
  });
}

async function start() {
  scenario = await createScenario({
    base: { "a.txt": lines(60) },
    head: { "a.txt": lines(60).replace("line 10\n", "line ten\n").replace("line 40\n", "line forty\n") },
  });
}

const standing = () => ({
  reviews: scenario.pull.reviews
    .filter(({ body }) => body.includes("hunkwise:review"))
    .map(({ state }) => state),
  comments: scenario.pull.reviewComments.map(({ anchor }) => anchor !== null),
  checks: scenario.repository.checkRuns.map(({ status, conclusion }) => `${status} ${conclusion}`),
});

describe("publishing to a GitHub that knows the diff", () => {
  it("sends what GitHub describes, and all of it stands", async () => {
    await start();
    expect(await publish([9, 10, 40])).toMatchObject({
      kind: "published",
      posted: 4,
      listed: 0,
      notices: [],
    });
    expect(standing()).toEqual({
      reviews: ["COMMENTED"],
      comments: [true, true, true, false],
      checks: ["completed neutral"],
    });
  });

  it("leaves out the one comment that has no place in the diff", async () => {
    await start();
    expect(await publish([9, 10, 25, 40])).toMatchObject({ kind: "published", posted: 4, listed: 1 });
    expect(standing()).toMatchObject({ reviews: ["COMMENTED"], comments: [true, true, true, false] });
    expect(scenario.pull.reviews.map(({ state }) => state)).not.toContain("PENDING");
  });

  const lost: [string, FaultKind][] = [
    ["a lost answer", "reset-after"],
    ["a lost request", "reset-before"],
    ["half an answer", "truncated"],
    ["a bad gateway", "bad-gateway"],
  ];
  const writes = [
    /^POST .*\/reviews$/,
    /^POST .*\/pulls\/1\/comments$/,
    /^POST .*\/issues\/1\/comments$/,
    /^POST .*\/check-runs$/,
    /^PATCH .*\/check-runs/,
  ];
  const refused: [string, FaultKind][] = [
    ["a secondary limit", { secondaryLimit: 403, retryAfterSeconds: 5 }],
    ["a stale token", { answer: { status: 401, body: { message: "Bad credentials" } } }],
  ];
  const cases = [
    ...lost.flatMap(([name, kind]) => writes.map((match) => ({ name, kind, match }))),
    ...refused.map(([name, kind]) => ({ name, kind, match: /^POST .*\/reviews$/ })),
    { name: "a bad gateway", kind: "bad-gateway" as const, match: /^GET .*\/pulls\/1$/ },
  ];

  it.each(cases)("ends the same after $name at $match", async ({ kind, match }) => {
    await start();
    scenario.github.faults.add({ match, kind });
    expect(await publish([10, 40])).toMatchObject({ kind: "published", posted: 3, listed: 0 });
    expect(scenario.github.faults.struck).toHaveLength(1);
    expect(standing()).toEqual({
      reviews: ["COMMENTED"],
      comments: [true, true, false],
      checks: ["completed neutral"],
    });
  });
});
