import { describe, expect, it } from "vitest";
import { AppError, type ErrorCode } from "../../../src/core/errors.ts";
import type { Severity } from "../../../src/core/finding.ts";
import { formatMarker } from "../../../src/core/ledger/marker.ts";
import { type Decision, emptyState } from "../../../src/core/ledger/state.ts";
import type { OwnComment, OwnThread, Permission } from "../../../src/pull/github/pull-request-api.ts";
import { readLedger } from "../../../src/pull/ledger/read-ledger.ts";
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

function sourceOf(parts: Partial<Pick<Source, "comments" | "threads" | "lines">>): Source {
  return Object.assign(new Source(), parts);
}
const read = (parts: Parameters<typeof sourceOf>[0]) => readLedger(sourceOf(parts));

const line = (over: Partial<OwnComment> = {}): OwnComment => ({
  ...{ id: 100, body: findingBody(), path: "src/cart.ts", side: "RIGHT", line: 12, outdated: false },
  ...{ url: "https://github.example/r100", review: null, createdAt: "2026-01-01T00:00:00Z" },
  ...over,
});

describe("The ledger of a pull request", () => {
  it("The ledger is empty without our texts", async () => {
    expect(await read({})).toEqual({ state: emptyState, sticky: null, entries: [], notice: null });
  });

  it("The ledger has the state of the oldest of our summaries", async () => {
    const paused = { by: "octocat", at: "2026-01-01T00:00:00Z" };
    const oldest = summary({ ...emptyState, paused }, 5);
    const ledger = await read({ comments: [summary(emptyState, 9), oldest, { id: 2, body: "Answered." }] });
    expect(ledger).toMatchObject({ sticky: oldest, state: { paused } });
  });

  it("The ledger ignores a summary that is quoted above other words", async () => {
    const quoted = { id: 1, body: `${summary(emptyState).body}\n\nThe end.` };
    expect(await read({ comments: [quoted] })).toMatchObject({ sticky: null });
  });

  it("The ledger has an entry for each comment on a finding, in their order", async () => {
    const first = thread({
      body: findingBody({
        ...{ id: "f1", severity: "high", category: "api", symbol: "Cart.total" },
        ...{ code: "0123456789ab", files: ["src/tax.ts"] },
      }),
      replies: [reply(person("ann"), "Hm."), reply(bot, "Beep."), reply(us, "Answer.")],
    });
    const second = thread({
      comment: 200,
      id: "T2",
      body: findingBody({ id: "f2" }),
      line: null,
      startLine: null,
    });

    const { entries } = await read({
      threads: [second, first, thread({ comment: 150, body: "No finding." })],
    });

    expect(entries).toEqual([
      {
        ...{
          comment: 100,
          id: "f1",
          path: "src/cart.ts",
          side: "RIGHT",
          line: 12,
          start_line: 10,
          original_line: 11,
        },
        ...{
          severity: "high",
          category: "api",
          symbol: "Cart.total",
          code: "0123456789ab",
          source: "model",
          files: ["src/tax.ts"],
        },
        ...{ title: "The total is off by one", text: expect.any(String), state: "open", dismissal: null },
        ...{
          is_theirs: false,
          thumbs: { up: 0, down: 0 },
          newest_reply: expect.any(Number),
          created_at: "2026-01-01T00:00:00Z",
          thread: "T1",
          resolved: false,
          url: "https://github.example/r100",
          replies: ["Hm."],
        },
      },
      expect.objectContaining({
        comment: 200,
        id: "f2",
        thread: "T2",
        line: null,
        is_theirs: false,
        thumbs: { up: 0, down: 0 },
        replies: [],
      }),
    ]);
  });

  it("An entry has the text of its comment without marker and checks", async () => {
    const { entries } = await read({ threads: [thread()] });
    const [text = ""] = entries.map((entry) => entry.text);
    expect(text).toMatch(/^\*\*.*: The total is off by one\*\*\n/);
    expect(text).toContain("It skips the last line.");
    expect(text).not.toMatch(/hunkwise:|How this was checked|<\/?details/);
  });

  it("An entry is dismissed if its comment was deleted", async () => {
    const comments = [summary({ ...emptyState, posted: ["f1", "gone", "gone"] })];
    const { entries } = await read({ comments, threads: [thread()] });
    expect(entries).toMatchObject([
      { id: "f1", state: "open" },
      {
        id: "gone",
        comment: null,
        path: "",
        state: "dismissed",
        dismissal: { how: "deleted", by: null, at: null },
        // Nothing more is known of it, and nobody can answer there.
        ...{
          line: null,
          thread: null,
          resolved: false,
          is_theirs: true,
          newest_reply: 0,
          title: "",
          text: "",
        },
        ...{ files: [], replies: [], url: "", severity: "low", category: null, source: null },
      },
    ]);
    expect(entries).toHaveLength(2);
  });

  it("A comment that only REST shows does not count as deleted", async () => {
    const comments = [summary({ ...emptyState, posted: ["f1", "f2"] })];
    const f2 = findingBody({ id: "f2" });
    const lines = [
      line(),
      line({ id: 50, body: f2 }),
      line({ id: 60, body: findingBody({ id: "f3" }), outdated: true, line: null }),
    ];
    const { entries } = await read({ comments, threads: [thread()], lines });
    expect(entries).toMatchObject([
      { id: "f2", comment: 50, state: "open", thread: null },
      { id: "f3", comment: 60, state: "outdated" },
      { id: "f1", comment: 100, state: "open", thread: "T1" },
    ]);
  });

  it("A decision about a thread is kept if GitHub does not show the thread", async () => {
    const decided = [{ comment: 50, how: "resolved", by: "ann", after: 50 } as const];
    const comments = [summary({ ...emptyState, posted: ["f2"], decided })];
    const lines = [line({ id: 50, body: findingBody({ id: "f2" }) })];
    const { entries } = await read({ comments, threads: [], lines });
    expect(entries).toMatchObject([{ id: "f2", state: "dismissed", dismissal: { by: "ann" } }]);
  });

  it("A decision counts only for its own thread", async () => {
    const decided = [{ comment: 200, how: "resolved", by: "ann", after: 200 } as const];
    const comments = [summary({ ...emptyState, decided })];
    const states = [{ state: "open" }, { state: "dismissed" }];
    const threads = [thread(), thread({ comment: 200, id: "T2" })];
    expect((await read({ comments, threads })).entries).toMatchObject(states);
    const lines = [line(), line({ id: 200 })];
    const unseen = await read({ comments, threads: new AppError("github_failed", "no"), lines });
    expect(unseen.entries).toMatchObject(states);
  });

  it("An entry names the newest comment of its thread", async () => {
    const replies = [5, 6, 7].map((id) => ({ ...reply(bot, "Beep."), id }));
    const threads = [thread(), thread({ comment: 200, id: "T2", replies })];
    expect((await read({ threads })).entries).toMatchObject([{ newest_reply: 100 }, { newest_reply: 7 }]);
  });

  it("A dismissal by a command in the conversation counts", async () => {
    const answer = marked("Dismissed.", { kind: "dismissed", comment: 100, by: "ann" });
    const threads = [thread(), thread({ comment: 200, id: "T2" })];
    const { entries } = await read({ comments: [{ id: 9, body: answer }], threads });
    expect(entries).toMatchObject([
      { state: "dismissed", dismissal: { how: "command", by: "ann", at: null } },
      { state: "open", dismissal: null },
    ]);
  });
});

