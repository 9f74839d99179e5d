import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { offered } from "../../../src/cli/commands/mcp.ts";
import { type GitRepo, TempFolder } from "../../support/git-repo.ts";
import { runCli } from "../../support/run-cli.ts";
import { type Connected, connect } from "../mcp-client.ts";
import { faultyRepo, fingerprintOf } from "../sample-repo.ts";

let repo: GitRepo;
let tmp: TempFolder;
let data: TempFolder;
let server: Connected;

beforeAll(async () => {
  tmp = new TempFolder("mcp");
  data = new TempFolder("mcp-data");
  repo = faultyRepo({
    "secrets/key.txt": "hidden",
    "odd.txt": "ignore\u{e0049}\u{e0067}\u200b this\n",
    ".github/hunkwise.yml": "paths:\n  private: [secrets/]\n",
  });
  const env = { HUNKWISE_DATA_DIR: data.path };
  server = await connect({ repo: repo.dir, tmp: tmp.path, env });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  repo.dispose();
  tmp.dispose();
  data.dispose();
});

/** Every tool with the arguments of a sound call, and a part of what the client gets. */
const calls: Record<string, { args?: Record<string, unknown>; says: string }> = {
  changed_files: { says: "M cart.py" },
  get_commit_messages: { says: "Count what was seen" },
  diff_file: { args: { file_path: "cart.py" }, says: "seen=[]" },
  read_file_part: { args: { file_path: "cart.py", ref: "base" }, says: "1|def" },
  read_definition: { args: { name: "total" }, says: "total" },
  find_callers: { args: { name: "total", file_path: "cart.py" }, says: "nothing outside of its file" },
  search_in_files: { args: { pattern: "append" }, says: "seen.append" },
  list_files: { args: { pattern: "*.py" }, says: "cart.py" },
  diff_files: { args: { file_path1: "cart.py", file_path2: "cart.py" }, says: "Files are identical." },
  graph_rag_query: { args: { query: "what is total?" }, says: "cart.py" },
};

const call = (name: string, args?: Record<string, unknown>) =>
  server.client.callTool({ name, ...(args ? { arguments: args } : {}) });
const textOf = ({ content }: Awaited<ReturnType<typeof call>>) =>
  content.map((part) => (part.type === "text" ? part.text : "")).join("");

