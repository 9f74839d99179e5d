import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { getPriority } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CheckoutPlace } from "../../src/git/workspace.ts";
import { runReviewProcess } from "../../src/process/run-review-process.ts";
import { type StartedReviewProcess, startReviewProcess } from "../../src/process/start-review-process.ts";
import { placeOf } from "../support/checkout-place.ts";
import { GitRepo } from "../support/git-repo.ts";
import { reviewInput } from "../support/review-input.ts";

describe("a review process that was started before its review", () => {
  let repo: GitRepo;
  let placed: Disposable & { place: CheckoutPlace };

  beforeAll(async () => {
    repo = GitRepo.create();
    repo.commit("before", { "a.js": "a();\n" });
    repo.git("tag", "base");
    repo.commit("after", { "a.js": "debugger;\na();\n" });
    placed = await placeOf(repo, "base");
  });
  afterAll(() => {
    placed[Symbol.dispose]();
    repo[Symbol.dispose]();
  });

  const review = (started: StartedReviewProcess) =>
    runReviewProcess({
      place: placed.place,
      input: reviewInput({ models: null }),
      models: null,
      trajectory: { append: async () => {} },
      onProgress() {},
      signal: new AbortController().signal,
      started,
    });

  it("reviews, and ends with the review", async () => {
    const started = startReviewProcess();
    const result = await review(started);

    expect(result.findings.map(({ finding }) => [finding.path, finding.line])).toEqual([["a.js", 1]]);
    expect(await started.ended).toBe("ended with SIGKILL");
  });

  it("reviews also when it was ready long before", async () => {
    const started = startReviewProcess();
    // What it says while nobody listens must not be lost.
    await new Promise((resolve) => setTimeout(resolve, 1_500));

    expect((await review(started)).stop_reason).toBe("no_model");
  });

  it("has the processor after the server, with every thread, and as a session too", async () => {
    using started = startReviewProcess();
    const pid = started.child.pid!;
    await new Promise((resolve) => started.child.once("message", resolve));

    expect(getPriority(pid)).toBe(5);
    if (process.platform !== "linux") return;
    const threads = readdirSync(`/proc/${pid}/task`);
    expect(threads.length).toBeGreaterThan(1);
    expect(threads.map((thread) => getPriority(Number(thread)))).toEqual(threads.map(() => 5));
    const session = await readFile(`/proc/${pid}/autogroup`, "utf8").catch(() => "nice 5");
    expect(session).toContain("nice 5");
  });

  it("ends when it is not needed after all", async () => {
    const started = startReviewProcess();
    started[Symbol.dispose]();

    expect(await started.ended).toBe("ended with SIGKILL");
  });

  it("fails the review, to be tried again, when it has died meanwhile", async () => {
    const started = startReviewProcess();
    started.child.kill("SIGKILL");
    await started.ended;

    await expect(review(started)).rejects.toMatchObject({ code: "child_died", retryable: true });
  });
});
