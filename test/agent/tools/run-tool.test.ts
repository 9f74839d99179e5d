import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRegistry, type RunToolOptions, runTool } from "../../../src/agent/tools/run-tool.ts";
import { type AnyTool, defineTool, type ToolContext, ToolError } from "../../../src/agent/tools/tool.ts";
import { AppError } from "../../../src/core/errors.ts";
import { MAX_RENDERED_BYTES } from "../../../src/repo/show.ts";

const context = {} as ToolContext;
const Input = z.strictObject({
  text: z.string(),
  times: z.int().min(1).default(1),
  mark: z.string().optional(),
});
type Input = z.infer<typeof Input>;

function toolOf(over: Partial<AnyTool> = {}): AnyTool {
  return defineTool<Input, string>({
    name: "repeat",
    title: "Repeat",
    description: "Repeats a text.",
    returns: "The text.",
    example: { text: "a" },
    kind: "read",
    input: Input,
    execute: async ({ text, times, mark = "" }) => ({ output: (text + mark).repeat(times) }),
    render: (output) => ({ text: output }),
    ...over,
  });
}
const run = (sent: unknown, over: Partial<AnyTool> = {}, options: RunToolOptions = {}) =>
  runTool(toolOf(over), sent, context, options);
const fails = (error: unknown) => ({ execute: () => Promise.reject(error) });

