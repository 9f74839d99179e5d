import { describe, expect, it } from "vitest";
import { parseSource } from "../../../src/repo/code/parse.ts";

/** `specifier imported -> local`, with a `+` for what is only offered to others. */
async function bindingsIn(path: string, text: string): Promise<string[]> {
  const source = await parseSource(path, text);
  return (source?.bindings() ?? []).map(
    ({ specifier, imported, local, reexport }) =>
      `${specifier} ${imported} ->${reexport ? "+" : ""} ${local}`,
  );
}

describe("the names that a file takes and offers", () => {
  it("The bindings of a TypeScript file are its imports and exports", async () => {
    const text = `import first, { a, type b as c /* d, */ } from "./x.ts";
import * as all from "y";
import "z";
export { a as e };
export * from "./f.ts";
export * as g from "./g.ts";
export type { H } from "./h.ts";
export default class I {}
const api = { a, j: c, ...all };
`;
    expect(await bindingsIn("a.ts", text)).toEqual([
      ...["./x.ts default -> first", "./x.ts a -> a", "./x.ts b -> c", "y * -> all", "z  -> "],
      ...[" a ->+ e", "./f.ts * ->+ *", "./g.ts * ->+ g", "./h.ts H ->+ H", " I ->+ default"],
      ...[" a ->+ api.a", " c ->+ api.j", " all ->+ api.*"],
    ]);
  });

  it("The bindings of a CommonJS file are what it loads and sets, also within functions", async () => {
    const text = `const whole = require("./x");
const { a, b: c } = require("./y");
exports.d = a;
module.exports = { c, e: require("./e"), ...whole };
module.exports = whole;
const late = async () => {
  const f = (await import("./f.js")).default;
};
`;
    expect(await bindingsIn("a.js", text)).toEqual([
      ...["./x * -> whole", "./y a -> a", "./y b -> c", " a ->+ d"],
      ...[" c ->+ c", "./e * ->+ e", " whole ->+ *", " whole ->+ export=", "./f.js default -> f"],
    ]);
  });

  it("The bindings of a Python or Go file are its imports", async () => {
    const python =
      "import a.b, c as d\nfrom .e import (f, # g\n  h as i)\nfrom . import j\nfrom k import *\n";
    expect(await bindingsIn("a.py", python)).toEqual([
      ...["a * -> a", "a.b  -> ", "c * -> d", ".e f -> f", ".e h -> i", ". j -> j", "k * -> *"],
    ]);
    const go =
      'package a\nimport (\n\t"net/http"\n\tm "example.org/money"\n\t_ "embed"\n\t"example.org/go-shop/v2"\n)\n';
    expect(await bindingsIn("a.go", go)).toEqual([
      ...["net/http * -> http", "example.org/money * -> m", "embed  -> ", "example.org/go-shop/v2 * -> shop"],
    ]);
  });

  it("The bindings of other files are the last words of their imports", async () => {
    expect(await bindingsIn("a.rs", "use crate::scale::weigh;\n")).toEqual([
      "crate::scale::weigh * -> weigh",
    ]);
  });
});
