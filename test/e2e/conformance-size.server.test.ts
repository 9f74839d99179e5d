import { describe, expect, it } from "vitest";
import { finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

const long = process.env.HUNKWISE_LONG === "1";

const path = "src/numbers.js";

describe.concurrent("a pull request that is larger than GitHub's API shows", patient, () => {
  it.runIf(long)("A pull request of 320 files is reviewed to the last one", () => {
    const names = Array.from({ length: 320 }, (_, index) => `src/part${String(index).padStart(3, "0")}.js`);
    const last = names.at(-1) ?? "";
    return onPull(
      {
        base: Object.fromEntries(names.map((name) => [name, numbers(2)])),
        head: Object.fromEntries(names.map((name) => [name, numbers(2, { 2: "const n2 = 0;" })])),
        script: [turn(finding({ path: last, line: 2, quote: "const n2 = 0;" }), finish)],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toEqual({
          reviews: 1,
          comments: [`${last} RIGHT 2`],
          summaries: 1,
          check: "neutral",
        });
        expect(app.summary()).toMatch(/320 of 320 hunks/);
      },
    );
  });

  const huge = () => {
    const row = (_: unknown, index: number) => `const row${index} = ${JSON.stringify("x".repeat(80))};`;
    return `${Array.from({ length: 200_000 }, row).join("\n")}\n`;
  };

  it("A pull request of 20 MB has its readable part reviewed, names the rest, and is not green", () =>
    onPull(
      {
        base: { [path]: numbers(60) },
        head: { [path]: numbers(60, { 24: "const n24 = 0;" }), "data/rows.js": huge() },
        script: [turn(finding({ line: 24, quote: "const n24 = 0;", severity: "medium" }), finish)],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toEqual({
          reviews: 1,
          comments: [`${path} RIGHT 24`],
          summaries: 1,
          check: "neutral",
        });
        expect(app.summary()).toMatch(
          /Not read[\s\S]*data\/rows\.js[^\n]*too large \(200000 changed lines\)/,
        );
        expect(app.repository.checkRuns[0]?.output.title).toMatch(/incomplete/i);
      },
    ));

  // Incomplete reviews are never green, with or without findings: test/pull/publish/conclusions.test.ts.
  it.runIf(long)("A pull request of 20 MB in which nothing was found is not praised", () =>
    onPull(
      {
        base: { [path]: numbers(60) },
        head: { [path]: numbers(60, { 24: "const n24 = 0;" }), "data/rows.js": huge() },
        script: [turn(finish)],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toEqual({ reviews: 0, comments: [], summaries: 1, check: "neutral" });
        expect(app.summary()).toContain("data/rows.js");
        expect(app.summary()).not.toMatch(/no problems|✅/i);
      },
    ),
  );
});
