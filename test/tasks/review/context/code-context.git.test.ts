import { describe, expect, it } from "vitest";
import { changeMessage, codeAround, diffOf, firstMessageOf, manyLines, pieceOf } from "./first-message.ts";

/** Statements that are unlike each other, so that a hunk has no more context than it should. */
const steps = (count: number, indent = "  ") =>
  Array.from({ length: count }, (_, at) => `${indent}step${at + 1}();\n`).join("");

describe("a changed function in the first message", () => {
  it("The diff holds the whole body in one hunk, with the comment above it", async () => {
    const source = (limit: number) =>
      `import x from "x";\n\n// Walks.\nfunction walk(items) {\n${steps(10)}  const limit = ${limit};\n${steps(10)}  return items;\n}\n\nother();\n`;
    const message = await firstMessageOf({ "walk.js": source(1) }, { "walk.js": source(2) });

    const lines = diffOf(message, "walk.js").split("\n").slice(1);
    expect(lines.slice(0, 3)).toEqual(["@@ -3,25 +3,25 @@", "3  // Walks.", "4  function walk(items) {"]);
    expect(lines).toEqual(expect.arrayContaining(["14    step10();", "15 -  const limit = 1;", "27  }"]));
    expect(lines.filter((line) => line.startsWith("@@"))).toHaveLength(1);
    expect(lines).not.toContain("29  other();");
    expect(codeAround(message)).not.toContain("###");
  });

  it("The message holds the diff alone if there is no room for more", async () => {
    const source = (limit: number) =>
      `function walk(items) {\n${steps(40)}  const limit = ${limit};\n${steps(40)}  return items;\n}\n`;
    const message = await changeMessage("walk.js", source, [1, 2], {}, { over: { contextBytes: 500 } });
    expect(diffOf(message, "walk.js").split("\n").slice(1, 3)).toEqual([
      "@@ -39,7 +39,7 @@ function walk(items) {",
      "39    step38();",
    ]);
  });

  it("The message adds nothing if the hunks show the function whole", async () => {
    const message = await firstMessageOf(
      { "a.js": "function one() {\n  return 1;\n}\n" },
      { "a.js": "function one() {\n  return 2;\n}\n" },
    );
    expect(diffOf(message, "a.js").match(/^@@/gm)).toHaveLength(1);
    expect(codeAround(message)).not.toContain("###");
  });

  it("A long function is shown by its head, its end and the lines around the change", async () => {
    const source = (value: number) =>
      `def long():\n${steps(200, "    ")}    x = ${value}\n${steps(200, "    ")}    return x\n`;
    const message = await firstMessageOf({ "long.py": source(1) }, { "long.py": source(2) });

    const listing = diffOf(message, "long.py");
    expect(listing).toContain("1  def long():");
    expect(listing).toContain("190      step189();");
    expect(listing).toContain("403      return x");
    expect(listing).not.toContain("      step100();");
  });

  it("A changed field is shown with its comment, neighbors, readers and the head of its type", async () => {
    const source = (type: string) =>
      `package shop;\nclass Order {\n  final String id;\n${manyLines("  // remark", 20)}\n  int tax;\n  // Cents.\n  ${type} total;\n  Order(String id) { this.id = id; }\n${manyLines("  // more", 20)}}\n`;
    const reader =
      "package shop;\nclass Bill {\n  long sum(Order order) {\n    return order.total;\n  }\n}\n";
    const message = await changeMessage("Order.java", source, ["int", "Integer"], { "Bill.java": reader });
    const listing = diffOf(message, "Order.java");
    expect(listing).toContain("2  class Order {\n@@ ");
    expect(listing).toContain("    // remark 20");
    expect(listing).not.toContain("    // remark 10\n");
    expect(listing).not.toContain("    // more 9\n");
    expect(pieceOf(message, "Bill.java", "uses total")).toContain("4|    return order.total;");
  });

  it("A long constant is shown around the change", async () => {
    const source = (value: number) =>
      `export const TABLE = [\n${manyLines("  // row", 60)}  ${value},\n${manyLines("  // end", 60)}];\n`;
    const message = await firstMessageOf({ "table.js": source(1) }, { "table.js": source(2) });
    const listing = diffOf(message, "table.js");
    expect(listing).toContain("1  export const TABLE = [");
    expect(listing).toContain("    // row 55");
    expect(listing).not.toContain("    // row 30\n");
  });
});

