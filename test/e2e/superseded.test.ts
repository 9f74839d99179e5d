import { describe, expect, it } from "vitest";
import type { ChatRequestBody } from "../support/fake-openai.ts";
import { finding, finish, numbers, onApp, patient, turn, until } from "./conformance-fixture.ts";

const path = "src/numbers.js";
const base = { [path]: numbers(60), "src/other.js": numbers(60) };
const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
const shows = (body: ChatRequestBody, text: string) => JSON.stringify(body.messages).includes(text);

describe("a push while the head before it is reviewed", patient, () => {
  it("cancels that review: nothing stale is posted, and the new head is reviewed", () => {
    let asked = 0;
    const gate = Promise.withResolvers<void>();
    return onApp(
      {
        base,
        head,
        script: async (body) => {
          asked += 1;
          // The first review hangs in its turn until the push has long been there.
          if (shows(body, "+ const n24 = 0;")) await gate.promise;
          return turn(
            ...(shows(body, "const n24 = 24.5;")
              ? [finding({ line: 24, quote: "const n24 = 24.5;", title: "Twenty-four and a half is wrong" })]
              : [finding({ line: 24, quote: "const n24 = 0;", title: "A stale word about zero" })]),
            finish,
          );
        },
      },
      async (app) => {
        await app.send("opened");
        await until(() => asked > 0);
        app.people.push(app.pull, { [path]: numbers(60, { 24: "const n24 = 24.5;" }) });
        await app.send("synchronize");
        await app.concluded();
        gate.resolve();
        await app.idle();

        expect(app.end()).toEqual({
          reviews: 1,
          comments: [`${path} RIGHT 24`],
          summaries: 1,
          check: "neutral",
        });
        expect(app.bodies().join()).not.toContain("A stale word");
        expect(app.repository.checkRuns.map(({ status }) => status)).toEqual(["completed", "completed"]);
      },
    );
  });
});

describe("ten pushes within a short window", patient, () => {
  it("are at most two reviews that run to their end, and the newest head is reviewed", () =>
    onApp(
      { base, head, script: () => turn(finish), env: { HUNKWISE_PUSH_WINDOW_SECONDS: "1" } },
      async (app) => {
        await app.send("opened");
        for (let n = 1; n <= 10; n++) {
          app.people.push(app.pull, { "src/other.js": numbers(60, { 9: `const n9 = ${n}00;` }) });
          await app.send("synchronize");
        }
        await app.concluded();
        await app.idle();

        const ended = app.repository.checkRuns.filter(({ conclusion }) => conclusion === "success");
        expect(ended.length).toBeLessThanOrEqual(2);
        expect(ended.at(-1)?.headSha).toBe(app.pull.heads.at(-1));
        expect(app.repository.checkRuns.every(({ status }) => status === "completed")).toBe(true);
      },
    ));
});
