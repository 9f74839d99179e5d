import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AppError } from "../../../../src/core/errors.ts";
import { parseMarker } from "../../../../src/core/ledger/marker.ts";
import { refusal } from "../../../pull/publish/memory-github.ts";
import { type ScriptedTurn, scriptedModel } from "../../../support/scripted.ts";
import { Commanded, CommandedRepository, reviewTask } from "./command-fixture.ts";

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

it("Resolve in a thread of ours dismisses its finding, for whoever asked, and no other", async () => {
  const [one, other] = [await on.finding("f1", "critical"), await on.finding("f2")];
  await on.command(resolve, { thread: one });

  const [told = ""] = on.ours(one);
  expect(told).toContain("Dismissed by `grace`.");
  expect(parseMarker(told)).toEqual({ kind: "dismissed", comment: one, by: "grace" });
  expect([resolvedBy(one), resolvedBy(other)]).toEqual(["us", undefined]);
  expect(on.ours(other)).toEqual([]);
  expect(on.said()).toEqual([]);
});

it("Resolve in the conversation dismisses all open findings, and says how many", async () => {
  const [one, other, done] = [await on.finding("f1"), await on.finding("f2"), await on.finding("f3")];
  on.github.personResolves(done, "grace");
  await on.command(resolve);

  expect(on.ours(one).concat(on.ours(other))).toHaveLength(2);
  expect(on.ours(done)).toEqual([]);
  expect(on.said()).toEqual([expect.stringContaining("Dismissed 2 findings.")]);
});

it("Resolve in the conversation leaves open what was published after it was written", async () => {
  const thread = await on.finding("f1");
  await on.command(resolve, { writtenAt: "2025-12-31T23:59:59Z" });
  expect(on.ours(thread)).toEqual([]);
  expect(on.said()).toEqual([expect.stringContaining("Dismissed 0 findings. 1 more is still open.")]);
});

it("Resolve says that nothing is open, or that a thread is not about a finding", async () => {
  await on.command(resolve);
  expect(on.said()[0]).toContain("There are no open findings.");
  const thread = await on.finding("f1");
  const asked = on.command(resolve, { thread: thread + 50, commentId: 9_002 });
  expect(await asked).toMatchObject({ kind: "done", reason: "there is no finding in the thread" });
  expect(on.ours(thread)).toEqual([]);
});

it("Resolve counts although threads may not be resolved, and says which permission that takes", async () => {
  on.github.faults.push({ call: "resolveThread", error: refusal("github_forbidden") });
  const [one, other] = [await on.finding("f1"), await on.finding("f2")];
  await on.command(resolve);
  expect(on.ours(one).concat(on.ours(other))).toHaveLength(2);
  expect(on.said()[0]).toContain("`Contents: Read and write`");
  expect(on.github.count("resolveThread")).toBe(1);
});

it("Resolve goes on after a crash where it ended, and answers nobody twice", async () => {
  const [one, other] = [await on.finding("f1"), await on.finding("f2")];
  on.github.faults.push({ call: "resolveThread", nth: 1, error: new AppError("aborted", "killed") });
  await expect(on.command(resolve)).rejects.toMatchObject({ code: "aborted" });
  await on.command(resolve);

  expect([on.ours(one).length, on.ours(other).length]).toEqual([1, 1]);
  expect([resolvedBy(one), resolvedBy(other)]).toEqual(["us", "us"]);
  expect(on.said()).toHaveLength(1);
});

it("Resolve that is delivered again dismisses nothing that was found since", async () => {
  await on.finding("f1");
  await on.command(resolve);
  const later = await on.finding("f2");
  await on.command(resolve);
  expect(on.ours(later)).toEqual([]);
});

it("Resolve is followed by a review, for the summary and the check run", async () => {
  on.github.state.state = "open";
  await on.finding("f1", "high");
  expect(await on.command(resolve)).toMatchObject({ reason: expect.stringContaining("0 standing") });
  expect(on.summary()).toMatch(/dismissed by `grace`/);
  expect(on.checks()).toHaveLength(1);
});

