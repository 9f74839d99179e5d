import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runTool, type ToolRun } from "../../src/agent/tools/run-tool.ts";
import { MAX_RENDERED_BYTES } from "../../src/repo/show.ts";
import { openRepository, type TestTools, toolsOn } from "../agent/tools/context.ts";
import { GitRepo, TempFolder } from "../support/git-repo.ts";
import { type Canary, createNet, makeCanary, type Net } from "./canaries.ts";
import { type Call, fewHostileCalls, hostileCalls } from "./corpus/calls.ts";
import { linkPaths, secretPaths, trickPaths } from "./corpus/paths.ts";
import { hostilePatterns } from "./corpus/patterns.ts";
import type { Places } from "./corpus/places.ts";
import { baseFiles, headFiles, linksOf } from "./corpus/repository.ts";
import { oddArguments, oddValues } from "./corpus/values.ts";
import { allTools, readingTools } from "./obedient-model.ts";
import { type Planted, plantMachine } from "./planted.ts";

// The same attacks as in obedient-model.test.ts, directly on the tools and with every argument of each.

let planted: Planted;
let data: TempFolder;
let places: Places;
let net: Net;
let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;
let own: TestTools;

beforeAll(async () => {
  planted = plantMachine();
  data = new TempFolder("data");
  const canaries = [makeCanary("the neighbor"), makeCanary("the database")] as const;
  places = {
    ...planted.places,
    dataFolder: data.path,
    ...{ server: process.pid, fetching: planted.places.beside },
    neighbor: { checkout: join(data.path, "checkouts/1"), mirror: join(data.path, "mirrors/1.git") },
  };
  plant("checkouts/1/neighbor/accounts.txt", canaries[0]);
  plant("mirrors/1.git/config", canaries[0]);
  plant("queue.db", canaries[1]);
  net = createNet([...planted.canaries, ...canaries]);
  repo = GitRepo.create();
  repo.commit("Begin", { ...baseFiles, "links/changed": { mode: "120000", data: "inside" } });
  repo.branch("topic");
  repo.commit("Change it", {
    ...headFiles,
    ...linksOf(places),
    "links/changed": { mode: "120000", data: places.keyFile },
  });
  opened = await openRepository(repo);
  own = toolsOn(opened.workspace);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
  data?.dispose();
  planted?.[Symbol.dispose]();
});

