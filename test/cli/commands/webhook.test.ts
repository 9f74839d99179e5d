import { describe, expect, it } from "vitest";
import { jobLine } from "../../../src/cli/commands/webhook.ts";
import type { NewJob, Task } from "../../../src/queue/job.ts";

const repository = { installation: 3, id: 7, owner: "octo", name: "shop" };
const review: Task = {
  ...{ kind: "review", mode: "new", again: false, repository, pull: 12, headSha: "b".repeat(40) },
  ...{ trigger: "event#12", thread: null, commentId: null, requestedBy: null },
};
const asked = { repository, pull: 12, thread: null, commentId: 99, requestedBy: "ann", headSha: null };
const line = (task: Task, more: Partial<NewJob> = {}) =>
  jobLine({ task, concurrencyKey: "7#12", coalesce: false, priority: 10, ...more });

describe("the line about a job", () => {
  it("of a review says why there is one, of which head, and what it waits for", () => {
    const pushed = line(review, { coalesce: true, priority: 0, debounceMs: 2_500 });
    expect(pushed).toBe(
      "review octo/shop#12 at bbbbbbbbbbbb: event#12 " +
        "(key 7#12, priority 0, replaces a waiting job, waits 2.5 s for more pushes)",
    );
    expect(line(review, { debounceMs: 0 })).not.toContain("waits");
  });

  it.each([
    [{ mode: "full" }, "comment:99, everything"],
    [{ mode: "dry_run" }, "comment:99, nothing is posted"],
    [{ again: true }, "comment:99, again"],
  ] as const)("of a review that was asked for says by whom and how: %j", (how, words) => {
    const task: Task = { ...review, ...asked, trigger: "comment:99", ...how };
    expect(line(task)).toBe(`review octo/shop#12: ${words} (requested by ann, key 7#12, priority 10)`);
  });

  it("of a command names it, its comment and its thread, and not what it says", () => {
    const task: Task = { kind: "command", command: { name: "ask", question: "Secret?" }, ...asked };
    const facts = "(requested by ann, key 7#12, priority 10)";
    expect(line(task)).toBe(`command octo/shop#12: ask, comment 99 ${facts}`);
    expect(line({ ...task, thread: 60 })).toBe(
      `command octo/shop#12: ask, comment 99 in the thread of 60 ${facts}`,
    );
  });

  it("of a reply names its comment, its author and its thread", () => {
    const { repository, pull, commentId, headSha } = asked;
    const task: Task = {
      ...{ kind: "reply", repository, pull, commentId, headSha },
      ...{ thread: 60, author: "ann", body: "Why?" },
    };
    expect(line(task)).toBe(
      "reply octo/shop#12: comment 99 of ann in the thread of 60 (key 7#12, priority 10)",
    );
  });

  it("of a merge queue's check says why it passes", () => {
    const task: Task = { kind: "pass_check", repository, headSha: "c".repeat(40), reason: "it was reviewed" };
    expect(line(task)).toBe("pass_check octo/shop at cccccccccccc: it was reviewed (key 7#12, priority 10)");
  });
});
