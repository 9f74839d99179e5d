import { describe, expect, it } from "vitest";
import { FixJson, fixLines, type JudgedFix, toFixJson } from "../../../src/cli/commands/fix.ts";
import type { FixResult } from "../../../src/tasks/fix/fix-input.ts";

const target: JudgedFix["targets"][number] = {
  ...{ id: "f1", path: "cart.py", side: "RIGHT", line: 1, original_line: 1, symbol: null, files: [] },
  source: "model",
  ...{ title: "The list is shared", finding: "It is.", conversation: [] },
};

const judged = (over: Partial<JudgedFix> = {}, fix: Partial<FixResult> = {}): JudgedFix => ({
  fix: {
    repairs: [
      { id: "f1", repaired: true, note: "It makes one.", check: { state: "present", reason: "It is." } },
    ],
    ...{ summary: "Share no list", model: "m", stop_reason: "finished", rounds: 2, refused: [] },
    edits: [{ path: "cart.py", after: { mode: "100644", base64: "" } }],
    tried_out: {
      commands: [{ command: "pytest -q", folder: "api", exit_code: 137, ended: "timeout" }],
      why_none: null,
    },
    usage: { requests: 1, prompt_tokens: 1, cached_tokens: 0, completion_tokens: 1, cost_usd: null },
    ...fix,
  },
  ...{ targets: [target], head: "a".repeat(40), made: { kind: "none" }, patch: null },
  ...over,
});

describe("The report of a fix on the command line", () => {
  it("The report tells people what was done, how it was tried out, and why there is no patch", () => {
    expect(fixLines(judged())).toEqual([
      "repaired: cart.py:1 The list is shared: It makes one. (second look: present: It is.)",
      "Commands run on exactly these files: 'pytest -q' in 'api' ended with exit code 137 (it took too long).",
      "There is no patch: a second look still finds the fault, even after a second attempt.",
    ]);
  });

  it("The report tells programs the same with the patch", () => {
    const patch = "diff --git a/cart.py b/cart.py\n";
    const told = toFixJson(judged({ made: { kind: "committed", commit: "b".repeat(40) }, patch }));
    expect(FixJson.parse(JSON.parse(JSON.stringify(told)))).toMatchObject({
      ...{ outcome: "patch", patch, summary: "Share no list", refusals: [] },
      findings: [{ id: "f1", path: "cart.py", title: target.title, second_look: { state: "present" } }],
      tried_out: { commands: [{ command: "pytest -q", exit_code: 137, ended: "timeout" }] },
    });
  });

  it("The report names refused edits", () => {
    const refusals = [{ path: "CODEOWNERS", reason: "it decides who must approve changes" }];
    const refused = judged({ made: { kind: "refused", refusals } });
    expect(fixLines(refused).at(-1)).toBe("refused: CODEOWNERS: it decides who must approve changes");
    expect(toFixJson(refused)).toMatchObject({ outcome: "refused", patch: null, refusals, kept_from: [] });
    const kept = judged({}, { refused: refusals });
    expect(fixLines(kept)).toContain(
      "the model may not change CODEOWNERS: it decides who must approve changes",
    );
    expect(toFixJson(kept)).toMatchObject({ outcome: "none", refusals: [], kept_from: refusals });
  });

  it("The report says that the model stopped without a result, and names no commands without edits", () => {
    const repairs = [{ id: "f1", repaired: false, note: "", check: null }];
    expect(fixLines(judged({}, { edits: [], repairs, rounds: 0 }))).toEqual([
      "not repaired: cart.py:1 The list is shared: the model stopped without a result",
      "Nothing was repaired.",
    ]);
  });
});
