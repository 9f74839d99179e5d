import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { globSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import { createLayoutSource } from "../src/repo/code/layout-source.ts";
import { hello } from "./cli/mcp-client.ts";
import { GitRepo, TempFolder, testGitEnvironment } from "./support/git-repo.ts";
import { unsetVariables } from "./support/run-cli.ts";

const root = join(import.meta.dirname, "..");
/** The oldest Node that package.json accepts, as npm has it. */
const oldest = "22.20.0";

/** Two definitions on one line: only a parser sees the second one. */
const twoOnALine: Readonly<Record<string, string>> = {
  "a.c": "int first(void) { return 1; } int second(void) { return first(); }\n",
  "a.cpp": "namespace n { int first() { return 1; } int second() { return first(); } }\n",
  "a.cs": "class C { int First() { return 1; } int second() { return First(); } }\n",
  "a.go": "package m\n\nfunc first() int { return 1 }; func second() int { return first() }\n",
  "A.java": "class A { int first() { return 1; } int second() { return first(); } }\n",
  "a.js": "function first() { return 1; } function second() { return first(); }\n",
  "a.kt": "fun first() = 1; fun second() = first()\n",
  "a.php": "<?php\nfunction first() { return 1; } function second() { return first(); }\n",
  "a.py": "first = 1; second = lambda: first\n",
  "a.rb": "def first; 1; end; def second; first; end\n",
  "a.rs": "fn first() -> i32 { 1 } fn second() -> i32 { first() }\n",
};

const folder = new TempFolder("package");
const repo = GitRepo.create();
const place = join(folder.path, "installed");
const home = join(folder.path, "home");
const program = join(place, "node_modules/hunkwise/dist/cli.js");

/** Runs a program, and fails the test with its output if it fails. */
function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status === 0) return stdout;
  throw error ?? new Error(`${command} ${args.join(" ")}: ${status}\n${stdout}\n${stderr}`);
}

function bytesOf(path: string): number {
  const files = globSync("**", { cwd: path, withFileTypes: true }).filter((one) => one.isFile());
  return files.reduce((sum, one) => sum + statSync(join(one.parentPath, one.name)).size, 0);
}

/** The environment of a user who has only Node and git, and set nothing. */
const environment = () => ({
  ...unsetVariables,
  ...testGitEnvironment,
  ...{ PATH: process.env.PATH ?? "", HOME: home, TMPDIR: folder.path },
});

beforeAll(() => {
  repo.commit("Start", { "README.md": "# Sums\n" });
  repo.commit("Add eleven languages", twoOnALine);
  for (const path of [place, home]) mkdirSync(path);
  const [{ filename }] = JSON.parse(
    run("npm", ["pack", "--json", "--silent", "--pack-destination", folder.path], root),
  );
  writeFileSync(join(place, "package.json"), '{ "private": true }\n');
  // What `npm ci` has downloaded is not downloaded again.
  run("npm", ["install", "--prefer-offline", "--engine-strict", join(folder.path, filename)], place);
});
afterAll(() => {
  repo.dispose();
  folder.dispose();
});

/** A program of the oldest Node, which npm has for these systems. */
function oldestNode(): string {
  const name = `node-${process.platform}-${process.arch}`;
  const at = join(folder.path, "node");
  mkdirSync(at);
  run("npm", ["install", "--prefer-offline", "--prefix", at, `${name}@${oldest}`], at);
  return join(at, "node_modules", name, "bin/node");
}

