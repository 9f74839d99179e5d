import { expect } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import type { Finding } from "../../../src/core/finding.ts";
import { createGitHubClient } from "../../../src/pull/github/client.ts";
import { createPullRequestApi } from "../../../src/pull/github/pull-request-client.ts";
import { createRateLimiter } from "../../../src/pull/github/rate-limit.ts";
import { openCheckRun } from "../../../src/pull/publish/check-run.ts";
import { type PublishOutcome, publishReview } from "../../../src/pull/publish/publish-review.ts";
import type { PlacedFinding } from "../../../src/tasks/shapes/review-result.ts";
import { sampleFinding, sampleResult } from "../../report/sample-result.ts";
import { headOf, type Permissions } from "../../support/github-double/model.ts";
import { createScenario, type Scenario } from "../../support/github-double/scenario.ts";
import { reachOfJob } from "../../support/reach.ts";
import { SimulatedTime } from "../../support/simulated-time.ts";

/** Lines of `a.txt` that changed; GitHub takes comments on these and on three lines around. */
export const changedLines = [10, 40];
const linesOf = (to: number) => Array.from({ length: to }, (_, index) => `line ${index + 1}\n`).join("");
const base = linesOf(60);
const changed = changedLines.reduce((text, line) => text.replace(`line ${line}\n`, `line ${line}!\n`), base);

export const inline = (line: number, over: Partial<Finding> = {}): PlacedFinding => ({
  finding: sampleFinding({ id: `f${line}`, path: "a.txt", line, suggestion: null, ...over }),
  placement: { kind: "inline" },
});
export const onFile: PlacedFinding = {
  finding: sampleFinding({ id: "file", path: "a.txt", line: 1, severity: "low", suggestion: null }),
  placement: { kind: "file", reason: "it is about the whole file" },
};
export const unplaced: PlacedFinding = {
  finding: sampleFinding({ id: "none", path: "b.bin", line: 1, title: "Nobody can place this" }),
  placement: { kind: "summary", reason: "the file is binary" },
};

/** A pull request on a GitHub of its own, and a bot that publishes to it over HTTP. */
export class HttpPublication implements AsyncDisposable {
  readonly scenario: Scenario;

  private constructor(scenario: Scenario) {
    this.scenario = scenario;
  }

  static async start(permissions?: Permissions): Promise<HttpPublication> {
    const given = permissions ? { permissions } : {};
    return new HttpPublication(
      await createScenario({ base: { "a.txt": base }, head: { "a.txt": changed }, ...given }),
    );
  }

  get faults() {
    return this.scenario.github.faults;
  }

  /** Nothing was posted yet and nothing goes wrong. */
  reset(): void {
    const { pull, repository, github } = this.scenario;
    Object.assign(pull, { reviews: [], reviewComments: [], comments: [], locked: false });
    repository.checkRuns.length = 0;
    github.faults.clear();
    github.faults.struck.length = 0;
    github.requests.length = 0;
  }

  /** One attempt. Its waits pass at once: how long they are is what other tests are about. */
  async publish(findings: readonly PlacedFinding[], trigger = "event"): Promise<PublishOutcome> {
    using time = new SimulatedTime();
    return await time.run(this.#publish(findings, trigger, time.fetch));
  }

  async #publish(
    findings: readonly PlacedFinding[],
    trigger: string,
    fetch: typeof globalThis.fetch,
  ): Promise<PublishOutcome> {
    const { github, repository, pull, app, installation } = this.scenario;
    const here = { owner: "octo-org", repo: "shop", pull: pull.number, app };
    const client = createGitHubClient({
      baseUrl: github.apiUrl,
      reach: reachOfJob({ ...here, id: repository.id }, pull.number, app),
      token: async () => github.state.issueToken(installation).value,
      userAgent: "hunkwise-test",
      limits: createRateLimiter()(installation.id),
      fetch,
    });
    // What this installation may is what all of its tokens may.
    const api = { ...createPullRequestApi({ ...here, client, writing: client }), pause: async () => {} };
    const result = sampleResult({ head_sha: headOf(pull), findings: [...findings] });
    const check = await openCheckRun(api, await api.pull(), trigger);
    return publishReview({
      result,
      api,
      trigger,
      baseRef: "main",
      repositoryUrl: `${github.url}/octo-org/shop`,
      version: "0.1.0",
      maxComments: 100,
      checkPolicy: { threshold: "high", fail: false },
      check,
    });
  }

  /** As the queue does: again when the failure says that it may help. */
  async publishAsJob(findings: readonly PlacedFinding[]): Promise<PublishOutcome> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await this.publish(findings);
      } catch (error) {
        if (!(error instanceof AppError && error.retryable) || attempts === 3) throw error;
      }
    }
  }

  /** What people see. */
  get onGitHub() {
    const { pull, repository } = this.scenario;
    const withMarker = pull.reviews.filter(({ body }) => body.includes("hunkwise:review"));
    return {
      reviews: withMarker.map(({ state }) => state),
      pending: pull.reviews.filter(({ state }) => state === "PENDING").length,
      comments: pull.reviewComments.map(({ anchor }) => anchor?.line ?? "file"),
      summaries: pull.comments.length,
      annotations: repository.checkRuns.flatMap((run) => run.annotations.map(({ endLine }) => endLine)),
      checks: repository.checkRuns.map(({ status, conclusion }) => `${status} ${conclusion}`),
    };
  }

  get summary(): string {
    return this.scenario.pull.comments[0]?.body ?? "";
  }

  /** GitHub refusing a place or a locked conversation may be what a test is about; all else it must understand. */
  expectUnderstood(): void {
    const known = /Line could not be resolved|lock prevents review/;
    const misunderstood = this.scenario.github.violations.filter(
      ({ problems }) => !problems.some((problem) => known.test(problem)),
    );
    expect(misunderstood).toEqual([]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.scenario.github.close();
  }
}
