import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Graph } from "../../../src/repo/index/graph.ts";
import { goFiles, pythonFiles, rustFiles, typescriptFiles } from "./caller-samples.ts";
import { callersOf, openTexts } from "./open-texts.ts";

let graph: Graph;
beforeAll(async () => {
  graph = await openTexts({ ...typescriptFiles, ...pythonFiles, ...goFiles, ...rustFiles });
});
afterAll(() => graph[Symbol.dispose]());

describe("callers in TypeScript", () => {
  it("Callers in TypeScript are found through imports, other names, re-exports and whole modules", () => {
    expect(callersOf(graph, "parseRange")).toEqual([
      "web/aliased.ts:3",
      "web/direct.ts:3",
      "web/handed-on.ts:3",
      "web/module.ts:3",
    ]);
  });

  it("A local variable or another file's function of that name is no callee", () => {
    expect(callersOf(graph, "format", "web/format.ts")).toEqual(["web/format.ts:3"]);
  });

  it("Callers of a method are found through declared types", () => {
    expect(callersOf(graph, "persist", "web/store.ts")).toEqual([
      "web/uses-store.ts:14",
      "web/uses-store.ts:4",
      "web/uses-store.ts:5",
      "web/uses-store.ts:8",
    ]);
  });

  it("Callers of an implementation are less certain than those of its interface", () => {
    const [method] = graph.symbols("send").filter(({ path }) => path === "web/mailer.ts");
    expect(graph.callers(method!)).toMatchObject([{ path: "web/uses-mailer.ts", line: 3, certainty: 0.6 }]);
    const [signature] = graph.symbols("send").filter(({ path }) => path === "web/sender.ts");
    expect(graph.callers(signature!)).toMatchObject([{ line: 3, certainty: 0.92 }]);
  });

  it("Callers of a class and of its constructor create an instance", () => {
    expect(callersOf(graph, "Store", "web/store.ts")).toEqual(["web/store.ts:8", "web/uses-store.ts:4"]);
    expect(callersOf(graph, "constructor", "web/store.ts")).toEqual(
      callersOf(graph, "Store", "web/store.ts"),
    );
  });

  it("A caller names the function around it", () => {
    const [symbol] = graph.symbols("parseRange");
    const direct = graph.callers(symbol!).find(({ path }) => path === "web/direct.ts");
    expect(direct?.within).toEqual({ name: "direct", container: null, startLine: 2, endLine: 4 });
  });
});

describe("callers in Python", () => {
  it("Callers in Python are found through modules, packages and other names", () => {
    expect(callersOf(graph, "helper")).toEqual(["app.py:10", "app.py:11", "app.py:12"]);
    expect(callersOf(graph, "fetch_row")).toEqual(["pkg/store.py:12"]);
  });

  it("Callers of an inherited Python method are found on the inheriting class", () => {
    expect(callersOf(graph, "shut")).toEqual(["app.py:9"]);
  });

  it("Callers of a Python class are found wherever it was imported from", () => {
    expect(callersOf(graph, "Shelf")).toEqual(["app.py:14", "app.py:7"]);
  });

  it("A Python parameter with the name of a method is no caller", () => {
    const [symbol] = graph.symbols("fetch_row");
    expect(graph.callers(symbol!, 0).some(({ path }) => path === "app.py")).toBe(false);
  });
});

describe("callers in Go", () => {
  it("Callers in Go are found in other files of the package and through its import", () => {
    expect(callersOf(graph, "NewVault")).toEqual(["cmd/main.go:6", "vault/more.go:4"]);
  });

  it("Callers of a Go method are certain by a declared result, and likely by a unique name", () => {
    const [symbol] = graph.symbols("Load");
    expect(graph.callers(symbol!).map(({ path, line, certainty }) => [`${path}:${line}`, certainty])).toEqual(
      [
        ["cmd/main.go:12", 0.92],
        ["cmd/main.go:8", 0.65],
        ["cmd/main.go:10", 0.65],
        ["vault/more.go:5", 0.65],
      ],
    );
  });
});

describe("callers in a language whose imports name no names", () => {
  it("Callers in the same file are more certain than in the same folder", () => {
    const [symbol] = graph.symbols("weigh_all");
    expect(graph.callers(symbol!).map(({ path, certainty }) => [path, Math.round(certainty * 100)])).toEqual([
      ["crate/src/scale.rs", 100],
      ["crate/src/main.rs", 92],
    ]);
  });
});

it("A method of a literal is none of the repository", async () => {
  using own = await openTexts({
    "a.py":
      'class Helper:\n    def assist(self):\n        pass\n\n"text".assist()\nf"{x}".assist()\n[1].assist()\n',
    "a.ts": 'class Helper {\n  support() {}\n}\n"text".support();\n[first].support();\n`first`.support();\n',
  });
  expect(callersOf(own, "assist")).toEqual([]);
  expect(callersOf(own, "support")).toEqual([]);
});

it("The calls in a definition's own file are found, however common its name is", async () => {
  const others = Object.fromEntries(
    Array.from({ length: 50 }, (_, at) => [`a${at}.ts`, `function z() {} // ${at}\n${"z();\n".repeat(90)}`]),
  );
  using own = await openTexts({ ...others, "z.ts": "function z() {}\nz();\n" });
  expect(callersOf(own, "z", "z.ts")).toEqual(["z.ts:2"]);
});

it("A line without a definition has no callers", () => {
  expect(graph.callers({ path: "web/direct.ts", name: "absent", line: 1 })).toEqual([]);
  expect(graph.symbols("absent")).toEqual([]);
});
