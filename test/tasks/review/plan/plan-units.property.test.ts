import fc from "fast-check";
import { describe, it } from "vitest";
import type { ChangedFile } from "../../../../src/repo/diff-source.ts";
import type { Plan } from "../../../../src/tasks/review/plan/plan-units.ts";
import { fileRisk } from "../../../../src/tasks/review/plan/risk.ts";
import { changedFile, pathsOf, plan } from "./changed-file.ts";

const UNIT = 1_000;

const folder = fc.constantFrom("", "src/", "src/auth/", "src/ui/", "test/", "docs/", "src/auth/deep/");
const name = fc.constantFrom("a", "b", "login", "lock", "view", "index", "x", "y");
const ending = fc.constantFrom(".ts", ".test.ts", ".py", ".md", ".json", ".go", ".h", ".c");
const path = fc.tuple(folder, name, ending).map((parts) => parts.join(""));

/** Files of any size up to `mostBytes`, one for each path; some import others. */
function changeOf(mostBytes: number, maxLength = 40) {
  const file = fc.record({
    path,
    diffBytes: fc.integer({ min: 30, max: mostBytes }),
    added: fc.nat(300),
    removed: fc.nat(300),
    reviewable: fc.boolean().map((no) => !no),
  });
  const files = fc.uniqueArray(file, { selector: (one) => one.path, maxLength });
  return fc.tuple(files, fc.infiniteStream(fc.tuple(fc.nat(), fc.boolean()))).map(([facts, choices]) => {
    const texts: Record<string, string> = {};
    for (const one of facts) {
      const [choice, imports] = choices.next().value as [number, boolean];
      const target = facts[choice % facts.length]!.path;
      if (imports) texts[one.path] = `import "${"../".repeat(one.path.split("/").length - 1)}./${target}"`;
    }
    return { files: facts.map((one) => ({ ...changedFile(one), reviewable: one.reviewable })), texts };
  });
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const bytesOf = (files: readonly ChangedFile[]) => sum(files.map(({ diffBytes }) => diffBytes));
const planned = ({ units }: Plan) => units.flatMap((unit) => unit.files);
const reviewable = (files: readonly ChangedFile[]) => files.filter((file) => file.reviewable);

const everywhere = { change: changeOf(1.5 * UNIT), totalBytes: fc.nat(20 * UNIT) };

/** Holds of every plan of every change within every budget. */
function ofAnyPlan(holds: (made: Plan, files: ChangedFile[], totalBytes: number) => boolean) {
  return fc.assert(
    fc.asyncProperty(everywhere.change, everywhere.totalBytes, async ({ files, texts }, totalBytes) =>
      holds(await plan(files, { unitBytes: UNIT, totalBytes, texts }), files, totalBytes),
    ),
  );
}

describe("any plan", () => {
  it("Each reviewable file is in exactly one unit or among those that are left", () =>
    ofAnyPlan((made, files) => {
      const all = [...planned(made), ...made.left];
      return all.length === reviewable(files).length && new Set(all).size === all.length;
    }));

  it("The bytes of a unit are those of its files", () =>
    ofAnyPlan(({ units }) => units.every((unit) => unit.diffBytes === bytesOf(unit.files))));

  it("Every unit with several files fits, and all units fit the budget", () =>
    ofAnyPlan(
      ({ units }, _, totalBytes) =>
        units.every((unit) => unit.files.length === 1 || unit.diffBytes <= UNIT) &&
        sum(units.map((unit) => unit.diffBytes)) <= totalBytes,
    ));

  it("No two units would fit into one", () =>
    ofAnyPlan(({ units }) => {
      const [smallest = 0, second = UNIT + 1] = units.map((unit) => unit.diffBytes).toSorted((a, b) => a - b);
      return smallest + second > UNIT;
    }));

  it("Units are numbered by risk, and a unit is as risky as its riskiest file", () =>
    ofAnyPlan(({ units }) =>
      units.every(
        (unit, at) => unit.id === `${at + 1}` && unit.risk > 0 && unit.risk <= (units[at - 1]?.risk ?? 1 / 0),
      ),
    ));

  it("The plan does not depend on the order of the files", () =>
    fc.assert(
      fc.asyncProperty(everywhere.change, everywhere.totalBytes, async ({ files, texts }, totalBytes) => {
        const options = { unitBytes: UNIT, totalBytes, texts };
        const made = await plan(files, options);
        const again = await plan(files.toReversed(), options);
        return JSON.stringify(made) === JSON.stringify(again);
      }),
    ));

  it("A file is left only if riskier ones leave no room for it", () =>
    fc.assert(
      fc.asyncProperty(changeOf(1.5 * UNIT), fc.nat(20 * UNIT), async ({ files }, totalBytes) => {
        const made = await plan(files, { unitBytes: UNIT, totalBytes });
        const risk = (file: ChangedFile) => fileRisk(file, { matches: 0, users: 0 });
        return made.left.every((file) => {
          const before = planned(made).filter((one) => risk(one) >= risk(file));
          return file.diffBytes > totalBytes - bytesOf(before);
        });
      }),
    ));

  it("Small files make at most 1.25 times the units that their size needs, and one", () =>
    fc.assert(
      fc.asyncProperty(changeOf(UNIT / 5, 120), async ({ files, texts }) => {
        const { units } = await plan(files, { unitBytes: UNIT, texts });
        return units.length <= 1.25 * Math.ceil(bytesOf(reviewable(files)) / UNIT) + 1;
      }),
    ));

  it("A change that fits one unit is one unit", () =>
    fc.assert(
      fc.asyncProperty(changeOf(2 * UNIT), async ({ files, texts }) => {
        const unitBytes = bytesOf(reviewable(files));
        const { units } = await plan(files, { unitBytes, texts });
        return units.length === Math.min(1, reviewable(files).length);
      }),
    ));

  it("A further page of documentation does not change the reading order of code", () =>
    fc.assert(
      fc.asyncProperty(changeOf(UNIT / 2), fc.nat(5_000), async ({ files, texts }, added) => {
        const page = changedFile({ path: "docs/page.rst", added, diffBytes: 90 });
        const code = (made: Plan) => made.units.flatMap((unit) => unit.files).filter(isCode);
        const options = { unitBytes: 1_000 * UNIT, texts };
        const [before, after] = [await plan(files, options), await plan([...files, page], options)];
        return JSON.stringify(code(before)) === JSON.stringify(code(after)) && pathsOf(after).length === 1;
      }),
    ));
});

const isCode = ({ change }: ChangedFile) => !change.path.endsWith(".md") && change.path !== "docs/page.rst";
