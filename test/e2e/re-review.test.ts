import { describe, expect, it } from "vitest";
import type { FakeScript } from "../support/fake-openai.ts";
import { writePermissions } from "../support/github-double/scenario.ts";
import { type Case, finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

const path = "src/numbers.js";
const other = "src/other.js";
const base = { [path]: numbers(60), [other]: numbers(60) };
const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
const wrong = (over: Record<string, unknown> = {}) =>
  finding({ line: 24, quote: "const n24 = 0;", title: "n24 is no longer 24 for its readers", ...over });

/** Finds the fault in the first review, and nothing in any later one. */
const once: FakeScript = (_body, n) => (n === 0 ? turn(wrong(), finish) : turn(finish));

/** Says the fault whenever the hunk is shown. */
const whenShown: FakeScript = (body) =>
  turn(...(JSON.stringify(body.messages).includes("const n24 = 0;") ? [wrong()] : []), finish);

/** What the model was shown as reviewer since a number of requests. */
const shownSince = (app: Case, from: number) =>
  JSON.stringify(app.reviewRequests.slice(from).map(({ body }) => body.messages));

describe.concurrent("ten pushes that do not touch a finding", patient, () => {
  it("leave one comment, and the model reads what is new alone", () =>
    onPull({ base, head, script: whenShown }, async (app) => {
      await app.review();
      for (let n = 1; n <= 10; n++)
        await app.push({ [other]: numbers(60, { [n * 5]: `const x = ${n}00;` }) });

      expect(app.end()).toEqual({
        reviews: 1,
        comments: [`${path} RIGHT 24`],
        summaries: 1,
        check: "neutral",
      });
      expect(app.reviewRequests).toHaveLength(11);
      expect(shownSince(app, 1)).not.toContain("+ const n24 = 0;");
      expect(app.summary()).toContain("n24 is no longer 24");
    }));
});

describe.concurrent("what is unchanged in content", patient, () => {
  it("is not read again after a rebase onto a base that went on", () =>
    onPull({ base, head, script: whenShown }, async (app) => {
      await app.review();
      app.people.pushToBase(app.repository, {
        [path]: numbers(60, { 2: ["// one", "// two", "const n2 = 2;"] }),
      });
      app.people.forcePush(app.pull, {
        [path]: numbers(60, { 2: ["// one", "// two", "const n2 = 2;"], 24: "const n24 = 0;" }),
      });
      await app.review("synchronize");

      expect(app.reviewRequests).toHaveLength(1);
      expect(app.end()).toEqual({
        reviews: 1,
        comments: [`${path} RIGHT 24`],
        summaries: 1,
        check: "neutral",
      });
    }));

  it("is not read again after a force-push of the same change under another message", () =>
    onPull({ base, head, script: whenShown }, async (app) => {
      await app.review();
      app.people.forcePush(app.pull, head, { message: "Said better" });
      await app.review("synchronize");

      expect(app.reviewRequests).toHaveLength(1);
      expect(app.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 24`], check: "neutral" });
    }));

  it("is read anew where somebody asks for a full review, and said once all the same", () =>
    onPull({ base, head, script: whenShown }, async (app) => {
      await app.review();
      await app.comment("octocat", "/review full");
      await app.idle();

      expect(app.reviewRequests).toHaveLength(2);
      expect(shownSince(app, 1)).toContain("const n24 = 0;");
      expect(app.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 24`], summaries: 1 });
    }));

  it("gets no late remark but a critical one", () =>
    onPull(
      {
        base,
        head,
        script: (_body, n) =>
          n === 0
            ? turn(finish)
            : turn(
                wrong({ severity: "medium", title: "n24 could be named better by far" }),
                wrong({ severity: "critical", title: "Everybody may read the number" }),
                finish,
              ),
      },
      async (app) => {
        await app.review();
        await app.push({ [other]: numbers(60, { 7: "const x = 7;" }) });

        expect(app.bodies()).toEqual([expect.stringContaining("Everybody may read the number")]);
        expect(app.summary()).toContain("n24 could be named better");
      },
    ));
});

describe.concurrent("a finding that was fixed", patient, () => {
  const resolution = "fixed";
  const push = { [path]: numbers(60, { 24: "const n24 = 24.0;" }) };

  it("is answered with the commit and resolved, where the App may", () =>
    onPull({ base, head, script: once, permissions: writePermissions, resolution }, async (app) => {
      await app.review();
      await app.push(push);

      const sha = app.pull.heads.at(-1)?.slice(0, 12) ?? "?";
      expect(app.replies()).toEqual([expect.stringMatching(new RegExp(`^Fixed in .*${sha}`, "i"))]);
      expect(app.threads().map(app.resolvedBy)).toEqual(["hunkwise[bot]"]);
      expect(app.end()).toMatchObject({ comments: [`${path} RIGHT 24`], check: "success" });
    }));

  it("is answered and counts as fixed where the App may not resolve, and the summary names the permission", () =>
    onPull({ base, head, script: once, resolution }, async (app) => {
      await app.review();
      await app.push(push);

      expect(app.replies()).toHaveLength(1);
      expect(app.threads().map(app.resolvedBy)).toEqual([null]);
      expect(app.end()).toMatchObject({ check: "success" });
      expect(app.summary()).toMatch(/Contents: Read and write/);
    }));

  it("is told once, whatever is pushed later", () =>
    onPull({ base, head, script: once, resolution }, async (app) => {
      await app.review();
      await app.push(push);
      await app.push({ [other]: numbers(60, { 9: "const x = 9;" }) });
      await app.push({ [path]: numbers(60, { 24: "const n24 = 24.00;" }) });

      expect(app.replies()).toHaveLength(1);
    }));

  it("is a new comment when it comes back", () =>
    onPull({ base, head, script: whenShown, permissions: writePermissions, resolution }, async (app) => {
      await app.review();
      await app.push(push);
      await app.push(head);

      expect(app.end()).toMatchObject({ comments: [expect.any(String), `${path} RIGHT 24`] });
    }));

  it("is left alone where the second look does not know", () =>
    onPull({ base, head, script: once, resolution: "unsure" }, async (app) => {
      await app.review();
      await app.push(push);

      expect(app.replies()).toEqual([]);
      expect(app.threads().map(app.resolvedBy)).toEqual([null]);
      expect(app.end()).toMatchObject({ check: "neutral" });
    }));
});

