import { describe, expect, it } from "vitest";
import { reportVerdict } from "../../../src/agent/tools/report-verdict.ts";
import { runTool } from "../../../src/agent/tools/run-tool.ts";
import type { Verdict } from "../../../src/agent/tools/tool.ts";
import type { TreeEntry, Workspace } from "../../../src/repo/git/workspace.ts";
import { toolsOn } from "./context.ts";

const tree = new Map<string, TreeEntry>([
  ["src/a.ts", { path: "src/a.ts", mode: "100644", oid: "1".repeat(40) }],
]);
const workspace = { root: "/checkout", tree: async () => tree } as unknown as Workspace;

const confirmed = {
  verdict: "confirmed",
  reason: "src/a.ts:7 compares with <=.",
  failing_input: "an empty list",
  severity: "high",
};

async function report(
  sent: Record<string, unknown>,
  { note = null, open = [] }: { note?: string | null; open?: number[] } = {},
) {
  const judged: Verdict[] = [];
  const judge = {
    judge: async (claim: number | null, verdict: Verdict) => {
      judged.push(verdict);
      return { ok: true as const, claim: claim ?? 1, open, note };
    },
  };
  const { context } = toolsOn(workspace, { private: ["secret/**"] });
  const run = await runTool(reportVerdict, sent, { ...context, judge });
  return { judged, run };
}

describe("report_verdict", () => {
  it("report_verdict hands the verdict over and ends the loop", async () => {
    const { judged, run } = await report(confirmed);
    expect(judged).toEqual([
      {
        ...{
          verdict: "confirmed",
          reason: confirmed.reason,
          failingInput: "an empty list",
          severity: "high",
        },
        ...{ reached: null, title: null, corrections: [], evidence: [], places: [] },
      },
    ]);
    expect(run.endsLoop).toBe(true);
    expect(run.text).toBe("Recorded: claim 1 is confirmed.");
  });

  it("report_verdict does not end the loop while a claim has no verdict, and names those", async () => {
    const { run } = await report({ ...confirmed, claim: 2 }, { open: [1, 3] });
    expect(run.endsLoop).toBe(false);
    expect(run.text).toBe("Recorded: claim 2 is confirmed. Still open: 1, 3.");
  });

  it("report_verdict hands over corrected sentences, and strikes those without a text", async () => {
    const corrections = [{ sentence: 1, text: " So it reads. " }, { sentence: 2 }, { sentence: 4, text: "" }];
    const { judged } = await report({ ...confirmed, corrections });
    expect(judged[0]?.corrections).toEqual([
      { sentence: 1, text: "So it reads." },
      { sentence: 2, text: null },
      { sentence: 4, text: null },
    ]);
  });

  it("report_verdict takes what is true of a claim as one line", async () => {
    const { judged } = await report({
      ...confirmed,
      ...{ title: " Only the\n  last item is lost ", reached: false },
    });
    expect(judged).toMatchObject([{ title: "Only the last item is lost", reached: false }]);
    const { judged: blank } = await report({ ...confirmed, title: "  " });
    expect(blank).toMatchObject([{ title: null, reached: null }]);
  });

  it.each([
    ["without a failing input", { failing_input: "  " }, "needs `failing_input`"],
    ["without a severity", { severity: undefined }, "needs `severity`"],
    ["without a reason", { reason: "" }, "reason"],
  ])("report_verdict confirms nothing %s", async (_, over, said) => {
    const { judged, run } = await report({ ...confirmed, ...over });
    expect(judged).toEqual([]);
    expect(run.endsLoop).toBe(false);
    expect(run.text).toContain(said);
  });

  const refuted = { verdict: "refuted", reason: "Line 3 returns before." };
  const guard = { path: "src/a.ts", start_line: 3, end_line: 3, note: "returns" };

  it("report_verdict refutes without a failing input and without a severity", async () => {
    const { judged } = await report({ ...refuted, evidence: [guard] });
    expect(judged).toMatchObject([
      { verdict: "refuted", failingInput: "", severity: null, evidence: [guard] },
    ]);
  });

  it("report_verdict refutes nothing without the line that makes the fault impossible", async () => {
    const { judged, run } = await report(refuted);
    expect(judged).toEqual([]);
    expect(run.endsLoop).toBe(false);
    expect(run.text).toContain("a refuted finding needs `evidence`");
  });

  it("report_verdict takes further places as the tree spells them, and none of a private file", async () => {
    const place = { path: "./src/a.ts", line: 9, quote: "a <= b" };
    const { judged } = await report({ ...confirmed, places: [place] });
    expect(judged[0]?.places).toEqual([{ ...place, path: "src/a.ts", side: "RIGHT", start_line: null }]);

    const { run } = await report({ ...confirmed, places: [{ ...place, path: "secret/key.ts" }] });
    expect(run.result.status).toBe("error");
  });

  it("report_verdict says what was left out", async () => {
    const note = "Not found in the code, and left out: src/b.ts:3.";
    const { run } = await report(confirmed, { note });
    expect(run.text).toBe(`Recorded: claim 1 is confirmed. ${note}`);
  });

  it("report_verdict is refused where nothing is judged", async () => {
    const { context } = toolsOn(workspace);
    const { result } = await runTool(reportVerdict, confirmed, context);
    expect(result).toMatchObject({
      status: "error",
      error: expect.stringMatching(/^there is no claim to judge here/),
    });
  });
});
