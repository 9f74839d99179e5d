import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { allowedCommand, runCommand } from "../../../src/agent/tools/run-command.ts";
import { parseArguments, runTool } from "../../../src/agent/tools/run-tool.ts";
import { toDefinition } from "../../../src/agent/tools/to-openai.ts";
import type { CommandEnd, CommandRequest, ToolContext } from "../../../src/agent/tools/tool.ts";
import { MAX_RENDERED_BYTES } from "../../../src/repo/show.ts";

const allowed = { test: "npm test --", lint: "npm run lint && echo fine", npm: "npm" };
const quiet: CommandEnd = {
  ...{ stdout: "", stderr: "", exitCode: 0, ended: null, truncated: false, changed: [], notes: [] },
};

/** The tool where commands end like this, and what it asked for. */
function toolThatEnds(end: Partial<CommandEnd>) {
  const asked: CommandRequest[] = [];
  const tree = new Map([["src/a.ts", { path: "src/a.ts", mode: "100644", oid: "a".repeat(40) }]]);
  const context = {
    workspace: { root: "/repo", tree: async () => tree },
    isPrivate: (path: string) => path.startsWith("secret"),
    commands: {
      allowed,
      run: async (request: CommandRequest) => {
        asked.push(request);
        return { ...quiet, ...end };
      },
    },
  } as unknown as ToolContext;
  return { asked, run: (sent: unknown) => runTool(runCommand, sent, context) };
}

describe("the commands that are allowed", () => {
  it.each([
    ["test", "npm test --"],
    [" npm test -- ", "npm test --"],
    ["test src/a.test.ts", "npm test -- 'src/a.test.ts'"],
    ["npm test -- -t 'two words' \"and more\"", "npm test -- '-t' 'two words' 'and more'"],
    ["lint", "npm run lint && echo fine"],
    ["npm run lint && echo fine --quiet", "npm run lint && echo fine '--quiet'"],
    ['test "it\'s"', "npm test -- 'it'\\''s'"],
  ])("An allowed command is known by its name or text: %s", (asked, line) => {
    expect(allowedCommand(asked, allowed)).toBe(line);
  });

  it.each(["rm -rf .", "testing", "", "sh -c 'npm test'", "npmx", "; npm test --"])(
    "The commands that are allowed are no others: %s",
    (asked) => {
      expect(() => allowedCommand(asked, allowed)).toThrow(
        "is not one of the commands that may be run: test (npm test --), lint (npm run lint && echo fine)",
      );
    },
  );

  it.each([
    "test 2>&1",
    "test | tail -5",
    "test; id",
    "test && id",
    "test $(id)",
    "test `id`",
    "test *.ts",
    "test\nid",
  ])("The commands that are allowed take nothing behind them that a shell would understand: %s", (asked) => {
    expect(() => allowedCommand(asked, allowed)).toThrow(
      /only plain arguments may follow|not one of the commands/,
    );
  });

  it("The commands that are allowed are none where the base's configuration names none", () => {
    expect(() => allowedCommand("test", {})).toThrow(".github/hunkwise.yml of the base names none");
  });
});

