import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "../../../src/agent/llm/model.ts";
import { compact } from "../../../src/agent/loop/loop-state.ts";
import { assertLegal, finish, look, runLoop } from "./loop-fixture.ts";

const options = (limitTokens: number) => ({
  limitTokens,
  tokensOf: (message: Message) => message.content.length,
  isKept: (tool: string) => tool === "report",
});
const size = (messages: readonly Message[]) => messages.reduce((sum, one) => sum + one.content.length, 0);
const turn = (id: string, length: number, name = "look"): Message[] => [
  { role: "assistant", content: "", toolCalls: [{ id, name, arguments: "{}" }] },
  { role: "tool", callId: id, content: "x".repeat(length) },
];
const start: Message[] = [
  { role: "system", content: "s".repeat(1_000) },
  { role: "user", content: "u".repeat(3_000) },
];
const wasShortened = (message: Message | undefined) =>
  message?.content.startsWith("[This answer of") ?? false;

describe("compaction", () => {
  it("Compaction hands back the very same list when it fits", () => {
    const messages = [...start, ...turn("a", 1_000)];

    expect(compact(messages, options(5_000))).toBe(messages);
  });

  it("Compaction shortens the oldest answers first, well below the limit", () => {
    const turns = [..."abcdefghijkl"].flatMap((id) => turn(id, 1_000));
    const messages = [start[0]!, ...turns];

    const compacted = compact(messages, options(12_000));

    expect(size(compacted)).toBeLessThan(0.6 * 12_000);
    // Two messages a turn: the answers of a to g.
    expect(compacted.map(wasShortened)).toEqual(
      messages.map((_, index) => index > 0 && index % 2 === 0 && index <= 14),
    );
    expect(compacted[2]?.content).toBe(
      "[This answer of look (1000 characters) was removed to save room. Make the call again if you need it.]",
    );
  });

  it("Compaction gives up newer turns where the old ones are not enough, but never the newest", () => {
    const messages = [...start, ...["a", "b", "c"].flatMap((id) => turn(id, 2_000))];

    const compacted = compact(messages, options(4_500));

    expect(compacted.map(wasShortened)).toEqual([false, false, false, true, false, true, false, false]);
  });

  it("Compaction shortens what was shown between the turns as it does answers", () => {
    const told: Message = { role: "user", content: "Report and finish." };
    const show: Message = { role: "user", content: "h".repeat(3_000) };
    const messages = [
      ...start,
      ...turn("a", 10),
      show,
      told,
      ...["b", "c", "d", "e"].flatMap((id) => turn(id, 10)),
    ];

    const compacted = compact(messages, options(6_000));

    expect(compacted[4]?.content).toBe(
      "[The text here (3000 characters) was removed to save room. Read it with a tool if you need it again.]",
    );
    expect(compacted.toSpliced(4, 1)).toEqual(messages.toSpliced(4, 1));
  });

  it("Compaction keeps the task, what was reported and what the model wrote", () => {
    const messages = [
      ...start,
      ...turn("r", 2_000, "report"),
      ...["a", "b", "c", "d", "e"].flatMap((id) => turn(id, 500)),
    ];

    const compacted = compact(messages, options(100));

    expect(compacted.slice(0, 4)).toEqual(messages.slice(0, 4));
    expect(compacted.filter((one) => one.role === "assistant")).toEqual(
      messages.filter((one) => one.role === "assistant"),
    );
  });

  it("A compacted list stays as it is until it outgrows the limit again", () => {
    const messages = [...start, ...["a", "b", "c", "d", "e", "f"].flatMap((id) => turn(id, 3_000))];
    const compacted = compact(messages, options(17_500));

    const longer = [...compacted, ...turn("g", 100)];

    expect(compact(longer, options(17_500))).toBe(longer);
  });

  it("Compaction of any conversation keeps its roles, its order and its legality", () => {
    const anyTurn = fc.record({
      lengths: fc.array(fc.nat(3_000), { maxLength: 4 }),
      tool: fc.constantFrom("look", "report"),
      text: fc.string({ maxLength: 20 }),
    });
    fc.assert(
      fc.property(fc.array(anyTurn, { maxLength: 12 }), fc.nat(20_000), (turns, limit) => {
        const messages: Message[] = [
          ...start,
          ...turns.flatMap(({ lengths, tool, text }, n): Message[] => [
            {
              role: "assistant",
              content: text,
              toolCalls: lengths.map((_, i) => ({ id: `${n}-${i}`, name: tool, arguments: "{}" })),
            },
            ...lengths.map(
              (length, i): Message => ({ role: "tool", callId: `${n}-${i}`, content: "x".repeat(length) }),
            ),
          ]),
        ];

        const compacted = compact(messages, options(limit));

        assertLegal(compacted);
        expect(compacted.map(({ role }) => role)).toEqual(messages.map(({ role }) => role));
        expect(size(compacted)).toBeLessThanOrEqual(size(messages));
        for (const [index, message] of messages.entries()) {
          if (message.role !== "tool") expect(compacted[index]).toBe(message);
        }
      }),
    );
  });
});

describe("a conversation that outgrows the window", () => {
  const long = {
    contextTokens: 24_000,
    textFor: (path: string) => `${path} ${"line of code\n".repeat(1_000)}`,
  };

  it("A conversation that outgrows the window goes on in a window that it would not fit into", async () => {
    const run = await runLoop((_, n) => (n < 30 ? look(`f${n}`) : finish), long);

    expect(run.result.stopReason).toBe("finished");
    const changed = run.model.requests.filter(({ messages }, n) => {
      const before = run.model.requests[n - 1]?.messages ?? [];
      return JSON.stringify(messages.slice(0, before.length)) !== JSON.stringify(before);
    });
    expect(changed.length).toBeGreaterThan(0);
    expect(changed.length).toBeLessThan(11);
    for (const { messages } of run.model.requests) {
      expect(JSON.stringify(messages).length / 4).toBeLessThan(24_000);
      expect(messages.at(-1)?.content).not.toMatch(/taken out/);
    }
  });

  it("A conversation that outgrows the window ends by its limit when even the task does not fit", async () => {
    const run = await runLoop([], { ...long, messages: [{ role: "user", content: "x".repeat(120_000) }] });

    expect(run.result).toMatchObject({ stopReason: "token_limit", turns: 0 });
  });
});
