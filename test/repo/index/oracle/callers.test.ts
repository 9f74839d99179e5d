import { describe, expect, it } from "vitest";
import {
  agreementOf,
  compare,
  describeAgreement,
  draw,
  precisionOf,
  recallOf,
  sampleCalled,
  sampleUncalled,
} from "./agreement.ts";
import { openGraphFinder } from "./graph-finder.ts";
import { createMarkedOracle } from "./marked-files.ts";
import { methodsInPython, namesInPython } from "./marked-python.ts";
import { filesBelow } from "./own-files.ts";
import type { Files, Oracle } from "./truth.ts";
import { createService, createTypeScriptOracle } from "./typescript-oracle.ts";
import { createTypeScriptUses } from "./typescript-uses.ts";

const isLong = Boolean(process.env.HUNKWISE_LONG);
/** Symbols of a long run, and of the short one. */
const SAMPLE = 200;
const FEW = 60;
const SEED = 8;

/** Where callers agree for at least nine of ten symbols, and nothing is found for one of ten that has none. */
async function expectAgreement(name: string, files: Files, create: (files: Files) => Oracle, size: number) {
  const oracle = create(files);
  using graph = await openGraphFinder(files);
  const called = await compare(oracle, graph, sampleCalled(oracle, size, SEED));
  const uncalled = await compare(oracle, graph, sampleUncalled(oracle, Math.ceil(size / 4), SEED));
  if (isLong)
    console.log(describeAgreement(name, called), "| not called:", describeAgreement(name, uncalled));
  const differing = called.disagreements.map(
    ({ callable, missed, wrong }) =>
      `${callable.path}:${callable.line} ${callable.name} missed ${missed.slice(0, 3)} wrong ${wrong.slice(0, 3)}`,
  );
  expect(called.sampled, "symbols that are called").toBeGreaterThan(5);
  expect(agreementOf(called), differing.join("\n")).toBeGreaterThanOrEqual(0.9);
  expect(agreementOf(uncalled)).toBeGreaterThanOrEqual(0.9);
}

/** Where types and constants are used agrees for at least nine of ten. */
async function expectUses(name: string, files: Files, oracle: Oracle, size: number) {
  using graph = await openGraphFinder(files, "uses");
  // The service takes long to find what refers to one thing: it is asked for no more than are compared.
  const drawn = { ...oracle, callables: draw(oracle.callables, size, SEED) };
  const uses = await compare(oracle, graph, sampleCalled(drawn, size, SEED));
  if (isLong) console.log(describeAgreement(`${name}, uses`, uses));
  expect(uses.sampled, "types and constants that are used").toBeGreaterThan(5);
  expect(agreementOf(uses), JSON.stringify(uses.disagreements)).toBeGreaterThanOrEqual(0.9);
}

describe("callers that the graph finds", () => {
  const own = filesBelow(["src/repo/diff", "src/core/text"], /\.ts$/);
  const service = createService(own);

  it("The graph finds the callers that the TypeScript language service finds here", () =>
    expectAgreement("TypeScript", own, (files) => createTypeScriptOracle(files, service), FEW));

  it("The graph finds the uses of types and constants that this service finds", () =>
    expectUses("TypeScript", own, createTypeScriptUses(own, service), FEW));

  it.each([
    ["names in Python", namesInPython],
    ["methods in Python", methodsInPython],
  ])("The graph finds the callers that comments name for %s", async (_, texts) => {
    const files = new Map(Object.entries(texts));
    const oracle = createMarkedOracle(files);
    using graph = await openGraphFinder(files);
    const agreement = await compare(oracle, graph, sampleCalled(oracle, FEW, SEED));
    // These files hold one of each difficulty: a graph may leave some out, and must not guess.
    expect(precisionOf(agreement), JSON.stringify(agreement.disagreements)).toBe(1);
    expect(recallOf(agreement), JSON.stringify(agreement.disagreements)).toBeGreaterThanOrEqual(0.75);
  });
});

describe.skipIf(!isLong)("callers of two hundred symbols", () => {
  it.each([
    ["this repository", ["src"]],
    ["openai", ["node_modules/openai/src"]],
  ])(
    "The graph finds the callers of 200 symbols that the language service finds in %s",
    async (name, folders) => {
      const files = filesBelow(folders, /\.ts$/);
      const service = createService(files);
      await expectAgreement(name, files, (all) => createTypeScriptOracle(all, service), SAMPLE);
      await expectUses(name, files, createTypeScriptUses(files, service), SAMPLE);
    },
    600_000,
  );
});
