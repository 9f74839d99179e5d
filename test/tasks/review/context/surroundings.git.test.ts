import { describe, expect, it } from "vitest";
import { changeMessage, codeAround, firstMessageOf, manyLines, pieceOf } from "./first-message.ts";

/** A function that is long enough to be a neighbor of its own. */
const lasting = (name: string, text = "work();") => `function ${name}() {\n  ${text}\n  ${text}\n}\n\n`;

describe("surroundings in the first message", () => {
  it("The message holds the type of a changed method, with its fields and constructors", async () => {
    const type = (value: number) =>
      `class Keywords:\n    """Own ones first."""\n\n    def __init__(self, node):\n        self.node = node\n        self.own = {}\n\n    def __len__(self):\n        return ${value}\n`;
    const message = await firstMessageOf({ "keys.py": type(1) }, { "keys.py": type(2) });
    expect(codeAround(message)).toContain("5|        self.node = node");
    expect(codeAround(message)).toContain('2|    """Own ones first."""');
  });

  it("The message holds the fields and constructors of a long type, without other methods", async () => {
    const methods = Array.from(
      { length: 60 },
      (_, at) => `  step${at}() {\n    one();\n    two();\n    three();\n  }\n`,
    ).join("");
    const type = (value: number) =>
      `class Pool {\n  limit = 8;\n  constructor(name) {\n    this.name = name;\n  }\n${methods}  take() {\n    return ${value};\n  }\n}\n`;
    const message = await firstMessageOf({ "pool.js": type(1) }, { "pool.js": type(2) });
    const piece = pieceOf(message, "class Pool, around take");
    expect(piece).toContain("2|  limit = 8;");
    expect(piece).toContain("4|    this.name = name;");
    expect(piece).not.toContain("step30");
  });

  it("The message holds the type that a changed method's type extends", async () => {
    const source = (value: string) =>
      `package a;\nclass Timer extends Task {\n  void run() {\n    ${value}\n  }\n}\n`;
    const base = "package a;\nclass Task {\n  Task(Runnable what) {\n    this.what = what;\n  }\n}\n";
    const message = await changeMessage("a/Timer.java", source, ["stop();", "again();"], {
      "a/Task.java": base,
    });
    expect(pieceOf(message, "class Task, which Timer extends")).toContain("4|    this.what = what;");
  });

  it("The message holds functions with similar names, and none that is only near", async () => {
    const file = (value: number) =>
      [
        lasting("readLimitOfSets"),
        ...Array.from({ length: 12 }, (_, at) => lasting(`other${at}`)),
        `function readLimitOfLists() {\n  return ${value};\n}\n\n`,
        ...Array.from({ length: 12 }, (_, at) => lasting(`more${at}`)),
      ].join("");
    const code = codeAround(await firstMessageOf({ "a.js": file(1) }, { "a.js": file(2) }));
    expect(code).toContain("function readLimitOfSets, built like readLimitOfLists");
    expect(code).not.toMatch(/function (?:other|more)\d+, built like/);
  });

  it("A word that all names of a file begin with makes no neighbor", async () => {
    const file = (value: number) =>
      [
        ...Array.from({ length: 20 }, (_, at) => lasting(`hashTypeStep${at}`)),
        `function hashTypeTry() {\n  return ${value};\n}\n`,
      ].join("");
    const code = codeAround(await firstMessageOf({ "a.js": file(1) }, { "a.js": file(2) }));
    expect(code).not.toContain("built like hashTypeTry");
  });

  it("The message holds a constant with a similar name, and none between", async () => {
    const value = (name: string, text: string) => `const ${name} = [\n  "${text}",\n  "b",\n];\n`;
    const file = (text: string) =>
      value("SOURCE_ZSH", "z") + value("WIDTH", "w") + value("SOURCE_FISH", text);
    const code = codeAround(await firstMessageOf({ "a.js": file("old one") }, { "a.js": file("new one") }));
    expect(code).toContain("constant SOURCE_ZSH, beside SOURCE_FISH");
    expect(code).not.toContain("WIDTH, beside");
  });
});

describe("values of a change in the first message", () => {
  it("The message holds other uses of what an added line names", async () => {
    const source = (call: string) => `export function serve(request) {\n  ${call}\n}\n`;
    const other = `import { originalOf } from "./original.js";\nexport function log(request) {\n  const one = originalOf(request);\n  if (one === undefined) return;\n}\n`;
    const message = await firstMessageOf(
      {
        "original.js": "export function originalOf(request) {\n  return request.first;\n}\n",
        "serve.js": source("send(request);"),
        "log.js": other,
      },
      { "serve.js": source("send(originalOf(request));") },
    );
    expect(pieceOf(message, "log.js", "uses originalOf too in log")).toContain(
      "4|  if (one === undefined) return;",
    );
  });
});

describe("a change of tests alone", () => {
  it("The message holds what changed tests call", async () => {
    const test = (call: string) =>
      `import { total } from "./total.js";\nfunction check() {\n  ${call}\n}\ntest("sums", check);\n`;
    const message = await firstMessageOf(
      {
        "total.js": `export function total(items) {\n${manyLines("  add(items);", 5)}  return 1;\n}\n`,
        "total.test.js": test("expect(1);"),
      },
      { "total.test.js": test("expect(total([]));") },
    );
    expect(pieceOf(message, "total.js", "function total, called by check")).toContain(
      "1|export function total",
    );
  });
});

describe("the search for names", () => {
  it("Generated pages of documentation do not crowd out names", async () => {
    const page = "<a>findInjectable</a>\n".repeat(40);
    const pages = Object.fromEntries(
      Array.from({ length: 10 }, (_, at) => [`docs/javadoc/${at}/index-all.html`, page]),
    );
    const source = (value: string) => `export function findInjectable(one) {\n  return ${value};\n}\n`;
    const caller = `import { findInjectable } from "./find.js";\nexport function inject(one) {\n  return findInjectable(one);\n}\n`;
    const message = await firstMessageOf(
      { ...pages, "find.js": source("one"), "inject.js": caller },
      { "find.js": source("null") },
    );
    expect(pieceOf(message, "inject.js", "uses findInjectable in function inject")).toContain("3|");
  });
});
