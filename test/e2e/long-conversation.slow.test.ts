import { describe, expect, it } from "vitest";
import type { IssueComment, Review, ReviewComment } from "../support/github-double/model.ts";
import { type Case, finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

const path = "src/numbers.js";
const base = { [path]: numbers(60), "src/other.js": numbers(60) };
const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
const wrong = finding({ line: 24, quote: "const n24 = 0;", title: "n24 is no longer 24 for its readers" });

/** Adds `count` comments, line comments in separate threads, and reviews by a person, as if they had arrived one by one. */
async function talk(app: Case, count: number): Promise<void> {
  const { pull, people, github } = app;
  const comment = people.comment(pull, "octocat", "Thought");
  const line = await people.reviewComment(pull, "octocat", { path, line: 24, body: "Remark" });
  const nextId = () => github.state.nextId();
  for (let n = 1; n < count; n++) {
    const review: Review = { ...line.review, id: nextId() };
    pull.reviews.push(review);
    pull.comments.push({ ...comment, id: nextId(), reactions: [] } satisfies IssueComment);
    pull.reviewComments.push({ ...line, id: nextId(), review, reactions: [] } satisfies ReviewComment);
  }
}

describe.concurrent("a conversation of many comments and reviews", patient, () => {
  // Pages of 50: comments are listed three times, line comments and their threads twice, reviews once.
  for (const [count, most] of [
    [31, 50],
    [150, 70],
    [1_200, 220],
  ] as const) {
    // Each is slow; the client's own tests also check at all three sizes that every page is read.
    const isLong = count !== 150 && !process.env.HUNKWISE_LONG;
    it.skipIf(isLong)(
      `A conversation is read completely: ours is found among ${count} of each, before and after it`,
      () =>
        onPull({ base, head, script: () => turn(wrong, finish) }, async (app) => {
          await talk(app, Math.ceil(count / 2));
          await app.review();
          await talk(app, Math.floor(count / 2));
          const before = app.github.requests.length;
          app.people.react(app.threads()[0]!, "octocat", "-1");
          await app.push({ "src/other.js": numbers(60, { 9: "const n9 = 0;" }) });
          await app.idle();

          expect(app.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 24`], summaries: 1 });
          expect(app.summary()).toMatch(/dismissed/i);
          const about = app.github.requests
            .slice(before)
            .filter(({ path: at }) => at.includes(`/${app.repository.name}/`) || at.endsWith("/graphql"));
          expect(about.length).toBeLessThanOrEqual(most);
        }),
    );
  }
});
