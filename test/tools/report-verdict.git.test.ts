import { describe, expect, it } from "vitest";
import type { TreeEntry, Workspace } from "../../src/git/workspace.ts";
import { reportVerdict } from "../../src/tools/report-verdict.ts";
import { runTool } from "../../src/tools/run-tool.ts";
import type { Verdict } from "../../src/tools/tool.ts";
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

async function report(sent: Record<string, unknown>, note: string | null = null) {
  const judged: Verdict[] = [];
  const judge = {
    judge: async (verdict: Verdict) => {
      judged.push(verdict);
      return note;
    },
  };
  const { context } = toolsOn(workspace, { private: ["secret/**"] });
  const run = await runTool(reportVerdict, sent, { ...context, judge });
  return { judged, run };
}

describe("report_verdict", () => {
  it("hands the verdict over and ends the loop", async () => {
    const { judged, run } = await report(confirmed);
    expect(judged).toEqual([
      {
        ...{
          verdict: "confirmed",
          reason: confirmed.reason,
          failingInput: "an empty list",
          severity: "high",
        },
        ...{ evidence: [], places: [] },
      },
    ]);
    expect(run.endsLoop).toBe(true);
    expect(run.text).toBe("Recorded: confirmed.");
  });

  it.each([
    ["without a failing input", { failing_input: "  " }, "needs `failing_input`"],
    ["without a severity", { severity: undefined }, "needs `severity`"],
    ["without a reason", { reason: "" }, "reason"],
  ])("confirms nothing %s", async (_, over, said) => {
    const { judged, run } = await report({ ...confirmed, ...over });
    expect(judged).toEqual([]);
    expect(run.endsLoop).toBe(false);
    expect(run.text).toContain(said);
  });

  it("refutes without a failing input and without a severity", async () => {
    const { judged } = await report({ verdict: "refuted", reason: "A guard stands at line 3." });
    expect(judged).toMatchObject([{ verdict: "refuted", failingInput: "", severity: null }]);
  });

  it("takes further places as the tree spells them, and none of a private file", async () => {
    const place = { path: "./src/a.ts", line: 9, quote: "a <= b" };
    const { judged } = await report({ ...confirmed, places: [place] });
    expect(judged[0]?.places).toEqual([{ ...place, path: "src/a.ts", side: "RIGHT", start_line: null }]);

    const { run } = await report({ ...confirmed, places: [{ ...place, path: "secret/key.ts" }] });
    expect(run.result.status).toBe("error");
  });

  it("says what was left out", async () => {
    const { run } = await report(confirmed, "Not found in the code, and left out: src/b.ts:3.");
    expect(run.text).toBe("Recorded: confirmed. Not found in the code, and left out: src/b.ts:3.");
  });

  it("is refused where nothing is judged", async () => {
    const { context } = toolsOn(workspace);
    const { result } = await runTool(reportVerdict, confirmed, context);
    expect(result).toMatchObject({ status: "error", error: "there is no finding to judge here" });
  });
});
