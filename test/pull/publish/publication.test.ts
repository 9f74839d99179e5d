import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { severities } from "../../../src/core/finding.ts";
import { parseMarker } from "../../../src/core/ledger/marker.ts";
import type { PullRequestApi } from "../../../src/pull/github/pull-request-api.ts";
import { annotatedFinding } from "../../../src/pull/publish/render-annotation.ts";
import type { PlacedFinding, Placement } from "../../../src/tasks/shapes/review-result.ts";
import { sampleFinding } from "../../report/sample-result.ts";
import { ambiguous, MemoryGitHub, refusal } from "./memory-github.ts";
import { publish } from "./publish-to-memory.ts";

const placement = fc.oneof<fc.Arbitrary<Placement>[]>(
  fc.constant({ kind: "inline" }),
  fc.constant({ kind: "inline" }),
  fc.constant({ kind: "file", reason: "its lines are not in the diff" }),
  fc.constant({ kind: "summary", reason: "the file is binary" }),
);

/** Findings of which some come twice, as a model says things twice. Each has a title of its own to be told by. */
const someFindings = fc
  .array(
    fc.record({
      id: fc.integer({ min: 0, max: 30 }),
      line: fc.integer({ min: 1, max: 20 }),
      side: fc.constantFrom("LEFT" as const, "RIGHT" as const),
      severity: fc.constantFrom(...severities),
      placement,
    }),
    { maxLength: 25 },
  )
  .map((all) =>
    all.map(
      ({ id, placement, ...over }, index): PlacedFinding => ({
        finding: sampleFinding({
          ...over,
          id: `id${id}`,
          path: `src/${id % 3}.ts`,
          title: `title-${index}-`,
          body: "b",
        }),
        placement,
      }),
    ),
  );

const calls: (keyof PullRequestApi)[] = [
  ...(["createReview", "acceptsReview", "createFileComment", "createComment", "updateComment"] as const),
  ...(["createCheckRun", "updateCheckRun", "checkRuns", "ownAnnotations", "ownComments"] as const),
];
const someFault = fc.record({
  call: fc.constantFrom(...calls),
  nth: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  when: fc.constantFrom("before" as const, "after" as const),
  kind: fc.constantFrom(
    "ambiguous" as const,
    "forbidden" as const,
    "invalid" as const,
    "missing" as const,
    "killed" as const,
  ),
});
const errors = {
  ambiguous,
  forbidden: () => refusal("github_forbidden"),
  invalid: () => refusal("github_invalid"),
  missing: () => refusal("github_not_found"),
  killed: () => new AppError("aborted", "killed"),
};

/** The titles of findings in what is shown in full: comments, annotations, and the summary beneath its index. */
function titlesInFull(github: MemoryGitHub): string[] {
  const lastOf = github.checks.map(({ history }) => history.at(-1)?.text ?? "");
  const summaries = [...github.comments.map(({ body }) => body), ...lastOf];
  const texts = [
    ...github.reviews.flatMap(({ comments }) => comments.map(({ body }) => body)),
    ...github.fileComments.map(({ body }) => body),
    ...github.checks.flatMap(({ history }) =>
      history.flatMap(({ annotations = [] }) => annotations.map(({ title }) => `**${title}**`)),
    ),
    ...summaries,
  ];
  return texts.flatMap((text) =>
    [...text.matchAll(/^\*\*.*(title-\d+-)\*\*(?: in .*)?$/gm)].map(([, title]) => title ?? ""),
  );
}

/** As the queue does, as often as something goes wrong. "nowhere" where neither summary nor check run could be written. */
async function publishAsJob(github: MemoryGitHub, findings: PlacedFinding[], maxComments: number) {
  for (let attempts = 1; ; attempts++) {
    try {
      const outcome = await publish(github, findings, { maxComments });
      if (outcome.kind === "published") return outcome;
      throw new Error(`The pull request did not move, and was found ${outcome.kind}`);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      if (error.code === "github_forbidden" && /could be posted/.test(error.message)) return "nowhere";
      if (!(error.retryable || error.code === "aborted") || attempts === 6) throw error;
    }
  }
}

describe("Every finding of a review", () => {
  it("A finding is in full in exactly one place, whatever GitHub answers", async () => {
    await fc.assert(
      fc.asyncProperty(
        someFindings,
        fc.array(someFault, { maxLength: 3 }),
        fc.integer({ min: 0, max: 6 }),
        async (findings, faults, maxComments) => {
          const github = new MemoryGitHub();
          github.refuses = ({ line }) => line === 13;
          for (const { kind, nth, call, when } of faults) {
            // What GitHub refuses it has not done. Who may not read is not let in after a while, who may not edit cannot write.
            const error = errors[kind]();
            const isRefusal = kind !== "ambiguous" && kind !== "killed";
            const isRead = /^(own|find)/.test(call);
            if (!isRefusal) github.faults.push({ call, error, when, nth: nth ?? 1 });
            // From the first try on: no other fault lets a comment through that cannot be edited later.
            else if (call === "updateComment")
              github.faults.unshift({ call, error }, { call: "createComment", error });
            else github.faults.push({ call, error, ...(nth === undefined || isRead ? {} : { nth }) });
          }
          const outcome = await publishAsJob(github, findings, maxComments);
          fc.pre(outcome !== "nowhere");
          expect(titlesInFull(github).toSorted()).toEqual(
            findings.map(({ finding }) => finding.title).toSorted(),
          );
          expect(outcome.posted + outcome.annotated + outcome.listed + outcome.postedBefore).toBe(
            findings.length,
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  it("A finding is recognized by its marker in every comment and annotation", async () => {
    const github = new MemoryGitHub();
    github.faults.push({ call: "createReview", error: refusal("github_forbidden") });
    const findings: PlacedFinding[] = [
      { finding: sampleFinding({ id: "a b" }), placement: { kind: "inline" } },
      { finding: sampleFinding({ id: "c" }), placement: { kind: "file", reason: "why" } },
    ];
    await publish(github, findings);
    expect(parseMarker(github.fileComments[0]?.body ?? "")).toMatchObject({ id: "c" });
    const annotations = github.checks.flatMap(({ history }) =>
      history.flatMap((one) => one.annotations ?? []),
    );
    expect(annotations.map(({ details }) => annotatedFinding(details))).toEqual(["a b"]);
  });
});
