import { describe, expect, it } from "vitest";
import type { Severity } from "../../src/finding.ts";
import type { OwnThread, Permission } from "../../src/github/pull-request-api.ts";
import { readLedger } from "../../src/ledger/read-ledger.ts";
import { type Decision, emptyState } from "../../src/ledger/state.ts";
import {
  author,
  bot,
  findingBody,
  marked,
  person,
  reply,
  Source,
  summary,
  thread,
  us,
} from "./ledger-source.ts";

interface Given {
  severity?: Severity;
  /** The rule that found it, or "model". */
  source?: string;
  permissions?: Record<string, Permission>;
  /** What an earlier reading came to. */
  decided?: Omit<Decision, "comment">[];
}

/** The entry of a thread, where ann and bob may write, and whom GitHub was asked about. */
async function entryOf(
  over: Partial<OwnThread>,
  { severity = "medium", source: rule = "model", permissions, decided = [] }: Given = {},
) {
  const source = new Source();
  source.comments = [summary({ ...emptyState, decided: decided.map((one) => ({ comment: 100, ...one })) })];
  source.threads = [thread({ body: findingBody({ severity, source: rule }), ...over })];
  for (const [login, permission] of Object.entries({ ann: "write", bob: "admin", ...permissions } as const))
    source.permissions.set(login, permission);
  const { entries } = await readLedger(source);
  return { ...entries[0], asked: source.asked };
}

const later = "2026-02-02T00:00:00Z";
const fixedReply = reply(us, marked("Fixed in abc.", { kind: "fixed", comment: 100, head: "abc" }));
const dismissedReply = reply(us, marked("Dismissed.", { kind: "dismissed", comment: 100, by: "ann" }), later);
const answerReply = reply(us, marked("Because.", { kind: "answer", comment: 7 }));

describe("a finding", () => {
  it("is open until something happens", async () => {
    expect(await entryOf({})).toMatchObject({ state: "open", dismissal: null, isTheirs: false, asked: [] });
  });

  it("is outdated when its code has changed and nobody said anything", async () => {
    expect(await entryOf({ outdated: true, line: null })).toMatchObject({ state: "outdated" });
  });

  it("stays as it is for what bots do and for our answers", async () => {
    const replies = [reply(bot, "Not a bug."), answerReply];
    expect(await entryOf({ replies })).toMatchObject({ state: "open", isTheirs: false, replies: [] });
    expect(await entryOf({ resolved: true, resolvedBy: bot })).toMatchObject({
      state: "open",
      isTheirs: false,
    });
  });
});

describe("a thread that a person resolved", () => {
  const resolved = (by: string | null) => ({ resolved: true, resolvedBy: by === null ? null : person(by) });

  it("is dismissed if the person may write, whether its code has changed or not", async () => {
    const dismissal = { how: "resolved", by: "ann", at: null };
    for (const outdated of [false, true]) {
      const entry = await entryOf({ ...resolved("ann"), outdated }, { severity: "critical" });
      expect(entry).toMatchObject({ state: "dismissed", dismissal, isTheirs: true, asked: ["ann"] });
    }
  });

  it.each([
    ["the author", author],
    ["a stranger", "eve"],
    ["somebody whom GitHub does not name", null],
  ])("stays as its code says if it was %s", async (_who, by) => {
    for (const severity of ["low", "critical"] as const) {
      expect(await entryOf(resolved(by), { severity })).toMatchObject({ state: "open", dismissal: null });
      const entry = await entryOf({ ...resolved(by), outdated: true, line: null }, { severity });
      expect(entry).toMatchObject({ state: "outdated", dismissal: null });
    }
  });

  it("is dismissed by the author who may write", async () => {
    const permissions = { [author]: "write" } as const;
    expect(await entryOf(resolved(author), { permissions })).toMatchObject({ state: "dismissed" });
  });
});

