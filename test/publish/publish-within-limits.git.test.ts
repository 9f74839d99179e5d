import { afterEach, describe, expect, it } from "vitest";
import { createGitHubClient } from "../../src/github/client.ts";
import { createPullRequestApi } from "../../src/github/pull-request-client.ts";
import { createPacings, type Pacings } from "../../src/jobs/pacings.ts";
import { openCheckRun } from "../../src/publish/check-run.ts";
import { publicText } from "../../src/publish/public-text.ts";
import { publishReview } from "../../src/publish/publish-review.ts";
import type { PlacedFinding } from "../../src/review/review-result.ts";
import { sampleResult } from "../reporters/sample-result.ts";
import { headOf, type Permissions } from "../support/github-double/model.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";
import { memoryNotes, memoryPace } from "../support/memory-pace.ts";
import { reachOfJob } from "../support/reach.ts";
import { SimulatedTime } from "../support/simulated-time.ts";
import { inline } from "./http-publication.ts";

/** A GitHub that enforces its limits, and processes of the App before it; all of them live by one simulated clock. */
class LimitedGitHub {
  readonly scenario: Scenario;
  readonly time: SimulatedTime;
  readonly #stores;

  private constructor(scenario: Scenario, time: SimulatedTime) {
    this.scenario = scenario;
    this.time = time;
    this.#stores = { pace: memoryPace(time.now), notes: memoryNotes() };
  }

  static async start(changed: number, permissions?: Permissions): Promise<LimitedGitHub> {
    const lines = (text: string) =>
      Array.from({ length: changed }, (_, at) => `${text} ${at}\n`).join("") + "same\n".repeat(60);
    const time = new SimulatedTime();
    const given = permissions ? { permissions } : {};
    const files = { base: { "a.txt": lines("old") }, head: { "a.txt": lines("new") } };
    return new LimitedGitHub(await createScenario({ ...files, ...given, limits: { now: time.now } }), time);
  }

  process(): Pacings {
    return createPacings({ stores: this.#stores, clock: this.time });
  }

  get limits() {
    return this.scenario.github.limits!;
  }

  /** The pull request as jobs of a process see it. */
  api(pacings: Pacings) {
    const { time } = this;
    const { github, app, installation, repository, pull } = this.scenario;
    const here = { owner: "octo-org", repo: "shop", pull: pull.number, app };
    const client = createGitHubClient({
      reach: reachOfJob({ ...here, id: repository.id }, pull.number, app),
      ...{ baseUrl: github.apiUrl, userAgent: "hunkwise-test", clock: time, fetch: time.fetch },
      token: async () => github.state.issueToken(installation).value,
      pacing: pacings(installation.id),
    });
    return createPullRequestApi({ ...here, client, writing: client });
  }

  /** A review as a job publishes it. */
  async publish(findings: readonly PlacedFinding[]) {
    const { time } = this;
    const { github, pull } = this.scenario;
    const api = this.api(this.process());
    const result = sampleResult({ head_sha: headOf(pull), findings: [...findings] });
    const trigger = `event#${pull.number}@main`;
    const check = await openCheckRun(api, await api.pull(), trigger, { sleep: time.sleep });
    return publishReview({
      ...{ result, api, trigger, check, baseRef: "main", version: "0.1.0", maxComments: findings.length },
      ...{ repositoryUrl: `${github.url}/octo-org/shop`, checkPolicy: { threshold: "high", fail: false } },
      sleep: time.sleep,
    });
  }
}

let github: LimitedGitHub;
afterEach(async () => {
  expect(github.limits.breaches).toEqual([]);
  await github.scenario.github.close();
});

const onLines = (count: number, first = 1) => Array.from({ length: count }, (_, at) => inline(first + at));

describe("300 findings are posted without one secondary limit", () => {
  it("as a review, after GitHub was asked which of them it does not take", async () => {
    github = await LimitedGitHub.start(300);
    const { time, scenario } = github;
    const outcome = await time.run(github.publish([...onLines(299), inline(340)]));
    expect(outcome).toMatchObject({ posted: 299, listed: 1 });
    expect(scenario.pull.reviewComments).toHaveLength(299);
    expect(github.limits.counted.writes).toBeGreaterThan(20);
  });

  it("as annotations, where comments are closed to the App", async () => {
    const permissions: Permissions = { contents: "read", pull_requests: "read", checks: "write" };
    github = await LimitedGitHub.start(300, permissions);
    expect(await github.time.run(github.publish(onLines(300)))).toMatchObject({ annotated: 300 });
  });

  it("each with a request of its own, by three processes at once", async () => {
    github = await LimitedGitHub.start(1);
    const { time, scenario } = github;
    const start = time.now();
    const posting = Array.from({ length: 3 }, async (_, nth) => {
      const api = github.api(github.process());
      for (let count = 0; count < 100; count++)
        await api.createComment(publicText(`Finding ${nth}.${count}`));
    });
    await time.run(Promise.all(posting));
    expect(scenario.pull.comments).toHaveLength(300);
    expect(time.now() - start).toBe(299_000);
  });
});
