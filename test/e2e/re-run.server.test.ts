import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FakeTurn } from "../support/fake-openai.ts";
import type { CheckRun } from "../support/github-double/model.ts";
import { checkRunPayload } from "../support/github-double/payloads.ts";
import { finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";
import { type PullOfCase, type SharedApp, startSharedApp } from "./shared-app.ts";

const path = "src/numbers.js";
const base = { [path]: numbers(60) };
const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
const wrong: FakeTurn = turn(
  finding({ line: 24, quote: "const n24 = 0;", title: "n24 is no longer 24" }),
  finish,
);

let shared: SharedApp;
beforeAll(async () => {
  shared = await startSharedApp({ script: () => wrong });
});
afterAll(async () => {
  const { github, model } = shared.app;
  await shared[Symbol.asyncDispose]();
  expect(github.violations).toEqual([]);
  expect(model?.complaints).toEqual([]);
});

/** A pull request whose review has a finding that blocks its check, and which was then dismissed by a thumbs down. */
async function settled(): Promise<{ pull: PullOfCase; check: CheckRun }> {
  const pull = shared.addRepository(base).open(head);
  await pull.deliver("opened");
  await pull.concluded("neutral");
  await pull.of.idle();
  const check = pull.check();
  const [comment] = pull.pull.reviewComments;
  if (!check || !comment) throw new Error("the first review left nothing");
  shared.app.people.react(comment, "octocat", "-1");
  return { pull, check };
}

const person = () => shared.app.github.state.account("octocat");

describe.concurrent("a person who presses Re-run", patient, () => {
  it("Re-run shows the current state in the same check run, without a model call for code that was read", async () => {
    const { pull, check } = await settled();
    const before = shared.app.reviewRequests.length;
    const payload = checkRunPayload(shared.app.github.state, check, "rerequested", person());
    expect(await pull.of.deliver("check_run", payload)).toBe(202);
    await pull.of.idle();

    expect(check).toMatchObject({ status: "completed", conclusion: "success" });
    expect(pull.end()).toMatchObject({ reviews: 1, checks: ["success"] });
    expect(pull.summary()).toMatch(/\*\*Dismissed\*\*/);
    expect(shared.app.reviewRequests.length - before).toBeLessThanOrEqual(1);
  });
});
