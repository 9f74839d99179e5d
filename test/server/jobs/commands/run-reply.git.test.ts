import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { scriptedModel } from "../../../support/scripted.ts";
import { Commanded, CommandedRepository } from "./command-fixture.ts";

let repo: CommandedRepository;
let on: Commanded;
beforeAll(() => {
  repo = new CommandedRepository();
});
beforeEach(() => {
  on = new Commanded(repo);
  on.model = scriptedModel(() => ({ toolCalls: [{ name: "reply", arguments: { text: "Because." } }] }));
});
afterAll(() => repo[Symbol.asyncDispose]());

const question = "Why is that a problem?";
const requests = () => (on.model as ReturnType<typeof scriptedModel>).requests.length;

/** A person's answer in a thread, as GitHub has it and as we are told of it. */
function answers(thread: number, login: string, body: string) {
  on.github.personReplies(thread, login, body);
  return on.reply(thread, login, body, on.github.thread(thread).replies.at(-1)?.id);
}

it("A reply in our thread that asks something is answered, also when it is the author's", async () => {
  const thread = await on.finding("f1", "critical");
  await answers(thread, "ada", question);
  expect(on.ours(thread)).toEqual([expect.stringContaining("Because.")]);
  expect(on.github.count("react")).toBe(1);
});

it.each([
  ["a stranger's", "eve", question],
  ["a bot's", "helper[bot]", question],
  ["an acknowledgment", "grace", "Good catch, thanks!"],
  ["a stranger's dismissal", "eve", "This is intended."],
])("A reply in our thread is left without a word, a reaction and a request: %s", async (_, login, body) => {
  const thread = await on.finding("f1");
  await answers(thread, login, body);
  expect(on.ours(thread)).toEqual([]);
  expect(on.github.count("react")).toBe(0);
  expect(requests()).toBe(0);
  expect(on.checks()).toEqual([]);
});

it("A reply in our thread is answered once, as it was written, and not at all in a thread that somebody else began", async () => {
  const thread = await on.finding("f1");
  on.github.personReplies(thread, "grace", "EDITED");
  const id = on.github.thread(thread).replies.at(-1)?.id;
  await on.reply(thread, "grace", question, id);
  await on.reply(thread, "grace", question, id);
  expect(on.ours(thread)).toHaveLength(1);
  const asked = JSON.stringify((on.model as ReturnType<typeof scriptedModel>).requests);
  expect(asked).toContain(question);
  expect(asked).not.toContain("EDITED");

  expect(await on.reply(thread + 50, "grace", question, 9_002)).toMatchObject({ kind: "done" });
  expect(requests()).toBe(1);
});

it.each([
  ["ada", 1],
  ["eve", 0],
  ["grace", 1],
])(
  "A reply in our thread that speaks to us by name is answered as well, in our own threads: %s",
  async (by, count) => {
    const thread = await on.finding("f1");
    await on.command({ name: "ask", question }, { thread, by });
    expect([on.ours(thread).length, requests(), on.github.count("react")]).toEqual([count, count, count]);
  },
);

it("A reply in our thread that speaks to us by name in a thread of somebody else is for people who can write", async () => {
  const thread = (await on.finding("f1")) + 50;
  expect(await on.command({ name: "ask", question }, { thread, by: "ada" })).toMatchObject({
    kind: "skipped",
  });
  expect([requests(), on.github.count("react")]).toEqual([0, 0]);
});

it.each([
  ["severe", "high", "model"],
  ["mild", "low", "model"],
  ["certain", "medium", "hidden-characters/invisible"],
] as const)(
  "A reply in our thread by the author who cannot write dismisses nothing, however mild: %s",
  async (_, severity, source) => {
    const thread = await on.finding("f1", severity, "src/cart.js", source);
    const outcome = await answers(thread, "ada", "This is intended.");
    expect(outcome).toMatchObject({ kind: "skipped", reason: "ada may not dismiss findings" });
    expect(on.github.count("react")).toBe(0);
    expect([requests(), on.checks()]).toEqual([0, []]);
  },
);

it.each([
  ["fail: true, limit: neutral", "failure"],
  ["fail: false", "neutral"],
  ["fail: false, limit: failure", "failure"],
])(
  "A reply in our thread that dismisses makes no red check pass when nothing may be spent: %s",
  async (check, conclusion) => {
    on.files.set(".github/hunkwise.yml", `check: { ${check} }\nbudget: { day: { tokens: 5000 } }\n`);
    on.spent = 5_000;
    await on.finding("f1", "critical");
    await answers(await on.finding("f2", "medium"), "grace", "This is intended.");
    expect(requests()).toBe(0);
    expect(on.checks()).toEqual([expect.stringMatching(new RegExp(`^review-comment:\\d+: ${conclusion}$`))]);
  },
);

it("A reply in our thread that dismisses a severe one is heeded when somebody wrote it who can write", async () => {
  // What is closed is not reviewed: that it came so far is what counts.
  on.github.state.state = "closed";
  const thread = await on.finding("f1", "critical");
  const outcome = await answers(thread, "grace", "This is intended.");
  expect(outcome.reason).toBe("the pull request is closed");
});

it("A reply in our thread ends after ten answers, however long somebody goes on", async () => {
  const thread = await on.finding("f1");
  on.model = null;
  for (let n = 0; n < 15; n++) await answers(thread, "ada", question);
  expect(on.ours(thread)).toHaveLength(10);
});
