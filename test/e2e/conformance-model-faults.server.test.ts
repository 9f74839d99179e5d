import { describe, expect, it } from "vitest";
import type { FakeScript } from "../support/fake-openai.ts";
import { answers, type Case, finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

/** Each fault once; test/agent/llm, test/agent/loop and stubborn-model.test.ts test the others of its kind. */
const long = process.env.HUNKWISE_LONG === "1";

const path = "src/numbers.js";
const base = { [path]: numbers(60) };
const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
const wrong = finding({ line: 24, quote: "const n24 = 0;" });
const delivered = { reviews: 1, comments: [`${path} RIGHT 24`], summaries: 1, check: "neutral" };
/** JSON with an unclosed string, as when a model's output is cut off. */
const broken = (call: { name: string }, n = 0) => ({
  name: call.name,
  arguments: `{"path": "${path}", "line": 2${n}, "quote": "con`,
});

/** No text may suggest that the change is fine, or that all of it was reviewed. */
function expectIncomplete(app: Case): void {
  const check = app.repository.checkRuns.at(-1);
  expect(check?.output.title).toMatch(/incomplete|failed/i);
  for (const text of [app.summary(), JSON.stringify(check?.output)]) {
    expect(text).not.toMatch(/no problems|✅/i);
  }
}

describe.concurrent("a model that answers 429 once", patient, () => {
  const cases = [
    ["is asked again after the two seconds that it names", { "retry-after": "2" }, 2_000],
    ["is asked again after a while where it names none", {}, 0],
  ] as const;
  it.for(long ? cases : cases.slice(0, 1))("j: The model %s", ([, headers, waitMs]) => {
    const askedAt: number[] = [];
    const script: FakeScript = (_body, n) => {
      askedAt.push(performance.now());
      return n === 0 ? { fault: "status", status: 429, headers: { ...headers } } : turn(wrong, finish);
    };
    return onPull({ base, head, script }, async (app) => {
      await app.review();

      const [first = 0, second = 0, ...others] = askedAt;
      expect(others).toEqual([]);
      // Timers may fire a moment early.
      expect(second - first).toBeGreaterThan(waitMs - 20);
      expect(app.end()).toEqual(delivered);
    });
  });
});

describe.concurrent("a model whose arguments are broken JSON", patient, () => {
  it("k: A broken call once gets the error and is repeated, and the finding is delivered", () =>
    onPull({ base, head, script: [turn(broken(wrong), finish), turn(wrong, finish)] }, async (app) => {
      await app.review();

      const [refusal, finished] = answers(app.reviewRequests[1]?.body);
      expect(refusal).toMatch(/not valid JSON/);
      expect(finished).toMatch(/report .*refused/);
      expect(app.end()).toEqual(delivered);
      expect(app.repository.checkRuns[0]?.output.title).not.toMatch(/incomplete/i);
    }));

  it("k': A model that repeats the same broken call ends as incomplete, never green", () =>
    onPull({ base, head, script: () => turn(broken(wrong), finish) }, async (app) => {
      await app.review();

      expect(app.end()).toEqual({ reviews: 0, comments: [], summaries: 1, check: "neutral" });
      expect(app.reviewRequests.length).toBeLessThan(5);
      expectIncomplete(app);
    }));
});

describe.concurrent("a model that gives no usable answer", patient, () => {
  it("k': No usable answer leaves a failed check, no comment on a line, and no praise", () =>
    onPull({ base, head, script: () => ({ fault: "html" }) }, async (app) => {
      await app.review();

      expect(app.end()).toEqual({ reviews: 0, comments: [], summaries: 1, check: "neutral" });
      expectIncomplete(app);
      expect(app.summary()).toMatch(
        /Offline: no model read this change because the model could not be reached/,
      );
    }));
});
