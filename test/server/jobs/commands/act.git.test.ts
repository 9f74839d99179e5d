import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseMarker } from "../../../../src/core/ledger/marker.ts";
import { currentLedger } from "../../../../src/pull/publish/existing.ts";
import { figuresOfLedger } from "../../../../src/server/figures/pull-figures.ts";
import type { Act } from "../../../../src/server/queue/job.ts";
import { refusal } from "../../../pull/publish/memory-github.ts";
import { writeOut } from "../../../support/secret-corpus.ts";
import { seeded } from "../../../support/seeded.ts";
import { Commanded, CommandedRepository } from "./command-fixture.ts";

let repo: CommandedRepository;
let on: Commanded;
let thread: number;
beforeAll(() => {
  repo = new CommandedRepository();
});
/** The pull request is closed, so that no review follows, unless a test opens it. */
async function pullRequest() {
  const fresh = new Commanded(repo);
  fresh.github.state.state = "closed";
  const first = await fresh.finding("f1", "high");
  fresh.github.calls.length = 0;
  return [fresh, first] as const;
}
beforeEach(async () => {
  [on, thread] = await pullRequest();
});
afterAll(() => repo[Symbol.asyncDispose]());

const dismissal = (reason = "It is wrong", comment = thread): Act => ({ name: "dismiss", comment, reason });
const reads: ReadonlySet<string> = new Set([
  ...["permissionOf", "ownComments", "ownThreads", "ownReviewComments", "pull", "checkRuns"],
]);
const writes = () => on.github.calls.filter((call) => !reads.has(call));

it("A dismissal on a page is our answer in the thread of the finding, with the person and the reason, and counts as theirs", async () => {
  await on.act(dismissal("The code is meant to be like this: see docs"));

  const [told = ""] = on.ours(thread);
  expect(told).toMatch(
    /^Dismissed by `grace` on a page of Hunkwise: The code is meant to be like this: see docs\n/,
  );
  expect(parseMarker(told)).toEqual({
    ...{ kind: "dismissed", comment: thread, by: "grace" },
    reason: "The code is meant to be like this: see docs",
  });
  expect(on.github.thread(thread).resolvedBy?.kind).toBe("us");
  expect(on.said()).toEqual([]);
});

it("A dismissal on a page is read back from GitHub, with who, how and why, for the figures", async () => {
  await on.act(dismissal("It is not worth a change"));
  const key = { installation: 1, repository: 7, pull: 7 };
  const { findings } = figuresOfLedger(key, { state: "open", closed: null }, await currentLedger(on.github));
  expect(findings).toMatchObject([
    {
      figure: { state: "dismissed", dismissal: { by: "grace", how: "page" } },
      words: { reason: "It is not worth a change" },
    },
  ]);
});

it("A dismissal on a page is followed by a review, whose summary says who dismissed it, where and why, and which opens the check", async () => {
  on.github.state.state = "open";
  expect(await on.act(dismissal())).toMatchObject({ reason: expect.stringContaining("0 standing") });
  expect(on.summary()).toMatch(/dismissed by `grace`.*, on a page of Hunkwise: It is wrong/);
  expect(on.checks()).toEqual([`page:${"A".repeat(22)}: neutral`]);
});

it("A dismissal on a page changes nothing if the finding is fixed or dismissed meanwhile, or its comment is gone", async () => {
  on.github.personResolves(thread, "grace");
  expect(await on.act(dismissal())).toEqual({
    ...{ kind: "skipped", reason: "the finding is already dismissed" },
  });
  expect(await on.act(dismissal("It is wrong", thread + 50))).toEqual({
    ...{ kind: "skipped", reason: "the finding has no comment any more" },
  });
  expect(writes()).toEqual([]);
});

it("A dismissal on a page is skipped if GitHub takes no answer, as in a locked conversation", async () => {
  on.github.faults.push({ call: "reply", error: refusal("github_forbidden") });
  expect(await on.act(dismissal())).toMatchObject({
    ...{ kind: "skipped", reason: "GitHub refuses an answer in the thread of the finding" },
  });
  expect(on.github.thread(thread).resolvedBy).toBe(null);
});