describe("callees and their bodies", () => {
  it("The message holds the body of an imported function with its comment", async () => {
    const helper =
      "// Answers -1 for an empty list, and never throws.\nexport function firstIndex(list: string[]): number {\n  return list.length === 0 ? -1 : 0;\n}\n";
    const user = (call: string) =>
      `import { firstIndex } from "./helper";\nexport function pick(list: string[]) {\n  return list[${call}];\n}\n`;
    const message = await firstMessageOf(
      {
        "src/helper.ts": helper,
        "src/pick.ts": user("0"),
        "other/x.ts": "export const firstIndex = () => 99;\n",
      },
      { "src/pick.ts": user("firstIndex(list)") },
    );
    const piece = pieceOf(message, "src/helper.ts", "function firstIndex, called by pick on line 3");
    expect(piece).toContain("1|// Answers -1 for an empty list, and never throws.");
    expect(piece).toContain("3|  return list.length === 0 ? -1 : 0;");
    expect(pieceOf(message, "other/x.ts", "called by")).toBe("");
  });

  it("The message holds a function of the same Go package", async () => {
    const message = await firstMessageOf(
      {
        "srv/join.go": 'package srv\n\nfunc joinHost(host string) string {\n\treturn host + ":80"\n}\n',
        "srv/dial.go": "package srv\n\nfunc dial(host string) string {\n\treturn host\n}\n",
      },
      { "srv/dial.go": "package srv\n\nfunc dial(host string) string {\n\treturn joinHost(host)\n}\n" },
    );
    expect(pieceOf(message, "srv/join.go", "joinHost, called by dial")).toContain('4|\treturn host + ":80"');
  });

  it("The message holds a C function and not its prototype", async () => {
    const message = await firstMessageOf(
      {
        "io.h": "int io_stop(int fd);\n",
        "io.c": '#include "io.h"\nint io_stop(int fd) {\n  return -fd;\n}\n',
        "main.c": '#include "io.h"\nint quit(int fd) {\n  return 0;\n}\n',
      },
      { "main.c": '#include "io.h"\nint quit(int fd) {\n  return io_stop(fd);\n}\n' },
    );
    expect(pieceOf(message, "io.c", "io_stop, called by quit")).toContain("3|  return -fd;");
    expect(pieceOf(message, "io.h:", "called by")).toBe("");
  });

  it("Lines that the change added in a file of another unit are marked", async () => {
    const helper = (value: number) =>
      `export function firstIndex(list) {\n  return list.length - ${value};\n}\n`;
    const user = (call: string) =>
      `import { firstIndex } from "./helper";\nexport function pick(list) {\n  return ${call};\n}\n`;
    const message = await firstMessageOf(
      { "helper.js": helper(1), "pick.js": user("0") },
      { "helper.js": helper(2), "pick.js": user("firstIndex(list)") },
      { unit: ({ change }) => change.path === "pick.js" },
    );
    expect(pieceOf(message, "helper.js", "firstIndex")).toContain(
      "1|export function firstIndex(list) {\n2+|  return list.length - 2;\n3|}",
    );
  });

  it("The message holds what the old code called and the new code does not", async () => {
    const source = (call: string) =>
      `def clean(rows):\n    rows = list(rows)\n${call}    return rows\n\n\n${manyLines("# remark", 9)}\n\ndef drop_hidden(rows):\n    return [row for row in rows if not row.hidden]\n`;
    const message = await changeMessage("rows.py", source, ["    rows = drop_hidden(rows)\n", ""]);
    expect(pieceOf(message, "drop_hidden, was called by clean")).toContain("if not row.hidden]");
  });

  it("The message holds no callee with a common name, or with too many definitions", async () => {
    const classes = ["A", "B", "C", "D", "E"].map(
      (name, at) =>
        [
          `${name}.java`,
          `class ${name} {\n  void ${at < 2 ? "push" : name}() {}\n  void refresh() {}\n}\n`,
        ] as const,
    );
    const use = (body: string) =>
      `package far.away;\nclass Use {\n  void all(Object o) {\n    ${body}\n  }\n}\n`;
    const message = await firstMessageOf(
      {
        ...Object.fromEntries(classes.map(([path, text]) => [`lib/${path}`, text])),
        "far/away/Use.java": use(""),
      },
      { "far/away/Use.java": use("o.push(); o.refresh();") },
    );
    expect(codeAround(message)).not.toContain("called by");
  });
});

