import { describe, expect, it } from "vitest";
import { changeMessage, codeAround, firstMessageOf, manyLines, pieceOf } from "./first-message.ts";

describe("keys in the first message", () => {
  it("The message holds the statement that registers a Python option, and its readers", async () => {
    const main = `def configure(parser):\n    parser.addini(\n        "testpaths",\n        type="args",\n        help="Where to look",\n    )\n`;
    const source = (value: string) => `def collect(config):\n    return ${value}\n`;
    const message = await changeMessage("src/collect.py", source, ["[]", 'config.getini("testpaths")'], {
      "src/main.py": main,
      "src/a.py": 'x = ini.get("testpaths")\n',
    });
    const piece = pieceOf(message, "src/main.py", 'has "testpaths", as in collect');
    expect(piece).toContain('2|    parser.addini(\n3|        "testpaths",\n4|        type="args",');
    expect(piece).toContain("6|    )");
    expect(pieceOf(message, "src/a.py", 'has "testpaths", as in collect')).toContain(
      '1|x = ini.get("testpaths")',
    );
  });

  it("The message holds the constant of a Go annotation, in any quotes", async () => {
    const source = (value: string) => `package cmd\n\nfunc run(c *C) string {\n\treturn ${value}\n}\n`;
    const message = await changeMessage("cmd/run.go", source, ['""', 'c.Annotations["cmd_flag_hidden"]'], {
      "cmd/keys.go": "package cmd\n\n// Set for hidden flags.\nconst Hidden = `cmd_flag_hidden`\n",
    });
    expect(pieceOf(message, "cmd/keys.go", 'has "cmd_flag_hidden"')).toContain("4|const Hidden");
  });

  it("The message holds a header, an event and a variable in TypeScript, C and Java", async () => {
    const message = await firstMessageOf(
      {
        "a/a.ts": "export function a(h) {\n  return h;\n}\n",
        "a/set.ts": 'send({\n  "x-request-id": nextId(),\n});\n',
        "c/c.c": "int c(void) {\n  return 0;\n}\n",
        "c/env.c": 'static void init(void) {\n  declare("APP_TRACE_LEVEL",\n          3);\n}\n',
        "j/J.java": "class J {\n  int j(Bus bus) {\n    return 0;\n  }\n}\n",
        "j/K.java": 'class K {\n  void k(Bus bus) {\n    bus.on("row-saved", this::k);\n  }\n}\n',
      },
      {
        "a/a.ts": "export function a(h) {\n  return h['x-request-id'];\n}\n",
        "c/c.c": 'int c(void) {\n  return level("APP_TRACE_LEVEL");\n}\n',
        "j/J.java": 'class J {\n  int j(Bus bus) {\n    return bus.emit("row-saved");\n  }\n}\n',
      },
    );
    expect(pieceOf(message, "a/set.ts", 'has "x-request-id"')).toContain('2|  "x-request-id": nextId(),');
    expect(pieceOf(message, "c/env.c", 'has "APP_TRACE_LEVEL"')).toContain("3|          3);");
    expect(pieceOf(message, "j/K.java", 'has "row-saved"')).toContain('3|    bus.on("row-saved", this::k);');
  });

  it("The message ignores what is no key, is too common, or is in tests and private files", async () => {
    const source = (value: string) => `export function a(x) {\n  return ${value};\n}\n`;
    const user = 'use("some words", "row-saved");\n';
    const message = await changeMessage(
      "src/a.js",
      source,
      ["x", '[x, "some words", "file-name", "row-saved"]'],
      {
        "src/words.js": 'use("some words");\n',
        "src/many.js": manyLines('use("file-name", 1); //', 30),
        "src/a.test.js": user,
        "secret/b.js": user,
        "src/part.js": 'use("row-saved-twice");\n',
      },
      { private: ["secret/"] },
    );
    expect(codeAround(message)).not.toMatch(/has "|secret|part\.js/);
  });

  it.each([
    ["py", "def a(c):\n    paths = c.get('look-in')\n", "    return ", "use(paths)", ""],
    [
      "go",
      'package a\n\nfunc a(c C) any {\n\tpaths, ok := c.Get("look-in")\n',
      "\treturn ",
      "use(paths)",
      "}\n",
    ],
    ["ts", 'function a(c: C) {\n  const paths: P = c.get("look-in");\n', "  return ", "use(paths)", "}\n"],
  ])(
    "The message holds the key that a variable on changed lines comes from, in .%s",
    async (end, head, indent, value, tail) => {
      const source = (text: string) => `${head}${indent}${text}\n${tail}`;
      const message = await firstMessageOf(
        { [`src/a.${end}`]: source("0"), "src/b.js": 'register("look-in", 1);\n' },
        { [`src/a.${end}`]: source(value) },
      );
      expect(pieceOf(message, "src/b.js", 'has "look-in", as in a')).toContain('1|register("look-in", 1);');
    },
  );

  it("The message holds a key beside hundreds of names", async () => {
    const calls = Array.from({ length: 600 }, (_, at) => `  call${at}();\n`).join("");
    const message = await firstMessageOf(
      { "src/a.js": "export function a() {\n}\n", "src/b.js": 'register("row-saved", 1);\n' },
      { "src/a.js": `export function a() {\n${calls}  emit("row-saved");\n}\n` },
    );
    expect(pieceOf(message, "src/b.js", 'has "row-saved"')).toContain('1|register("row-saved", 1);');
  });
});
