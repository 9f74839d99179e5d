import { createHash } from "node:crypto";
import { AppError, publicLine } from "../../errors.ts";
import type { ProofTest } from "../../finding.ts";
import type { Edit, Workspace } from "../../git/workspace.ts";
import { readFailure } from "../../proof/read-failure.ts";
import { testPath } from "../../tools/proof-tools.ts";
import { ToolError } from "../../tools/tool.ts";
import type { TestPort } from "../prove/run-prove.ts";
import { type FixScope, refusalsOf } from "./check-edits.ts";
import type { Repair } from "./fix-input.ts";
import { stateOf } from "./tried-commands.ts";

export type RepairTest = NonNullable<Repair["test"]>;

interface TestedFix {
  /** `base` are the files of the head, `head` those of the fix, without its changes to tests and their helpers. */
  tests: TestPort;
  workspace: Pick<Workspace, "shas" | "tree">;
  edits: readonly Edit[];
  scope: FixScope;
  signal: AbortSignal;
}

/**
 * Runs the test of a finding before and after a fix. It belongs to the fix only if it fails before and passes after. The model that made
 * the fix has no part in it: neither in the text of the test, nor in its command, nor in other tests that could change its result.
 */
export async function testRepair(test: ProofTest, fix: TestedFix): Promise<RepairTest> {
  const notRun = (reason: string): RepairTest => ({ state: "not_run", reason });
  const { tests, signal } = fix;
  const refused = await whyNotAdded(test, fix);
  if (refused !== null) return notRun(refused);
  const how = tests.commandFor(test);
  if ("why" in how) return notRun(how.why);
  const run = (on: "base" | "head") =>
    tests.run({ test, on, replaced: null, key: keyOf(test, how.command, on, fix) }, signal);
  try {
    const before = await run("base");
    if (before.exit_code === 0) return notRun("it passes without the repair");
    const failure = readFailure(before, test);
    if (failure.kind === "setup" || failure.kind === "unknown")
      return notRun(`without the repair, it fails before it tests anything: ${failure.line}`);
    const after = await run("head");
    return after.exit_code === 0 && after.ended === null
      ? { state: "passes", reason: "" }
      : { state: "fails", reason: readFailure(after, test).line };
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof ToolError) return notRun(error.message);
    if (error instanceof AppError) return notRun(publicLine(error));
    throw error;
  }
}

/** Why a test may not become a part of the commit; null if it may. People can edit the comment that it comes from. */
async function whyNotAdded(test: ProofTest, { tests, workspace, scope }: TestedFix): Promise<string | null> {
  const { path } = test;
  if (!testPath.test(path)) return "its name is not one that a test may have";
  if ((await workspace.tree("head")).has(path)) return "a file of that name exists already";
  const after = { mode: "100644", bytes: Buffer.from(test.text, "utf8") };
  const [refusal] = await refusalsOf([{ path, before: null, after }], scope);
  return refusal?.reason ?? (await tests.whyRefused(test));
}

function keyOf(
  { path, text }: ProofTest,
  command: string,
  on: string,
  { workspace, edits }: TestedFix,
): string {
  const files = [workspace.shas.head, on === "base" ? null : stateOf(edits)];
  return createHash("sha256")
    .update(JSON.stringify(["fix", files, command, path, text]))
    .digest("hex");
}
