import { describe, expect, it } from "vitest";
import { reportResolution } from "../../../src/agent/tools/answers.ts";
import { runTool } from "../../../src/agent/tools/run-tool.ts";
import type { Settlement } from "../../../src/agent/tools/tool.ts";
import type { Workspace } from "../../../src/repo/git/workspace.ts";
import { toolsOn } from "./context.ts";

const { context } = toolsOn({ root: "/checkout" } as unknown as Workspace);

async function report(sent: Record<string, unknown>) {
  const settled: Settlement[] = [];
  const settle = { settle: (given: Settlement) => void settled.push(given) };
  return { settled, run: await runTool(reportResolution, sent, { ...context, settle }) };
}

describe("report_resolution", () => {
  it("report_resolution hands over what became of a finding, and ends the loop", async () => {
    const { settled, run } = await report({ state: "fixed", reason: " a.ts:4 now\n adds. " });

    expect(settled).toEqual([{ state: "fixed", reason: "a.ts:4 now adds." }]);
    expect(run.endsLoop).toBe(true);
  });

  it("report_resolution keeps the reason to what people read", async () => {
    const { settled } = await report({ state: "unsure", reason: "x ".repeat(900) });

    expect(settled[0]?.reason.length).toBe(400);
  });

  it.each([{ state: "done", reason: "It is." }, { state: "fixed", reason: "" }, { state: "fixed" }])(
    "report_resolution settles nothing by %j",
    async (sent) => {
      const { settled, run } = await report(sent);

      expect(settled).toEqual([]);
      expect(run.result.status).toBe("error");
    },
  );

  it("report_resolution is refused where nothing is to be settled", async () => {
    const { result } = await runTool(reportResolution, { state: "fixed", reason: "It is." }, context);

    expect(result).toMatchObject({ error: "there is no earlier finding to check here" });
  });
});