describe("A ledger without threads", () => {
  const failing = (code: ErrorCode) => new AppError(code, "GraphQL query: no");

  it.each(["github_forbidden", "github_not_found", "github_invalid", "github_failed"] as const)(
    "A ledger without threads is read from the comments, with a notice: %s",
    async (code) => {
      const ledger = await read({
        threads: failing(code),
        lines: [line({ id: 101, outdated: true, line: null }), line(), line({ id: 102, body: "An answer." })],
      });

      expect(ledger.notice).toBe("The state of our earlier comments could not be read: GraphQL query: no");
      expect(ledger.entries).toMatchObject([
        {
          comment: 100,
          state: "open",
          line: 12,
          thread: null,
          resolved: false,
          is_theirs: true,
          replies: [],
        },
        { comment: 101, state: "outdated", line: null },
      ]);
      expect(ledger.entries).toHaveLength(2);
    },
  );

  it("Our own answers count without threads", async () => {
    const lines = [
      ...[line(), line({ id: 101 }), line({ id: 102 })],
      line({ id: 200, body: marked("Fixed.", { kind: "fixed", comment: 100, head: "h" }) }),
      line({ id: 201, body: marked("Dismissed.", { kind: "dismissed", comment: 101, by: "ann" }) }),
    ];
    const { entries } = await read({ threads: failing("github_failed"), lines });
    expect(entries).toMatchObject([
      { state: "fixed", dismissal: null },
      { state: "dismissed", dismissal: { how: "command", by: "ann" } },
      { state: "open" },
    ]);
  });

  it.each(["github_unauthorized", "github_rate_limited", "aborted", "too_large"] as const)(
    "The ledger rejects if everything fails alike: %s",
    async (code) => {
      await expect(read({ threads: failing(code), lines: [line()] })).rejects.toMatchObject({ code });
    },
  );
});