describe.concurrent("a finding whose code moved by 200 lines", patient, () => {
  it("keeps its comment, and has no other", () =>
    onPull({ base, head, script: whenShown }, async (app) => {
      await app.review();
      const above = Array.from({ length: 200 }, (_, n) => `const above${n} = ${n};`);
      await app.push({ [path]: numbers(60, { 1: [...above, "const n1 = 1;"], 24: "const n24 = 0;" }) });

      expect(app.threads()).toHaveLength(1);
      expect(app.end()).toMatchObject({ reviews: 1, check: "neutral" });
    }));
});

describe.concurrent("a thread in which a person wrote", patient, () => {
  it("is left to its people although its code was fixed", () =>
    onPull({ base, head, script: once, permissions: writePermissions, resolution: "fixed" }, async (app) => {
      await app.review();
      const [thread] = app.threads();
      await app.reply(thread!, "octocat", "I will look into it.");
      await app.push({ [path]: numbers(60, { 24: "const n24 = 24.0;" }) });

      expect(app.replies()).toEqual([]);
      expect(app.threads().map(app.resolvedBy)).toEqual([null]);
    }));

  it("is left resolved where a person resolved it, and its finding is neither said again nor held against the change", () =>
    onPull({ base, head, script: whenShown }, async (app) => {
      await app.review();
      app.people.resolve(app.threads()[0]!, "octocat");
      await app.comment("octocat", "/review full");
      await app.idle();

      expect(app.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 24`], check: "success" });
      expect(app.resolvedBy(app.threads()[0]!)).toBe("octocat");
    }));
});

describe.concurrent("a finding that was dismissed", patient, () => {
  /** Says it again in the same words and in others; what is compared names the branch, by which the case is known. */
  const later: FakeScript = (body, n) => {
    const shown = JSON.stringify(body.messages);
    if (n > 0 && !shown.includes("const n24 = 0;")) return turn(finish);
    const branch = /case-\d+-base/.exec(shown)?.[0];
    const reworded = { title: "Readers expect 24 and get nothing", category: "data", body: `On ${branch}.` };
    const said = wrong({ severity: "medium" });
    return n === 0 ? turn(said, finish) : turn(said, wrong({ severity: "medium", ...reworded }), finish);
  };

  async function expectSilence(app: Case): Promise<void> {
    await app.comment("octocat", "/review full");
    await app.idle();
    expect(app.end()).toMatchObject({ reviews: 1, comments: [`${path} RIGHT 24`], check: "success" });
    expect(app.summary()).toMatch(/dismissed/i);
    expect(app.summary()).toContain("octocat");
  }

  it("by a thumbs down is not said again, nor in other words", () =>
    onPull({ base, head, script: later, same: true }, async (app) => {
      await app.review();
      app.people.react(app.threads()[0]!, "octocat", "-1");
      await expectSilence(app);
    }));

  it("by a reply is not said again, nor in other words", () =>
    onPull({ base, head, script: later, same: true }, async (app) => {
      await app.review();
      await app.reply(app.threads()[0]!, "octocat", "That is intended, zero means unknown.");
      await app.idle();
      expect(app.replies()).toEqual([]);
      await expectSilence(app);
    }));

  it("by somebody who may not write stays open", () =>
    onPull({ base, head, script: later }, async (app) => {
      await app.review();
      app.people.react(app.threads()[0]!, "passer-by", "-1");
      await app.reply(app.threads()[0]!, "passer-by", "won't fix");
      await app.push({ [other]: numbers(60, { 9: "const x = 9;" }) });

      expect(app.summary()).not.toMatch(/dismissed/i);
      expect(app.summary()).toContain("n24 is no longer 24");
    }));

  it("by the author of a fork is dismissed below high, and stays open from high on", async () => {
    for (const severity of ["medium", "high"] as const) {
      const script: FakeScript = (_body, n) => (n === 0 ? turn(wrong({ severity }), finish) : turn(finish));
      await onPull({ base, head, script, author: "mona", fork: "mona" }, async (app) => {
        await app.review();
        await app.reply(app.threads()[0]!, "mona", "False positive.");
        await app.push({ [other]: numbers(60, { 9: "const x = 9;" }) });

        expect(app.end()).toMatchObject({ check: severity === "high" ? "neutral" : "success" });
      });
    }
  });

  it("by deleting its comment is not said again", () =>
    onPull({ base, head, script: whenShown }, async (app) => {
      await app.review();
      app.people.delete(app.threads()[0]!);
      await app.comment("octocat", "/review full");
      await app.idle();

      expect(app.threads()).toEqual([]);
    }));
});

describe.concurrent("two identical problems in two places", patient, () => {
  it("are two findings, also when the second one comes with a later push", () => {
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
