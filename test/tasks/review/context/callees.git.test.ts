import { describe, expect, it } from "vitest";
import { changeMessage, codeAround, manyLines, pieceOf } from "./first-message.ts";

/** A file of functions, each with a body of its own, far apart. */
const helpers = (...names: string[]) =>
  names
    .map((name) => `export function ${name}(list) {\n  log("${name}");\n  return list.length;\n}\n`)
    .join("\n");

describe("callees in the first message", () => {
  it("The message holds what changed lines call, and only the names of what is called far from them", async () => {
    const source = (call: string) =>
      `import { near, far, added } from "./helpers";\nexport function run(list) {\n  far(list);\n${manyLines("  // remark", 20)}  near(list);\n  ${call}\n}\n`;
    const message = await changeMessage("src/run.js", source, ["", "added(list);"], {
      "src/helpers.js": helpers("near", "far", "added"),
    });
    expect(pieceOf(message, "function added, called by run")).toContain('log("added")');
    expect(pieceOf(message, "function near, called by run")).toContain('log("near")');
    expect(pieceOf(message, "function far")).toBe("");
    expect(codeAround(message)).toContain("\nalso calls: far (src/helpers.js:6)");
  });

  it("The message holds what a callee of changed lines calls in its own file", async () => {
    const helper = `export function outer(list) {\n  return inner(list) + 1;\n}\n\nfunction inner(list) {\n  return list.at(-1);\n}\n`;
    const source = (call: string) =>
      `import { outer } from "./helper";\nexport function run(list) {\n  return ${call};\n}\n`;
    const message = await changeMessage("src/run.js", source, ["0", "outer(list)"], {
      "src/helper.js": helper,
    });
    expect(pieceOf(message, "function inner, called by outer")).toContain("6|  return list.at(-1);");
  });

  it("The message holds an inherited method that super calls", async () => {
    const source = (call: string) =>
      `class Base:\n    def store_row(self, row):\n        self.rows.append(row)\n\n\nclass Child(Base):\n    def store_row(self, row):\n        pass\n\n\n${manyLines("# remark", 9)}\n    def keep(self, row):\n        ${call}\n`;
    const message = await changeMessage("rows.py", source, ["pass", "super().store_row(row)"]);
    expect(pieceOf(message, "Base.store_row, called by")).toContain("self.rows.append(row)");
    expect(pieceOf(message, "Child.store_row, called by")).toBe("");
  });
});

describe("callees that the first message leaves out", () => {
  it("A method of another object is left out, although an own one has its name", async () => {
    const source = (call: string) =>
      `class Reporter:\n    def write(self, text):\n        self.log(text)\n\n${manyLines("    # remark", 12)}\n    def show(self, text):\n        ${call}\n`;
    const message = await changeMessage("report.py", source, ["pass", "self._tw.write(str(text))"]);
    expect(pieceOf(message, "Reporter.write, called by")).toBe("");
  });

  it("A function with a common name is left out, although a class has a method of that name", async () => {
    const source = (call: string) =>
      `class Row:\n    def sorted(self):\n        return Row()\n\n${manyLines("    # remark", 12)}\n    def show(self, rows):\n        ${call}\n`;
    const message = await changeMessage("row.py", source, ["pass", "return sorted(rows)"]);
    expect(codeAround(message)).not.toContain("Row.sorted, called by");
  });

  it("A call of a variable of another type is left out", async () => {
    const source = (call: string) =>
      `import java.io.File;\nclass Cache {\n  void purgeAll(File file) {\n    ${call}\n  }\n}\n`;
    const other = "class Editor {\n  void deleteOnExit() {\n    log();\n    close();\n  }\n}\n";
    const message = await changeMessage("Cache.java", source, ["", "file.deleteOnExit();"], {
      "Editor.java": other,
    });
    expect(codeAround(message)).not.toContain("deleteOnExit");
  });

  it("A method of an unknown object is only named if several classes have it", async () => {
    const type = (name: string) =>
      `class ${name} {\n  refresh() {\n    this.log();\n    this.load();\n  }\n}\n`;
    const source = (call: string) => `export function run(thing) {\n  ${call}\n}\n`;
    const message = await changeMessage("run.js", source, ["", "thing.refresh();"], {
      "a.js": type("One"),
      "b.js": type("Two"),
    });
    expect(codeAround(message)).not.toContain("called by");
    expect(codeAround(message)).toContain("also calls: refresh (a.js:2; b.js:2)");
  });

  it("The callees of a function are left out if only a variable is renamed", async () => {
    const source = (name: string) =>
      `import { near } from "./helpers";\nexport function run(list) {\n  const ${name} = near(list);\n  log();\n  return ${name};\n}\n`;
    const message = await changeMessage("src/run.js", source, ["total", "sum"], {
      "src/helpers.js": helpers("near"),
    });
    expect(codeAround(message)).not.toContain("near");
  });
});