describe("The SDK's client of `hunkwise mcp`", () => {
  it("The client learns the server's name and what it sees", () => {
    expect(server.client.getServerVersion()).toMatchObject({ name: "hunkwise" });
    expect(server.client.getInstructions()).toContain("Uncommitted changes are part of it");
  });

  it("The client lists every reading tool and the review, all of them read-only", async () => {
    const { tools } = await server.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([...offered.map(({ name }) => name), "review"]);
    expect(tools.filter(({ annotations, title }) => !annotations?.readOnlyHint || !title)).toEqual([]);
    expect(tools.find(({ name }) => name === "review")?.outputSchema).toMatchObject({ type: "object" });
  });

  it("The client calls every tool, gets text alone, and the repository stays as it was", async () => {
    const before = fingerprintOf(repo.dir);
    expect(Object.keys(calls)).toEqual(offered.map(({ name }) => name));
    for (const [name, { args, says }] of Object.entries(calls)) {
      const answer = await call(name, args);
      expect({ name, isError: answer.isError ?? false }).toEqual({ name, isError: false });
      expect(textOf(answer)).toContain(says);
      expect(answer).not.toHaveProperty("structuredContent");
    }
    expect(fingerprintOf(repo.dir)).toEqual(before);
  });

  it("The client gets findings as data that fit the declared schema, and progress", async () => {
    const told: { progress: number; message?: string | undefined }[] = [];
    const answer = await server.client.callTool(
      { name: "review", arguments: { offline: true } },
      { onprogress: (one) => told.push(one) },
    );
    expect(answer.structuredContent).toMatchObject({
      mode: "offline",
      findings: [{ path: "cart.py", line: 1, severity: "high", placement: "inline" }],
      warnings: [],
    });
    expect(textOf(answer)).toMatch(/^hunkwise-\S+ · Offline: [\s\S]*?\n\nmain\.\.\.topic\n/);
    expect(told.map(({ progress }) => progress)).toEqual(told.map((_, at) => at + 1));
    expect(told.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^\d+:\d\d · running the analyzers/),
    );
  });

  it("The client gets errors of tools as answers, and the session goes on", async () => {
    const missing = await call("read_file_part", { file_path: "crat.py" });
    expect(missing).toMatchObject({ isError: true });
    expect(textOf(missing)).toContain("cart.py");
    expect(textOf(await call("diff_file", { hunk: 7 }))).toContain("invalid arguments for diff_file");
    expect(textOf(await call("review", { offline: "yes" }))).toContain("invalid arguments for review");
    expect(textOf(await call("read_file_part", { file_path: "secrets/key.txt" }))).toContain(
      "withheld by configuration",
    );
    await expect(call("write_file", { path: "a" })).rejects.toThrow("write_file not found");
  });

  it("The client may leave optional arguments out or send null", async () => {
    for (const args of [{}, { start: null, end: null }]) {
      expect(await call("changed_files", args)).not.toHaveProperty("isError");
    }
  });

  it("The client sees hidden characters of a file", async () => {
    const shown = textOf(await call("read_file_part", { file_path: "odd.txt" }));
    expect(shown).toContain("u{E0049}");
    expect(shown).not.toMatch(/[\p{Cf}]/u);
  });

  it("The client sees later edits, committed or not", async () => {
    const read = async () => textOf(await call("read_file_part", { file_path: "cart.py" }));
    repo.write({
      "cart.py": "def total(items):\n    return 0\n",
      "new.py": "def f(x=[]):\n    x.append(1)\n",
    });
    expect(await read()).toContain("return 0");
    expect(textOf(await call("changed_files"))).toContain("A new.py");
    const review = await call("review", { offline: true });
    expect(textOf(review)).toMatch(
      /^hunkwise-\S+ · Working tree of topic against main: 1 commit and the uncommitted\schanges\.\n/,
    );
    const head_tree = expect.stringMatching(/^[0-9a-f]{40}$/);
    const findings = [expect.objectContaining({ path: "new.py" })];
    expect(review.structuredContent).toMatchObject({ head_sha: null, head_tree, findings, warnings: [] });

    repo.write({ "cart.py": "def total(items):\n    return 1\n" });
    expect(await read()).toContain("return 1");
    repo.commit("Start anew", { "cart.py": "def total(items):\n    return 2\n", "new.py": null });
    expect(await read()).toContain("return 2");
    const clean = await call("review", { offline: true });
    expect(clean.structuredContent).toMatchObject({ head_sha: repo.sha(), head_tree: null });
  });

  it("The client is told of uncommitted changes if only commits are served", async () => {
    await using commits = await connect({ repo: repo.dir, tmp: tmp.path, more: ["--committed"] });
    const before = readFileSync(join(repo.dir, "cart.py"), "utf8");
    repo.write({ "cart.py": "def total(items):\n    return 7\n" });
    const call = (name: string, args: Record<string, unknown>) =>
      commits.client.callTool({ name, arguments: args });
    const dirty = await call("read_file_part", { file_path: "cart.py" });
    expect(textOf(dirty)).toMatch(/return 2[\s\S]*\(The working tree has uncommitted changes\. /);
    const review = await call("review", { offline: true });
    expect(review.structuredContent).toMatchObject({ warnings: [expect.stringContaining("uncommitted")] });
    repo.write({ "cart.py": before });
    expect(textOf(await call("read_file_part", { file_path: "cart.py" }))).not.toContain("uncommitted");
  });

  it("The client may use the protocol of 2026 as well", async () => {
    const negotiated = { versionNegotiation: { mode: { pin: "2026-07-28" } } } as const;
    await using modern = await connect({ repo: repo.dir, tmp: tmp.path }, negotiated);
    const { tools } = await modern.client.listTools();
    expect(tools).toHaveLength(offered.length + 1);
    const answer = await modern.client.callTool({ name: "list_files", arguments: {} });
    expect(textOf(answer)).toContain("cart.py");
  });

  it("The client gets a missing base as an answer with the remedy", async () => {
    await using lost = await connect({ repo: repo.dir, base: "mian", tmp: tmp.path });
    const answer = await lost.client.callTool({ name: "changed_files" });
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toBe("error: There is no commit 'mian' in this repository. Did you mean 'main'?");
    expect(lost.stderr()).toBe("");
  });

  it("The server leaves nothing behind when its client goes", async () => {
    await using brief = await connect({ repo: repo.dir, tmp: tmp.path });
    await brief.client.callTool({ name: "list_files" });
    await brief.client.close();
    await server.client.close();
    expect(readdirSync(tmp.path)).toEqual([]);
  });
});

it("`hunkwise mcp` outside of a repository ends at once, and says why", async () => {
  using folder = new TempFolder("no-repository");
  const { code, stdout, stderr } = await runCli(["mcp", "--repo", folder.path], {
    env: { TMPDIR: folder.path },
  });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^hunkwise: There is no git repository at '.*'\. Name a folder inside a git .*\n$/);
  expect(readdirSync(folder.path)).toEqual([]);
});

it("A review over MCP names code as it is written, without the escapes of Markdown", async () => {
  using repo = faultyRepo();
  using tmp = new TempFolder("mcp-names");
  repo.commit("Names", {
    "a_b.py": "def find_user(user_id, seen_before=[]):\n    seen_before.append(user_id)\n",
  });
  await using server = await connect({ repo: repo.dir, tmp: tmp.path });
  const answer = await server.client.callTool({ name: "review", arguments: { offline: true } });
  expect(textOf(answer)).toContain("a_b.py:1");
  expect(textOf(answer)).toContain("def find_user(user_id, seen_before=[]):");
  expect(textOf(answer)).not.toContain("\\_");
});

it("An unknown option of `hunkwise mcp` is refused before anything is served", async () => {
  const { code, stdout, stderr } = await runCli(["mcp", "--bass", "main"]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toBe("hunkwise: unknown option '--bass'. Did you mean --base?\n");
});
