import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import type { PullRequestApi } from "../../../src/pull/github/pull-request-api.ts";
import { again, last } from "./ledger-rounds.ts";
import { ambiguous, MemoryGitHub } from "./memory-github.ts";
import { placed, type publish } from "./publish-to-memory.ts";

/** What became of an earlier finding before the review, and what the review says of it. */
const earlier = fc.record({
  fate: fc.constantFrom(
    ...(["left", "outdated", "downvoted", "answered", "answered by a stranger", "deleted"] as const),
  ),
  now: fc.constantFrom(...(["repeated", "fixed", "silent"] as const)),
});
const calls: (keyof PullRequestApi)[] = [
  ...(["createReview", "createFileComment", "reply", "resolveThread", "updateComment"] as const),
  ...(["ownThreads", "ownComments", "updateCheckRun", "pull"] as const),
];
const fault = fc.record({
  call: fc.constantFrom(...calls),
  nth: fc.integer({ min: 1, max: 3 }),
  when: fc.constantFrom("before" as const, "after" as const),
  isLost: fc.boolean(),
});

const at = (line: number, over = {}) => placed({ id: `f${line}`, path: "src/a.ts", line, ...over });

function happen(github: MemoryGitHub, comment: number, fate: string): void {
  if (fate === "outdated") github.outdate(comment);
  if (fate === "downvoted") github.personDownvotes(comment, "ann");
  if (fate === "answered") github.personReplies(comment, "bob", "I will look into it.");
  if (fate === "answered by a stranger") github.personReplies(comment, "eve", "I will look into it.");
  if (fate === "deleted") github.delete(comment);
}

describe("A second round of reviews", () => {
  it("A second round posts, answers and counts everything once, whatever people did and a crash stopped", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(earlier, { maxLength: 6 }),
        fc.integer({ min: 0, max: 3 }),
        fc.array(fault, { maxLength: 3 }),
        async (before, fresh, faults) => {
          const github = new MemoryGitHub();
          github.permissions.set("eve", "read");
          const first = before.map((_, index) => at(index + 1));
          await again(github, first, {}, { trigger: "event" });
          const ids = (github.reviews[0]?.comments ?? []).map(({ id }) => id);
          for (const [index, { fate }] of before.entries()) happen(github, ids[index] ?? 0, fate);

          // Said again in other words, which the review has found to be the same.
          const said = before.flatMap(({ now, fate }, index) =>
            now === "repeated" ? [{ finding: at(index + 1, { title: `again-${index}` }), index, fate }] : [],
          );
          const news = Array.from({ length: fresh }, (_, index) => at(index + 50));
          const update = {
            repeats: said.map(({ finding: { finding }, index, fate }) => ({
              finding: finding.id,
              comment: fate === "deleted" ? null : (ids[index] ?? null),
            })),
            resolutions: before.flatMap(({ now, fate }, index) =>
              now === "fixed" && fate !== "deleted"
                ? [{ comment: ids[index] ?? 0, state: "fixed" as const, reason: "It is gone" }]
                : [],
            ),
          };
          for (const { call, nth, when, isLost } of faults) {
            // Threads that GitHub does not show stay as they are, which is told by a test of its own.
            const error = isLost && call !== "ownThreads" ? ambiguous() : new AppError("aborted", "killed");
            github.faults.push({ call, when, error, nth: github.count(call) + nth });
          }
          const outcome = await asJob(() =>
            again(github, [...said.map(({ finding }) => finding), ...news], update),
          );

          const isDismissed = ({ fate }: (typeof before)[number]) =>
            fate === "downvoted" || fate === "deleted";
          const count = (is: (one: (typeof before)[number]) => boolean) => before.filter(is).length;
          expect(outcome).toMatchObject({
            kind: "published",
            posted: fresh,
            dismissed: count((one) => one.now === "repeated" && isDismissed(one)),
            postedBefore: count((one) => one.now === "repeated" && !isDismissed(one)),
            fixed: count((one) => one.now === "fixed" && !isDismissed(one)),
          });
          const left = count(({ fate }) => fate !== "deleted");
          expect(github.reviews.flatMap(({ comments }) => comments)).toHaveLength(left + fresh);
          for (const [index, { now, fate }] of before.entries()) {
            const { replies, resolvedBy } = github.thread(ids[index] ?? 0);
            const isAnswered = now === "fixed" && fate !== "downvoted" && fate !== "deleted";
            expect(replies.filter(({ author }) => author.kind === "us")).toHaveLength(isAnswered ? 1 : 0);
            expect(resolvedBy?.kind).toBe(isAnswered && fate !== "answered" ? "us" : undefined);
          }
          const held =
            fresh + count((one) => !isDismissed(one)) - (outcome.kind === "published" ? outcome.fixed : 0);
          expect(last(github)?.conclusion).toBe(held === 0 ? "success" : "neutral");
        },
      ),
      { numRuns: 150 },
    );
  });
});

/** As the queue does, as often as something goes wrong. */
async function asJob(attempt: () => ReturnType<typeof publish>): ReturnType<typeof publish> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof AppError) || attempts === 8) throw error;
    }
  }
}
