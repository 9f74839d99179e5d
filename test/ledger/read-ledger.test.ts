import { describe, expect, it } from "vitest";
import { AppError, type ErrorCode } from "../../src/errors.ts";
import type { OwnComment } from "../../src/github/pull-request-api.ts";
import { formatMarker } from "../../src/ledger/marker.ts";
import { readLedger } from "../../src/ledger/read-ledger.ts";
import { emptyState } from "../../src/ledger/state.ts";
import { bot, findingBody, marked, person, reply, Source, summary, thread, us } from "./ledger-source.ts";

function sourceOf(parts: Partial<Pick<Source, "comments" | "threads" | "lines">>): Source {
  return Object.assign(new Source(), parts);
}
const read = (parts: Parameters<typeof sourceOf>[0]) => readLedger(sourceOf(parts));

const line = (over: Partial<OwnComment> = {}): OwnComment => ({
  ...{ id: 100, body: findingBody(), path: "src/cart.ts", side: "RIGHT", line: 12, outdated: false },
  ...{ url: "https://github.example/r100", review: null },
  ...over,
});

describe("a ledger", () => {
  it("is empty where we said nothing", async () => {
    expect(await read({})).toEqual({ state: emptyState, sticky: null, entries: [], notice: null });
  });

  it("remembers what the oldest of our summaries says", async () => {
    const paused = { by: "octocat", at: "2026-01-01T00:00:00Z" };
    const oldest = summary({ ...emptyState, paused }, 5);
    const ledger = await read({ comments: [summary(emptyState, 9), oldest, { id: 2, body: "Answered." }] });
    expect(ledger).toMatchObject({ sticky: oldest, state: { paused } });
  });

  it("does not take a summary for one that is quoted above other words", async () => {
    const quoted = { id: 1, body: `${summary(emptyState).body}\n\nThe end.` };
    expect(await read({ comments: [quoted] })).toMatchObject({ sticky: null });
  });

  it("has an entry for each comment on a finding, in the order of the comments", async () => {
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
          startLine: 10,
          originalLine: 11,
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
          isTheirs: false,
          newestReply: expect.any(Number),
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
        isTheirs: false,
        replies: [],
      }),
    ]);
  });

  it("holds what a comment says, without its marker and without how it was checked", async () => {
    const { entries } = await read({ threads: [thread()] });
    const [text = ""] = entries.map((entry) => entry.text);
    expect(text).toMatch(/^\*\*.*: The total is off by one\*\*\n/);
    expect(text).toContain("It skips the last line.");
    expect(text).not.toMatch(/hunkwise:|How this was checked|<\/?details/);
  });

  it("reads comments of the first version", async () => {
    const body =
      '**🟠 High: Off by one**\n\n<!-- hunkwise:finding v1 {"id":"f","severity":"high","head":"h","trigger":"t"} -->';
    const { entries } = await read({ threads: [thread({ body })] });
    expect(entries).toMatchObject([
      { id: "f", severity: "high", title: "Off by one", category: null, symbol: null, code: null, files: [] },
    ]);
  });

  it("takes a comment that is gone for dismissed by who deleted it", async () => {
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
      },
    ]);
    expect(entries).toHaveLength(2);
  });

  it("takes no comment for deleted of which REST knows, though GraphQL left its thread out", async () => {
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

  it("keeps what was decided of a thread that GitHub does not show", async () => {
    const decided = [{ comment: 50, how: "resolved", by: "ann", after: 50 } as const];
    const comments = [summary({ ...emptyState, posted: ["f2"], decided })];
    const lines = [line({ id: 50, body: findingBody({ id: "f2" }) })];
    const { entries } = await read({ comments, threads: [], lines });
    expect(entries).toMatchObject([{ id: "f2", state: "dismissed", dismissal: { by: "ann" } }]);
  });

  it("takes a finding for dismissed that a command in the conversation was told is", async () => {
    const answer = marked("Dismissed.", { kind: "dismissed", comment: 100, by: "ann" });
    const threads = [thread(), thread({ comment: 200, id: "T2" })];
    const { entries } = await read({ comments: [{ id: 9, body: answer }], threads });
    expect(entries).toMatchObject([
      { state: "dismissed", dismissal: { how: "command", by: "ann", at: null } },
      { state: "open", dismissal: null },
    ]);
  });
});

describe("a ledger of threads that GitHub does not show", () => {
  const failing = (code: ErrorCode) => new AppError(code, "GraphQL query: no");

  it.each(["github_forbidden", "github_not_found", "github_invalid", "github_failed"] as const)(
    "is read from the comments alone, and says so: %s",
    async (code) => {
      const ledger = await read({
        threads: failing(code),
        lines: [line({ id: 101, outdated: true, line: null }), line(), line({ id: 102, body: "An answer." })],
      });

      expect(ledger.notice).toBe("No state of our earlier comments: GraphQL query: no");
      expect(ledger.entries).toMatchObject([
        {
          comment: 100,
          state: "open",
          line: 12,
          thread: null,
          resolved: false,
          isTheirs: true,
          replies: [],
        },
        { comment: 101, state: "outdated", line: null },
      ]);
      expect(ledger.entries).toHaveLength(2);
    },
  );

  it("takes our own word in them", async () => {
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
    "is none where everything fails alike: %s",
    async (code) => {
      await expect(read({ threads: failing(code), lines: [line()] })).rejects.toMatchObject({ code });
    },
  );
});

describe("what people wrote", () => {
  const forged = [
    formatMarker({ kind: "fixed", comment: 100, head: "h" }),
    formatMarker({ kind: "dismissed", comment: 100, by: "octocat" }),
  ];
  it.each(forged)("changes nothing by a marker: %s", async (marker) => {
    for (const from of [person("mallory"), bot]) {
      const { entries } = await read({ threads: [thread({ replies: [reply(from, `Look\n\n${marker}`)] })] });
      expect(entries).toMatchObject([{ state: "open", dismissal: null }]);
    }
  });
});