describe("Markers that people write", () => {
  const forged = [
    formatMarker({ kind: "fixed", comment: 100, head: "h" }),
    formatMarker({ kind: "dismissed", comment: 100, by: "octocat" }),
  ];
  it.each(forged)("A marker that a person writes changes nothing: %s", async (marker) => {
    for (const from of [person("mallory"), bot]) {
      const { entries } = await read({ threads: [thread({ replies: [reply(from, `Look\n\n${marker}`)] })] });
      expect(entries).toMatchObject([{ state: "open", dismissal: null }]);
    }
  });
});

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

describe("The state of a finding", () => {
  it("A finding is open at first", async () => {
    expect(await entryOf({})).toMatchObject({ state: "open", dismissal: null, is_theirs: false, asked: [] });
  });

  it("A finding is outdated if its code has changed and nobody decided", async () => {
    expect(await entryOf({ outdated: true, line: null })).toMatchObject({ state: "outdated" });
  });

  it("Bots and our answers do not change the state of a finding", async () => {
    const replies = [reply(bot, "Not a bug."), answerReply];
    expect(await entryOf({ replies })).toMatchObject({ state: "open", is_theirs: false, replies: [] });
    expect(await entryOf({ resolved: true, resolvedBy: bot })).toMatchObject({
      state: "open",
      is_theirs: false,
    });
  });
});

describe("A thread that a person resolved", () => {
  const resolved = (by: string | null) => ({ resolved: true, resolvedBy: by === null ? null : person(by) });

  it("A finding is dismissed if a person who may write resolved its thread", async () => {
    const dismissal = { how: "resolved", by: "ann", at: null };
    for (const outdated of [false, true]) {
      const entry = await entryOf({ ...resolved("ann"), outdated }, { severity: "critical" });
      expect(entry).toMatchObject({ state: "dismissed", dismissal, is_theirs: true, asked: ["ann"] });
    }
  });

  it.each([
    ["the author", author],
    ["a stranger", "eve"],
    ["somebody whom GitHub does not name", null],
  ])("A finding keeps its state if its thread was %s", async (_who, by) => {
    for (const severity of ["low", "critical"] as const) {
      expect(await entryOf(resolved(by), { severity })).toMatchObject({ state: "open", dismissal: null });
      const entry = await entryOf({ ...resolved(by), outdated: true, line: null }, { severity });
      expect(entry).toMatchObject({ state: "outdated", dismissal: null });
    }
  });

  it("A finding is dismissed by its author with write access", async () => {
    const permissions = { [author]: "write" } as const;
    expect(await entryOf(resolved(author), { permissions })).toMatchObject({ state: "dismissed" });
  });
});

