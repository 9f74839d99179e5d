import { describe, expect, it } from "vitest";
import type { Severity } from "../../src/finding.ts";
import type { OwnThread, Permission } from "../../src/github/pull-request-api.ts";
import { readLedger } from "../../src/ledger/read-ledger.ts";
import { author, bot, findingBody, marked, person, reply, Source, thread, us } from "./ledger-source.ts";

interface Given {
  severity?: Severity;
  /** The rule that found it, or "model". */
  source?: string;
  permissions?: Record<string, Permission>;
}

/** The entry of a thread, where ann and bob may write, and whom GitHub was asked about. */
async function entryOf(
  over: Partial<OwnThread>,
  { severity = "medium", source: rule = "model", permissions }: Given = {},
) {
  const source = new Source();
  source.threads = [thread({ body: findingBody({ severity, source: rule }), ...over })];
  for (const [login, permission] of Object.entries({ ann: "write", bob: "admin", ...permissions } as const))
    source.permissions.set(login, permission);
  const { entries } = await readLedger(source, { author });
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
  it("is dismissed as its code stands", async () => {
    const entry = await entryOf({ resolved: true, resolvedBy: person("ann") }, { severity: "critical" });
    const dismissal = { how: "resolved", by: "ann", at: null };
    expect(entry).toMatchObject({ state: "dismissed", dismissal, isTheirs: true, resolved: true, asked: [] });
  });

  it("is fixed where its code has changed", async () => {
    const entry = await entryOf({ resolved: true, resolvedBy: person("ann"), outdated: true });
    expect(entry).toMatchObject({ state: "fixed", dismissal: null, isTheirs: true });
  });

  it("stays dismissed where its code has changed and somebody had said that it is intended", async () => {
    const replies = [reply(person("ann"), "This is intended.")];
    const entry = await entryOf({ resolved: true, resolvedBy: person("ann"), outdated: true, replies });
    expect(entry).toMatchObject({ state: "dismissed", dismissal: { how: "reply", by: "ann" } });
  });

  it("is a person's also where GitHub does not say whose", async () => {
    const entry = await entryOf({ resolved: true, resolvedBy: null });
    expect(entry).toMatchObject({
      state: "dismissed",
      dismissal: { how: "resolved", by: null },
      isTheirs: true,
    });
  });

  it.each([
    ["medium", "read", "dismissed"],
    ["high", "read", "open"],
    ["critical", "read", "open"],
    ["high", "write", "dismissed"],
  ] as const)("by the author: %s, permission %s -> %s", async (severity, permission, state) => {
    const given = { severity, permissions: { [author]: permission } };
    const entry = await entryOf({ resolved: true, resolvedBy: person(author) }, given);
    expect(entry).toMatchObject({ state, isTheirs: true });
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

  it("that it is fixed ends with what a person answers, unless we resolved it", async () => {
    const replies = [fixedReply, reply(person("eve"), "It is still there.")];
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
    ["the author, below high", author, "medium", "dismissed", 0],
    ["the author in other letters, below high", author.toUpperCase(), "low", "dismissed", 0],
    ["the author, from high on", author, "high", "open", 1],
  ] as const)("by %s: %s on %s -> %s", async (_who, login, severity, state, questions) => {
    const [byReaction, byReply] = [
      await entryOf(reaction(login), { severity }),
      await entryOf(said(login), { severity }),
    ];

    expect(byReaction).toMatchObject({ state, isTheirs: false });
    expect(byReply).toMatchObject({ state, isTheirs: true, replies: ["Won't fix."] });
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
    expect(await entryOf({ replies })).toMatchObject({ state: "open", isTheirs: true, asked: [] });
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
    expect(entry.asked).toEqual(["eve", "bob"]);
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
    const { entries } = await readLedger(source, { author });
    expect(entries.map(({ state }) => state)).toEqual(["dismissed", "dismissed", "open", "dismissed"]);
    expect(source.asked).toEqual(["ann", "eve"]);
  });

  it("are asked for of 20 people, and nobody else may", async () => {
    const logins = Array.from({ length: 25 }, (_, at) => `user${at}`);
    const source = byLogins([...logins, "user0"]);
    for (const login of logins) source.permissions.set(login, "write");
    const { entries } = await readLedger(source, { author });
    expect(source.asked).toEqual(logins.slice(0, 20));
    expect(entries.filter(({ state }) => state === "dismissed")).toHaveLength(21);
  });

  it("that cannot be asked for leave no ledger that could be wrong", async () => {
    const source = byLogins(["ann"]);
    source.permissionOf = async () => {
      throw new Error("no answer");
    };
    await expect(readLedger(source, { author })).rejects.toThrow("no answer");
  });
});

describe("a finding that an analyzer is certain of", () => {
  const source = "hidden-characters/bidi";
  const disliked = { downvotes: [{ by: author, at: later }] };

  it("is not dismissed by the author without write access, however mild it is", async () => {
    expect(await entryOf(disliked, { severity: "low" })).toMatchObject({ state: "dismissed" });
    expect(await entryOf(disliked, { severity: "low", source })).toMatchObject({ state: "open" });
    const resolved = { resolved: true, resolvedBy: person(author) };
    expect(await entryOf(resolved, { severity: "low", source })).toMatchObject({ state: "open" });
  });

  it("is not dismissed by somebody whose account is gone: it may have been the author's", async () => {
    const resolved = { resolved: true, resolvedBy: null };
    expect(await entryOf(resolved, { source })).toMatchObject({ state: "open" });
    expect(await entryOf(resolved)).toMatchObject({ state: "dismissed" });
  });

  it("is dismissed by somebody with write access", async () => {
    const byAnn = { downvotes: [{ by: "ann", at: later }] };
    expect(await entryOf(byAnn, { severity: "low", source })).toMatchObject({ state: "dismissed" });
  });
});
