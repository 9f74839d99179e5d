import { describe, expect, it } from "vitest";
import { finding, finish, numbers, patient, turn } from "../e2e/conformance-fixture.ts";
import { onPull } from "../e2e/on-pull.ts";

const path = "src/numbers.js";
const rules = (rule: string) => `check: { threshold: never, fail: false }\nrules:\n  no-zero:\n${rule}`;
const blocking = rules(
  '    what: No constant is zero.\n    where: ["src/**"]\n    severity: medium\n    blocking: true\n',
);
const base = { [path]: numbers(60), ".github/hunkwise.yml": blocking };
const edited = numbers(60, { 24: "const n24 = 0;" });
const breach = finding({
  ...{
    line: 24,
    quote: "const n24 = 0;",
    title: "The constant n24 is zero on purpose here",
    rule: "no-zero",
  },
  severity: "critical",
});

describe.concurrent("a pull request that breaks a blocking rule", patient, () => {
  it("named-rules: A breach fails the check with a comment that names the rule, until a push repairs it", () =>
    onPull(
      { base, head: { [path]: edited }, script: [turn(breach, finish), turn(finish)], resolution: "fixed" },
      async (app) => {
        await app.review();

        expect(app.end()).toMatchObject({ comments: [`${path} RIGHT 24`], check: "failure" });
        const [comment] = app.pull.reviewComments;
        expect(comment?.body).toContain("Medium: The constant n24");
        expect(comment?.body).toContain("Rule of this repository: `no-zero`");
        const check = app.repository.checkRuns.at(-1);
        expect(check?.output?.summary).toContain("1 finding of blocking rules: `no-zero`");
        expect(check?.output?.summary).toContain("- `no-zero` (blocking): 1 finding");

        await app.push({ [path]: numbers(60, { 24: "const n24 = 7;" }) });
        expect(app.end()).toMatchObject({ check: "success" });
        expect(app.repository.checkRuns.at(-1)?.output?.summary).toContain(
          "- `no-zero` (blocking): no findings",
        );
      },
    ));

  it("named-rules: A breach stays blocked if the head changes the rule or the author explains it", () =>
    onPull(
      {
        base,
        head: {
          [path]: edited,
          ".github/hunkwise.yml": rules("    what: Everything is right.\n    blocking: false\n"),
        },
        author: "mallory",
        fork: "mallory",
        script: [turn(breach, finish), turn(finish)],
        resolution: "present",
      },
      async (app) => {
        await app.review();
        expect(app.end()).toMatchObject({ comments: [`${path} RIGHT 24`], check: "failure" });

        const [comment] = app.pull.reviewComments;
        if (!comment) throw new Error("there is no comment");
        await app.reply(comment, "mallory", "Won't fix: this is intended.");
        await app.push({ [path]: edited, "src/other.js": "const other = 1;\n" });
        expect(app.end()).toMatchObject({ check: "failure" });
      },
    ));

  it("named-rules: A rule that the base branch no longer has blocks nothing", () =>
    onPull(
      {
        base,
        head: { [path]: edited },
        script: [turn(breach, finish), turn(finish), turn(finish)],
        resolution: "present",
      },
      async (app) => {
        await app.review();
        expect(app.end()).toMatchObject({ check: "failure" });

        await app.push({ [path]: edited, "src/other.js": "const other = 1;\n" });
        expect(app.end()).toMatchObject({ comments: [`${path} RIGHT 24`], check: "failure" });

        app.people.pushToBase(app.repository, {
          ".github/hunkwise.yml": "check: { threshold: never, fail: false }\n",
        });
        await app.push({ [path]: edited, "src/other.js": "const other = 2;\n" });
        expect(app.end()).toMatchObject({ comments: [`${path} RIGHT 24`], check: "success" });
      },
    ));
});
