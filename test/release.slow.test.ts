import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { run } from "../scripts/release/program.ts";
import { TempFolder } from "./support/git-repo.ts";

const root = join(import.meta.dirname, "..");
const folder = new TempFolder("release");
afterAll(() => folder.dispose());

it("Two clones of a commit make the same files of a release, byte for byte", () => {
  const sums = ["first", "second"].map((name) => {
    const clone = join(folder.path, name);
    run("git", ["clone", "--quiet", root, clone]);
    run("npm", ["ci", "--prefer-offline"], { cwd: clone });
    run("npm", ["run", "-s", "release", "--", "--make"], { cwd: clone });
    return readFileSync(join(clone, "release/SHA256SUMS"), "utf8");
  });
  expect(sums[0]).toMatch(/^[0-9a-f]{64} {2}hunkwise-[\d.]+\.tgz$/m);
  expect(sums[1]).toBe(sums[0]);
});
