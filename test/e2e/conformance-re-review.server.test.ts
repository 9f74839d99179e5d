import { describe, expect, it } from "vitest";
import { type Case, finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

const path = "src/numbers.js";
const base = { [path]: numbers(60), "src/other.js": numbers(30) };
const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
const wrong = (over: Record<string, unknown> = {}) =>
  finding({ line: 24, quote: "const n24 = 0;", title: "n24 is no longer 24", ...over });

/** In `npm test`, one pull request goes through all cases that can be distinguished in it. */
const long = process.env.HUNKWISE_LONG === "1";

/** Expects one comment, one summary, and no text that reads like praise. */
function expectSaidOnce(app: Case): void {
  expect(app.end()).toEqual({ reviews: 1, comments: [`${path} RIGHT 24`], summaries: 1, check: "neutral" });
  expect(app.summary()).toMatch(/reported earlier/i);
  expect(app.summary()).toContain("n24 is no longer 24");
  expect(app.summary()).not.toMatch(/no problems|✅/i);
}

describe.concurrent("the same finding twice in one review", patient, () => {
  it("e: The same finding twice is one comment, also in another turn or with other spacing", () =>
    onPull(
      {
        base,
        head,
        script: [
          turn(wrong(), wrong(), wrong({ body: "Said in other words.", confidence: 0.5 })),
          turn(
            wrong({ line: 23, title: "N24  is no longer 24 ", quote: "const n24  = 0;" }),
            wrong({ title: "n24 is never exported" }),
            finish,
          ),
        ],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toEqual({
          reviews: 1,
          comments: [`${path} RIGHT 24`, `${path} RIGHT 24`],
          summaries: 1,
          check: "neutral",
        });
        expect(app.bodies().filter((body) => body.includes("n24 is never exported"))).toHaveLength(1);
      },
    ));
});

describe.concurrent("a finding that is still open", patient, () => {
  it("f, f': An open finding gets no praise and no new comment when pushes move, reword or rename it", {
    timeout: 3 * patient.timeout,
  }, () => {
    const moved = {
      22: ["const a = 1;", "const b = 2;"],
      24: "const n24 = 0;",
    };
    const found = [
      wrong(),
      null,
      wrong({ line: 26, severity: "critical" }),
      wrong({ line: 26, title: "24 is expected, and it is 0" }),
      wrong({ line: 26, path: "src/digits.js" }),
    ];
    return onPull(
      { base, head, script: (_body, n) => turn(...(found[n] ? [found[n]] : []), finish) },
      async (app) => {
        await app.review();
        await app.push({ "src/other.js": numbers(30, { 3: "const n3 = 0;" }) });
        expectSaidOnce(app);

        await app.push({ [path]: numbers(60, moved) });
        expectSaidOnce(app);

        await app.push({ [path]: numbers(60, { ...moved, 26: "const n26 = 0;" }) });
        expect(app.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 24`], check: "neutral" });
        expect(app.summary()).toMatch(/reported earlier/i);

        await app.push({ [path]: null, "src/digits.js": numbers(60, { ...moved, 26: "const n26 = 0;" }) });
        expectSaidOnce(app);
        expect(app.repository.checkRuns.map(({ conclusion }) => conclusion)).toEqual(
          Array.from({ length: 5 }, () => "neutral"),
        );
      },
    );
  });

  it.runIf(long)(
    "f: The same fault in the same code at another place is reported, whichever comes first",
    () => {
      const risky = ["  const parsed = JSON.parse(text);", "  return parsed.value;"];
      const titles: Record<number, string> = {
        12: "It may be null",
        53: "Whoever sends a number has it crash",
      };
      // Critical, because only critical findings are reported in code that was reviewed before.
      const at = (line: number) =>
        finding({ line, quote: "return parsed.value;", title: titles[line], severity: "critical" });
      return onPull(
        {
          base,
          head: { [path]: numbers(60, { 11: risky, 51: risky }) },
          script: (_body, n) => (n === 0 ? turn(at(53), finish) : turn(at(12), at(53), finish)),
        },
        async (app) => {
          await app.review();
          await app.push({ "src/other.js": numbers(30, { 3: "const n3 = 0;" }) });

          expect(app.end()).toEqual({
            reviews: 2,
            comments: [`${path} RIGHT 53`, `${path} RIGHT 12`],
            summaries: 1,
            check: "neutral",
          });
        },
      );
    },
  );
});

describe.concurrent("a pull request without faults", patient, () => {
  it.runIf(long)("A pull request without faults gets one quiet line, and no comment at any later push", () =>
    onPull({ base, head, script: () => turn(finish) }, async (app) => {
      await app.review();
      const [first] = app.pull.comments;
      for (const n of long ? [1, 2] : [1])
        await app.push({ "src/other.js": numbers(30, { 3: `const n3 = ${n}0;` }) });

      expect(app.end()).toEqual({ reviews: 0, comments: [], summaries: 1, check: "success" });
      expect(app.pull.comments).toEqual([first]);
      expect(app.summary()).toMatch(/^<details>\s*<summary>✅ [^\n]*no problems[^\n]*<\/summary>/);
      expect(app.repository.checkRuns.map(({ conclusion }) => conclusion)).toEqual(
        Array.from({ length: long ? 3 : 2 }, () => "success"),
      );
      // Watchers of the pull request have been notified once: an edit notifies nobody.
      const posts = app.github.requests.filter(
        ({ method, path: at }) =>
          method === "POST" && at.includes(`/${app.repository.name}/`) && /\/(comments|reviews)$/.test(at),
      );
      expect(posts).toHaveLength(1);
    }),
  );
});
