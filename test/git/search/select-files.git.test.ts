import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { rgPath } from "@vscode/ripgrep";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { selectFiles } from "../../../src/git/search/select-files.ts";
import { anyPath, anyPattern } from "../../diff/any-pattern.ts";
import { TempFolder } from "../../support/git-repo.ts";

const long = process.env.HUNKWISE_LONG === "1";
const folder = new TempFolder("select");
afterAll(() => folder.dispose());

const sampled = fc.sample(anyPath, { numRuns: 300, seed: 3 });
const typed = [
  "Makefile",
  "x/Cargo.lock",
  "LICENSE-MIT",
  "Dockerfile.dev",
  "a/page.7",
  "c.H",
  "lib.h.in",
  ".bashrc",
  "new\nline.ts",
];
/** None of them is the folder of another. */
const paths: string[] = [];
for (const path of [...sampled, ...typed]) {
  const isFree = paths.every(
    (one) => one !== path && !one.startsWith(`${path}/`) && !path.startsWith(`${one}/`),
  );
  if (isFree) paths.push(path);
}
for (const path of paths) {
  mkdirSync(dirname(join(folder.path, path)), { recursive: true });
  writeFileSync(join(folder.path, path), "");
}

/** What ripgrep would search there; null where it refuses. */
function chosenByRipgrep(...args: string[]): string[] | null {
  const all = ["--no-config", "--files", "--no-ignore", "--hidden", "--null", ...args, "--glob=!**/.git"];
  const end = spawnSync(rgPath, [...all, "./"], { cwd: folder.path });
  if (end.status === 2) return null;
  const found = end.stdout.toString("utf8").split("\0").slice(0, -1);
  return found.map((path) => path.slice(2)).sort();
}

const signs = [
  "a",
  "b",
  "*",
  "?",
  "**",
  "/",
  "{",
  "}",
  ",",
  "[ab]",
  "[!b]",
  ".ts",
  "\\",
  "{a,b}",
  "**/",
  "/**",
  "{**/a,b}",
  "[b-a]",
  "[é]",
  "é",
  "!",
  "#",
  " ",
];
const globWithBraces = fc
  .array(fc.constantFrom(...signs), { minLength: 1, maxLength: 7 })
  .map((all) => all.join(""));

it("chooses by a glob the files that ripgrep chooses", { timeout: long ? 1_200_000 : 300_000 }, async () => {
  const numRuns = long ? 3_000 : 40;
  const globs = [
    ...fc.sample(anyPattern, { numRuns, seed: 5 }),
    ...fc.sample(globWithBraces, { numRuns, seed: 11 }),
  ];
  let compared = 0;
  for (const filePattern of globs) {
    const expected = chosenByRipgrep(`--glob=${filePattern}`);
    if (expected === null) continue;
    const chosen = await selectFiles(paths, "", { filePattern, fileType: undefined });
    expect({ filePattern, chosen: chosen.toSorted() }).toEqual({ filePattern, chosen: expected });
    compared += 1;
  }
  expect(compared).toBeGreaterThan(numRuns);
});

it("chooses by a type the files that ripgrep chooses", async () => {
  for (const fileType of ["ts", "make", "rust", "license", "docker", "man", "c", "h", "sh", "all"]) {
    const chosen = await selectFiles(paths, "", { filePattern: undefined, fileType });
    expect({ fileType, chosen: chosen.toSorted() }).toEqual({
      fileType,
      chosen: chosenByRipgrep(`--type=${fileType}`),
    });
  }
});

it("holds what lies above the folder that is searched against no file in it", async () => {
  const below = ["a/b.ts", "a/a/c.ts"];
  const but = (start: string) => selectFiles(below, start, { filePattern: "!a", fileType: undefined });
  expect([await but(""), await but("a"), await but("a/a")]).toEqual([[], ["a/b.ts"], below]);
});

it("takes no longer for a glob that was made to be slow", async () => {
  const filePattern = `${"*a".repeat(100)}b`;
  expect(await selectFiles([`${"a".repeat(2_000)}c`], "", { filePattern, fileType: undefined })).toEqual([]);
});
