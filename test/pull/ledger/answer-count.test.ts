import { describe, expect, it } from "vitest";
import { answersTo } from "../../../src/pull/ledger/read-ledger.ts";
import { bot, marked, person, reply, thread, us } from "./ledger-source.ts";

const answer = (comment: number) => marked("Because.", { kind: "answer", comment });
const none = { conversation: [], lines: [], threads: [] };

describe("The count of our answers", () => {
  it("A pull request without our texts has no answers", () => {
    expect(answersTo({ id: 5, thread: null }, none)).toEqual({ given: false, inThread: 0, inAll: 0 });
  });

  it("Answers to a comment in the conversation are counted there", () => {
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

  it("Answers are counted for the thread and for all, each once", () => {
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

  it("Answers in the conversation and on lines are told apart if their ids coincide", () => {
    const conversation = [{ id: 1, body: answer(7) }];
    const threads = [thread({ replies: [reply(us, answer(8))] })];
    const ours = { ...none, conversation, threads };
    expect(answersTo({ id: 7, thread: 100 }, ours)).toMatchObject({ given: false, inAll: 2 });
    expect(answersTo({ id: 8, thread: null }, ours)).toMatchObject({ given: false });
    expect(answersTo({ id: 7, thread: null }, ours)).toMatchObject({ given: true });
    expect(answersTo({ id: 8, thread: 100 }, ours)).toMatchObject({ given: true });
  });

  it("Texts that others mark as answers do not count", () => {
    const replies = [reply(person("mallory"), answer(7)), reply(bot, answer(7))];
    const given = answersTo({ id: 7, thread: 100 }, { ...none, threads: [thread({ replies })] });
    expect(given).toEqual({ given: false, inThread: 0, inAll: 0 });
  });
});