describe("a decision that was read before", () => {
  const decided = [{ how: "resolved", by: "ann", after: 100 }] as const;
  const eve = (count: number) =>
    Array.from({ length: count }, () => reply(person("eve"), "No, it is a bug."));

  it("holds though the author unresolves the thread, and strangers write in it", async () => {
    const entry = await entryOf({ replies: eve(3), outdated: true }, { decided: [...decided] });
    expect(entry).toMatchObject({ state: "dismissed", dismissal: { how: "resolved", by: "ann" } });
  });

  it("ends when somebody who may write speaks in the thread while it is not resolved", async () => {
    const replies = [...eve(1), reply(person("bob"), "This has to be fixed.")];
    expect(await entryOf({ replies }, { decided: [...decided] })).toMatchObject({ state: "open" });
    const stays = { replies, resolved: true, resolvedBy: person(author) };
    expect(await entryOf(stays, { decided: [...decided] })).toMatchObject({ state: "dismissed" });
  });

  it("is found behind more people than GitHub is asked about", async () => {
    const crowd = Array.from({ length: 300 }, (_, at) => reply(person(`eve${at}`), "Won't fix.", later));
    const replies = [reply(person("ann"), "Won't fix."), ...crowd];
    const before = [{ how: "reply", by: "ANN", after: 100 }] as const;
    expect(await entryOf({ replies })).toMatchObject({ state: "open" });
    expect(await entryOf({ replies }, { decided: [...before] })).toMatchObject({
      state: "dismissed",
      dismissal: { how: "reply", by: "ann" },
    });
  });

  it("ends when whoever made it takes the reply or the reaction back", async () => {
    const before = [
      { how: "reply", by: "ann", after: 100 },
      { how: "reaction", by: "bob", after: 100 },
    ] as const;
    expect(await entryOf({ replies: eve(1) }, { decided: [...before] })).toMatchObject({ state: "open" });
  });
});

describe("our word in a thread", () => {
  it("that it is fixed counts, resolved or not", async () => {
    expect(await entryOf({ replies: [fixedReply] })).toMatchObject({ state: "fixed", isTheirs: false });
    const entry = await entryOf({ replies: [fixedReply], resolved: true, resolvedBy: us });
    expect(entry).toMatchObject({ state: "fixed", isTheirs: false, resolved: true });
  });

  it("that it is fixed counts where GitHub does not say that we resolved it", async () => {
    const entry = await entryOf({ replies: [fixedReply], resolved: true, resolvedBy: null });
    expect(entry).toMatchObject({ state: "fixed", isTheirs: false });
  });

  it("outlives that a person resolves the thread thereupon", async () => {
    const resolved = { resolved: true, resolvedBy: person("eve") };
    expect(await entryOf({ replies: [fixedReply], ...resolved })).toMatchObject({ state: "fixed" });
    const entry = await entryOf({ replies: [dismissedReply], ...resolved, outdated: true });
    expect(entry).toMatchObject({
      state: "dismissed",
      dismissal: { how: "command", by: "ann" },
      isTheirs: true,
    });
  });

  it("that it is fixed outlives what a person answers who may not decide", async () => {
    const replies = [fixedReply, reply(person("eve"), "It is still there."), reply(person(author), "No.")];
    expect(await entryOf({ replies })).toMatchObject({ state: "fixed", isTheirs: false });
  });

  it("that it is fixed ends with what somebody with write access answers, unless we resolved it", async () => {
    const replies = [fixedReply, reply(person("ann"), "It is still there.")];
    expect(await entryOf({ replies })).toMatchObject({ state: "open", isTheirs: true });
    expect(await entryOf({ replies, outdated: true })).toMatchObject({ state: "outdated" });
    expect(await entryOf({ replies, resolved: true, resolvedBy: us })).toMatchObject({ state: "fixed" });
  });

  it("that it is fixed outlives that a person thanks for it", async () => {
    const replies = [fixedReply, reply(person(author), "Thanks for checking!"), reply(person("ann"), "👍")];
    expect(await entryOf({ replies, outdated: true })).toMatchObject({ state: "fixed", isTheirs: true });
  });

  it("that it is fixed outlives what was said before it, what bots say and our own answers", async () => {
    const replies = [reply(person("eve"), "Sure?"), fixedReply, reply(bot, "Beep."), answerReply];
    expect(await entryOf({ replies })).toMatchObject({ state: "fixed" });
  });

  it("that it is dismissed names who had it dismissed, resolved or not", async () => {
    const dismissal = { how: "command", by: "ann", at: later };
    for (const resolvedBy of [us, null]) {
      const entry = await entryOf({ replies: [dismissedReply], resolved: resolvedBy !== null, resolvedBy });
      expect(entry).toMatchObject({ state: "dismissed", dismissal });
    }
    const answered = [dismissedReply, reply(person("eve"), "Ok.")];
    expect(await entryOf({ replies: answered })).toMatchObject({ state: "dismissed", dismissal });
  });

  it("is the last one", async () => {
    expect(await entryOf({ replies: [fixedReply, dismissedReply] })).toMatchObject({ state: "dismissed" });
    expect(await entryOf({ replies: [dismissedReply, fixedReply] })).toMatchObject({ state: "fixed" });
  });
});

