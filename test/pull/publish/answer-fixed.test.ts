import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { parseMarker } from "../../../src/core/ledger/marker.ts";
import { again, firstComment, fixed, last, reply, withOne } from "./ledger-rounds.ts";
import { ambiguous, head, MemoryGitHub, refusal } from "./memory-github.ts";
import { many, placed, publish, summary } from "./publish-to-memory.ts";

const contentsWrite = 'Give Hunkwise the permission "Contents: Read and write"';

describe("A fixed finding", () => {
  it("A fixed finding is answered in its thread, which is resolved", async () => {
    const github = await withOne();
    const comment = firstComment(github);
    expect(await again(github, [], fixed(comment))).toMatchObject({ fixed: 1, notices: [] });
    expect(reply(github)).toEqual([
      expect.stringMatching(/^Fixed in b{12}: The check is there now\n\n<!-- hunkwise:fixed v1 /),
    ]);
    expect(github.thread(comment).resolvedBy).toMatchObject({ kind: "us" });
    expect(last(github)).toMatchObject({ conclusion: "success", title: "No problems found, 1 fixed" });
    expect(summary(github)).toMatch(/\*\*Fixed\*\*\n\n- \[The condition .*: The check is there now\n/);
  });

  it("A fixed finding is answered after the new comments are posted", async () => {
    const github = await withOne();
    await again(github, [placed({ path: "src/new.ts", line: 2 })], fixed(firstComment(github)));
    const at = (call: string) => github.calls.lastIndexOf(call);
    expect(at("reply")).toBeGreaterThan(at("createReview"));
    expect(at("updateComment")).toBeGreaterThan(at("resolveThread"));
  });

  it("A thread in which somebody with write access wrote is answered and not resolved", async () => {
    const github = await withOne();
    github.personReplies(firstComment(github), "bob", "I am on it.");
    expect(await again(github, [], fixed(firstComment(github)))).toMatchObject({ fixed: 1 });
    expect([github.count("reply"), github.count("resolveThread")]).toEqual([1, 0]);
    expect(last(github)).toMatchObject({ conclusion: "success" });
  });

  it("A thread in which a stranger wrote is answered and resolved", async () => {
    const github = await withOne();
    github.permissions.set("eve", "read");
    github.personReplies(firstComment(github), "eve", "Hello.");
    expect(await again(github, [], fixed(firstComment(github)))).toMatchObject({ fixed: 1 });
    expect([github.count("reply"), github.count("resolveThread")]).toEqual([1, 1]);
  });

  it("A thread that somebody with write access resolved counts as dismissed", async () => {
    const github = await withOne();
    github.personResolves(firstComment(github), "bob");
    const done = await again(github, [], fixed(firstComment(github)));
    expect(done).toMatchObject({ fixed: 0 });
    expect(github.count("reply")).toBe(0);
    expect(last(github)).toMatchObject({ conclusion: "success" });
  });

  it.each(["present", "unsure"] as const)(
    "A finding is not fixed if the look at it came to %s",
    async (state) => {
      const github = await withOne();
      const comment = firstComment(github);
      await again(github, [], { resolutions: [{ comment, state, reason: "r" }] });
      expect(github.count("reply")).toBe(0);
      expect(last(github)).toMatchObject({
        conclusion: "neutral",
        title: "Nothing new, 1 open from earlier reviews",
      });
    },
  );

  it("A finding counts as fixed if GitHub does not let us resolve, with one notice of the permission", async () => {
    const github = new MemoryGitHub();
    await publish(github, many(2));
    github.faults.push({ call: "resolveThread", error: refusal("github_forbidden", contentsWrite) });
    const resolutions = (github.reviews[0]?.comments ?? []).flatMap(({ id }) => fixed(id).resolutions);
    const done = await again(github, [], { resolutions });
    expect(done).toMatchObject({ fixed: 2, notices: [expect.stringContaining("Contents: Read and write")] });
    expect(github.count("reply")).toBe(2);
    expect(github.count("resolveThread")).toBe(1);
    expect(summary(github).match(/Contents: Read and write/g)).toHaveLength(1);
    expect(last(github)).toMatchObject({ conclusion: "success" });
  });

  it("An answer that GitHub refuses causes a notice", async () => {
    const github = await withOne();
    github.faults.push({ call: "reply", error: refusal("github_forbidden", "Unlock the conversation") });
    await again(github, [], fixed(firstComment(github)));
    expect(github.count("resolveThread")).toBe(0);
    expect(summary(github)).toContain("⚠️ No answers in the threads of fixed findings");
  });

  it("A comment that was deleted meanwhile does not leave out the others", async () => {
    const github = new MemoryGitHub();
    await publish(github, many(2));
    const [one, two] = (github.reviews[0]?.comments ?? []).map(({ id }) => id);
    github.faults.push({ call: "reply", nth: 1, error: refusal("github_not_found") });
    const resolutions = [one, two].flatMap((id) => fixed(id ?? 0).resolutions);
    expect(await again(github, [], { resolutions })).toMatchObject({ notices: [] });
    expect(reply(github, two)).toHaveLength(1);
  });

  it.each([
    ["reply", "before"],
    ["reply", "after"],
    ["resolveThread", "before"],
    ["resolveThread", "after"],
    ["updateComment", "before"],
    ["updateComment", "after"],
  ] as const)(
    "A fixed finding is answered and resolved once after a crash at %s, %s it was done",
    async (call, when) => {
      const github = await withOne();
      const comment = firstComment(github);
      github.faults.push({ call, nth: 1, when, error: new AppError("aborted", "killed") });
      await again(github, [], fixed(comment)).catch(() => undefined);
      await again(github, [], fixed(comment));
      expect(reply(github)).toHaveLength(1);
      expect(github.thread(comment).resolvedBy).toMatchObject({ kind: "us" });
      expect(summary(github)).toContain("**Fixed**");
      expect(last(github)).toMatchObject({ title: "No problems found, 1 fixed" });
    },
  );

  it("A fixed finding is answered once although GitHub's answer gets lost", async () => {
    const github = await withOne();
    github.faults.push({ call: "reply", nth: 1, when: "after", error: ambiguous() });
    await again(github, [], fixed(firstComment(github)));
    expect(reply(github)).toHaveLength(1);
  });

  it("A fixed finding of an old head is not answered if the head moved while comments were posted", async () => {
    const github = await withOne();
    github.meanwhile = (call) => {
      if (call === "createReview") github.state.headSha = "c".repeat(40);
    };
    const before = summary(github);
    const done = await again(github, [placed({ path: "src/new.ts", line: 2 })], fixed(firstComment(github)));
    expect(done).toMatchObject({ kind: "stale_head" });
    expect(github.count("reply") + github.count("resolveThread")).toBe(0);
    expect(summary(github)).toBe(before);
    expect(last(github)?.conclusion).toBe("cancelled");
  });

  it("The reason of a model notifies nobody", async () => {
    const github = await withOne();
    await again(
      github,
      [],
      fixed(firstComment(github), "cc @octocat ![x](https://evil.test)\n/approve <!-- hunkwise:x"),
    );
    expect(reply(github)[0]).not.toMatch(/@octocat|!\[x\]|^\/approve|(?<!\\)<!-- hunkwise:x/m);
    expect(parseMarker(reply(github)[0] ?? "")).toMatchObject({ kind: "fixed", head });
  });

  it("A fixed finding without a comment is named in the summary", async () => {
    const github = await withOne("low");
    const settled = [{ path: "src/b.bin", title: "It was listed", reason: "It is gone" }];
    expect(await again(github, [], { settled })).toMatchObject({ fixed: 1 });
    expect(summary(github)).toContain("- It was listed in `src/b.bin`: It is gone");
  });

  it("A fixed finding is not answered if GitHub does not say whether a person took part", async () => {
    const github = await withOne();
    github.faults.push({ call: "ownThreads", error: refusal("github_forbidden") });
    await again(github, [], fixed(firstComment(github)));
    expect(github.count("reply")).toBe(0);
    expect(last(github)).toMatchObject({ conclusion: "neutral" });
  });
});