describe("A decision that was read before", () => {
  const decided = [{ how: "resolved", by: "ann", after: 100 }] as const;
  const eve = (count: number) =>
    Array.from({ length: count }, () => reply(person("eve"), "No, it is a bug."));

  it("A decision holds although the author unresolves the thread and strangers write in it", async () => {
    const entry = await entryOf({ replies: eve(3), outdated: true }, { decided: [...decided] });
    expect(entry).toMatchObject({ state: "dismissed", dismissal: { how: "resolved", by: "ann" } });
  });

  it("A decision ends if somebody with write access writes in the unresolved thread", async () => {
    const replies = [...eve(1), reply(person("bob"), "This has to be fixed.")];
    expect(await entryOf({ replies }, { decided: [...decided] })).toMatchObject({ state: "open" });
    const stays = { replies, resolved: true, resolvedBy: person(author) };
    expect(await entryOf(stays, { decided: [...decided] })).toMatchObject({ state: "dismissed" });
  });

  it("A decision outlives earlier words, and words of bots and deleted accounts", async () => {
    const earlier = reply(person("bob"), "This has to be fixed.");
    const last = [{ how: "resolved", by: "ann", after: earlier.id }] as const;
    const gone = { login: null, kind: "person" } as const;
    const replies = [earlier, reply(bot, "It is a bug."), reply(gone, "It is a bug.")];
    const permissions = { [bot.login ?? ""]: "write" } as const;
    expect(await entryOf({ replies }, { decided: [...last], permissions })).toMatchObject({
      state: "dismissed",
    });
  });

  it("A decision counts for its own act, and another act of that person counts from now", async () => {
    const before = [{ how: "reaction", by: "eve", after: 100 }] as const;
    const replies = [reply(person("eve"), "Won't fix.")];
    expect(await entryOf({ replies }, { decided: [...before] })).toMatchObject({ state: "open" });
  });

  it("A decision is found behind more people than GitHub is asked about", async () => {
    const crowd = Array.from({ length: 300 }, (_, at) => reply(person(`eve${at}`), "Won't fix.", later));
    const replies = [reply(person("ann"), "Won't fix."), ...crowd];
    const before = [{ how: "reply", by: "ANN", after: 100 }] as const;
    expect(await entryOf({ replies })).toMatchObject({ state: "open" });
    expect(await entryOf({ replies }, { decided: [...before] })).toMatchObject({
      state: "dismissed",
      dismissal: { how: "reply", by: "ann" },
    });
  });

  it("A decision ends if the person takes the reply or the reaction back", async () => {
    const before = [
      { how: "reply", by: "ann", after: 100 },
      { how: "reaction", by: "bob", after: 100 },
    ] as const;
    expect(await entryOf({ replies: eve(1) }, { decided: [...before] })).toMatchObject({ state: "open" });
  });
});

describe("Our own answer in a thread", () => {
  it("Our answer that it is fixed counts, resolved or not", async () => {
    expect(await entryOf({ replies: [fixedReply] })).toMatchObject({ state: "fixed", is_theirs: false });
    const entry = await entryOf({ replies: [fixedReply], resolved: true, resolvedBy: us });
    expect(entry).toMatchObject({ state: "fixed", is_theirs: false, resolved: true });
  });

  it("Our answer counts if GitHub does not say that we resolved the thread", async () => {
    const entry = await entryOf({ replies: [fixedReply], resolved: true, resolvedBy: null });
    expect(entry).toMatchObject({ state: "fixed", is_theirs: false });
  });

  it("Our answer outlives that a person resolves the thread afterwards", async () => {
    const resolved = { resolved: true, resolvedBy: person("eve") };
    expect(await entryOf({ replies: [fixedReply], ...resolved })).toMatchObject({ state: "fixed" });
    const entry = await entryOf({ replies: [dismissedReply], ...resolved, outdated: true });
    expect(entry).toMatchObject({
      state: "dismissed",
      dismissal: { how: "command", by: "ann" },
      is_theirs: true,
    });
  });

  it("Our answer outlives replies of people without write access", async () => {
    const replies = [fixedReply, reply(person("eve"), "It is still there."), reply(person(author), "No.")];
    expect(await entryOf({ replies })).toMatchObject({ state: "fixed", is_theirs: false });
  });

  it("Our answer ends with a reply of somebody with write access, unless we resolved the thread", async () => {
    const replies = [fixedReply, reply(person("ann"), "It is still there.")];
    expect(await entryOf({ replies })).toMatchObject({ state: "open", is_theirs: true });
    expect(await entryOf({ replies, outdated: true })).toMatchObject({ state: "outdated" });
    expect(await entryOf({ replies, resolved: true, resolvedBy: us })).toMatchObject({ state: "fixed" });
    for (const isOurs of [
      { resolved: false, resolvedBy: us },
      { resolved: true, resolvedBy: person("eve") },
    ])
      expect(await entryOf({ replies, ...isOurs })).toMatchObject({ state: "open" });
  });

  it("Our answer outlives thanks", async () => {
    const replies = [fixedReply, reply(person(author), "Thanks for checking!"), reply(person("ann"), "👍")];
    expect(await entryOf({ replies, outdated: true })).toMatchObject({ state: "fixed", is_theirs: true });
  });

  it("Our answer outlives earlier words, bots and our other answers", async () => {
    const replies = [reply(person("ann"), "Sure?"), fixedReply, reply(bot, "Beep."), answerReply];
    const permissions = { [bot.login ?? ""]: "write" } as const;
    expect(await entryOf({ replies }, { permissions })).toMatchObject({ state: "fixed" });
  });

  it("Our answer that it is dismissed names the person, resolved or not", async () => {
    const dismissal = { how: "command", by: "ann", at: later };
    for (const resolvedBy of [us, null]) {
      const entry = await entryOf({ replies: [dismissedReply], resolved: resolvedBy !== null, resolvedBy });
      expect(entry).toMatchObject({ state: "dismissed", dismissal });
    }
    const answered = [dismissedReply, reply(person("eve"), "Ok.")];
    expect(await entryOf({ replies: answered })).toMatchObject({ state: "dismissed", dismissal });
  });

  it("The last of our answers counts", async () => {
    expect(await entryOf({ replies: [fixedReply, dismissedReply] })).toMatchObject({ state: "dismissed" });
    expect(await entryOf({ replies: [dismissedReply, fixedReply] })).toMatchObject({ state: "fixed" });
  });
});

