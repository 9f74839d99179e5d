import { afterAll, describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { answered, call, commandsThat, edit, FixedRepository, finish, look, run } from "./fix-fixture.ts";

const repo = new FixedRepository();
afterAll(() => repo[Symbol.asyncDispose]());
const { fix } = repo;

describe("a fix with commands", () => {
  it("A fix lists the results of commands that ran on exactly its files", async () => {
    const { commands, asked } = commandsThat(async ({ command }) => ({
      exitCode: command === "npm test" ? 0 : 3,
    }));
    const { result, requests } = await fix(
      [edit("2", "1"), run(), run("lint", { env: { FAST: "1" } }), finish(), look("fixed")],
      commands,
    );
    expect(asked.map(({ command }) => command)).toEqual(["npm test", "npm run lint"]);
    expect(result.tried_out).toEqual({
      commands: [
        { command: "npm test", folder: ".", exit_code: 0, ended: null },
        { command: 'FAST="1" npm run lint', folder: ".", exit_code: 3, ended: null },
      ],
      why_none: null,
    });
    expect(requests[0]?.messages.at(-1)?.content).toContain("- test: `npm test`");
  });

  it("A command that ran before the last edit does not count, and the model is asked once to run it again", async () => {
    const { commands } = commandsThat();
    const { result, requests } = await fix(
      [edit("2", "1"), run(), edit("1", "1.5"), finish(), finish(), look("fixed")],
      commands,
    );
    expect(answered(requests[4])).toContain("no command was run on the files as they are now");
    expect(result.tried_out).toEqual({
      commands: [],
      why_none: "the model ran no command after its last change",
    });
    expect(result.repairs).toMatchObject([{ repaired: true, check: { state: "fixed" } }]);
  });

  it("The last run of a command on the same files counts", async () => {
    let exitCode = 2;
    const { commands } = commandsThat(async () => ({ exitCode: --exitCode }));
    const { result } = await fix([edit("2", "1"), run(), run(), finish(), look("fixed")], commands);
    expect(result.tried_out.commands).toMatchObject([{ command: "npm test", exit_code: 0 }]);
  });

  it("A fix keeps what a command changed, and does not count that run", async () => {
    const { commands } = commandsThat(async (_, files) => {
      await files.write("cart.ts", Buffer.from("export const rate = 1.0;\n"));
      return { changed: ["cart.ts"] };
    });
    const { result, texts } = await fix([edit("2", "1"), run(), finish(), finish(), look("fixed")], commands);
    expect(texts).toEqual({ "cart.ts": "export const rate = 1.0;\n" });
    expect(result.tried_out.commands).toEqual([]);
  });

  it("A command may change no more than the model may", async () => {
    const refused: string[] = [];
    const { commands } = commandsThat(async (_, files) => {
      for (const path of ["other.ts", ".github/workflows/ci.yml", "package-lock.json"])
        await files.write(path, Buffer.from("x")).catch(() => refused.push(path));
      return {};
    });
    const { result, texts } = await fix([edit("2", "1"), run(), finish(), look("fixed")], commands);
    expect(refused).toEqual(["other.ts", ".github/workflows/ci.yml", "package-lock.json"]);
    expect(Object.keys(texts)).toEqual(["cart.ts"]);
    // What programs leave lying about is no matter of the model's.
    expect(result.refused).toEqual([]);
  });

  it("A command that the sandbox could not run is not called skipped by the model", async () => {
    const { commands } = commandsThat(async () => {
      throw new AppError("child_died", "The sandbox has ended");
    });
    const { result } = await fix([edit("2", "1"), run(), finish(), finish(), look("fixed")], commands);
    expect(result.tried_out).toEqual({ commands: [], why_none: "the sandbox could not run it" });
  });

  it("A fix names the limit that ended a command", async () => {
    const { commands } = commandsThat(async () => ({ ended: "memory", exitCode: 137 }));
    const { result } = await fix([edit("2", "1"), run(), finish(), look("fixed")], commands);
    expect(result.tried_out.commands).toMatchObject([{ exit_code: 137, ended: "memory" }]);
  });
});

describe("a fix without commands", () => {
  it("A fix without a sandbox offers no command, and says why none ran", async () => {
    const { result, requests } = await fix([edit("2", "1"), finish(), look("fixed")]);
    expect(requests[0]?.tools.map(({ name }) => name)).not.toContain("run_command");
    expect(JSON.stringify(requests[0]?.messages[1])).not.toContain("run_command");
    expect(result.tried_out).toEqual({
      commands: [],
      why_none: "this machine has no sandbox",
    });
  });
});

describe("the scope of a fix", () => {
  it("A fix cannot change protected files, and lists each refused file once with the reason", async () => {
    const write = (path: string) => call("write_file", { path, content: "x\n" });
    const { result, texts } = await fix([
      ...[write(".github/workflows/ci.yml"), write(".github/workflows/ci.yml"), write("other.ts")],
      ...[edit("2", "1"), finish(), look("fixed")],
    ]);
    expect(Object.keys(texts)).toEqual(["cart.ts"]);
    expect(result.refused).toEqual([
      { path: ".github/workflows/ci.yml", reason: expect.stringContaining("runs in CI") },
      { path: "other.ts", reason: "it is neither a file of the pull request nor a test" },
    ]);
  });
});

describe("a fix that does not finish", () => {
  it("A fix without an end has no edits", async () => {
    const { result } = await fix([edit("2", "1")]);
    expect(result).toMatchObject({ edits: [], rounds: 0, stop_reason: "model_error" });
    expect(result.repairs).toEqual([{ id: "f1", repaired: false, note: "", check: null }]);
  });
});
