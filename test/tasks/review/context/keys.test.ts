import { describe, expect, it } from "vitest";
import { statementAround } from "../../../../src/tasks/review/context/keys.ts";

const around = (text: string, literal: string) => {
  const lines = text.split("\n");
  const line = lines.findIndex((one) => one.includes(literal)) + 1;
  return statementAround(lines, line, literal);
};
const roleIn = (text: string, literal = "max-size") => around(text, literal).role;

describe("statementAround", () => {
  it("A statement covers a whole call over several lines", () => {
    const python =
      'before()\nparser.add_option(\n    "max-size",\n    type=int,\n    help="(bytes",\n)\nafter()';
    expect(around(python, "max-size")).toEqual({ range: { start: 2, end: 6 }, role: "registers" });
    const go = 'before()\nflags.Int(\n\t"max-size", 3,\n)\nafter()';
    expect(around(go, "max-size")).toEqual({ range: { start: 2, end: 4 }, role: "registers" });
    const typescript = 'before();\nregister({\n  name: "max-size",\n  size: [1, 2],\n});\nafter();';
    expect(around(typescript, "max-size").range).toEqual({ start: 2, end: 5 });
  });

  it("A statement ends at its block", () => {
    const text = 'function read() {\n  one();\n  use("max-size");\n  two();\n}';
    expect(around(text, "max-size").range).toEqual({ start: 3, end: 3 });
  });

  it("A statement without an end nearby is one line", () => {
    const text = `call("max-size",\n${"  1,\n".repeat(40)})`;
    expect(around(text, "max-size").range).toEqual({ start: 1, end: 1 });
  });
});

describe("the role of a literal", () => {
  it.each([
    ['const MAX_SIZE = "max-size";'],
    ['    public static final String MAX_SIZE = "max-size";'],
    ['#define MAX_SIZE "max-size"'],
    ['\tMaxSize Option = "max-size"'],
    ['  "max-size": 3,'],
    ["  'max-size' => 3,"],
    ['defaults["max-size"] = 3'],
    ['parser.addini("max-size", "bytes")'],
    ['on("max-size", () => {'],
  ])("A literal registers in %s", (text) => {
    expect(roleIn(text)).toBe("registers");
  });

  it.each([
    ['config.get("max-size")'],
    ['config.getOption("max-size")'],
    ['os.environ["max-size"]'],
    ['if (name === "max-size") {'],
    ['    case "max-size":'],
    ['if (strcmp(name, "max-size") == 0)'],
    ['if "max-size" in options:'],
  ])("A literal asks in %s", (text) => {
    expect(roleIn(text)).toBe("asks");
  });

  it.each([['return "max-size"'], ['add(options, "max-size")'], ['["min-size", "max-size"]']])(
    "A literal is given in %s",
    (text) => {
      expect(roleIn(text)).toBe("given");
    },
  );
});
