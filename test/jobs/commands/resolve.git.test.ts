import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AppError } from "../../../src/errors.ts";
import { parseMarker } from "../../../src/ledger/marker.ts";
import { refusal } from "../../publish/memory-github.ts";
import { Commanded, CommandedRepository } from "./command-fixture.ts";

let repo: CommandedRepository;
let on: Commanded;
beforeAll(() => {
  repo = new CommandedRepository();
});
beforeEach(() => {
  on = new Commanded(repo);
  // What is closed is not reviewed: the last test alone waits for the review that follows.
  on.github.state.state = "closed";
});
afterAll(() => repo[Symbol.asyncDispose]());

const resolve = { name: "resolve" } as const;
const resolvedBy = (thread: number) => on.github.thread(thread).resolvedBy?.kind;

describe("resolve", () => {
  it("in a thread of ours dismisses its finding, for whoever asked, and no other", async () => {
    const [one, other] = [await on.finding("f1", "critical"), await on.finding("f2")];
    await on.command(resolve, { thread: one });

    const [told = ""] = on.ours(one);
    expect(told).toContain("Dismissed by `grace`.");
    expect(parseMarker(told)).toEqual({ kind: "dismissed", comment: one, by: "grace" });
    expect([resolvedBy(one), resolvedBy(other)]).toEqual(["us", undefined]);
    expect(on.ours(other)).toEqual([]);
    expect(on.said()).toEqual([]);
  });

  it("in the conversation dismisses all that stand, and says how many", async () => {
    const [one, other, done] = [await on.finding("f1"), await on.finding("f2"), await on.finding("f3")];
    on.github.personResolves(done, "grace");
    await on.command(resolve);

    expect(on.ours(one).concat(on.ours(other))).toHaveLength(2);
    expect(on.ours(done)).toEqual([]);
    expect(on.said()).toEqual([expect.stringContaining("Dismissed 2 findings.")]);
  });

  it("says so where nothing is open, and in a thread that no finding of ours began", async () => {
    await on.command(resolve);
    expect(on.said()[0]).toContain("There are no open findings.");
    const thread = await on.finding("f1");
    const asked = on.command(resolve, { thread: thread + 50, commentId: 9_002 });
    expect(await asked).toMatchObject({ kind: "done", reason: "there is no finding in the thread" });
    expect(on.ours(thread)).toEqual([]);
  });

  it("counts although threads may not be resolved, and says which permission that takes", async () => {
    on.github.faults.push({ call: "resolveThread", error: refusal("github_forbidden") });
    const [one, other] = [await on.finding("f1"), await on.finding("f2")];
    await on.command(resolve);
    expect(on.ours(one).concat(on.ours(other))).toHaveLength(2);
    expect(on.said()[0]).toContain("`Contents: Read and write`");
    expect(on.github.count("resolveThread")).toBe(1);
  });

  it("goes on after a crash where it ended, and tells nobody twice", async () => {
    const [one, other] = [await on.finding("f1"), await on.finding("f2")];
    on.github.faults.push({ call: "resolveThread", nth: 1, error: new AppError("aborted", "killed") });
    await expect(on.command(resolve)).rejects.toMatchObject({ code: "aborted" });
    await on.command(resolve);

    expect([on.ours(one).length, on.ours(other).length]).toEqual([1, 1]);
    expect([resolvedBy(one), resolvedBy(other)]).toEqual(["us", "us"]);
    expect(on.said()).toHaveLength(1);
  });

  it("that is delivered again dismisses nothing that was found since", async () => {
    await on.finding("f1");
    await on.command(resolve);
    const later = await on.finding("f2");
    await on.command(resolve);
    expect(on.ours(later)).toEqual([]);
  });

  it("is followed by a review, for the summary and the check run", async () => {
    on.github.state.state = "open";
    await on.finding("f1", "high");
    expect(await on.command(resolve)).toMatchObject({ reason: expect.stringContaining("0 standing") });
    expect(on.summary()).toMatch(/dismissed by `grace`/);
    expect(on.checks()).toHaveLength(1);
  });
});
