import { describe, expect, it } from "vitest";
import { updateState } from "../../../src/pull/publish/sticky-comment.ts";
import { fileMark, lookAgain } from "../../../src/tasks/reviewed/known-change.ts";
import { unfinishedSummary } from "../../../src/tasks/shapes/review-result.ts";
import { sampleResult, sampleUpdate } from "../../report/sample-result.ts";
import { again, firstComment, fixed, last, repeats, reworded, stateOf, withOne } from "./ledger-rounds.ts";
import { ambiguous, MemoryGitHub, refusal } from "./memory-github.ts";
import { conclusion, inlineIds, many, onFile, placed, publish, summary } from "./publish-to-memory.ts";

describe("A finding that an earlier comment reports", () => {
  it("A reported finding is not posted again, and holds the check run", async () => {
    const github = await withOne();
    const done = await again(github, [reworded], repeats(reworded, firstComment(github)));
    expect(done).toMatchObject({ posted: 0, postedBefore: 1, listed: 0 });
    expect(inlineIds(github)).toEqual(["src/a.ts:1"]);
    expect(last(github)).toMatchObject({ conclusion: "neutral", title: "found 1 high" });
    expect(summary(github)).toMatch(
      /Reported earlier, and still present\*\*\n\n- 🔴 High: \[Said in other words\]\(https:[^)]*#discussion_r\d+\)/,
    );
  });

  it("A reported finding is not posted again while its comment is outdated", async () => {
    const github = await withOne();
    github.outdate(firstComment(github));
    expect(await again(github, [reworded], repeats(reworded, firstComment(github)))).toMatchObject({
      ...{ posted: 0, postedBefore: 1 },
    });
  });

  it.each([
    ["turned a thumb down", (github: MemoryGitHub, id: number) => github.personDownvotes(id, "ann")],
    [
      "answered that it is intended",
      (github: MemoryGitHub, id: number) => github.personReplies(id, "ann", "This is intended."),
    ],
    ["resolved its thread", (github: MemoryGitHub, id: number) => github.personResolves(id, "ann")],
  ])("A reported finding is not repeated if somebody %s", async (_how, dismiss) => {
    const github = await withOne();
    dismiss(github, firstComment(github));
    const done = await again(github, [reworded], repeats(reworded, firstComment(github)));
    expect(done).toMatchObject({ posted: 0, postedBefore: 0, dismissed: 1 });
    expect(last(github)).toMatchObject({ conclusion: "success", title: "No problems found, 1 dismissed" });
    expect(summary(github)).toMatch(/^<details><summary>✅ Hunkwise found no problems: .*, 1 dismissed</);
    expect(summary(github)).toMatch(/\*\*Dismissed\*\*\n\n- \[The condition .*: dismissed by `ann`/);
    expect(summary(github)).not.toContain("Said in other words");
  });

  it("A finding is not repeated after a person has deleted its comment", async () => {
    const github = await withOne();
    await again(github, many(1), repeats(many(1)[0]!, firstComment(github)));
    github.delete(firstComment(github));
    const done = await again(github, many(1), repeats(many(1)[0]!, null), { trigger: "comment:6" });
    expect(done).toMatchObject({ posted: 0, dismissed: 1 });
    expect(summary(github)).toContain("- A finding: dismissed, by deleting its comment");
  });

  it("A finding is posted again if its comment was answered as fixed meanwhile", async () => {
    const github = await withOne();
    const comment = firstComment(github);
    await again(github, [], fixed(comment));
    expect(
      await again(github, [reworded], repeats(reworded, comment), { trigger: "comment:6" }),
    ).toMatchObject({
      ...{ posted: 1, postedBefore: 0 },
    });
  });

  it("A finding is recognized by its exact place if another review posted it meanwhile", async () => {
    const github = await withOne();
    expect(await again(github, many(1))).toMatchObject({ posted: 0, postedBefore: 1 });
    const files = new MemoryGitHub();
    await publish(files, onFile(1));
    expect(await again(files, onFile(1))).toMatchObject({ posted: 0, postedBefore: 1 });
  });

  it("A finding at another place is another one, although the code is the same", async () => {
    const github = await withOne();
    const twin = placed({ id: "src/a.ts:1-2", path: "src/a.ts", line: 9 });
    expect(await again(github, [twin])).toMatchObject({ posted: 1, postedBefore: 0 });
  });
});

describe("The state in the summary", () => {
  const reviewed = { unit: "change" as const, hashes: ["a".repeat(15), "b".repeat(15)] };
  const unplaced = placed({ id: "list", path: "s.ts", line: 1 }, { kind: "summary", reason: "why" });

  it("The state has what was read, what was posted, and what has no comment", async () => {
    const github = await withOne();
    await again(github, [placed({ path: "src/new.ts", line: 2 }), unplaced], { reviewed });
    expect(stateOf(github)).toEqual({
      reviewed,
      posted: ["src/a.ts:1", "src/new.ts:2"],
      carried: [{ finding: unplaced.finding, standing: "listed", reason: "why", number: 1 }],
      decided: [],
      unplaced: { reports: [], hashes: [] },
      next: 2,
      summary: "Adds a total to the cart.",
      paused: null,
    });
  });

  it("The state has findings that are only annotations", async () => {
    const github = new MemoryGitHub();
    github.faults.push({ call: "createReview", error: refusal("github_forbidden") });
    await again(github, many(1));
    expect(stateOf(github)).toMatchObject({ posted: [], carried: [{ standing: "annotated" }] });
  });

  it("The state keeps the pause, and the summary of an earlier review if there is no new one", async () => {
    const github = new MemoryGitHub();
    const paused = { by: "ann", at: "2026-11-22T10:00:00Z" };
    await updateState(github, (state) => ({ ...state, paused, summary: "before" }));
    await again(github, [], { reviewed }, { result: sampleResult({ summary: "", findings: [] }) });
    expect(stateOf(github)).toMatchObject({ paused, summary: "before" });
  });

  it("The state keeps the last summary if a review does not finish", async () => {
    const github = new MemoryGitHub();
    const cut = sampleResult({
      ...{ findings: [], stop_reason: "model_error" },
      summary: unfinishedSummary("model_error"),
    });
    await again(github, [], {}, { result: cut });
    expect(stateOf(github).summary).toBe("");
    await again(github, [], {}, { trigger: "comment:6" });
    await again(github, [], {}, { result: cut, trigger: "comment:7" });
    expect(stateOf(github).summary).toBe("Adds a total to the cart.");
  });

  it.each([
    ["where GitHub does not tell of threads", "ownThreads"],
    ["where GitHub takes no answer", "reply"],
  ] as const)("The next review looks again at fixed findings that were not answered: %s", async (_, call) => {
    const github = await withOne();
    github.faults.push({ call, error: refusal("github_forbidden") });
    await again(github, [], { reviewed, ...fixed(firstComment(github)) });
    const due = lookAgain(fileMark("src/a.ts"));
    expect(stateOf(github).reviewed?.hashes.toSorted()).toEqual([due, ...reviewed.hashes].toSorted());

    github.faults.length = 0;
    await again(github, [], { reviewed, ...fixed(firstComment(github)) }, { trigger: "comment:6" });
    expect(stateOf(github).reviewed).toEqual(reviewed);
  });

  it("A finding that was fixed before its comment was deleted is not dismissed", async () => {
    const github = await withOne();
    await again(github, [], fixed(firstComment(github)));
    github.delete(firstComment(github));
    await again(github, [], {}, { trigger: "comment:7" });
    expect(summary(github)).not.toContain("dismissed");
    expect(stateOf(github).posted).toEqual([]);
  });

  it("The state stays as it was if a review remembers nothing", async () => {
    const github = new MemoryGitHub();
    await again(github, [], { reviewed });
    await publish(github, [], { trigger: "comment:6" });
    expect(stateOf(github).reviewed).toEqual(reviewed);
  });

  it("A listed finding stays listed for its reason, and an annotated one is tried on its line again", async () => {
    const github = new MemoryGitHub();
    const [listed, annotated] = [
      placed({ id: "l", path: "a.ts", line: 1 }),
      placed({ id: "n", path: "a.ts", line: 2 }),
    ];
    const carried = [
      { finding: "l", standing: "listed" as const, reason: "its file is binary" },
      { finding: "n", standing: "annotated" as const, reason: "" },
    ];
    expect(await again(github, [listed, annotated], { carried })).toMatchObject({ posted: 1, listed: 1 });
    expect(inlineIds(github)).toEqual(["a.ts:2"]);
    expect(summary(github)).toContain("_Not on its line: its file is binary._");
  });
});

describe("A comment of an interrupted attempt", () => {
  async function interrupted() {
    const github = new MemoryGitHub();
    github.faults.push({ call: "createComment", error: ambiguous() });
    await expect(publish(github, many(1, { severity: "high" }))).rejects.toThrow();
    github.faults.length = 0;
    return github;
  }

  it("The comment holds the check run if the next attempt does not find the same again", async () => {
    const github = await interrupted();
    await publish(github, []);
    expect(last(github)).toMatchObject({
      conclusion: "neutral",
      title: "Nothing new, 1 open from earlier reviews",
    });
  });

  it("The comment stands for what the next attempt finds in other words", async () => {
    const github = await interrupted();
    const ledger = sampleUpdate(repeats(reworded, firstComment(github)));
    const done = await publish(github, [], { result: sampleResult({ findings: [reworded], ledger }) });
    expect(done).toMatchObject({ posted: 0, postedBefore: 1, listed: 0 });
  });
});

describe("A check run that is requested again", () => {
  it("A requested review posts its findings beside the comments of the one before", async () => {
    const github = new MemoryGitHub();
    await publish(github, many(1));
    expect(await publish(github, many(2), { again: "job-2" })).toMatchObject({ posted: 1, postedBefore: 1 });
    expect(inlineIds(github)).toEqual(["src/a.ts:1", "src/a.ts:2"]);
    expect(github.checks).toHaveLength(1);
    expect(await publish(github, many(2), { again: "job-2" })).toMatchObject({ posted: 1, postedBefore: 1 });
    expect(github.reviews).toHaveLength(2);
  });
});

describe("A later round", () => {
  const configured = { config_changes: ["`max_comments`: 40 -> 10 for @octocat"] };

  it("A later round says how much is new and how much was read before", async () => {
    const github = new MemoryGitHub();
    await again(github, [], { known_hunks: 2 });
    expect(summary(github)).toContain("3 hunks in 2 files read (1 hunk new, 2 read earlier)");
    expect(last(github)?.summary).toContain("Coverage: 3 of 3 hunks in 2 files; 1 hunk new, 2 read earlier.");
  });

  it("A later round names changes of the configuration, and notifies nobody", async () => {
    const github = new MemoryGitHub();
    await again(github, [], {}, { result: sampleResult({ ...configured, findings: [] }) });
    expect(summary(github)).toContain("⚠️ **This pull request changes the configuration of reviews.**");
    expect(summary(github)).toContain("- `max_comments`: 40 -> 10 for @\u200boctocat");
  });

  it("A later round counts an outdated comment as open until somebody settles it", async () => {
    const github = await withOne();
    github.outdate(firstComment(github));
    await again(github, []);
    expect(last(github)).toMatchObject({
      conclusion: "neutral",
      title: "Nothing new, 1 open from earlier reviews",
    });
    expect(summary(github)).toContain("in `src/a.ts`; its code has changed since");
    expect(conclusion(github)).toBe("neutral");
  });
});
