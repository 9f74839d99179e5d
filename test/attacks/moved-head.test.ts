import { describe, expect, it } from "vitest";
import { MemoryGitHub } from "../pull/publish/memory-github.ts";
import { inlineIds, many, onFile, publish } from "../pull/publish/publish-to-memory.ts";

const later = "c".repeat(40);
const findings = [...many(2), ...onFile(1)];

/** A force-push arrives right before the nth call of publishing; the calls before its review only read. */
async function publishWhileMoving(nth: number) {
  const github = new MemoryGitHub();
  let calls = 0;
  let reviewAt = 0;
  github.meanwhile = (call) => {
    calls++;
    if (call === "createReview") reviewAt ||= calls;
    if (calls === nth) github.state.headSha = later;
  };
  const outcome = await publish(github, findings);
  return { github, outcome, calls, reviewAt };
}

describe("a head that moves while its review is published", () => {
  it("moved-head: A push at any call stops all posts about the old head, except one that has already begun", async () => {
    const still = await publishWhileMoving(0);
    expect(still.outcome.kind).toBe("published");
    expect(still.reviewAt).toBeGreaterThan(3);

    for (let nth = 1; nth <= still.calls; nth++) {
      const { github, outcome } = await publishWhileMoving(nth);
      const end = { kind: outcome.kind, lines: inlineIds(github), summaries: github.comments.length };
      const nothing = { kind: "stale_head", lines: [], summaries: 0 };
      const everything = { kind: "published", lines: ["src/a.ts:1", "src/a.ts:2"], summaries: 1 };
      expect(end, `before call ${nth} of ${still.calls}`).toEqual(
        nth < still.reviewAt ? nothing : everything,
      );
      expect(github.checks[0]?.history.at(-1)?.status).toBe("completed");
    }
  });
});
