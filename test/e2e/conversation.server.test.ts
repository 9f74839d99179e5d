import { describe, expect, it } from "vitest";
import type { FakeScript } from "../support/fake-openai.ts";
import { writePermissions } from "../support/github-double/scenario.ts";
import { type Case, finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

const long = process.env.HUNKWISE_LONG === "1";

const path = "src/numbers.js";
const base = { [path]: numbers(60), "src/other.js": numbers(60) };
const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
const wrong = finding({ line: 24, quote: "const n24 = 0;", title: "n24 is no longer 24 for its readers" });

/** Reviews with one finding, and answers every question. */
const talkative: FakeScript = (body) =>
  body.tools?.some((tool) => tool.function.name === "reply")
    ? turn({ name: "reply", arguments: { text: "Because line 24 is read by `total`. cc @everyone" } })
    : turn(wrong, finish);

/** The App's comments in the conversation, without the summary. */
const ownComments = (app: Case) =>
  app.pull.comments
    .filter(({ via }) => via === app.app)
    .map(({ body }) => body)
    .slice(1);

describe.concurrent("a question", patient, () => {
  it("A question is answered once in its thread; thanks and a stranger's question cost nothing", () =>
    onPull({ base, head, script: talkative }, async (app) => {
      await app.review();
      const [thread] = app.threads();
      const before = app.reviewRequests.length;
      await app.comment("passer-by", "/ask Why is zero wrong here?");
      await app.reply(thread!, "passer-by", "Why is that a problem?");
      await app.reply(thread!, "octocat", "Thanks, good catch!");
      await app.idle();
      expect(ownComments(app)).toEqual([]);
      expect(app.replies()).toEqual([]);
      expect(app.reviewRequests).toHaveLength(before);

      await app.comment("octocat", "/ask Why is zero wrong here?");
      await app.idle();
      expect(ownComments(app)).toEqual([expect.stringContaining("Because line 24")]);
      expect(ownComments(app)[0]).not.toMatch(/(^|\s)@everyone/);
      expect(app.replies()).toEqual([]);

      await app.reply(thread!, "octocat", "Why is that a problem?");
      await app.idle();
      expect(app.replies()).toEqual([expect.stringContaining("Because line 24")]);
      expect(ownComments(app)).toHaveLength(1);
    }));
});

describe.concurrent("a pull request whose reviews are paused", patient, () => {
  it.runIf(long)(
    "A paused pull request is not reviewed at a push, and its new changes are once someone resumes",
    () =>
      onPull({ base, head, script: talkative }, async (app) => {
        await app.review();
        await app.comment("octocat", "/pause");
        await app.idle();
        await app.push({ "src/other.js": numbers(60, { 9: "const n9 = 0;" }) });
        expect(app.end()).toMatchObject({ check: "neutral" });
        expect(app.summary()).toMatch(/paused/i);
        const before = app.reviewRequests.length;

        await app.comment("octocat", "/resume");
        await app.idle();
        expect(app.reviewRequests.length).toBe(before + 1);
        expect(app.summary()).not.toMatch(/paused/i);
      }),
  );
});

describe.concurrent("other commands", patient, () => {
  it("Commands work in a thread: help without a model, review, and resolve, which dismisses its finding", () =>
    onPull({ base, head, script: talkative }, async (app) => {
      await app.review();
      await app.comment("octocat", "@hunkwise help");
      await app.idle();
      expect(ownComments(app)).toHaveLength(1);
      for (const word of ["review", "ask", "resolve", "pause", "resume", "remember"])
        expect(ownComments(app)[0]).toContain(word);
      expect(app.reviewRequests).toHaveLength(1);

      await app.reply(app.threads()[0]!, "octocat", "/review full");
      await app.idle();
      expect(app.reviewRequests).toHaveLength(2);
      expect(app.end()).toMatchObject({ comments: [`${path} RIGHT 24`], check: "neutral" });

      await app.reply(app.threads()[0]!, "octocat", "/resolve");
      await app.idle();
      expect(app.end()).toMatchObject({ comments: [`${path} RIGHT 24`], check: "success" });
      expect(app.summary()).toMatch(/dismissed/i);
    }));

  it("The command remember opens a pull request if the App may write", () =>
    onPull(
      {
        base: { ...base, ".github/hunkwise.yml": "# Ours\nmax_comments: 10 # few\n" },
        head,
        script: talkative,
        permissions: writePermissions,
      },
      async (app) => {
        await app.comment("octocat", "/remember Numbers below ten are written out.");
        await app.idle();

        const proposed = [...app.repository.pulls.values()].find(({ number }) => number !== app.pull.number);
        expect(proposed?.baseRef).toBe(app.pull.baseRef);
        const text = app.repository.git.git("show", `refs/heads/${proposed?.headRef}:.github/hunkwise.yml`);
        expect(text).toContain("max_comments: 10 # few");
        expect(text).toContain("Numbers below ten are written out.");
        expect(
          ownComments(app)
            .concat(app.pull.comments.map(({ body }) => body))
            .join(),
        ).toContain(`/pull/${proposed?.number}`);
      },
    ));
});

const rounds = long ? 100 : 20;

describe.concurrent(`${rounds} rounds with a bot that answers every comment`, patient, () => {
  it.runIf(long)("Rounds with a bot that answers every comment end without a reply of ours", () =>
    onPull({ base, head, script: talkative }, async (app) => {
      await app.review();
      const before = app.reviewRequests.length;
      app.github.state.account("chatty[bot]", "Bot");
      for (let n = 0; n < rounds / 2; n++) {
        await app.reply(app.threads()[0]!, "chatty[bot]", `Why do you say so? Round ${n}`);
        await app.comment("chatty[bot]", `@hunkwise ask why? Round ${n}`);
      }
      await app.idle();

      expect(app.replies().length + ownComments(app).length).toBeLessThanOrEqual(1);
      expect(app.reviewRequests).toHaveLength(before);
    }),
  );
});