describe("A thumb down or a dismissing reply", () => {
  const reaction = (by: string) => ({ downvotes: [{ by, at: later }] });
  const said = (login: string) => ({ replies: [reply(person(login), "Won't fix.", later)] });

  it.each([
    ["somebody with write access", "ann", "critical", "dismissed", 1],
    ["an admin", "bob", "high", "dismissed", 1],
    ["somebody who may read alone", "eve", "low", "open", 1],
    ["the author", author, "low", "open", 1],
  ] as const)("A dismissal by %s: %s on %s -> %s", async (_who, login, severity, state, questions) => {
    const [byReaction, byReply] = [
      await entryOf(reaction(login), { severity }),
      await entryOf(said(login), { severity }),
    ];

    expect(byReaction).toMatchObject({ state, is_theirs: false });
    expect(byReply).toMatchObject({ state, is_theirs: state === "dismissed", replies: ["Won't fix."] });
    if (state === "dismissed") {
      expect(byReaction.dismissal).toEqual({ how: "reaction", by: login, at: later });
      expect(byReply.dismissal).toEqual({ how: "reply", by: login, at: later });
    }
    expect([byReaction.asked.length, byReply.asked.length]).toEqual([questions, questions]);
  });

  it("A dismissal outlives a change of the code", async () => {
    expect(await entryOf({ ...said("ann"), outdated: true })).toMatchObject({ state: "dismissed" });
  });

  it("A dismissal by a bot or a deleted account does not count", async () => {
    const gone = { login: null, kind: "person" } as const;
    for (const from of [bot, gone])
      expect(await entryOf({ replies: [reply(from, "Won't fix.")] })).toMatchObject({
        state: "open",
        asked: [],
      });
    const replies = [reply(person("ann"), "This is not intended.")];
    expect(await entryOf({ replies })).toMatchObject({ state: "open", is_theirs: true, asked: ["ann"] });
  });

  it("The newest dismissal by somebody with write access counts", async () => {
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

describe("The permissions of people in threads", () => {
  const byLogins = (logins: readonly string[]) => {
    const source = new Source();
    source.threads = logins.map((by, at) => thread({ comment: at + 1, downvotes: [{ by, at: later }] }));
    return source;
  };

  it("GitHub is asked once for each person", async () => {
    const source = byLogins(["ann", "ANN", "eve", "ann"]);
    source.permissions.set("ann", "write");
    const { entries } = await readLedger(source);
    expect(entries.map(({ state }) => state)).toEqual(["dismissed", "dismissed", "open", "dismissed"]);
    expect(source.asked).toEqual(["ann", "eve"]);
  });

  it("GitHub is asked about 200 people at most, and a notice says so", async () => {
    const logins = Array.from({ length: 205 }, (_, at) => `user${at}`);
    const source = byLogins([...logins, "user0"]);
    for (const login of logins) source.permissions.set(login, "write");
    const { entries, notice } = await readLedger(source);
    expect(source.asked).toEqual(logins.slice(0, 200));
    expect(entries.filter(({ state }) => state === "dismissed")).toHaveLength(201);
    expect(notice).toContain("More than 200 people");
  });

  it("The ledger rejects if permissions cannot be read", async () => {
    const source = byLogins(["ann"]);
    source.permissionOf = async () => {
      throw new Error("no answer");
    };
    await expect(readLedger(source)).rejects.toThrow("no answer");
  });
});