describe("callers in the first message", () => {
  it("The message holds the calling statement and the head of its function", async () => {
    const caller = `from events import next_event\n\ndef parse(stream):\n    out = []\n${steps(80, "    ")}    while True:\n        event = next_event(stream)\n        if event is None:\n            return out\n        out.append(event)\n`;
    const source = (value: string) => `def next_event(stream):\n    return ${value}\n`;
    const message = await changeMessage("lib/events.py", source, ["stream.pop()", "stream.pop() or None"], {
      "lib/parser.py": caller,
    });
    const piece = pieceOf(message, "lib/parser.py", "uses next_event in function parse");
    expect(piece).toContain("3|def parse(stream):");
    expect(piece).toContain("86|        event = next_event(stream)");
    expect(piece).not.toContain("|    step5();");
  });

  it("The message holds the remaining callers of a removed function", async () => {
    const message = await firstMessageOf(
      {
        "lib.go": "package lib\n\nfunc Old() int {\n\treturn 1\n}\n\nfunc New() int {\n\treturn 2\n}\n",
        "use.go": "package lib\n\nfunc use() int {\n\treturn Old()\n}\n",
      },
      { "lib.go": "package lib\n\nfunc New() int {\n\treturn 2\n}\n" },
    );
    expect(pieceOf(message, "use.go", "uses Old in function use")).toContain("4|\treturn Old()");
  });

  it("The message shows tests apart from other code", async () => {
    const source = (value: number) => `export function price(n: number) {\n  return n * ${value};\n}\n`;
    const test = `import { price } from "./price";\nit("costs more for two", () => {\n  expect(price(2)).toBe(4);\n});\n`;
    const message = await changeMessage("src/price.ts", source, [2, 3], { "src/price.test.ts": test });
    expect(codeAround(message)).toContain("## Tests of it");
    expect(pieceOf(message, "src/price.test.ts", "uses price in test")).toContain(
      "3|  expect(price(2)).toBe(4);",
    );
    expect(codeAround(message)).not.toContain("## What uses the changed code");
  });

  it("The message ignores names in comments and strings", async () => {
    const source = (value: number) => `export function ratio() {\n  return ${value};\n}\n`;
    const message = await changeMessage("ratio.ts", source, [1, 2], {
      "note.ts": '// ratio is one\nexport const title = "ratio";\n',
    });
    expect(message).not.toContain("note.ts");
  });

  it("The message holds no users of a type that only got another member", async () => {
    const source = (more: string) => `class Writer {\n  int one() {\n    return 1;\n  }\n${more}}\n`;
    const message = await changeMessage(
      "Writer.java",
      source,
      ["", "\n  int two() {\n    return 2;\n  }\n"],
      { "User.java": "class User {\n  Writer writer = new Writer();\n}\n" },
    );
    expect(message).not.toContain("User.java");
  });

  it("The message holds other methods of the same name", async () => {
    const store = (name: string, body: string) =>
      `class ${name} implements Store {\n  readRow(id: string) {\n    ${body}\n  }\n}\n`;
    const message = await firstMessageOf(
      { "a.ts": store("Disk", "return null;"), "b.ts": store("Memory", 'throw new Error("absent");') },
      { "a.ts": store("Disk", "return undefined;") },
    );
    expect(pieceOf(message, "b.ts", "method Memory.readRow, built like Disk.readRow")).toContain(
      "throw new Error",
    );
  });
});

describe("values in the first message", () => {
  it("The message holds code that sets the values that new lines read", async () => {
    const reader = (key: string) => `def serve(request):\n    return request.${key}\n`;
    const message = await changeMessage("app/serve.py", reader, ["path", "upstream_key"], {
      "app/boot.py": "def boot(request, debug):\n    if debug:\n        request.upstream_key = 'x'\n",
    });
    const piece = pieceOf(message, "app/boot.py", "sets upstream_key in boot, which serve now reads");
    expect(piece).toContain("2|    if debug:\n3|        request.upstream_key = 'x'");
  });
});

describe("values that the change sets", () => {
  it("The message holds code that reads a value that the change sets", async () => {
    const writer = (value: string) => `export function begin(state) {\n${value}  return state;\n}\n`;
    const reader = "export function limitOf(state) {\n  if (state.maxParts > 3) throw new Error();\n}\n";
    const message = await changeMessage("src/begin.js", writer, ["", "  state.maxParts = null;\n"], {
      "src/limit.js": reader,
      "src/other.js": "export const maxParts = 3;\nuse(maxParts);\n",
    });
    const piece = pieceOf(message, "src/limit.js", "reads maxParts in limitOf, which begin now sets");
    expect(piece).toContain("2|  if (state.maxParts > 3)");
    expect(pieceOf(message, "src/other.js", "reads")).toBe("");
  });
});
