import { describe, expect, it } from "vitest";
import { MemoryGitHub, refusal } from "../reporters/memory-github.ts";
import { inlineIds, many, publish, summary } from "../reporters/publish-to-memory.ts";

/** GitHub takes so many characters of a comment, a review, an annotation, and of a check run's summary and text. */
const most = 65_535;
/** More than that in bytes, in characters and in what escaping makes of it; nothing a cut may fall into unseen. */
const long = {
  title: "Much is wrong ".repeat(50),
  body: "🧨 `a` <b> @octocat #1 ```\n".repeat(600) + "x".repeat(70_000),
  evidence: Array.from({ length: 40 }, (_, at) => ({
    ...{ path: `${"deep/".repeat(200)}${at}.ts`, start_line: 1, end_line: 2, note: "n".repeat(5_000) },
  })),
};

/** Sixty findings, the first two of which are far too long. */
const findings = [...many(2, long), ...many(60).slice(2)];

/** Every text that GitHub was given. */
const allTexts = (github: MemoryGitHub): string[] => [
  ...github.reviews.flatMap(({ body, comments }) => [body, ...comments.map((one) => one.body)]),
  ...github.comments.map(({ body }) => body),
  ...github.checks.flatMap(({ history }) =>
    history.flatMap(({ summary, text = "", annotations = [] }) => [
      ...[summary, text],
      ...annotations.flatMap(({ message, details = "" }) => [message, details ?? ""]),
    ]),
  ),
];
const longest = (github: MemoryGitHub) =>
  Math.max(...allTexts(github).map((text) => Buffer.byteLength(text)));

describe("too many findings, some of which are far too long,", () => {
  it("body-limits: make comments and a summary that GitHub takes, and all of them are counted", async () => {
    const github = new MemoryGitHub();
    expect(await publish(github, findings, { maxComments: 20 })).toMatchObject({
      posted: 20,
      listed: 40,
    });

    expect(inlineIds(github)).toHaveLength(20);
    expect(longest(github)).toBeGreaterThan(30_000);
    expect(longest(github)).toBeLessThanOrEqual(most);
    expect(summary(github)).toContain("60");
  });

  it("body-limits: make annotations that GitHub takes, fifty at a time, where comments are closed to us", async () => {
    const github = new MemoryGitHub();
    github.faults.push({ call: "createReview", error: refusal("github_forbidden") });
    expect(await publish(github, findings, { maxComments: 60 })).toMatchObject({ annotated: 60 });

    const sent = github.checks.flatMap(({ history }) =>
      history.map(({ annotations = [] }) => annotations.length),
    );
    expect(sent.filter((count) => count > 0)).toEqual([50, 10]);
    expect(longest(github)).toBeLessThanOrEqual(most);
  });
});