describe("the installed package", () => {
  it("The package takes at most 150 MB and has no installation script", () => {
    expect(bytesOf(place)).toBeLessThan(150_000_000);
    expect(packageJson.scripts).not.toHaveProperty("install");
    expect(packageJson.scripts).not.toHaveProperty("postinstall");
    expect(packageJson.scripts).not.toHaveProperty("prepare");
  });

  it("The package runs with npx", () => {
    expect(run("npx", ["hunkwise", "--version"], place)).toBe(`${packageJson.version}\n`);
  });

  it("The package names the works of others that it contains, with their licenses", () => {
    const [file = ""] = globSync(join(place, "node_modules/hunkwise/dist/THIRD-PARTY-LICENSES.txt"));
    expect(run("node", ["--print", `fs.readFileSync(${JSON.stringify(file)}, "utf8")`], place)).toMatch(
      /^zod \d[\s\S]*Permission is hereby granted/m,
    );
  });

  const nodes: [string, () => string][] = [["this Node", () => process.execPath]];
  if (["linux", "darwin"].includes(process.platform)) nodes.push([`Node ${oldest}`, oldestNode]);

  describe.each(nodes)("with %s", (_, findNode) => {
    let node: string;
    beforeAll(() => {
      node = findNode();
    });
    const hunkwise = (...args: string[]) =>
      spawnSync(node, [program, ...args], { env: environment(), cwd: repo.dir, encoding: "utf8" });

    it("The package prints its version and nothing else", () => {
      const { status, stdout, stderr } = hunkwise("--version");
      expect({ status, stdout, stderr }).toEqual({
        status: 0,
        stdout: `${packageJson.version}\n`,
        stderr: "",
      });
    });

    it("The package reviews a change without a model", () => {
      const { status, stdout } = hunkwise("review", "--base", "HEAD~1", "--format", "json");
      expect({ status, ...JSON.parse(stdout) }).toMatchObject({
        ...{ status: 0, mode: "offline", stop_reason: "no_model" },
        coverage: { hunks_total: 11 },
      });
    });

    it("The package parses eleven languages", () => {
      for (const [path, text] of Object.entries(twoOnALine)) {
        const guessed = createLayoutSource(path, text).definitions.map(({ name }) => name);
        expect([path, guessed]).toEqual([path, expect.not.arrayContaining(["second"])]);
        const asked = { file_path: path, name: "second" };
        const { stdout } = hunkwise(
          "tool",
          "read_definition",
          "--base",
          "HEAD~1",
          "--args",
          JSON.stringify(asked),
        );
        expect(JSON.parse(stdout).output.definitions).toEqual([expect.objectContaining({ file_path: path })]);
      }
    });

    it("The doctor says that the package has a parser for every language", () => {
      expect(hunkwise("doctor").stdout).toMatch(/^ok +parsers +all languages$/m);
    });

    /** The first line with this text that a command writes; the command is ended then. Empty if it writes none. */
    async function lineWith(
      text: string,
      args: readonly string[],
      pipe: "stdout" | "stderr",
      say: (child: ChildProcessWithoutNullStreams) => void = () => {},
    ): Promise<string> {
      const env = { ...environment(), PORT: "0", HUNKWISE_DATA_DIR: join(folder.path, "data") };
      const child = spawn(node, [program, ...args], { env, cwd: repo.dir });
      say(child);
      for await (const line of createInterface(child[pipe])) {
        // Node 22 also says that its SQLite is experimental.
        if (!line.includes(text)) continue;
        child.kill();
        return line;
      }
      return "";
    }

    it("The package serves its tools to an agent", async () => {
      const greet = (child: ChildProcessWithoutNullStreams) =>
        child.stdin.write(`${JSON.stringify(hello)}\n`);
      const answer = JSON.parse(await lineWith("serverInfo", ["mcp", "--base", "HEAD~1"], "stdout", greet));
      expect(answer).toMatchObject({ id: hello.id, result: { serverInfo: { name: "hunkwise" } } });
    });

    it("The package keeps its data in the user's folder, and warns of an older one that an update deletes", () => {
      const doctor = () => hunkwise("doctor").stdout.replaceAll(/\s+/g, " ");
      expect(doctor()).toContain(`ok data folder ${home}/.local/share/hunkwise`);
      const old = join(place, "node_modules/hunkwise/.hunkwise");
      mkdirSync(old);
      expect(doctor()).toContain(`warn data folder ${old} is in the installed program: an update deletes it`);
      rmSync(old, { recursive: true });
    });

    it("A server without settings says what it lacks", async () => {
      expect(await lineWith("There is no GitHub App yet. To create it, open ", ["serve"], "stderr")).not.toBe(
        "",
      );
      const { status, stderr } = hunkwise("worker");
      expect({ status, stderr }).toEqual({
        status: 2,
        stderr: expect.stringMatching(/^hunkwise: there are no credentials for a GitHub App\. .*\n$/),
      });
    });
  });
});
