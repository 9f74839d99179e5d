import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { allGuards, changesOf, without } from "./all-guards.ts";
import type { Guard } from "./guard.ts";
import type { Proof } from "./rows/row.ts";
import { rows } from "./rows.ts";
import { isLeftOut, mayBeNamed, type WrittenTest, writtenTests } from "./written-tests.ts";

const root = join(import.meta.dirname, "../..");

const known = new Map<string, WrittenTest[]>();

/** The tests that a file runs: those that it holds, and those of the contracts that it has checked, which other files hold. */
function testsOf(file: string): WrittenTest[] {
  const before = known.get(file);
  if (before) return before;
  const path = join(root, file);
  const source = existsSync(path) ? readFileSync(path, "utf8") : "";
  const imported = [...source.matchAll(/from "(\.[^"]*)"/g)].map(([, name = ""]) =>
    join(dirname(file), name),
  );
  const contracts = imported.filter((name) => name.startsWith("test/contract/"));
  const tests = [...writtenTests(source), ...contracts.flatMap(testsOf)];
  known.set(file, tests);
  return tests;
}

/** The tests that a proof names: those of the row where it names none. */
function namedBy(row: string, { file, title }: Proof): WrittenTest[] {
  const isOfRow = (test: WrittenTest) =>
    test.title.startsWith(row) && !/^[\w-]/.test(test.title.slice(row.length));
  return testsOf(file).filter((test) => (title === undefined ? isOfRow(test) : test.title === title));
}

describe("the table of faults and attacks", () => {
  it("has every row of it, once", () => {
    const names = rows.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    const counts = [0, 1, 2].map((priority) => rows.filter((row) => row.priority === priority).length);
    expect(counts).toEqual([32, 32, 33]);
  });

  it("says of each row what proves it, or why nothing does", () => {
    const odd = rows.filter(({ provenBy, outOfScope }) => provenBy.length > 0 === Boolean(outOfScope));
    expect(odd.map(({ name }) => name)).toEqual([]);
    expect(rows.filter(({ outOfScope }) => outOfScope).map(({ name }) => name)).toEqual([]);
  });

  it("names tests that are there and that are run", () => {
    const missing = rows.flatMap(({ name, provenBy }) =>
      provenBy.flatMap((proof) =>
        namedBy(name, proof).length > 0 ? [] : [`${name}: ${proof.file} ${proof.title ?? ""}`],
      ),
    );
    expect(missing).toEqual([]);
    const unseen = rows.filter(({ name, provenBy, outOfScope }) => {
      const tests = provenBy.flatMap((proof) => namedBy(name, proof));
      return !outOfScope && tests.every(isLeftOut);
    });
    expect(unseen.map(({ name }) => name)).toEqual([]);
  });
});

describe("the guards that can be taken away", async () => {
  const guards = await allGuards();

  it("stand once each in the product, which can be read without them", () => {
    for (const change of guards.flatMap(changesOf))
      without(change, readFileSync(join(root, change.file), "utf8"));
    const twice = guards.filter((guard) => {
      const files = changesOf(guard).map(({ file }) => file);
      return new Set(files).size < files.length;
    });
    expect(twice.map(({ guard }) => guard)).toEqual([]);
  });

  it("are each held by a test that is there and that is run", () => {
    const held = ({ test, title }: Guard) =>
      testsOf(test).some((one) => mayBeNamed(one, title) && !isLeftOut(one));
    expect(guards.filter((guard) => !held(guard)).map(({ guard, test }) => `${guard}: ${test}`)).toEqual([]);
  });

  it("are different ones, of rows that are there", () => {
    const names = guards.map(({ guard }) => guard);
    expect(names).toEqual([...new Set(names)]);
    const known = new Set(rows.map(({ name }) => name));
    expect(guards.filter(({ row }) => !known.has(row)).map(({ guard, row }) => `${row}: ${guard}`)).toEqual(
      [],
    );
  });

  it("are there for every row that something exists for", () => {
    const guarded = new Set(guards.map(({ row }) => row));
    const bare = rows.filter(({ name, outOfScope }) => !outOfScope && !guarded.has(name));
    expect(bare.map(({ name }) => name)).toEqual([]);
  });
});

describe("the reader of tests", () => {
  it("finds each test with its groups, and what is said of running it", () => {
    const source = `
      describe.concurrent("a lock", patient, () => {
        it.each([["a", 1]])("of %s is $kept", (x) => x);
        it.runIf(isLong)("holds \\"long\\"", async () => {});
        describe(name, () => { it.skip(\`never \${x}\`, () => {}); });
      });
      it("stands alone", run);
      it.todo("some day");
    `;
    const found = writtenTests(source);
    expect(found.map(({ fullName }) => fullName)).toEqual([
      "a lock of %s is $kept",
      'a lock holds "long"',
      "a lock %s never %s",
      "stands alone",
    ]);
    expect(found.map(isLeftOut)).toEqual([false, true, true, false]);
  });

  it("knows which words may name a test", () => {
    const [test] = writtenTests('describe("a door", () => { it.each(x)("that is %s stays closed", run); });');
    const may = (words: string) => test && mayBeNamed(test, words);
    expect(may("a door that is red stays closed")).toBe(true);
    expect(may("red stays closed")).toBe(true);
    expect(may("stays closed")).toBe(true);
    expect(may("a window that is red")).toBe(false);
    expect(may("stays open")).toBe(false);
  });
});
