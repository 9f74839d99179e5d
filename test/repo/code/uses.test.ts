import { describe, expect, it } from "vitest";
import { parseSource } from "../../../src/repo/code/parse.ts";

/** `role receiver.name:line`, with the declared type of a variable in brackets. */
async function usesIn(path: string, text: string): Promise<string[]> {
  const source = await parseSource(path, text);
  return (source?.uses() ?? []).map(({ name, line, role, receiver, variable }) => {
    const type = variable === null ? "" : `[${variable}]`;
    return `${role} ${receiver === null ? "" : `${receiver}${type}.`}${name}:${line}`;
  });
}

describe("the uses in a file", () => {
  it("Uses are calls, reads and types of names that are no local variables", async () => {
    const text = `import { open, type Box } from "./box.ts";
const limit = 3;
export function run(size: Box, { inner }: Box) {
  const later = () => size;
  for (const one of inner) open(one, limit);
  return later();
}
`;
    expect(await usesIn("a.ts", text)).toEqual([
      "type Box:3",
      "type Box:3",
      "call open:5",
      "read limit:5",
      "call later:6",
    ]);
  });

  it("Uses of an imported name exclude the block whose variable hides it", async () => {
    const text = `import { open } from "./box.ts";
function run(all) {
  for (const open of all) {
    open();
  }
  all.map((open) => open());
  open();
}
`;
    expect(await usesIn("a.ts", text)).toEqual(["call all[].map:6", "call open:7"]);
    const inPython = "from box import shut\n\ndef run(all):\n    [shut() for shut in all]\n    shut()\n";
    expect(await usesIn("a.py", inPython)).toEqual(["call shut:5"]);
  });

  it("Uses of members have their receiver, and the declared type of its variable", async () => {
    const text = `import * as box from "./box.ts";
import { Lid } from "./lid.ts";
class Shelf {
  fill(box2: box.Box, other) {
    const made = new Lid();
    box2.open();
    made.turn();
    other.inner.close();
    this.fill(box.limit);
    super.fill(other.size);
  }
}
`;
    expect(await usesIn("a.ts", text)).toEqual([
      "read box:4",
      "type box.Box:4",
      "call Lid:5",
      "call box2[box.Box].open:6",
      "call made[Lid].turn:7",
      "call other.inner[].close:8",
      "call this.fill:9",
      "read box:9",
      "read box.limit:9",
      "call super.fill:10",
    ]);
  });

  it("The uses in a file include the call of the constructor of a base class", async () => {
    const text = "class Own extends Base {\n  constructor() {\n    super(1);\n    super.run();\n  }\n}\n";
    expect(await usesIn("a.js", text)).toContain("call super.constructor:3");
  });

  it("Uses include calls of Go's generic functions, and the names of a type switch", async () => {
    const text = `package a
func run(any interface{}) {
	pick[Site](nil)
	switch found := any.(type) {
	case *Site:
		found.Go()
	}
}
`;
    const uses = await usesIn("a.go", text);
    expect(uses).toContain("call pick:3");
    expect(uses).toContain("call found[].Go:6");
  });

  it("Uses include calls in Rust's macros, and name PHP's variables without their sign", async () => {
    expect(await usesIn("a.rs", 'fn f() {\n    println!("{}", weigh(1));\n}\n')).toContain("call weigh:2");
    const php = "<?php\nfunction f(Box $box) {\n  $box->open();\n}\n";
    expect(await usesIn("a.php", php)).toEqual(["type Box:2", "call box[].open:3"]);
    const script = 'import { core, $Box } from "c";\ncore.$Box.open();\n$Box.open();\n';
    expect(await usesIn("a.ts", script)).toEqual([
      ...["read core:2", "read core.$Box:2", "call core.$Box.open:2", "read $Box:3", "call $Box.open:3"],
    ]);
  });

  it("Uses in a file without a parser are calls alone", async () => {
    expect(await usesIn("a.lua", "local size = limit\nbox.open(size)\n")).toEqual(["call box.open:2"]);
  });
});
