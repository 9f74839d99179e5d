import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { FaultKind } from "../../support/github-double/faults.ts";
import { HttpPublication, inline, onFile, unplaced } from "./http-publication.ts";

/** Each fault at each request in the long run; `npm test` has each fault at each write, and a few of them at all else. */
const long = process.env.HUNKWISE_LONG === "1";

let github: HttpPublication;
beforeAll(async () => {
  github = await HttpPublication.start();
});
beforeEach(() => github.reset());
afterEach(() => github.expectUnderstood());
afterAll(() => github[Symbol.asyncDispose]());

const findings = [inline(10), inline(40), onFile, unplaced];
const whole = {
  reviews: ["COMMENTED"],
  pending: 0,
  comments: [10, 40, "file"],
  summaries: 1,
  annotations: [],
  checks: ["completed neutral"],
};

const oops = { status: 500, body: { message: "Server Error" } };
/** The request was carried out or not, and the client cannot know. */
const ambiguous: [string, FaultKind][] = [
  ["a request that got lost", "reset-before"],
  ["an answer that got lost", "reset-after"],
  ["half an answer", "truncated"],
  ["502 with a page of HTML", "bad-gateway"],
  ["the same although it was carried out", "bad-gateway-after"],
  ["500", { answer: oops }],
  ["500 although it was carried out", { answerAfter: oops }],
];
/** It certainly was not, and will be later. */
const later: [string, FaultKind][] = [
  ["a secondary limit with a time", { secondaryLimit: 403, retryAfterSeconds: 5 }],
  ["a secondary limit without one", { secondaryLimit: 403 }],
  ["429 with a time", { secondaryLimit: 429, retryAfterSeconds: 5 }],
  ["429 without one", { secondaryLimit: 429 }],
  ["a secondary limit of a quarter of an hour", { secondaryLimit: 403, retryAfterSeconds: 900 }],
  ["a primary limit for half a minute", { primaryLimitUntil: new Date(Date.now() + 30_000) }],
  ["a primary limit for an hour", { primaryLimitUntil: new Date(Date.now() + 3_600_000) }],
  ["a stale token", { answer: { status: 401, body: { message: "Bad credentials" } } }],
];

type Request = [name: string, match: RegExp];
const review: Request = ["the review", /^POST .*\/reviews$/];
const conclusion: Request = ["concluding the check run", /^PATCH .*\/check-runs\/\d+$/];
const writes: Request[] = [
  review,
  ["a comment on a file", /^POST .*\/pulls\/1\/comments$/],
  ["the summary", /^POST .*\/issues\/1\/comments$/],
  ["opening the check run", /^POST .*\/check-runs$/],
  conclusion,
];
const reads: Request[] = [
  ["the pull request", /^GET .*\/pulls\/1$/],
  ["our reviews", /^GET .*\/reviews$/],
  ["our comments", /^GET .*\/issues\/1\/comments$/],
  ["our check runs", /^GET .*\/check-runs$/],
];

type Case = { fault: string; kind: FaultKind; at: string; match: RegExp };
const crossed = (faults: [string, FaultKind][], requests: Request[]): Case[] =>
  faults.flatMap(([fault, kind]) => requests.map(([at, match]) => ({ fault, kind, at, match })));

const few = long ? ambiguous : ambiguous.slice(1, 5);

describe("One fault at a write", () => {
  const cases = [
    ...crossed(ambiguous, writes),
    ...crossed(later, long ? [review, conclusion] : [review]),
    ...(long ? [] : crossed([later[0]!, later[6]!], [conclusion])),
    ...crossed([ambiguous[3]!, later[6]!], reads),
  ];
  it.each(cases)("The fault $fault at $at changes nothing of the end", async ({ kind, match }) => {
    github.faults.add({ match, kind });
    expect(await github.publishAsJob(findings)).toMatchObject({
      ...{ kind: "published", posted: 3, listed: 1, notices: [] },
    });
    expect(github.faults.struck).toHaveLength(1);
    expect(github.onGitHub).toEqual(whole);
    expect(github.summary).toContain("Nobody can place this");
  });

  it.each(few)("The fault %s at an edit of the summary changes nothing of the end", async (_fault, kind) => {
    await github.publish([inline(10)]);
    github.faults.add({ match: /^PATCH .*\/issues\/comments\/\d+$/, kind });
    expect(await github.publishAsJob(findings)).toMatchObject({ kind: "published", notices: [] });
    expect(github.onGitHub.summaries).toBe(1);
    expect(github.summary).toContain("Nobody can place this");
  });

  it.each(
    crossed(
      [...few, later[0]!],
      [
        ["asking which comment was wrong", /^POST .*\/reviews$/],
        ["taking the question back", /^DELETE .*\/reviews\/\d+$/],
      ],
    ),
  )("The fault $fault at $at leaves no pending review", async ({ kind, match }) => {
    github.faults.add({ match, nth: match.source.includes("POST") ? 2 : 1, kind });
    const outcome = await github.publishAsJob([...findings, inline(25, { title: "Far away" })]);
    expect(outcome).toMatchObject({ kind: "published", posted: 3, listed: 2 });
    expect(github.faults.struck).toHaveLength(1);
    expect(github.onGitHub).toEqual(whole);
    expect(github.summary).toContain("Far away");
  });
});

describe("Repeated writes", () => {
  it.each(writes)(
    "A write that makes %s is sent again only after a look that did not find it",
    async (_at, match) => {
      github.faults.add({ match, kind: "bad-gateway" });
      await github.publish(findings);
      const sent = github.scenario.github.requests.map(({ method, path }) => `${method} ${path}`);
      const [first, second] = sent.flatMap((request, at) => (match.test(request) ? [at] : []));
      const between = sent.slice((first ?? 0) + 1, second);
      // A conclusion says the same however often it arrives.
      if (!match.source.includes("PATCH"))
        expect(between.filter((request) => request.startsWith("GET"))).toHaveLength(2);
      expect(between.filter((request) => !request.startsWith("GET"))).toEqual([]);
    },
  );
});

describe("A fault that does not end", () => {
  it.each(writes)(
    "A lasting fault at %s is left to the job, which then finds what exists",
    async (_at, match) => {
      github.faults.add({ match, nth: "all", kind: "bad-gateway" });
      await expect(github.publish(findings)).rejects.toMatchObject({
        code: "github_failed",
        retryable: true,
      });
      github.faults.clear();
      await github.publish(findings);
      expect(github.onGitHub).toEqual(whole);
    },
  );

  it("A lasting fault of answers alone changes nothing", async () => {
    for (const [, match] of writes) github.faults.add({ match, nth: "all", kind: "reset-after" });
    await expect(github.publish(findings)).rejects.toMatchObject({ retryable: true });
    github.faults.clear();
    await github.publish(findings);
    expect(github.onGitHub).toEqual(whole);
  });
});
