import { describe, expect, it } from "vitest";
import { changedFile, changedFiles, pathsOf, plan } from "./changed-file.ts";

const numbered = (count: number, pathOf: (number: number) => string) =>
  Array.from({ length: count }, (_, number) => pathOf(number));

describe("planUnits", () => {
  it("A change that fits is one unit, riskiest first, with tests after their code", async () => {
    const files = changedFiles([
      "README.md",
      "src/auth.test.ts",
      "src/auth.ts",
      "src/color.test.ts",
      "src/color.ts",
    ]);
    expect(pathsOf(await plan(files))).toEqual([
      ["src/auth.ts", "src/auth.test.ts", "src/color.ts", "src/color.test.ts", "README.md"],
    ]);
  });

  it("Nothing is planned if nothing is reviewable", async () => {
    const skipped = { ...changedFile({ path: "a.ts" }), reviewable: false, skipReason: "generated" };
    const withoutHunks = { ...changedFile({ path: "b.ts" }), totalHunks: 0, diffBytes: 0 };
    expect(await plan([skipped, withoutHunks])).toEqual({ units: [], left: [] });
  });

  it("Folders stay together if not all of them fit", async () => {
    const inFolder = (folder: string) => numbered(5, (number) => `src/${folder}/file${number}.ts`);
    const folders = ["one", "two", "three", "four"].map(inFolder);
    const units = pathsOf(await plan(changedFiles(folders.flat()), { unitBytes: 500 }));
    expect(units.map((paths) => paths.toSorted()).toSorted()).toEqual(folders.toSorted());
  });

  it("Files that import each other are in one unit, wherever they are", async () => {
    const files = changedFiles(["api/bill.ts", "api/user.ts", "store/bill.ts", "store/user.ts"]);
    const texts = {
      "api/bill.ts": 'import "../store/bill.ts"; import "../types/bill.ts"',
      "api/user.ts": 'import "../store/user.ts"',
      "store/bill.ts": "",
      "store/user.ts": "",
      "types/bill.ts": "",
    };
    const units = pathsOf(
      await plan([...files, changedFile({ path: "types/bill.ts" })], { texts, unitBytes: 300 }),
    );
    expect(units.map((paths) => paths.toSorted())).toContainEqual([
      "api/bill.ts",
      "store/bill.ts",
      "types/bill.ts",
    ]);
  });

  it("Tests stay with their code in a tree of their own", async () => {
    const code = numbered(40, (number) => `src/part${number % 4}/file${number}.py`);
    const tests = numbered(40, (number) => `tests/part${number % 4}/test_file${number}.py`);
    for (const paths of pathsOf(await plan(changedFiles([...code, ...tests])))) {
      for (const path of paths.filter((one) => one.startsWith("src/"))) {
        const test = path.replace("src/", "tests/").replace("file", "test_file");
        expect(paths.indexOf(test)).toBe(paths.indexOf(path) + 1);
      }
    }
  });

  it("What everything imports does not decide which files belong together", async () => {
    const paths = ["a", "b"].flatMap((folder) => numbered(10, (number) => `${folder}/file${number}.ts`));
    const texts = Object.fromEntries([...paths, "log.ts"].map((path) => [path, 'import "../log.ts"']));
    const units = pathsOf(await plan(changedFiles([...paths, "log.ts"]), { texts, unitBytes: 1_100 }));
    const foldersOf = units.map(
      (unit) => new Set(unit.filter((path) => path !== "log.ts").map((path) => path[0])),
    );
    expect(foldersOf.map((folders) => folders.size)).toEqual([1, 1]);
  });

  it("A file that is larger than a unit is a unit", async () => {
    const large = changedFile({ path: "src/large.ts", diffBytes: 5_000 });
    const { units, left } = await plan([large, ...changedFiles(["src/a.ts", "src/b.ts"])]);
    expect(units.find((unit) => unit.files.includes(large))?.files).toEqual([large]);
    expect(units).toHaveLength(2);
    expect(left).toEqual([]);
  });

  it("The least risky files are left if the budget is too small", async () => {
    const files = changedFiles(["docs/a.md", "lib/color.ts", "src/auth/token.ts", "test/z.test.ts"]);
    const { units, left } = await plan(files, { totalBytes: 250 });
    expect(units.flatMap((unit) => unit.files.map(({ change }) => change.path))).toEqual([
      "lib/color.ts",
      "src/auth/token.ts",
    ]);
    expect(left.map(({ change }) => change.path)).toEqual(["test/z.test.ts", "docs/a.md"]);
  });

  it("Files with rule matches, and files that others import, are read first", async () => {
    const files = changedFiles(["a.ts", "b.ts", "c.ts"]);
    const texts = { "a.ts": 'import "./b.ts"', "b.ts": "", "c.ts": "" };
    const matches = new Map([["c.ts", 2]]);
    expect(pathsOf(await plan(files, { texts, matches }))).toEqual([["c.ts", "b.ts", "a.ts"]]);
  });

  it("The plan needs no imports if no file can be read", async () => {
    const { units } = await plan(changedFiles(["src/a.ts", "src/b.ts"]));
    expect(units).toHaveLength(1);
  });
});
