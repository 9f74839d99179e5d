import { describe, expect, it } from "vitest";
import { parseMarker } from "../../../src/core/ledger/marker.ts";
import { emptyState } from "../../../src/core/ledger/state.ts";
import { updateState } from "../../../src/pull/publish/sticky-comment.ts";
import { ambiguous, MemoryGitHub } from "./memory-github.ts";
import { many, publish, summary } from "./publish-to-memory.ts";

const paused = { by: "ann", at: "2026-11-22T10:00:00Z" };
const stateOf = (github: MemoryGitHub) => {
  const marker = parseMarker(summary(github));
  return marker?.kind === "summary" ? marker.state : undefined;
};
const pause = (github: MemoryGitHub) => updateState(github, (state) => ({ ...state, paused }));
const resume = (github: MemoryGitHub) => updateState(github, (state) => ({ ...state, paused: null }));

describe("The state of a pull request", () => {
  it("The state is changed beside a text that stays", async () => {
    const github = new MemoryGitHub();
    await publish(github, many(1));
    const before = summary(github);
    await pause(github);

    expect(stateOf(github)).toMatchObject({ paused });
    expect(summary(github)).toMatch(
      /^⏸️ \*\*Reviews of pushes are paused\*\* by `ann` since `2026-11-22T10:00:00Z`/,
    );
    expect(summary(github)).toContain(before.slice(0, before.lastIndexOf("\n\n<!--")));
    await resume(github);
    expect(summary(github)).toBe(before);
  });

  it("The state gets a comment of its own without a review, which the first review takes over", async () => {
    const github = new MemoryGitHub();
    await pause(github);
    expect(summary(github)).toContain("has not reviewed this pull request yet");
    expect(stateOf(github)).toEqual({ ...emptyState, paused });

    await publish(github, many(1));
    expect(github.comments).toHaveLength(1);
    expect(summary(github)).toMatch(/^⏸️ [^\n]*`ann`[^\n]*\n\n### Hunkwise: 1 high/);
  });

  it("The state is created once although GitHub's answer gets lost", async () => {
    const github = new MemoryGitHub();
    github.faults.push({ call: "createComment", nth: 1, when: "after", error: ambiguous() });
    await pause(github);
    expect(github.comments).toHaveLength(1);
  });

  it("The state does not grow with every change", async () => {
    const github = new MemoryGitHub();
    await pause(github);
    const once = summary(github);
    await pause(github);
    expect(summary(github)).toBe(once);
    await resume(github);
    await resume(github);
    expect(summary(github)).toMatch(/^Hunkwise has not reviewed this pull request yet\.\n\n<!--/);
  });

  it("The state names who paused without notifying them, whatever the name is", async () => {
    const github = new MemoryGitHub();
    await updateState(github, (state) => ({ ...state, paused: { by: "`@octocat`\n<img>", at: "x" } }));
    expect(summary(github).split("\n", 1)[0]).toMatch(/^⏸️ .* by ``+ .*octocat.* ``+ since `x`/);
  });
});