describe("run_command", () => {
  it("run_command asks for the command in its folder, with its time and environment", async () => {
    const { asked, run } = toolThatEnds({ stdout: "1 passed\n" });
    const { result, text } = await run({ command: "test", working_dir: "src", timeout: 5, env: { A: "1" } });
    expect(asked).toEqual([{ command: "npm test --", folder: "src", timeoutMs: 5_000, env: { A: "1" } }]);
    expect(result).toMatchObject({
      status: "success",
      output: { stdout: "1 passed\n", stderr: "", exit_code: 0 },
    });
    expect(text).toBe("exit code 0\n1 passed");
    await run({ command: "test" });
    expect(asked[1]).toEqual({ command: "npm test --", folder: ".", timeoutMs: 120_000, env: {} });
  });

  it("run_command shows both outputs, without colors, and what was changed", async () => {
    const { run } = toolThatEnds({
      ...{ stdout: "\u001b[31mred\u001b[0m\r\n", stderr: "oh\n", exitCode: 2 },
      ...{ changed: ["a.ts", "b.ts"], notes: ["1 link was left."] },
    });
    const { text, result } = await run({ command: "test" });
    expect(text).toBe("exit code 2\nred\n[stderr]\noh\n(It changed 2 files: a.ts, b.ts. 1 link was left.)");
    expect(result.status).toBe("success");
  });

  it("run_command shows head and tail of what is too long, and both of both outputs", async () => {
    const lines = (word: string) =>
      Array.from({ length: 9_000 }, (_, at) => `${word} \u202e ${at}`).join("\n");
    const { run } = toolThatEnds({ stdout: lines("out"), stderr: lines("err") });
    const { text, result } = await run({ command: "test" });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_RENDERED_BYTES);
    for (const part of [
      "out \\u{202E} 0\n",
      "out \\u{202E} 8999\n[stderr]\n",
      "err \\u{202E} 0\n",
      "err \\u{202E} 8999",
    ])
      expect(text).toContain(part);
    expect(text.match(/\[\.\.\. \d+ lines left out here \.\.\.\]/g)).toHaveLength(2);
    expect(result.metadata.truncated).toBe(true);
  });

  it("run_command shows what was printed, whatever it says of files with long names", async () => {
    const paths = Array.from({ length: 30 }, (_, n) => `${n}${"/x".repeat(2_000)}`);
    const notes = paths.map((path) => `'${path}' was not kept.`);
    const { text } = await toolThatEnds({ stdout: "printed\n", changed: paths, notes }).run({
      command: "test",
    });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_RENDERED_BYTES);
    expect(text).toMatch(/^exit code 0\nprinted\n\(It changed 30 files: 0\/x/);
  });

  it("run_command shows the beginning of one endless line", async () => {
    const { text } = await toolThatEnds({ stdout: "x".repeat(100_000) }).run({ command: "test" });
    expect(text).toMatch(/^exit code 0\nx{2000}… \[98000 more characters of this line\]$/);
  });

  it("run_command answers a time-out as one, with what was printed until then", async () => {
    const { run } = toolThatEnds({ ended: "timeout", exitCode: 137, stdout: "waiting\n", notes: ["-"] });
    const { result, text } = await run({ command: "test", timeout: 3 });
    expect(result.status).toBe("timeout");
    expect(text).toContain("'test' took longer than 3 s");
    expect(text).toMatch(/What it printed:\nwaiting$/);
  });

  it.each(["memory", "files", "output"] as const)(
    "run_command says which limit ended it: %s",
    async (ended) => {
      const { text } = await toolThatEnds({ ended, exitCode: 137 }).run({ command: "test" });
      expect(text).toMatch(
        /^exit code 137\n\(no output\)\n\(It was ended: it (used|made|printed) more .*\)$/s,
      );
    },
  );

  it.each([
    [{ command: "rm -rf /" }, "not one of the commands that may be run"],
    [{ command: "test", working_dir: "nowhere" }, "nowhere"],
    [{ command: "test", working_dir: "../x" }, "'..'"],
    [{ command: "test", working_dir: "/etc" }, "outside the repository"],
    [{ command: "test", env: { "A=B": "x" } }, "invalid arguments"],
    [{ command: "test", env: { A: "x\0" } }, "invalid arguments"],
    [{ command: "test 'a\0b'" }, "invalid arguments"],
    [{ command: "test", user: "root" }, "invalid arguments"],
  ])("run_command refuses what makes no sense: %j", async (sent, words) => {
    const { asked, run } = toolThatEnds({});
    const { result, text } = await run(sent);
    expect(result.status).toBe("error");
    expect(text).toContain(words);
    expect(asked).toEqual([]);
  });

  it("run_command brings a time back into its limits, and says so", async () => {
    const { asked, run } = toolThatEnds({});
    const { text } = await run({ command: "test", timeout: 86_400 });
    expect(asked[0]?.timeoutMs).toBe(600_000);
    expect(text).toContain("600 was taken");
  });

  it("run_command says that there is no sandbox where there is none", async () => {
    const { text } = await runTool(runCommand, { command: "test" }, {} as ToolContext);
    expect(text).toBe("error: no command can be run here: this machine has no sandbox");
  });

  it("run_command is as it was agreed", async () => {
    const definition = toDefinition(runCommand);
    const file = join(import.meta.dirname, "__toolsnaps__/run_command.json");
    await expect(`${JSON.stringify(definition, null, 2)}\n`).toMatchFileSnapshot(file);
    const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(definition.parameters);
    expect(validate(runCommand.example)).toBe(true);
    expect(validate({ command: "test", working_dir: null, timeout: null, env: null })).toBe(true);
    expect(validate({ command: "test", unknown: 1 })).toBe(false);
    expect(() => parseArguments(runCommand, runCommand.example)).not.toThrow();
  });
});
