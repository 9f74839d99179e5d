import { describe, expect, it } from "vitest";
import { finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

const path = "src/numbers.js";
const wrong = finding({ line: 24, quote: "const n24 = 0;" });
const edited = numbers(60, { 24: "const n24 = 0;" });

describe.concurrent("a pull request from a fork", patient, () => {
  it("A pull request from a fork is reviewed, also after its author has deleted the fork", () =>
    onPull(
      {
        base: { [path]: numbers(60) },
        head: { [path]: edited },
        fork: "forker",
        author: "forker",
        script: [turn(wrong, finish)],
      },
      async (app) => {
        app.people.deleteFork(app.pull);
        await app.review();

        expect(app.end()).toEqual({
          reviews: 1,
          comments: [`${path} RIGHT 24`],
          summaries: 1,
          check: "neutral",
        });
        expect(app.github.requests.filter((one) => one.path.startsWith("/forker/"))).toEqual([]);
      },
    ));
});
