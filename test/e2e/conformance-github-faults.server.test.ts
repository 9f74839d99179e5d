import { describe, expect, it } from "vitest";
import { finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

/** Transient faults are tested at every call of a review in fault-at-k.slow.test.ts, and at every write in test/report. */
const long = process.env.HUNKWISE_LONG === "1";

const path = "src/numbers.js";
const base = { [path]: numbers(60), "src/other.js": numbers(30) };
const changed = [10, 11, 12, 13];
const head = {
  [path]: numbers(60, Object.fromEntries(changed.map((line) => [line, `const n${line} = 0;`]))),
};
const good = changed.map((line) => finding({ line, quote: `const n${line} = 0;` }));
const fourInline = changed.map((line) => `${path} RIGHT ${line}`);

describe.concurrent("one bad line among five", patient, () => {
  it.runIf(long)("c: A bad line outside the diff is a comment on its file, with the reason", () =>
    onPull(
      {
        base,
        head,
        script: [
          turn(...good, finding({ line: 40, quote: "const n40 = 40;", title: "n40 is unused" }), finish),
        ],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toEqual({
          reviews: 2,
          comments: [...fourInline, path],
          summaries: 1,
          check: "neutral",
        });
        const onFile = app.bodies().at(-1);
        expect(onFile).toContain("n40 is unused");
        expect(onFile).toContain(`/blob/${app.pull.heads[0]}/${path}#L40`);
        expect(`${onFile}${app.summary()}`).toMatch(/outside the diff/);
      },
    ),
  );

  it.runIf(long)("c: A bad line of a file outside the change is in the summary, with the reason", () =>
    onPull(
      {
        base,
        head,
        script: [
          turn(
            ...good,
            finding({ path: "src/other.js", line: 3, quote: "const n3 = 3;", title: "n3 is used twice" }),
            finish,
          ),
        ],
      },
      async (app) => {
        await app.review();

        expect(app.end()).toEqual({ reviews: 1, comments: fourInline, summaries: 1, check: "neutral" });
        expect(app.summary()).toContain("n3 is used twice");
        expect(app.summary()).toContain("the file is not part of the change");
        expect(app.summary()).toContain(`/blob/${app.pull.heads[0]}/src/other.js#L3`);
      },
    ),
  );

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

  it.runIf(long)("l': A review that was stored despite a 502 is recognised: one review", () =>
    onPull({ base, head, script: script() }, async (app) => {
      app.fault("POST /pulls/1/reviews", "bad-gateway-after");
      await app.review();

      expect(app.struck()).toHaveLength(1);
      expect(app.end()).toEqual(once);
    }),
  );

  it("l': A post that was stored despite a 502 is recognised on every channel", () =>
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

  it.runIf(long)("l': A post whose connection broke before the answer is recognised too", () =>
    onPull({ base, head, script: script() }, async (app) => {
      app.fault("POST /pulls/1/reviews", "reset-after");
      await app.review();

      expect(app.struck()).toHaveLength(1);
      expect(app.end()).toEqual(once);
    }),
  );
});
