import type { Finding } from "../../../src/core/finding.ts";
import { openCheckRun } from "../../../src/pull/publish/check-run.ts";
import { type PublishOptions, publishReview } from "../../../src/pull/publish/publish-review.ts";
import type { Placement } from "../../../src/tasks/shapes/review-result.ts";
import { sampleFinding, sampleResult } from "../../report/sample-result.ts";
import type { MemoryGitHub } from "./memory-github.ts";

export const placed = (over: Partial<Finding>, placement: Placement = { kind: "inline" }) => ({
  finding: sampleFinding({ id: `${over.path}:${over.line}`, ...over }),
  placement,
});
export const many = (count: number, over: Partial<Finding> = {}) =>
  Array.from({ length: count }, (_, index) => placed({ path: "src/a.ts", line: index + 1, ...over }));
export const onFile = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    placed({ path: `src/f${index}.ts`, line: 1 }, { kind: "file", reason: "its lines are not in the diff" }),
  );

export async function publish(github: MemoryGitHub, findings = many(2), over: Partial<PublishOptions> = {}) {
  const trigger = over.trigger ?? "event";
  const check = await openCheckRun(github, github.state, trigger);
  return publishReview({
    result: sampleResult({ findings }),
    api: github,
    trigger,
    baseRef: "main",
    repositoryUrl: "https://github.com/octo/shop",
    version: "0.1.0",
    maxComments: 40,
    checkPolicy: { threshold: "high", fail: false },
    check,
    ...over,
  });
}

export const summary = (github: MemoryGitHub) => github.comments[0]?.body ?? "";
export const conclusion = (github: MemoryGitHub) => github.checks[0]?.history.at(-1)?.conclusion;
export const inlineIds = (github: MemoryGitHub) =>
  github.reviews.flatMap(({ comments }) => comments.map(({ path, line }) => `${path}:${line}`));