describe("resolve with numbers", () => {
  const finding = {
    ...{ path: "src/cart.js", line: 1, quote: "export const rate = 2;", severity: "low", category: "api" },
    ...{ title: "The rate doubles for every caller", body: "Nobody expects it.", confidence: 0.9 },
  };
  const lost = { ...finding, quote: "export const rate = three;" };
  const report = (args: object): ScriptedTurn => ({
    toolCalls: [{ name: "report_finding", arguments: { ...args } }],
  });
  const finish: ScriptedTurn = { toolCalls: [{ name: "finish_review", arguments: { summary: "Doubles." } }] };
  const effort = "effort: low\n";
  /** A job of its own, with a record of its own. */
  const at = (trigger: string, mode: "new" | "full" = "new") => {
    on.recorded.length = 0;
    return on.attempt({ ...reviewTask, trigger, mode });
  };
  /** The next turns of the model, which then finishes. */
  const says = (...turns: ScriptedTurn[]) => {
    on.model = scriptedModel(() => turns.shift() ?? finish);
    on.recorded.length = 0;
  };
  const resolveNumbers = (numbers: number[], commentId: number) =>
    on.command({ name: "resolve", numbers }, { commentId });
  const conclusions = () => on.checks().map((check) => check.split(": ").at(-1));

  beforeEach(() => {
    on.github.state.state = "open";
    on.files.set(".github/hunkwise.yml", effort);
  });

  it("Resolve with numbers dismisses a report that could not be placed: then what it is about counts as read", async () => {
    says(report(lost));
    await at("event#1");
    expect(on.summary()).toMatch(
      /\*\*Reported by the model, and not placed\*\*\n\n- low, src\/cart\.js:1: The rate doubles .*\(to dismiss: `\/resolve 1`\)/,
    );
    expect(conclusions()).toEqual(["neutral"]);

    says();
    await resolveNumbers([1], 9_002);
    expect(on.said()[0]).toMatch(/Dismissed by `grace`:\n\n- 1: low, src\/cart\.js:1: The rate doubles/);
    expect(on.model).toMatchObject({ requests: [] });
    expect(conclusions()).toEqual(["neutral", "success"]);
    expect(on.summary()).toContain("1 dismissed");
    expect(on.summary()).not.toContain("not placed");
  });

  it("Resolve with numbers leaves a report that is not named, and what it is about is read again", async () => {
    says(report(lost), report({ ...lost, title: "The old rate is documented elsewhere" }));
    await at("event#1");
    says(report({ ...lost, title: "The old rate is documented elsewhere" }));
    await resolveNumbers([1], 9_002);
    expect(on.summary()).toContain("`/resolve 2`");
    expect(conclusions()).toEqual(["neutral", "neutral"]);
    says();
    await resolveNumbers([2], 9_003);
    expect(conclusions()).toEqual(["neutral", "neutral", "success"]);
  });

  it("Resolve with numbers holds when everything is read again, and gives no number twice", async () => {
    says(report(lost));
    await at("event#1");
    says();
    await resolveNumbers([1], 9_002);
    says(report(lost));
    await at("comment:5", "full");
    expect(conclusions().at(-1)).toBe("success");

    says(report({ ...lost, title: "A constant is not what callers configure" }));
    await at("comment:6", "full");
    expect(on.summary()).toMatch(/A constant is not what.*`\/resolve 2`/);
    expect(conclusions().at(-1)).toBe("neutral");
  });

  it("Resolve with numbers dismisses a finding without a thread, until a worse one takes its place", async () => {
    on.files.set(".github/hunkwise.yml", `${effort}check: { threshold: low }\n`);
    says(report(finding));
    await at("event#1");
    expect(on.summary()).toMatch(/`\/resolve 1` dismisses it/);
    says();
    await resolveNumbers([1], 9_002);
    expect(conclusions()).toEqual(["neutral", "success"]);

    says(report(finding));
    await at("comment:5", "full");
    expect(conclusions().at(-1)).toBe("success");
    expect(on.summary()).toMatch(
      /The rate doubles for every caller in .*dismissed by `grace`, by its number/,
    );

    says(report({ ...finding, severity: "medium" }));
    await at("comment:6", "full");
    expect(conclusions().at(-1)).toBe("neutral");
  });

  it("Resolve with numbers says which numbers nothing has, and is answered once after a crash", async () => {
    says(report(lost));
    await at("event#1");
    says();
    on.github.faults.push({ call: "createComment", nth: 2, error: new AppError("aborted", "killed") });
    await expect(resolveNumbers([1, 8], 9_002)).rejects.toMatchObject({ code: "aborted" });
    await resolveNumbers([1, 8], 9_002);
    expect(on.said()).toEqual([expect.stringContaining("Nothing in the summary has the number 8 now.")]);
    expect(on.said()[0]).toContain("- 1: ");
    expect(conclusions().at(-1)).toBe("success");
  });

  it("Resolve with numbers is for people with write access", async () => {
    says(report(lost));
    await at("event#1");
    const asked = on.command({ name: "resolve", numbers: [1] }, { by: "ada", commentId: 9_002 });
    expect(await asked).toMatchObject({ kind: "skipped" });
    expect(on.summary()).toContain("`/resolve 1`");
  });
});
