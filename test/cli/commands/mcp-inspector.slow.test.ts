import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { offered } from "../../../src/cli/commands/mcp.ts";
import { type GitRepo, TempFolder } from "../../support/git-repo.ts";
import { serverCommand } from "../mcp-client.ts";
import { faultyRepo } from "../sample-repo.ts";

/** Each run of the inspector starts it and a server anew. */
const isLong = process.env.HUNKWISE_LONG === "1";
const inspector = resolve(import.meta.dirname, "../../slow-tools/node_modules/.bin/mcp-inspector");

let repo: GitRepo;
let tmp: TempFolder;

beforeAll(() => {
  repo = faultyRepo();
  tmp = new TempFolder("mcp-inspector");
});
afterAll(() => {
  repo.dispose();
  tmp.dispose();
});

/** Runs the inspector's command line on a server of its own. Its JSON, its complaints and its exit code. */
async function inspect(method: string, ...more: string[]) {
  const { command, args, env } = serverCommand({ repo: repo.dir, tmp: tmp.path });
  // It keeps files of its own.
  const own = { ...env, HOME: tmp.path };
  const all = ["--cli", command, ...args, "--method", method, ...more];
  const child = spawn(inspector, all, { env: own, stdio: ["ignore", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    out += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    err += chunk;
  });
  const code = await new Promise((done) => child.on("close", done));
  expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
  return { answer: JSON.parse(out), complaints: err };
}

const calls: Record<string, string[]> = {
  changed_files: [],
  get_commit_messages: ["max_commits=1"],
  diff_file: ["file_path=cart.py"],
  read_file_part: ["file_path=cart.py"],
  read_definition: ["name=total"],
  find_callers: ["name=total", "file_path=cart.py"],
  search_in_files: ["pattern=seen"],
  list_files: ["type=any"],
  diff_files: ["file_path1=cart.py", "file_path2=cart.py", "ref1=base"],
  graph_rag_query: ["query=total"],
};

const callTool = (name: string, args: readonly string[]) =>
  inspect("tools/call", "--tool-name", name, ...args.flatMap((one) => ["--tool-arg", one]));

describe("The inspector's command line", () => {
  it("The inspector lists every tool and finds nothing wrong with any schema", async () => {
    const { answer, complaints } = await inspect("tools/list", "--strict");
    const names = answer.tools.map((tool: { name: string }) => tool.name);
    expect(names).toEqual([...offered.map(({ name }) => name), "review"]);
    expect(complaints).not.toMatch(/warning|error/i);
  });

  it("The inspector has the change reviewed", async () => {
    const { answer } = await callTool("review", ["offline=true"]);
    expect(answer.structuredContent).toMatchObject({ mode: "offline", findings: [{ path: "cart.py" }] });
  });

  it.runIf(isLong)("The inspector calls every reading tool", async () => {
    expect(Object.keys(calls)).toEqual(offered.map(({ name }) => name));
    for (const [name, args] of Object.entries(calls)) {
      const { answer } = await callTool(name, args);
      expect({ name, answer }).toEqual({
        name,
        answer: { content: [{ type: "text", text: expect.stringMatching(/^(?!error)/) }] },
      });
    }
  });
});
