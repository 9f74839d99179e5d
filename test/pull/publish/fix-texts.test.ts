import { describe, expect, it } from "vitest";
import { commitMessage, type FixReport, renderFix } from "../../../src/pull/publish/fix-texts.ts";
import type { FixResult } from "../../../src/tasks/fix/fix-input.ts";

const token = `ghp_${"A1b2C3d4".repeat(4)}E5f6`;

describe("The message of our commit", () => {
  it("The message is the first line, as a person would write it", () => {
    expect(commitMessage("Compare with <, so that the first try counts\n\nMore of it")).toBe(
      "Compare with <, so that the first try counts",
    );
  });

  it("The message names nobody, closes nothing and skips no check", () => {
    const message = commitMessage("Thank @octocat, fixes #12 and GH-3 [skip ci] ***NO_CI***");
    for (const live of ["@octocat", "#12", "GH-3", "[skip ci]", "***"]) expect(message).not.toContain(live);
  });

  it.each(["fixup! Start", "squash!amend! Start", "# Start", " ;; Start"])(
    "The message commands git nothing: %s",
    (summary) => {
      expect(commitMessage(summary)).toBe("Start");
    },
  );

  it("The message contains no secret, also no part of one that was cut or broken up", () => {
    for (const before of ["", "x".repeat(50)]) {
      const message = commitMessage(`${before} ${token}`);
      expect(message.replace(/\p{Cf}/gu, "")).not.toMatch(/ghp_\w/);
    }
  });

  it("The message is ours if nothing is left of the model's", () => {
    expect(commitMessage("https://evil.example ***")).toBe("Repair what a review found");
  });
});

const told = (end: FixReport["end"], over: Partial<FixResult> = {}): string =>
  renderFix({
    fix: {
      repairs: [{ id: "f1", repaired: true, note: "Done.", check: { state: "fixed", reason: "a.ts:1 is." } }],
      ...{ summary: "Start at 1", model: "m", stop_reason: "finished", rounds: 1, refused: [] },
      edits: [{ path: "a.ts", after: null }],
      tried_out: {
        commands: [{ command: "npm test", folder: ".", exit_code: 0, ended: null }],
        why_none: null,
      },
      usage: { requests: 1, prompt_tokens: 1, cached_tokens: 0, completion_tokens: 1, cost_usd: null },
      ...over,
    },
    titles: new Map([["f1", "It starts at 0"]]),
    head: "a".repeat(40),
    end,
  })(60_000);

const pushed = { kind: "pushed", commit: "b".repeat(40) } as const;

describe("The report on the test of a finding", () => {
  const repaired = { id: "f1", repaired: true, note: "Done." };
  const withTest = (
    test: FixResult["repairs"][number]["test"],
    check: FixResult["repairs"][number]["check"] = { state: "fixed", reason: "a.ts:1 is." },
    end: FixReport["end"] = { kind: "pushed", commit: "f".repeat(40) },
  ) => told(end, { repairs: [{ ...repaired, check, ...(test && { test }) }] });

  it("The report says that the test passes now and is added, or why it is not", () => {
    expect(withTest({ state: "passes", reason: "" })).toContain(
      "_Its test failed before, passes now, and is a part of the repair._\n  _A second look confirms",
    );
    expect(withTest({ state: "not_run", reason: "it passes without @octo" })).toMatch(
      /_Its test \*\*was not added\*\*:_ it passes without @(?!octo)/,
    );
    expect(withTest(undefined)).not.toContain("test failed");
  });

  it("The report calls a failing test no confirmation", () => {
    const present = { state: "present", reason: "Its test fails: 1 !== 2" } as const;
    const text = withTest({ state: "fails", reason: "1 !== 2" }, present, { kind: "none" });
    expect(text).toContain("**did not push it**: the test of a finding still fails.");
    expect(text).toContain("_The repair **is not confirmed**:_ Its test fails: 1 !== 2");
    expect(text).not.toContain("second look");
  });
});

describe("The report on a fix", () => {
  it("The report names the commands that were run on exactly what was pushed, and their ends", () => {
    const text = told(pushed, {
      tried_out: {
        commands: [
          { command: "npm test", folder: ".", exit_code: 0, ended: null },
          { command: "npm run lint", folder: "web", exit_code: 137, ended: "memory" },
        ],
        why_none: null,
      },
    });
    expect(text).toContain("Commands run on exactly these files: `npm test` ended with exit code 0; ");
    expect(text).toContain("`npm run lint` in `web` ended with exit code 137 (it used too much memory).");
  });

  it("The report says that no command was run, and why", () => {
    const text = told(pushed, { tried_out: { commands: [], why_none: "this machine has no sandbox" } });
    expect(text).toContain("No command was run to test the repair: this machine has no sandbox.");
  });

  it("The report shows commands and reasons as text only", () => {
    const hostile = "`@octo/team` <img src=x> /approve\n# Big\n<!-- hunkwise:fixed -->";
    const text = told(pushed, {
      tried_out: {
        commands: [{ command: `npm test '${hostile}'`, folder: hostile, exit_code: 1, ended: null }],
        why_none: null,
      },
    });
    const reason = told(pushed, { tried_out: { commands: [], why_none: hostile } });
    // What is left once escaped signs and code are taken out, in which nothing means anything.
    const bare = (one: string) => one.replace(/\\./g, "").replace(/(`+)[^`].*?[^`]\1(?!`)/g, "");
    for (const one of [text, reason]) {
      expect(one).not.toMatch(/^(?:#|\/approve)/m);
      expect(bare(one)).not.toMatch(/@octo|<(?!\/?sub>)/);
    }
  });

  it("The report has room for a few commands, however many a model called", () => {
    const commands = Array.from({ length: 900 }, (_, at) => ({
      ...{ command: `npm test ${at} ${"x".repeat(1_900)}`, folder: ".", exit_code: 1, ended: null },
    }));
    const text = told(pushed, { tried_out: { commands, why_none: null } });
    expect(text).toContain("and 892 more");
    expect(text.length).toBeLessThan(5_000);
  });

  it("The report says what the model was not allowed to change, whatever the model says", () => {
    const refused = [{ path: ".github/workflows/ci.yml", reason: "it decides what runs in CI" }];
    expect(told({ kind: "none" }, { refused, edits: [] })).toContain(
      "I was not allowed to make these changes:\n\n- `.github/workflows/ci.yml`: it decides what runs in CI.",
    );
  });

  it.each([
    ["refused", { kind: "refused", refusals: [] }],
    ["moved", { kind: "moved", mayHaveStood: false }],
    ["settled", { kind: "settled" }],
    ["closed", { kind: "closed" }],
  ] as const)("The report does not say how a fix was tried out if it is %s", (_, end) => {
    expect(told(end)).not.toContain("npm test");
    expect(told(end)).not.toContain("second look");
  });

  it("The report says that a fix is not applied if a second look still finds the fault", () => {
    const repairs = [
      { id: "f1", repaired: true, note: "", check: { state: "present" as const, reason: "It is." } },
    ];
    expect(told({ kind: "none" }, { repairs, rounds: 1 })).toContain(
      "**did not push it**: a second look still finds the fault.",
    );
    expect(told({ kind: "none" }, { repairs, rounds: 2 })).toContain(
      "still finds the fault, even after a second attempt.",
    );
    expect(told({ kind: "none" }, { repairs: [], edits: [] })).toContain("Nothing was changed.");
  });
});
