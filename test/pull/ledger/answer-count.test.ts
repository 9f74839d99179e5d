import { describe, expect, it } from "vitest";
import { answersTo } from "../../../src/pull/ledger/read-ledger.ts";
import { bot, marked, person, reply, thread, us } from "./ledger-source.ts";

const answer = (comment: number) => marked("Because.", { kind: "answer", comment });
const none = { conversation: [], lines: [], threads: [] };

describe("our answers", () => {
  it("are none where we said nothing", () => {
    expect(answersTo({ id: 5, thread: null }, none)).toEqual({ given: false, inThread: 0, inAll: 0 });
  });

  it("to a comment in the conversation stand there", () => {
    const conversation = [
      { id: 1, body: answer(5) },
      { id: 2, body: "Something else." },
    ];
    expect(answersTo({ id: 5, thread: null }, { ...none, conversation })).toMatchObject({
      given: true,
      inAll: 1,
    });
    expect(answersTo({ id: 6, thread: null }, { ...none, conversation })).toMatchObject({ given: false });
  });

  it("are counted for the thread and for all, each once", () => {
    const replies = [
      reply(us, answer(7)),
      reply(person("ann"), "Why?"),
      reply(us, answer(8)),
      reply(us, "Fixed."),
    ];
    const threads = [thread({ replies }), thread({ comment: 200, replies: [reply(us, answer(9))] })];
    const lines = [...threads.flatMap((one) => one.replies.filter(({ author }) => author.kind === "us"))];
    const conversation = [{ id: 1, body: answer(5) }];

    const ours = { conversation, lines, threads };

    expect(answersTo({ id: 8, thread: 100 }, ours)).toEqual({ given: true, inThread: 2, inAll: 4 });
    expect(answersTo({ id: 8, thread: 100 }, { ...ours, lines: [] })).toEqual({
      given: true,
      inThread: 2,
      inAll: 4,
    });
    expect(answersTo({ id: 99, thread: 300 }, ours)).toEqual({ given: false, inThread: 0, inAll: 4 });
  });

  it("to a comment in the conversation and to one on a line are told apart, whose ids may coincide", () => {
    const conversation = [{ id: 1, body: answer(7) }];
    const threads = [thread({ replies: [reply(us, answer(8))] })];
    const ours = { ...none, conversation, threads };
    expect(answersTo({ id: 7, thread: 100 }, ours)).toMatchObject({ given: false, inAll: 2 });
    expect(answersTo({ id: 8, thread: null }, ours)).toMatchObject({ given: false });
    expect(answersTo({ id: 7, thread: null }, ours)).toMatchObject({ given: true });
    expect(answersTo({ id: 8, thread: 100 }, ours)).toMatchObject({ given: true });
  });

  it("are not what others mark as such", () => {
    const replies = [reply(person("mallory"), answer(7)), reply(bot, answer(7))];
    const given = answersTo({ id: 7, thread: 100 }, { ...none, threads: [thread({ replies })] });
    expect(given).toEqual({ given: false, inThread: 0, inAll: 0 });
  });
});
