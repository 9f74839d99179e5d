import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { TrajectoryEntry } from "../../../src/agent/record/trajectory.ts";
import { mirrorBytes } from "../../../src/repo/git/disk.ts";
import { graphIndex } from "../../../src/repo/git/places.ts";
import { indexTask, reviewIndex } from "../../../src/server/jobs/graph-index.ts";
import { TempFolder } from "../../support/git-repo.ts";

const folder = new TempFolder("review-index");
afterAll(() => folder.dispose());

const shas = { head: "1".repeat(40), base: "2".repeat(40), mergeBase: "3".repeat(40) };
const placeAt = (name: string) => ({
  ...{ gitPath: "/usr/bin/git", root: "/checkout", emptyHome: "/home", shas },
  isCheckedOut: true,
  gitDir: `${folder.path}/${name}.git`,
});
const file = graphIndex(placeAt("indexed").gitDir);
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, Buffer.alloc(100_000));

const begun = (input: object, head = shas.head) =>
  [{ kind: "run", shas: { ...shas, head }, input }] as unknown as TrajectoryEntry[];

it("The index that a review reads is that of its repository, if there is one", () => {
  expect(reviewIndex(placeAt("indexed"), [], false)).toBe(file);
  expect(reviewIndex(placeAt("new"), [], false)).toBeNull();
});

it("The index of a resumed review is the same as before", () => {
  const at = placeAt("indexed");
  expect(reviewIndex(at, begun({ graph: true }), true)).toBe(file);
  expect(reviewIndex(at, begun({}), true)).toBeNull();
  expect(reviewIndex(at, begun({ graph: true }, "9".repeat(40)), true)).toBeNull();
  expect(reviewIndex(at, begun({}), false)).toBe(file);
});

it("The index that a review reads is made of the tip of the base branch, and of nothing else", () => {
  expect(indexTask(placeAt("indexed"), ["vault/**"])).toEqual({
    ...{ gitPath: "/usr/bin/git", emptyHome: "/home", gitDir: placeAt("indexed").gitDir },
    ...{ sha: shas.base, file, privatePaths: ["vault/**"] },
  });
});

it("The index counts in the size of its mirror, and is deleted with it", async () => {
  expect(await mirrorBytes(placeAt("indexed").gitDir)).toBeGreaterThan(100_000);
});
