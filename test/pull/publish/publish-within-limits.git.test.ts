import { afterEach, describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { createGitHubClient } from "../../../src/pull/github/client.ts";
import { createPullRequestApi } from "../../../src/pull/github/pull-request-client.ts";
import { createRateLimiter, type RateLimiter } from "../../../src/pull/github/rate-limit.ts";
import { openCheckRun } from "../../../src/pull/publish/check-run.ts";
import { publicText } from "../../../src/pull/publish/public-text.ts";
import { publishReview } from "../../../src/pull/publish/publish-review.ts";
import type { PlacedFinding } from "../../../src/tasks/shapes/review-result.ts";
import { sampleResult } from "../../report/sample-result.ts";
import { headOf, type Permissions } from "../../support/github-double/model.ts";
import { createScenario, type Scenario } from "../../support/github-double/scenario.ts";
import { reachOfJob } from "../../support/reach.ts";
import { SimulatedTime } from "../../support/simulated-time.ts";
import { inline } from "./http-publication.ts";

/** A GitHub that enforces its limits, and processes of the App before it; all of them live by one simulated clock. */
class LimitedGitHub {
  readonly scenario: Scenario;
  readonly time: SimulatedTime;

  private constructor(scenario: Scenario, time: SimulatedTime) {
    this.scenario = scenario;
    this.time = time;
  }

  /**
   * @param gapMs between two writes, which GitHub asks for and no limit of it is known to enforce. The plugin keeps a second between
   *   its slots; what a request does after its slot takes some milliseconds, not always the same.
   */
  static async start(changed: number, permissions?: Permissions, gapMs = 950): Promise<LimitedGitHub> {
    const lines = (text: string) =>
      Array.from({ length: changed }, (_, at) => `${text} ${at}\n`).join("") + "same\n".repeat(60);
    const time = new SimulatedTime();
    const given = permissions ? { permissions } : {};
    const files = { base: { "a.txt": lines("old") }, head: { "a.txt": lines("new") } };
    return new LimitedGitHub(
      await createScenario({ ...files, ...given, limits: { now: time.now, gapMs } }),
      time,
    );
  }

  get limits() {
    return this.scenario.github.limits!;
  }

  /** The pull request as jobs of a process see it. */
  api(limiter: RateLimiter) {
    const { time } = this;
    const { github, app, installation, repository, pull } = this.scenario;
    const here = { owner: "octo-org", repo: "shop", pull: pull.number, app };
    const client = createGitHubClient({
      reach: reachOfJob({ ...here, id: repository.id }, pull.number, app),
      ...{ baseUrl: github.apiUrl, userAgent: "hunkwise-test", fetch: time.fetch },
      token: async () => github.state.issueToken(installation).value,
      limits: limiter(installation.id),
    });
    return { ...createPullRequestApi({ ...here, client, writing: client }), pause: time.sleep };
  }

  /** A review as a job publishes it. */
  async publish(findings: readonly PlacedFinding[]) {
    const { github, pull } = this.scenario;
    const api = this.api(createRateLimiter());
    const result = sampleResult({ head_sha: headOf(pull), findings: [...findings] });
    const trigger = `event#${pull.number}@main`;
    const check = await openCheckRun(api, await api.pull(), trigger);
    return publishReview({
      ...{ result, api, trigger, check, baseRef: "main", version: "0.1.0", maxComments: findings.length },
      ...{ repositoryUrl: `${github.url}/octo-org/shop`, checkPolicy: { threshold: "high", fail: false } },
    });
  }
}

let github: LimitedGitHub;
afterEach(async () => {
  github.time[Symbol.dispose]();
  await github.scenario.github.close();
});
/** Posts one comment after the other, as jobs do, which park for a limit and come back. */
async function postAll(api: ReturnType<LimitedGitHub["api"]>, name: string, count: number): Promise<void> {
  for (let posted = 0; posted < count; ) {
    try {
      await api.createComment(publicText(`Finding ${name}.${posted}`));
      posted++;
    } catch (error) {
      if (!(error instanceof AppError && error.retryAfterMs !== undefined)) throw error;
      await github.time.sleep(error.retryAfterMs);
    }
  }
}

const onLines = (count: number, first = 1) => Array.from({ length: count }, (_, at) => inline(first + at));

describe("The limits of GitHub at 300 findings", () => {
  it("A review of 300 findings meets no limit, also after the questions about refused ones", async () => {
    github = await LimitedGitHub.start(300);
    const { time, scenario } = github;
    const outcome = await time.run(github.publish([...onLines(299), inline(340)]));
    expect(outcome).toMatchObject({ posted: 299, listed: 1 });
    expect(scenario.pull.reviewComments).toHaveLength(299);
    expect(github.limits.counted.writes).toBeGreaterThan(20);
    expect(github.limits.breaches).toEqual([]);
  });

  it("Annotations of 300 findings meet no limit if comments are closed to the App", async () => {
    const permissions: Permissions = { contents: "read", pull_requests: "read", checks: "write" };
    github = await LimitedGitHub.start(300, permissions);
    expect(await github.time.run(github.publish(onLines(300)))).toMatchObject({ annotated: 300 });
    expect(github.limits.breaches).toEqual([]);
  });

  it("Comments on 300 findings meet no limit with a request for each", async () => {
    github = await LimitedGitHub.start(1);
    const { time, scenario } = github;
    await time.run(postAll(github.api(createRateLimiter()), "0", 300));
    expect(scenario.pull.comments).toHaveLength(300);
    expect(github.limits.breaches).toEqual([]);
  });
});

it("Eight processes that know nothing of each other post each comment once and obey a refusal", async () => {
  github = await LimitedGitHub.start(1, undefined, 0);
  const { time, scenario, limits } = github;
  const processes = Array.from({ length: 8 }, (_, nth) =>
    postAll(github.api(createRateLimiter()), `${nth}`, 50),
  );
  await time.run(Promise.all(processes));
  const bodies = scenario.pull.comments.map(({ body }) => body);
  expect(new Set(bodies).size).toBe(400);
  expect(bodies).toHaveLength(400);
  // One finds the limit, and each of the others finds it out by one request of its own.
  const found = limits.breaches.filter(({ limit }) => limit === "80 creations a minute").length;
  expect(found).toBeGreaterThan(0);
  expect(limits.breaches.length).toBeLessThanOrEqual(8 * found);
});
