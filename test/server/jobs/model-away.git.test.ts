import { expect, it } from "vitest";
import { ModelUnavailable } from "../../../src/agent/llm/model.ts";
import { AppError } from "../../../src/core/errors.ts";
import { maxAttempts } from "../../../src/server/queue/job.ts";
import { fiveSecrets } from "../../attacks/five-secrets.ts";
import { summary } from "../../pull/publish/publish-to-memory.ts";
import { rejectingOthers } from "../../support/answer-candidates.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";
import { WorkedQueue } from "./job-fixture.ts";

const long = process.env.HUNKWISE_LONG === "1";

const secrets = fiveSecrets();
/** Five certain findings, and one that a model has to judge. */
const changed = `${secrets.text.replace("import os", "let os;")}if (a == NaN) debugger;\n`;

const passing = () =>
  new AppError("model_failed", "https://models.internal answered 500", { retryable: true });
const finish: ScriptedTurn = {
  toolCalls: [{ name: "finish_review", arguments: { summary: "Adds keys." } }],
};

const fixed: ScriptedTurn = {
  toolCalls: [{ name: "report_resolution", arguments: { state: "fixed", reason: "It is gone." } }],
};

async function worked(answers: (request: number) => ScriptedTurn | Error) {
  let asked = 0;
  const model = scriptedModel((request) => {
    const isRecheck = request.tools.some(({ name }) => name === "report_resolution");
    const turn = isRecheck ? fixed : answers(++asked);
    return turn instanceof Error ? turn : rejectingOthers(turn, request);
  });
  const jobs = new WorkedQueue(model, changed);
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();
  const posted = jobs.github.reviews.flatMap(({ comments }) => comments.map(({ body }) => body));
  return { jobs, posted, asked: () => asked, [Symbol.asyncDispose]: () => jobs[Symbol.asyncDispose]() };
}

const certain = (posted: readonly string[]) => posted.filter((body) => /is in this file/.test(body));

it("A job whose model is away publishes what the analyzers found once, when no attempt is left, and concludes without success", async () => {
  await using run = await worked(passing);
  const { jobs, posted } = run;

  expect(jobs.checkouts).toHaveLength(maxAttempts);
  expect(jobs.github.reviews).toHaveLength(1);
  expect(certain(posted)).toHaveLength(5);
  expect(posted.filter((body) => body.includes("Matched by a rule, not judged by a model."))).not.toEqual([]);
  expect(jobs.checks()).toEqual([
    expect.stringMatching(/^neutral: The review failed\. Analyzers only: found 5 critical/),
  ]);
  expect(summary(jobs.github)).toMatch(
    /Offline: no model read this change because the model could not be reached/,
  );
  expect([...posted, summary(jobs.github)].join("\n")).not.toContain("models.internal");
});

it("A job whose model is away publishes nothing while it is still tried again, and all of it once when the model comes back", async () => {
  await using run = await worked((request) => (request < 3 ? passing() : finish));
  const { jobs, posted } = run;

  expect(jobs.github.reviews).toHaveLength(1);
  expect(certain(posted)).toHaveLength(5);
  expect(posted).toHaveLength(5);
  expect(jobs.checks()).toEqual([expect.stringMatching(/^neutral: found 5 critical$/i)]);
});

it.runIf(long)(
  "A job whose model is paused for longer than people wait publishes what the analyzers found",
  async () => {
    await using run = await worked(() => new ModelUnavailable("circuit open", 600_000));
    const { jobs, posted } = run;

    expect(jobs.github.reviews).toHaveLength(1);
    expect(certain(posted)).toHaveLength(5);
    expect(jobs.checks()).toEqual([expect.stringMatching(/^neutral: The review failed/)]);
  },
);

it("A job whose model is away publishes at once if the fault will not pass, and the next review of the head judges what nobody has", async () => {
  let isBack = false;
  await using run = await worked(() =>
    isBack ? finish : new AppError("model_unauthorized", "refused the key"),
  );
  const { jobs } = run;
  expect(jobs.checkouts).toHaveLength(1);
  const before = jobs.github.reviews.length;

  isBack = true;
  jobs.github.state.headSha = jobs.laterHead;
  await jobs.queue.enqueue(jobs.event(jobs.laterHead));
  await jobs.work();
  expect(jobs.github.reviews).toHaveLength(before);
  expect(jobs.checks().at(-1)).toMatch(/^success: /);
});