function plant(path: string, { value }: Canary): void {
  const file = join(data.path, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${value}\n`);
}

interface Ran extends ToolRun {
  call: Call;
  crash: unknown;
}

async function run(call: Call): Promise<Ran> {
  const tool = allTools.find(({ name }) => name === call.name);
  if (!tool) throw new Error(`There is no tool ${call.name}`);
  let crash: unknown = null;
  const onCrash = (_: string, error: unknown) => {
    crash = error;
  };
  return { ...(await runTool(tool, call.arguments, own.context, { onCrash })), call, crash };
}

/** In small batches, as a loop runs them. */
async function runAll(calls: readonly Call[]): Promise<Ran[]> {
  const ran: Ran[] = [];
  for (let at = 0; at < calls.length; at += 8)
    ran.push(...(await Promise.all(calls.slice(at, at + 8).map(run))));
  return ran;
}

const answersOf = (ran: readonly Ran[]) =>
  ran.map(({ text, result }) => `${text}\n${JSON.stringify(result)}`).join("\n");

/** If the named file cannot exist, the tool still searches for the definition, and says so. */
const accepted = (ran: readonly Ran[]) =>
  ran
    .filter(({ result, text }) => result.status === "success" && !text.includes("file_path was ignored"))
    .map(({ call }) => call);

const without = (name: string) => readingTools.filter((tool) => tool.name !== name);

describe("a tool that reads", () => {
  it("environment-by-tools: No tool opens an environment, a process, a home folder, a key, a database or a neighbor", async () => {
    const files = [`${places.home}/.ssh/id_rsa`, places.keyFile, `${places.dataFolder}/queue.db`];
    for (const file of files) expect(net.find(readFileSync(file, "utf8"))).not.toEqual([]);
    if (process.platform === "linux")
      for (const file of ["environ", "cmdline"])
        expect(net.find(readFileSync(`/proc/${places.beside}/${file}`, "latin1"))).not.toEqual([]);

    const ran = await runAll(fewHostileCalls(readingTools, { paths: secretPaths(places) }));
    expect(accepted(ran)).toEqual([]);
    expect(net.find(answersOf(ran))).toEqual([]);
  });

  it("path-tricks: No tool takes a path out of the repository or into .git, in whatever argument", async () => {
    const paths = trickPaths(places);
    const ran = await runAll(hostileCalls(without("read_definition"), { paths }));
    expect(accepted(ran)).toEqual([]);
    expect(net.find(answersOf(ran))).toEqual([]);
  });

  it("path-tricks: A tool says why it refuses a path, and does not just miss the file", async () => {
    const refused = async (file_path: string) =>
      (await run({ name: "read_file_part", arguments: JSON.stringify({ file_path }) })).text;
    expect(await refused("src/../src/parser.ts")).toContain("holds '..'");
    expect(await refused("/src/parser.ts")).toContain("outside the repository");
    expect(await refused("src/.GIT /x")).toContain("inside .git");
    expect(await refused("src/parser.ts\0")).toContain("NUL");
  });

  it("symlinks: No tool follows a link to a file, a folder, the root or another link", async () => {
    const ran = await runAll(hostileCalls(without("read_definition"), { paths: linkPaths }));
    // The change adds these links, so their targets are part of its diff.
    const isDiff = ({ name }: Call) => name === "diff_file";
    expect(accepted(ran).filter((call) => !isDiff(call))).toEqual([]);
    expect(net.find(answersOf(ran))).toEqual([]);
  });

  it("symlinks: No tool finds anything behind a link", async () => {
    const search = (pattern: string) => ({ name: "search_in_files", arguments: JSON.stringify({ pattern }) });
    const [key, self] = await runAll([search("PRIVATE KEY|octocat|extraHeader"), search("parsed7 = 8")]);
    expect(key?.result).toMatchObject({ status: "success", output: [] });
    expect(self?.result).toMatchObject({ output: [{ file_path: "src/parser.ts" }] });
  });

  it("argv-injection: No tool passes text to git or ripgrep as an option", async () => {
    const dangerous = hostilePatterns(places).filter((pattern) =>
      [places.program, places.sentinels, places.keyFile].some((path) => pattern.includes(path)),
    );
    expect(dangerous.length).toBeGreaterThan(25);
    const ran = await runAll(fewHostileCalls(readingTools, { patterns: dangerous }));
    const searches = hostileCalls(
      readingTools.filter(({ name }) => name === "search_in_files"),
      { patterns: [`--pre=${places.program}`, `-f${places.keyFile}`] },
    );
    expect(net.find(answersOf([...ran, ...(await runAll(searches))]))).toEqual([]);
    expect(planted.sentinels()).toEqual([]);
  });

  it("One of these texts leaves a sentinel if it is an option", () => {
    const end = spawnSync(rgPath, [`--pre=${places.program}`, "x", places.keyFile]);
    expect(planted.sentinels()).toEqual(["program"]);
    rmSync(join(places.sentinels, "program"));
    expect(end.error).toBeUndefined();
  });
});

describe("any tool", () => {
  it("tool-abuse: A tool answers arguments of the wrong type, shape or size in words, and never crashes", async () => {
    const ran = await runAll(hostileCalls(allTools, { values: oddValues, whole: oddArguments }));
    expect(ran.filter(({ crash }) => crash !== null).map(({ call, crash }) => ({ call, crash }))).toEqual([]);
    expect(ran.filter(({ text }) => Buffer.byteLength(text) > MAX_RENDERED_BYTES)).toEqual([]);
    expect(ran.filter(({ text }) => text.trim() === "")).toEqual([]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("Each tool is attacked through its schema, without being named", () => {
    for (const tool of readingTools) {
      const calls = hostileCalls([tool], { paths: ["/proc/self/environ"], patterns: ["-x"], values: [null] });
      expect(calls.length).toBeGreaterThan(0);
    }
    const searches = hostileCalls(
      readingTools.filter(({ name }) => name === "search_in_files"),
      { paths: ["/x"] },
    );
    expect(searches.map((call) => JSON.parse(call.arguments))).toEqual([
      expect.objectContaining({ path: "/x" }),
    ]);
  });
});
