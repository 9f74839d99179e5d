import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
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
  const wanted = [...files, ...data, "sandbox/supervisor/main.js"];
  expect(wanted.filter((path) => !existsSync(join(built, path)))).toEqual([]);
});
