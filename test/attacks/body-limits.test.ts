import { describe, expect, it } from "vitest";
import { MemoryGitHub, refusal } from "../pull/publish/memory-github.ts";
import { inlineIds, many, publish, summary } from "../pull/publish/publish-to-memory.ts";

/** GitHub's limit in characters for a comment, a review, an annotation, and a check run's summary and text. */
const most = 65_535;
/** Longer than the limit in bytes, in characters and after escaping; a cut is visible at any position. */
const long = {
  title: "Much is wrong ".repeat(50),
  body: "🧨 `a` <b> @octocat #1 ```\n".repeat(600) + "x".repeat(70_000),
  evidence: Array.from({ length: 40 }, (_, at) => ({
    ...{ path: `${"deep/".repeat(200)}${at}.ts`, start_line: 1, end_line: 2, note: "n".repeat(5_000) },
  })),
};

/** Sixty findings, the first two of which are far too long. */
const findings = [...many(2, long), ...many(60).slice(2)];

/** Every text that GitHub received. */
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

/** `many` numbers from `first` on. */
const count = (first: number, many: number) => Array.from({ length: many }, (_, at) => first + at);

/**
 * The findings in a summary: the lines of those that it links, the lines of those that it contains, and the number of those that it only
 * counts.
 */
function countedBy(text: string) {
  const linesOf = (begin: RegExp) =>
    text.split("\n").flatMap((line) => {
      const [, at] = (begin.test(line) && /src\/a\.ts:(\d+)`/.exec(line)) || [];
      return at === undefined ? [] : [Number(at)];
    });
  return {
    heading: /^### Hunkwise: (.*)$/m.exec(text)?.[1],
    titles: linesOf(/^- 🔴 High: /u),
    more: Number(/^- and (\d+) more, on their lines$/m.exec(text)?.[1]),
    whole: linesOf(/^\*\*🔴 High: /u),
  };
}

describe("too many findings, some of them far too long", () => {
  it("body-limits: Too many long findings fit into comments and a summary that GitHub accepts, and all are counted", async () => {
    const github = new MemoryGitHub();
    expect(await publish(github, findings, { maxComments: 20 })).toMatchObject({
      posted: 20,
      listed: 40,
    });

    expect(inlineIds(github)).toHaveLength(20);
    expect(longest(github)).toBeGreaterThan(30_000);
    expect(longest(github)).toBeLessThanOrEqual(most);
    expect(countedBy(summary(github))).toEqual({
      ...{ heading: "60 high", titles: count(1, 12), more: 8, whole: count(21, 40) },
    });
  });

  it("body-limits: Without access to comments, findings become annotations that GitHub accepts, fifty at a time", async () => {
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
