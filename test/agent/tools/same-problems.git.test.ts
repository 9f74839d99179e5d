import { describe, expect, it } from "vitest";
import { sameProblems } from "../../../src/agent/tools/answers.ts";
import { runTool } from "../../../src/agent/tools/run-tool.ts";
import type { SamePair } from "../../../src/agent/tools/tool.ts";
import type { Workspace } from "../../../src/repo/git/workspace.ts";
import { toolsOn } from "./context.ts";

const { context } = toolsOn({ root: "/checkout" } as unknown as Workspace);

async function name(pairs: unknown, reason: string | null = null) {
  const named: SamePair[] = [];
  const compare = {
    same(given: readonly SamePair[]) {
      named.push(...given);
      return reason === null ? ({ ok: true } as const) : ({ ok: false, reason } as const);
    },
  };
  return { named, run: await runTool(sameProblems, { pairs }, { ...context, compare }) };
}

describe("same_problems", () => {
  it("same_problems hands the pairs over and ends the loop, also when there are none", async () => {
    const pair = { finding: "3f2a9c0d1e4b", earlier: "2417" };
    const [some, none] = [await name([pair]), await name([])];

    expect(some.named).toEqual([pair]);
    expect(some.run.endsLoop).toBe(true);
    expect(none.run.endsLoop).toBe(true);
  });

  it("same_problems goes on where a pair was not asked for", async () => {
    const { run } = await name([{ finding: "a", earlier: "b" }], "a and b are not a listed pair");

    expect(run.endsLoop).toBe(false);
    expect(run.text).toContain("not a listed pair");
  });

  it("same_problems is refused where nothing is compared", async () => {
    const { result } = await runTool(sameProblems, { pairs: [] }, context);

    expect(result).toMatchObject({ error: "there is nothing to compare here" });
  });
});
