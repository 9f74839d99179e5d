import { describe, expect, it } from "vitest";
import {
  changingTools,
  commandTools,
  graphTools,
  journalTools,
  readingTools,
  reportingTools,
} from "../../../src/agent/tools/index.ts";
import { runCommand } from "../../../src/agent/tools/run-command.ts";
import { runTool } from "../../../src/agent/tools/run-tool.ts";
import { toDefinition } from "../../../src/agent/tools/to-openai.ts";
import type { ToolContext } from "../../../src/agent/tools/tool.ts";
import { createCommandPort } from "../../../src/sandbox/command-port.ts";
import { MemoryFiles } from "../../sandbox/memory-files.ts";
import { sandboxFor, smallLimits } from "../../sandbox/sandbox.ts";

/**
 * The requirements of two documents for running commands: `execute` of the file system over backends (003), `run_command` of the tool
 * system (002). run_command implements both.
 */
const { sandbox, skipped } = await sandboxFor("that commands are run as two of the documents ask");
const allowed = {
  say: "echo",
  fail: "echo out; echo err >&2; exit 3",
  sleep: "echo begun; sleep",
  where: "pwd; cat",
  show: "printenv",
};

async function call(sent: Record<string, unknown>) {
  const files = new MemoryFiles({ "sub/a.txt": "deep\n", "a.txt": "high\n" });
  const { workspace, edit, isPrivate } = files;
  const commands = createCommandPort({
    sandbox: sandbox!,
    limits: smallLimits,
    allowed,
    workspace,
    edit,
    isPrivate,
  });
  const context = { workspace: { ...workspace, root: "/repo" }, edit, isPrivate, commands };
  return runTool(runCommand, sent, context as unknown as ToolContext);
}

describe.skipIf(!sandbox)(`document 003, file system over backends${skipped}`, () => {
  it("execute takes command", async () => {
    const { result } = await call({ command: "fail" });
    expect(result).toMatchObject({
      status: "success",
      output: { stdout: "out\n", stderr: "err\n", exit_code: 3 },
    });
  });

  it("execute takes timeout", async () => {
    const { result } = await call({ command: "sleep 60", timeout: 2 });
    expect(result).toMatchObject({ status: "timeout", error: expect.stringContaining("begun") });
  });
});

/** The folder of the files inside the sandbox. */
const inside = "/work";

describe.skipIf(!sandbox)(`document 002, tool system${skipped}`, () => {
  it("run_command takes command", async () => {
    const { text } = await call({ command: "say hello" });
    expect(text).toBe("exit code 0\nhello");
  });

  it("run_command takes working_dir", async () => {
    expect((await call({ command: "where a.txt" })).result).toMatchObject({
      output: { stdout: `${inside}\nhigh\n` },
    });
    expect((await call({ command: "where a.txt", working_dir: "sub" })).result).toMatchObject({
      output: { stdout: `${inside}/sub\ndeep\n` },
    });
  });

  it("run_command takes timeout", async () => {
    const { result } = await call({ command: "sleep 60", timeout: 1 });
    expect(result).toMatchObject({ status: "timeout", error: expect.stringMatching(/\b1 s\b/) });
    expect(toDefinition(runCommand).parameters).toMatchObject({ properties: { timeout: { default: 120 } } });
  });

  it("run_command takes env", async () => {
    const { result } = await call({ command: "show DEBUG", env: { DEBUG: "1 $HOME" } });
    expect(result).toMatchObject({ output: { stdout: "1 $HOME\n", exit_code: 0 } });
  });
});

describe("where a backend cannot run commands", () => {
  it("A backend that cannot run commands has no execute", () => {
    const groups = [readingTools, reportingTools, changingTools, graphTools, journalTools];
    expect(groups.flat().map(({ name }) => name)).not.toContain("run_command");
    expect(commandTools.map(({ name }) => name)).toEqual(["run_command"]);
  });
});