describe("a thumb down or a dismissing reply", () => {
  const reaction = (by: string) => ({ downvotes: [{ by, at: later }] });
  const said = (login: string) => ({ replies: [reply(person(login), "Won't fix.", later)] });

  it.each([
    ["somebody with write access", "ann", "critical", "dismissed", 1],
    ["an admin", "bob", "high", "dismissed", 1],
    ["somebody who may read alone", "eve", "low", "open", 1],
    ["the author", author, "low", "open", 1],
  ] as const)("by %s: %s on %s -> %s", async (_who, login, severity, state, questions) => {
    const [byReaction, byReply] = [
      await entryOf(reaction(login), { severity }),
      await entryOf(said(login), { severity }),
    ];

    expect(byReaction).toMatchObject({ state, isTheirs: false });
    expect(byReply).toMatchObject({ state, isTheirs: state === "dismissed", replies: ["Won't fix."] });
    if (state === "dismissed") {
      expect(byReaction.dismissal).toEqual({ how: "reaction", by: login, at: later });
      expect(byReply.dismissal).toEqual({ how: "reply", by: login, at: later });
    }
    expect([byReaction.asked.length, byReply.asked.length]).toEqual([questions, questions]);
  });

  it("outlives a change of its code", async () => {
    expect(await entryOf({ ...said("ann"), outdated: true })).toMatchObject({ state: "dismissed" });
  });

  it("counts from bots and from who is gone as little as other words", async () => {
    const gone = { login: null, kind: "person" } as const;
    for (const from of [bot, gone])
      expect(await entryOf({ replies: [reply(from, "Won't fix.")] })).toMatchObject({
        state: "open",
        asked: [],
      });
    const replies = [reply(person("ann"), "This is not intended.")];
    expect(await entryOf({ replies })).toMatchObject({ state: "open", isTheirs: true, asked: ["ann"] });
  });

  it("is told by the newest of those who may", async () => {
    const replies = [
      reply(person("ann"), "By design.", "2026-01-01T00:00:00Z"),
      reply(person("bob"), "Not a bug.", "2026-01-03T00:00:00Z"),
      reply(person("eve"), "Won't fix.", "2026-01-04T00:00:00Z"),
    ];
    const downvotes = [{ by: "ann", at: "2026-01-02T00:00:00Z" }];
    const entry = await entryOf({ replies, downvotes });
    expect(entry.dismissal).toEqual({ how: "reply", by: "bob", at: "2026-01-03T00:00:00Z" });
    expect(entry.asked).toEqual(["eve", "bob", "ann"]);
  });
});

describe("permissions", () => {
  const byLogins = (logins: readonly string[]) => {
    const source = new Source();
    source.threads = logins.map((by, at) => thread({ comment: at + 1, downvotes: [{ by, at: later }] }));
    return source;
  };

  it("are asked for once for each person", async () => {
    const source = byLogins(["ann", "ANN", "eve", "ann"]);
    source.permissions.set("ann", "write");
    const { entries } = await readLedger(source);
    expect(entries.map(({ state }) => state)).toEqual(["dismissed", "dismissed", "open", "dismissed"]);
    expect(source.asked).toEqual(["ann", "eve"]);
  });

  it("are asked for of 200 people; what others decided is not known, and a notice says so", async () => {
    const logins = Array.from({ length: 205 }, (_, at) => `user${at}`);
    const source = byLogins([...logins, "user0"]);
    for (const login of logins) source.permissions.set(login, "write");
    const { entries, notice } = await readLedger(source);
    expect(source.asked).toEqual(logins.slice(0, 200));
    expect(entries.filter(({ state }) => state === "dismissed")).toHaveLength(201);
    expect(notice).toContain("More than 200 people");
  });

  it("that cannot be asked for leave no ledger that could be wrong", async () => {
    const source = byLogins(["ann"]);
    source.permissionOf = async () => {
      throw new Error("no answer");
    };
    await expect(readLedger(source)).rejects.toThrow("no answer");
  });
});
