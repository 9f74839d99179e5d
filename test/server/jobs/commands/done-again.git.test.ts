import { afterAll, beforeAll, expect, it } from "vitest";
import type { Command } from "../../../../src/server/queue/job.ts";
import { Commanded, CommandedRepository } from "./command-fixture.ts";

/*
 * A command is done again from its beginning where a worker died in the middle of it and the database is gone: what it did is
 * found on GitHub, and nowhere else.
 */

let repo: CommandedRepository;
beforeAll(() => {
  repo = new CommandedRepository();
});
afterAll(() => repo[Symbol.asyncDispose]());

/** The pull request is closed, so that no review follows: the command itself is what is asked about. */
async function pullRequest() {
  const on = new Commanded(repo);
  on.github.state.state = "closed";
  const threads = [await on.finding("f1"), await on.finding("f2")];
  on.github.calls.length = 0;
  return { on, threads };
}

/** How many there were to dismiss is told by the attempt that answers, which finds some dismissed where one died before it. */
const counted = /(Dismissed \d findings?|There are no open findings)\./;

/** What people see of it. */
const seen = ({ on, threads }: Awaited<ReturnType<typeof pullRequest>>) => ({
  said: on.said().map((text) => text.replace(counted, "Dismissed.")),
  summary: on.summary(),
  threads: threads.map((thread) => [on.ours(thread), on.github.thread(thread).resolvedBy?.login]),
  proposed: [...new Set(on.proposals.map(({ branch }) => branch))],
});

const died = new Error("The worker died");

const commands: [string, Command, "in a thread" | "in the conversation"][] = [
  ["/help", { name: "help" }, "in the conversation"],
  ["/pause", { name: "pause" }, "in the conversation"],
  ["/resume", { name: "resume" }, "in the conversation"],
  ["/resolve", { name: "resolve" }, "in the conversation"],
  ["/resolve", { name: "resolve" }, "in a thread"],
  ["/remember", { name: "remember", rule: "Money is integers." }, "in the conversation"],
];

it.each(commands)(
  "A command without a record has the same result when it is done again: %s",
  async (_name, command, where) => {
    const give = ({ on, threads }: Awaited<ReturnType<typeof pullRequest>>) =>
      on.command(command, { thread: where === "in a thread" ? (threads[0] ?? null) : null });
    const whole = await pullRequest();
    await give(whole);
    const calls = [...whole.on.github.calls];

    for (const [at, call] of calls.entries()) {
      const nth = calls.slice(0, at + 1).filter((one) => one === call).length;
      for (const when of ["before", "after"] as const) {
        const pull = await pullRequest();
        const fault = { call: call as keyof typeof pull.on.github, nth, when, error: died };
        pull.on.github.faults.push(fault as never);
        // A reaction is courtesy, and whatever becomes of it is nobody's matter.
        await give(pull).catch((error) => expect(error).toBe(died));
        pull.on.recorded.length = 0;
        pull.on.github.faults.length = 0;
        await give(pull);

        expect(seen(pull), `${when} call ${at + 1}, ${call}`).toEqual(seen(whole));
      }
    }
  },
);
