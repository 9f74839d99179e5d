import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { platformsHere } from "../scripts/grammars.ts";
import { registeredDialects } from "../src/repo/code/languages.ts";
import { programEntry } from "./support/built-program.ts";

const root = join(import.meta.dirname, "..");
const built = dirname(programEntry);

it("The built program has a file for each process and thread that it starts, and all data that its code reads", () => {
  const started = globSync("src/**/*.ts", { cwd: root }).filter((path) =>
    /process\.on\("message"|parentPort\?\.on/.test(readFileSync(join(root, path), "utf8")),
  );
  expect(started.length).toBeGreaterThan(2);
  const files = started.map((path) => path.replace(/^src\//, "").replace(/\.ts$/, ".js"));
  const data = globSync("src/**/*.md", { cwd: root }).map((path) => path.replace(/^src\//, ""));
  const runner = globSync("src/tasks/prove/proof/runner/*.{cjs,mjs,py}", { cwd: root }).map((path) =>
    path.replace(/^src\//, ""),
  );
  expect(runner).toHaveLength(4);
  const wanted = [...files, ...data, ...runner, "sandbox/supervisor/main.js"];
  expect(wanted.filter((path) => !existsSync(join(built, path)))).toEqual([]);
});

it("The built program has a parser for each language, and says under which licenses it has what others wrote", () => {
  const parsers = registeredDialects.flatMap((dialect) =>
    platformsHere.map((platform) => `grammars/${platform}/${dialect}.so`),
  );
  expect(parsers.filter((path) => !existsSync(join(built, path)))).toEqual([]);
  const facts = JSON.parse(readFileSync(join(built, "grammars/parsers.json"), "utf8"));
  expect(Object.keys(facts)).toEqual(registeredDialects);
  const licenses = readFileSync(join(built, "THIRD-PARTY-LICENSES.txt"), "utf8");
  for (const work of ["probot", "pg", "pino", "zod", "openai", "tree-sitter-rust"])
    expect(licenses).toMatch(new RegExp(`^${work} \\d.* \\((MIT|ISC|Apache-2.0)\\)$`, "m"));
});

it("The built program has no syntax that the oldest Node cannot read", () => {
  const files = globSync("**/*.js", { cwd: built });
  const lines = files.flatMap((path) => readFileSync(join(built, path), "utf8").split("\n"));
  // The only syntax of the sources that Node 22 lacks. https://github.com/tc39/proposal-explicit-resource-management
  expect(lines.filter((line) => /^\s*(?:await )?using \w+ =|for \((?:await )?using /.test(line))).toEqual([]);
});

/** The program with a Node that claims another version. */
function runWithNode(version: string) {
  const claim = `data:text/javascript,Object.defineProperty(process.versions,"node",{value:"${version}"})`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", claim, programEntry, "--version"],
    {
      encoding: "utf8",
    },
  );
  return { status, stdout, stderr };
}

it.each(["12.22.12", "20.20.2", "22.19.0"])("Node %s is refused with one line", (version) => {
  expect(runWithNode(version)).toEqual({
    ...{ status: 2, stdout: "" },
    stderr: `hunkwise: Node ${version} is too old. Install Node 22.20 or newer, and put it first on PATH (docs/cli.md#install).\n`,
  });
});

it.each(["22.20.0", "24.0.0", "25.1.0"])("Node %s is accepted", (version) => {
  expect(runWithNode(version)).toMatchObject({ status: 0, stderr: "" });
});

it("The entry loads nothing and has only old syntax before it has checked the version", () => {
  const text = readFileSync(programEntry, "utf8");
  expect(text).not.toMatch(/^import |\?\?|\?\.|\bawait\b|#\w+ *[=;(]/m);
});
