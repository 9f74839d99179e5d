import { describe, expect, it } from "vitest";
import { misjudged } from "./marked-files.ts";
import { methodsInPython, namesInPython } from "./marked-python.ts";
import { createPythonOracle } from "./python-oracle.ts";

/** A comment names what its line calls for certain, by the line on which that is marked as `def`. */
describe("the oracle for Python", () => {
  it("follows names through scopes, imports and their aliases", () => {
    expect(misjudged(createPythonOracle, namesInPython)).toEqual([]);
  });

  it("knows methods of bases and of super, and leaves open what may be one of several", () => {
    expect(misjudged(createPythonOracle, methodsInPython)).toEqual([]);
  });
});
