import { describe, expect, it } from "vitest";
import { finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

const path = "src/numbers.js";
const base = { [path]: numbers(60), "src/other.js": numbers(30) };
const changed = [10, 11, 12, 13];
const head = {
  [path]: numbers(60, Object.fromEntries(changed.map((line) => [line, `const n${line} = 0;`]))),
};
const good = changed.map((line) => finding({ line, quote: `const n${line} = 0;` }));
const fourInline = changed.map((line) => `${path} RIGHT ${line}`);

describe.concurrent("one bad line among five", patient, () => {
  it("c: A bad line that GitHub refuses is in the summary, with the reason", () => {
    let partMerged = () => {};
    return onPull(
      {
        base,
        head: [{ files: { "src/other.js": numbers(30, { 3: "const n3 = 0;" }) } }, { files: head }],
        script: () => {
          partMerged();
          return turn(
            ...good,
            finding({ path: "src/other.js", line: 3, quote: "const n3 = 0;", title: "n3 is 0" }),
            finish,
          );
        },
      },
      async (app) => {
        // The first commit reaches the base branch in another way, and is no longer part of the pull request.
        partMerged = () => {
          const { git, defaultBranch } = app.repository;
          git.git("update-ref", `refs/heads/${defaultBranch}`, `${app.pull.heads[0]}^`);
        };
        await app.review();

        expect(app.end()).toEqual({ reviews: 1, comments: fourInline, summaries: 1, check: "neutral" });
        expect(app.summary()).toContain("n3 is 0");
        expect(app.summary()).toMatch(/GitHub refused its line/);
        const refused = app.takeViolations().map(({ operation }) => operation);
        expect(new Set(refused)).toEqual(new Set(["pulls/create-review"]));
      },
    );
  });
});

const script = () => [turn(...good, finish)];
const once = { reviews: 1, comments: fourInline, summaries: 1, check: "neutral" };

describe.concurrent("a 502 when something is posted", patient, () => {
  it("l: A review that was not stored is repeated: one review", () =>
    onPull({ base, head, script: script() }, async (app) => {
      app.fault("POST /pulls/1/reviews", "bad-gateway");
      await app.review();

      expect(app.struck()).toHaveLength(1);
      expect(app.end()).toEqual(once);
    }));

  it("l': A post that was stored despite a 502 is recognized on every channel", () =>
    onPull(
      { base, head, script: [turn(...good, finding({ line: 40, quote: "const n40 = 40;" }), finish)] },
      async (app) => {
        const channels = ["/pulls/1/reviews", "/pulls/1/comments", "/issues/1/comments", "/check-runs"];
        for (const channel of channels) app.fault(`POST ${channel}`, "bad-gateway-after");
        await app.review();

        expect(app.struck()).toHaveLength(channels.length);
        expect(app.end()).toEqual({ ...once, reviews: 2, comments: [...fourInline, path] });
        expect(app.repository.checkRuns).toHaveLength(1);
      },
    ));
});