it("A dismissal on a page cannot speak to anybody or anything: its reason is one line of harmless text", async () => {
  const token = writeOut("ghp_{base62:36}", seeded(24));
  const reason = `--> <!-- hunkwise:fixed v1 {"comment":${thread},"head":"x"} --> @octocat /approve #12 ![x](https://evil.test/x.png) <img src=x> [a](https://evil.test) ${token}`;
  await on.act(dismissal(reason));
  const [told = ""] = on.ours(thread);
  expect(
    told
      .trimEnd()
      .split("\n")
      .filter((line) => line.startsWith("<!-- hunkwise:")),
  ).toHaveLength(1);
  expect(parseMarker(told)).toMatchObject({ kind: "dismissed", comment: thread, by: "grace" });
  const visible = told.slice(0, told.lastIndexOf("\n"));
  expect(visible).not.toMatch(/(^|[^\\])<|@octocat|(^|[^\\])!\[x\]\(|\]\(https:|(^|\s)#12/);
  expect(told).not.toContain(token);
  expect(told.slice(told.lastIndexOf("\n"))).not.toMatch(/@|-->.*-->/);
});

it("Other acts on a page pause and resume, and the pull request shows who did it and where", async () => {
  expect(await on.act({ name: "pause" })).toEqual({ kind: "done", reason: "paused by grace" });
  expect(on.summary()).toContain(
    "**Reviews of pushes are paused** by `grace` on a page of Hunkwise since `2026-11-22T10:00:00.000Z`",
  );
  await on.act({ name: "resume" }, { id: "B".repeat(22) });
  expect(on.summary()).not.toContain("paused");
  expect(on.said().map((text) => text.split("\n")[0])).toEqual([
    "Asked for by `grace` on a page of Hunkwise. Paused: pushes are not reviewed until someone writes `/resume`. Commands still work.",
    "Asked for by `grace` on a page of Hunkwise. Resumed: I review what was pushed meanwhile, and every push from now on.",
  ]);
});

it("Other acts on a page say that somebody else has paused before", async () => {
  on.github.permissions.set("linus", "write");
  await on.command({ name: "pause" }, { by: "linus" });
  await on.act({ name: "pause" });
  expect(on.summary()).toContain("are paused** by `linus` since");
  expect(on.said()[1]).toContain("already paused, by `linus`");
});

it("Other acts on a page review again, and say for whom, once for each act", async () => {
  on.github.state.state = "open";
  await on.act({ name: "review", mode: "full" });
  const again = await on.act({ name: "review", mode: "full" });
  expect(again).toMatchObject({ kind: "done", reason: "an earlier attempt published it" });
  await on.act({ name: "review", mode: "new" }, { id: "B".repeat(22) });
  expect(on.said().map((text) => text.split("\n")[0])).toEqual([
    "Asked for by `grace` on a page of Hunkwise. I review the whole change again.",
    "Asked for by `grace` on a page of Hunkwise. I review what is new since the last review.",
  ]);
  expect(on.checks().map((one) => one.split(": ")[0])).toEqual([
    `page:${"A".repeat(22)}`,
    `page:${"B".repeat(22)}`,
  ]);
});

it("Other acts on a page say nothing on a pull request that is closed, and review nothing", async () => {
  const asked = await on.act({ name: "review", mode: "full" });
  expect(asked).toEqual({ kind: "skipped", reason: "the pull request is closed" });
  expect([on.said(), on.checks()]).toEqual([[], []]);
});

it.each<Act>([
  { name: "pause" },
  { name: "resume" },
  { name: "review", mode: "full" },
  { name: "dismiss", comment: 1, reason: "It is wrong" },
])(
  "Other acts on a page change nothing for people who may not write, and for a login that now is somebody else's: %o",
  async (act) => {
    for (const [over, login] of [
      [{ by: "ada", account: 78 }, "ada"],
      [{ account: 99 }, "grace"],
      [{ by: "renovate[bot]" }, "renovate[bot]"],
    ] as const) {
      const asked = await on.act(act, over);
      expect(asked).toEqual({ kind: "skipped", reason: `${login} has no write access` });
    }
    expect(on.github.calls.every((call) => call === "permissionOf")).toBe(true);
  },
);

it("Other acts on a page are tried again if GitHub does not say who may write", async () => {
  on.github.faults.push({ call: "permissionOf", error: refusal("github_unauthorized") });
  await expect(on.act({ name: "pause" })).rejects.toMatchObject({ code: "github_unauthorized" });
  expect(writes()).toEqual([]);
});

it("Other acts on a page write nothing if another worker has the job", async () => {
  on.isOurs = false;
  await expect(on.act(dismissal())).rejects.toMatchObject({ code: "lease_lost" });
  await expect(on.act({ name: "pause" })).rejects.toMatchObject({ code: "lease_lost" });
  expect(writes()).toEqual([]);
});

describe("an act whose worker died, and of which nobody remembers anything", () => {
  const died = new Error("The worker died");
  const seen = (pull: Commanded, first: number) => ({
    ...{ said: pull.said(), summary: pull.summary(), thread: pull.ours(first) },
    resolved: pull.github.thread(first).resolvedBy?.kind,
  });

  it.each(["pause", "resume", "review", "dismiss"] as const)(
    "An act without a record has the same result when it is done again: %s",
    async (name) => {
      const give = (pull: Commanded, comment: number) => {
        if (name === "dismiss") return pull.act({ name, comment, reason: "It is wrong" });
        return pull.act(name === "review" ? { name, mode: "new" } : { name });
      };
      const [whole, first] = await pullRequest();
      await give(whole, first);
      const calls = [...whole.github.calls];
      expect(calls.length).toBeGreaterThan(3);
      for (const [at, call] of calls.entries()) {
        const nth = calls.slice(0, at + 1).filter((one) => one === call).length;
        for (const when of ["before", "after"] as const) {
          const [pull, other] = await pullRequest();
          pull.github.faults.push({ call, nth, when, error: died } as never);
          await expect(give(pull, other)).rejects.toBe(died);
          pull.recorded.length = 0;
          pull.github.faults.length = 0;
          await give(pull, other);
          expect(seen(pull, other), `${when} call ${at + 1}, ${call}`).toEqual(seen(whole, first));
        }
      }
    },
  );
});
