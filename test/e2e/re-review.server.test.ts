import { describe, expect, it } from "vitest";
import type { FakeScript } from "../support/fake-openai.ts";
import { writePermissions } from "../support/github-double/scenario.ts";
import { type Case, finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

/*
 * The visible result after a second and a tenth push. A review takes a second of processor time, so one pull request here goes through as
 * many cases as possible; test/pull/ledger, test/tasks/review and test/report test each rule separately.
 */

const long = process.env.HUNKWISE_LONG === "1";
/** For consecutive reviews, each of which may wait for many others. */
const veryPatient = { timeout: 3 * patient.timeout };

const path = "src/numbers.js";
const other = "src/other.js";
const base = { [path]: numbers(60), [other]: numbers(60) };
const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
const wrong = (over: Record<string, unknown> = {}) =>
  finding({ line: 24, quote: "const n24 = 0;", title: "n24 is no longer 24 for its readers", ...over });

/** Reports the fault whenever the hunk is shown. */
const whenShown: FakeScript = (body) =>
  turn(...(JSON.stringify(body.messages).includes("const n24 = 0;") ? [wrong()] : []), finish);

/** The messages to the model as the reviewer, from request number `from` on. */
const shownSince = (app: Case, from: number) =>
  JSON.stringify(app.reviewRequests.slice(from).map(({ body }) => body.messages));

describe.concurrent("pushes that do not touch a finding", veryPatient, () => {
  const pushes = long ? 10 : 3;
  const changed = { 24: "const n24 = 0;", 40: "const n40 = 0;" };
  const late = (over: Record<string, unknown>) => finding({ line: 240, quote: "const n40 = 0;", ...over });

  it("A finding keeps one comment wherever its code moves, and the model reads only new changes", () =>
    onPull(
      {
        base,
        head: { [path]: numbers(60, changed) },
        script: (body, n) =>
          n < pushes + 2
            ? whenShown(body, n)
            : turn(
                late({ severity: "medium", title: "n40 could be named better by far" }),
                late({ severity: "critical", title: "Everybody may read the number" }),
                finish,
              ),
      },
      async (app) => {
        await app.review();
        for (let n = 1; n <= pushes; n++)
          await app.push({ [other]: numbers(60, { [n * 5]: `const x = ${n}00;` }) });

        const expected = { reviews: 1, comments: [`${path} RIGHT 24`], summaries: 1, check: "neutral" };
        expect(app.end()).toEqual(expected);
        expect(app.reviewRequests).toHaveLength(pushes + 1);
        expect(shownSince(app, 1)).not.toContain("+const n24 = 0;");
        expect(app.summary()).toContain("n24 is no longer 24");

        const above = Array.from({ length: 200 }, (_, n) => `const above${n} = ${n};`);
        await app.push({ [path]: numbers(60, { 1: [...above, "const n1 = 1;"], ...changed }) });
        expect(app.threads()).toHaveLength(1);
        expect(app.end()).toMatchObject({ reviews: 1, check: "neutral" });

        await app.push({ [other]: numbers(60, { 7: "const x = 7;" }) });
        expect(app.bodies().slice(1)).toEqual([expect.stringContaining("Everybody may read the number")]);
        expect(app.summary()).toContain("n40 could be named better");
      },
    ));
});

describe.concurrent("code with unchanged content", veryPatient, () => {
  it.runIf(long)(
    "Unchanged code is read again only for a full review, and its finding is posted only once",
    () =>
      onPull({ base, head, script: whenShown }, async (app) => {
        const expected = { reviews: 1, comments: [`${path} RIGHT 24`], summaries: 1, check: "neutral" };
        const above = { 2: ["// one", "// two", "const n2 = 2;"] };
        const rebased = { [path]: numbers(60, { ...above, 24: "const n24 = 0;" }) };
        await app.review();
        app.people.pushToBase(app.repository, { [path]: numbers(60, above) });
        app.people.forcePush(app.pull, rebased);
        await app.review("synchronize");
        expect(app.reviewRequests).toHaveLength(1);
        expect(app.end()).toEqual(expected);

        app.people.forcePush(app.pull, rebased, { message: "Said better" });
        await app.review("synchronize");
        expect(app.reviewRequests).toHaveLength(1);
        expect(app.end()).toEqual(expected);

        await app.comment("octocat", "/review full");
        await app.idle();
        expect(app.reviewRequests).toHaveLength(2);
        expect(shownSince(app, 1)).toContain("const n24 = 0;");
        expect(app.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 24`], summaries: 1 });
      }),
  );
});

describe.concurrent("a finding that was fixed", veryPatient, () => {
  it("A fixed finding is answered once, stays open if the second look is unsure, and is new when it returns", () =>
    onPull(
      {
        base,
        head: {
          [path]: numbers(60, { 8: "const n8 = 0;", 24: "const n24 = 0;", 40: "const n40 = 0;" }),
        },
        script: (body, n) =>
          n === 0
            ? turn(
                finding({ line: 8, quote: "const n8 = 0;", title: "n8 is in doubt" }),
                wrong(),
                finding({ line: 40, quote: "const n40 = 0;", title: "n40 is discussed" }),
                finish,
              )
            : whenShown(body, n),
        permissions: writePermissions,
        resolution: (asked) => (asked.includes("n8 is in doubt") ? "unsure" : "fixed"),
      },
      async (app) => {
        const changed = (n24: string) => ({
          [path]: numbers(60, { 8: "const n8 = 8.0;", 24: `const n24 = ${n24};`, 40: "const n40 = 40.0;" }),
        });
        await app.review();
        await app.reply(app.threads()[2]!, "octocat", "I will look into it.");
        await app.push(changed("24.0"));

        const sha = app.pull.heads.at(-1)?.slice(0, 12) ?? "?";
        const isFixed = expect.stringMatching(new RegExp(`^Fixed in .*${sha}`, "i"));
        expect(app.replies()).toEqual([isFixed, isFixed]);
        expect(app.threads().map(app.resolvedBy)).toEqual([null, "hunkwise[bot]", null]);
        expect(app.end()).toMatchObject({ check: "neutral" });

        await app.push({ ...changed("24.00"), [other]: numbers(60, { 9: "const x = 9;" }) });
        expect(app.replies()).toHaveLength(2);
        expect(app.threads()).toHaveLength(3);

        await app.push(changed("0"));
        expect(app.end().comments.slice(3)).toEqual([`${path} RIGHT 24`]);
      },
    ));
});

describe.concurrent("a finding that was dismissed", veryPatient, () => {
  const places = [8, 24, 40, 56];
  const four = { [path]: numbers(60, Object.fromEntries(places.map((n) => [n, `const n${n} = 0;`]))) };
  const at = (n: number, over: Record<string, unknown> = {}) =>
    finding({ line: n, quote: `const n${n} = 0;`, title: `n${n} is wrong`, severity: "medium", ...over });

  /** Repeats all findings in the same words and in others; compared findings name the branch, which identifies the case. */
  const saidAgain: FakeScript = (body, n) => {
    const branch = /case-\d+-base/.exec(JSON.stringify(body.messages))?.[0];
    const reworded = {
      title: "Readers expect more and get nothing",
      category: "data",
      body: `On ${branch}.`,
    };
    const inOtherWords = n === 0 ? [] : [at(8, reworded), at(24, reworded)];
    return turn(...places.map((line) => at(line)), ...inOtherWords, finish);
  };

  it("A dismissed finding is not reported again, nor in other words, however it was dismissed", () =>
    onPull({ base, head: four, script: saidAgain, same: true }, async (app) => {
      await app.review();
      const [thumbed, replied, deleted, resolved] = app.threads();
      app.people.react(thumbed!, "octocat", "-1");
      await app.reply(replied!, "octocat", "That is intended, zero means unknown.");
      await app.idle();
      expect(app.replies()).toEqual([]);
      app.people.delete(deleted!);
      app.people.resolve(resolved!, "octocat");

      await app.comment("octocat", "/review full");
      await app.idle();
      expect(app.end()).toMatchObject({
        reviews: 1,
        comments: [8, 24, 56].map((line) => `${path} RIGHT ${line}`),
        check: "success",
      });
      expect(app.resolvedBy(resolved!)).toBe("octocat");
      expect(app.summary()).toMatch(/dismissed/i);
      expect(app.summary()).toContain("octocat");
    }));
});

describe.runIf(long).concurrent("two identical problems in two places", veryPatient, () => {
  it("Two identical problems are two findings, also when the second one comes with a later push", () => {
    const twice = numbers(60, { 24: "const n24 = 0;", 50: "const n24 = 0;" });
    return onPull(
      {
        base,
        head,
        script: (_body, n) => turn(wrong(n === 0 ? {} : { line: 50 }), finish),
      },
      async (app) => {
        await app.review();
        await app.push({ [path]: twice });

        expect(app.end()).toMatchObject({
          reviews: 2,
          comments: [`${path} RIGHT 24`, `${path} RIGHT 50`],
        });
      },
    );
  });
});
