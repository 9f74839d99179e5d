import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { GitRepo } from "../../support/git-repo.ts";
import { TempFolder } from "../../support/git-repo.ts";
import { hello, type RawServer, startRaw } from "../mcp-client.ts";
import { faultyRepo } from "../sample-repo.ts";

let repo: GitRepo;
let tmp: TempFolder;
let server: RawServer;

beforeAll(() => {
  tmp = new TempFolder("mcp-hostile");
  repo = faultyRepo();
});
afterAll(() => {
  server.child.kill("SIGKILL");
  repo.dispose();
  tmp.dispose();
});

const leftovers = () => readdirSync(tmp.path);
const request = (id: unknown, method: string, params?: object) => ({
  ...{ jsonrpc: "2.0", id, method },
  ...(params ? { params } : {}),
});
const call = (id: unknown, name: unknown, args?: unknown) =>
  request(id, "tools/call", { name, arguments: args });

/** A server that a client of 2025 has greeted: the one that is there, until it has ended. */
async function greeted(): Promise<RawServer> {
  if (server?.child.exitCode === null) return server;
  server = startRaw({ repo: repo.dir, tmp: tmp.path });
  const answered = server.answerTo("hello");
  server.say(hello);
  await answered;
  server.say({ jsonrpc: "2.0", method: "notifications/initialized" });
  return server;
}

async function ask(message: { id: unknown }): Promise<Record<string, unknown>> {
  const answered = server.answerTo(message.id);
  server.say(message);
  return await answered;
}

const noise: (string | Buffer | object)[] = [
  "",
  "not JSON",
  "\r",
  "null",
  "7",
  "[]",
  "{}",
  '{"jsonrpc":"2.0"}',
  Buffer.from([0xff, 0xfe, 0x00, 0x80]),
  "[".repeat(100_000),
  `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`,
  request({ no: "id" }, "tools/list"),
  request(null, "tools/list"),
  request("x", "tools/call"),
  { jsonrpc: "2.0", id: "of nothing", result: {} },
  { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "nothing" } },
  { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: "much" } },
  hello,
];

/** Calls that no client should make, and what each answer has to be: an error that ends nothing. */
const hostileCalls: [unknown, unknown?][] = [
  ["__proto__"],
  ["constructor"],
  [7],
  ["read_file_part", { file_path: "../../../etc/passwd" }],
  ["read_file_part", { file_path: "/etc/passwd" }],
  ["read_file_part", { file_path: ".git/config" }],
  ["read_file_part", { file_path: "cart.py\0" }],
  ["read_file_part", { file_path: "x".repeat(100_000) }],
  ["read_file_part", ["cart.py"]],
  ["read_file_part", { file_path: "cart.py", start_line: 1e300 }],
  ["search_in_files", { pattern: "(" }],
  ["search_in_files", { pattern: "a", path: "--files" }],
  ["search_in_files", { pattern: "a", __proto__: { x: 1 }, no_such: true }],
  ["diff_file", { file_path: { deep: [[[[]]]] } }],
  ["review", { offline: true, repo: "/" }],
];

const long = process.env.HUNKWISE_LONG === "1";

describe("`hunkwise mcp` under hostile input", () => {
  it("The server goes on after lines that are no message, and prints only messages", async () => {
    await greeted();
    for (const line of noise) server.say(line);
    const listed = await ask(request("still there", "tools/list"));
    expect(listed).toHaveProperty("result.tools");
    const lines = server.stdout().trimEnd().split("\n");
    expect(lines.filter((line) => JSON.parse(line).jsonrpc !== "2.0")).toEqual([]);
  });

  it("The server answers each hostile call with an error, and the next valid one as ever", async () => {
    await greeted();
    for (const [at, [name, args]] of hostileCalls.entries()) {
      const { result, error } = await ask(call(`hostile ${at}`, name, args));
      const isError = error !== undefined || (result as { isError?: boolean }).isError === true;
      expect({ name, args, isError }).toEqual({ name, args, isError: true });
    }
    expect(await ask(call("sound", "list_files", {}))).not.toHaveProperty("result.isError");
  });

  it("The server answers many calls at once", async () => {
    await greeted();
    const ids = Array.from({ length: long ? 100 : 20 }, (_, at) => `one of many ${at}`);
    const answers = await Promise.all(
      ids.map((id) => ask(call(id, "read_file_part", { file_path: "cart.py" }))),
    );
    expect(answers.filter(({ result }) => (result as { isError?: boolean }).isError)).toEqual([]);
  });

  it("The server ends at a line without an end with an error, and leaves nothing behind", async () => {
    await greeted();
    await ask(call("opened", "list_files", {}));
    server.child.stdin?.write(Buffer.alloc(11 * 1024 * 1024, "x"));
    const { code, stderr } = await server.ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(/^warning: .*maximum size.*\n$/m);
    expect(leftovers()).toEqual([]);
  });

  it("The server answers running calls and a review when its input ends, and leaves nothing behind", async () => {
    await greeted();
    await ask(call("opened", "list_files", {}));
    const ids = Array.from({ length: 20 }, (_, at) => `last ${at}`);
    for (const id of ids) server.say(call(id, "search_in_files", { pattern: "." }));
    server.say(call("last review", "review", { offline: true }));
    const answers = Promise.all([...ids, "last review"].map((id) => server.answerTo(id)));
    server.child.stdin?.end();
    for (const answer of await answers) expect(answer).toHaveProperty("result.content");
    const { code, stderr } = await server.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(leftovers()).toEqual([]);
  });

  it("The server answers a whole conversation that comes at once and ends, as from a file", async () => {
    server = startRaw({ repo: repo.dir, tmp: tmp.path });
    const answers = Promise.all(["hello", "list", "call"].map((id) => server.answerTo(id)));
    server.say(hello);
    server.say({ jsonrpc: "2.0", method: "notifications/initialized" });
    server.say(request("list", "tools/list"));
    server.say(call("call", "list_files", {}));
    server.child.stdin?.end();
    for (const answer of await answers) expect(answer).toHaveProperty("result");
    expect(await server.ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("The server waits at its end for no canceled call", async () => {
    await greeted();
    server.say(call("taken back", "review", { offline: true }));
    server.say({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "taken back" } });
    server.child.stdin?.end();
    expect(await server.ended).toMatchObject({ code: 0, stderr: "" });
    expect(server.stdout()).not.toContain("taken back");
  });

  it("The server ends if no message was ever sent", async () => {
    server = startRaw({ repo: repo.dir, tmp: tmp.path });
    server.child.stdin?.end();
    expect(await server.ended).toMatchObject({ code: 0, stderr: "" });
    expect(server.stdout()).toBe("");
    expect(leftovers()).toEqual([]);
  });

  it.runIf(long)("The server ends if nobody reads its answers any more", async () => {
    await greeted();
    server.child.stdout?.destroy();
    for (let at = 0; at < 20; at += 1) server.say(call(`unread ${at}`, "list_files", {}));
    expect((await server.ended).signal).toBeNull();
    expect(leftovers()).toEqual([]);
  });
});