describe("runTool", () => {
  it("runTool takes arguments as JSON text or as an object, and measures the time", async () => {
    let time = 100;
    const now = () => {
      time += 5;
      return time;
    };
    const done = await run('{"text":"a","times":2}', {}, { now });
    expect(done).toEqual({
      result: { status: "success", output: "aa", metadata: { duration_ms: 5, truncated: false } },
      text: "aa",
      endsLoop: false,
    });
    expect((await run({ text: "b" })).text).toBe("b");
  });

  it("runTool takes null for left out", async () => {
    expect((await run({ text: "a", times: null, mark: null })).text).toBe("a");
  });

  it.each([
    ["broken JSON", '{"text": "a', /arguments of repeat are not valid JSON .*send one JSON object/],
    ["an array", "[1]", /must be one JSON object, not an array/],
    ["a number", "7", /must be one JSON object, not a number/],
    ["nothing", "", /expected string, received undefined\n {2}→ at text\nIt takes: text, times\?, mark\?\./],
    ["null where a value is needed", '{"text":null}', /→ at text/],
    [
      "a wrong type",
      '{"text":"a","times":"twice"}',
      /expected int.*\n {2}→ at times|expected number.*\n {2}→ at times/,
    ],
    ["an unknown key", '{"text":"a","tiems":2}', /Unrecognized key: "tiems"/],
    ["a key of every object", '{"text":"a","__proto__":{"times":3}}', /Unrecognized key: "__proto__"/],
  ])("runTool answers %s with what is wrong", async (_, sent, words) => {
    const { result, text } = await run(sent);
    expect(result.status).toBe("error");
    expect(text).toMatch(words);
  });

  it("runTool answers a fault that the caller can mend with its words and what the program said", async () => {
    const debug = { command: "rg", return_code: 2, stderr: "regex parse error" };
    const { result, text } = await run({ text: "a" }, fails(new ToolError("no such file", debug)));
    expect(result).toMatchObject({ status: "error", error: "no such file", metadata: { debug } });
    expect(text).toBe("error: no such file");
  });

  it("runTool answers git's failures in one line", async () => {
    const error = new AppError("too_large", "the file has 30 MB", { remedy: "Read another one." });
    expect((await run({ text: "a" }, fails(error))).text).toBe(
      "error: the file has 30 MB. Read another one.",
    );
  });

  it("runTool answers any other fault neutrally and tells us", async () => {
    const crashes: unknown[] = [];
    const secret = new TypeError("cannot read /home/secret");
    const onCrash = (tool: string, error: unknown) => crashes.push([tool, error]);
    const { text } = await run({ text: "a" }, fails(secret), { onCrash });
    expect(text).toBe("error: repeat failed because of an internal error, not because of the arguments");
    const render = () => {
      throw secret;
    };
    expect((await run({ text: "a" }, { render }, { onCrash })).result.status).toBe("error");
    expect(crashes).toEqual([
      ["repeat", secret],
      ["repeat", secret],
    ]);
  });

  it("runTool ends a call that takes too long, and tells the tool", async () => {
    let stopped: AbortSignal | undefined;
    const hang = (_input: unknown, _context: unknown, signal: AbortSignal) => {
      stopped = signal;
      return new Promise<never>(() => {});
    };
    const { result } = await run({ text: "a" }, { execute: hang, timeoutMs: 20 });
    expect(result).toMatchObject({ status: "timeout", error: expect.stringContaining("longer than 0.02 s") });
    expect(stopped?.aborted).toBe(true);
  });

  it("runTool counts what a tool throws because it was aborted as the time-out that it is", async () => {
    const execute = (_input: unknown, _context: unknown, signal: AbortSignal) =>
      new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    expect((await run({ text: "a" }, { execute, timeoutMs: 20 })).result.status).toBe("timeout");
  });

  it("runTool stops when the caller gives up, before or during the call", async () => {
    const controller = new AbortController();
    const execute = () => {
      controller.abort();
      return new Promise<never>(() => {});
    };
    const during = await run({ text: "a" }, { execute }, { signal: controller.signal });
    const before = await run({ text: "a" }, {}, { signal: controller.signal });
    expect([during.text, before.text]).toEqual(["error: repeat was stopped", "error: repeat was stopped"]);
  });

  it("runTool escapes what the model reads, errors too, and leaves the output raw", async () => {
    const { result, text } = await run({ text: "a\u200B\r\n\tb" });
    expect(result).toMatchObject({ output: "a\u200B\r\n\tb" });
    expect(text).toBe("a\\u{200B}␍\n\tb");
    expect((await run({ text: "a" }, fails(new ToolError("no '\u202E'")))).text).toBe(
      "error: no '\\u{202E}'",
    );
  });

  it("runTool cuts a rendering at a line and says so", async () => {
    const { result, text } = await run({ text: "0123456789\n", times: 10_000 });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_RENDERED_BYTES);
    expect(text).toMatch(/0123456789\n\(cut here; ask for less at a time\)$/);
    expect(result.metadata.truncated).toBe(true);
  });

  it("A rendering never exceeds its limit, whatever escaping adds", async () => {
    const next = { cursor: "\u0001".repeat(500) };
    const execute = async () => ({ output: "\u0001\u0002\n".repeat(20_000), next, note: "More is there." });
    const { text } = await run({ text: "a" }, { execute });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_RENDERED_BYTES);
    expect(text).toContain("(More is there.)\n(more: repeat {");
    expect(
      Buffer.byteLength((await run({ text: "a" }, fails(new ToolError("\u0001".repeat(90_000))))).text),
    ).toBeLessThanOrEqual(MAX_RENDERED_BYTES);
  });

  it("runTool names the call that continues, that of the rendering first", async () => {
    const execute = async () => ({ output: "x", next: { text: "from execute" } });
    const { result, text } = await run({ text: "a" }, { execute });
    expect(result.metadata).toMatchObject({
      truncated: true,
      next: { tool: "repeat", arguments: { text: "from execute" } },
    });
    expect(text).toBe('x\n(more: repeat {"text":"from execute"})');
    const render = () => ({ text: "x", next: { text: "from render" } });
    expect((await run({ text: "a" }, { execute, render })).text).toContain("from render");
  });
});

describe("createRegistry", () => {
  it("createRegistry finds, defines and calls its tools", async () => {
    const registry = createRegistry([toolOf()]);
    registry.register(toolOf({ name: "again" }));
    expect(registry.names()).toEqual(["repeat", "again"]);
    expect(registry.get("again")?.name).toBe("again");
    expect(registry.get("toString")).toBeUndefined();
    expect(registry.definitions().map((one) => one.name)).toEqual(["repeat", "again"]);
    expect((await registry.execute("again", '{"text":"a"}', context)).text).toBe("a");
  });

  it("createRegistry answers the call of a tool that is not there", async () => {
    const { result } = await createRegistry([toolOf()]).execute("grep", "{}", context);
    expect(result).toMatchObject({ status: "error", error: "there is no tool 'grep'; the tools are repeat" });
  });

  it("createRegistry refuses a name twice", () => {
    expect(() => createRegistry([toolOf(), toolOf()])).toThrow("There is already a tool named 'repeat'");
  });
});
