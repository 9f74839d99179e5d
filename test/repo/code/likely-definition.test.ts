import { describe, expect, it } from "vitest";
import { definesLikely, writesLikely } from "../../../src/repo/code/likely-definition.ts";

describe("definesLikely", () => {
  it.each([
    "def name(self):",
    "export async function* name() {",
    "func (s *Server) name(w io.Writer) error {",
    "fun String.name(): Int = 1",
    "  public static final class name<T> {",
    "#define name(a) ((a) + 1)",
    "# define name 1",
    "impl<T> Display for name {",
    "type name = string;",
    "macro_rules! name {",
    "export const name = (a) => a;",
  ])("A line surely defines the name: %s", (line) => expect(definesLikely(line, "name")).toBe(3));

  it.each([
    "static int name(struct loop* loop) {",
    "  async name(input) {",
    "  private void name(int a, int b)",
    "exports.name = () => 1;",
    "Type.prototype.name = function () {",
    "NetworkAddress Parser::name(const char* text) {",
    "  name: 'value',",
    "name = 1",
  ])("A line may define the name: %s", (line) => expect(definesLikely(line, "name")).toBe(2));

  it.each(["  name(1);", "name(self.value)", "name (void)"])(
    "A line may define or call the name: %s",
    (line) => expect(definesLikely(line, "name")).toBe(1),
  );

  it.each([
    "  return name(1);",
    "const { other, name } = require('x');",
    "const first = name(second);",
    "import type { name } from './name.ts';",
    "class Other extends name {",
    "  this.name(1);",
    "if (name(1)) {",
    "function other(name) {",
    "// calls name() twice",
  ])("A line does not look like a definition: %s", (line) => expect(definesLikely(line, "name")).toBe(0));
});

describe("writesLikely", () => {
  it.each([
    "  this.name = 1;",
    "name += other",
    "name: 'value',",
    '  { "name": 1 }',
    "name := open()",
    "count, name := open()",
    "  name++;",
    "--name;",
    'items["name"] = 1',
    "name[key] = 1;",
    "cache.set('name', value);",
    'setattr(self, "name", value)',
    "ctx = context.WithValue(ctx, name, 1)",
    "UPDATE orders SET name = 1",
    "call(name=1)",
  ])("A line seems to write the name: %s", (line) => expect(writesLikely(line, "name")).toBe(true));

  it.each([
    "if (name === other) {",
    "if name == other:",
    "name <= 3",
    "name != 3",
    "const f = (name) => 1;",
    "name => 1",
    "call(name);",
    "rename = 1;",
    "names = 1;",
    "function f(name: string) {",
    "  name: string,",
    "  // name = 1",
    " * name = 1",
    "cache.get('name')",
    "const other = name;",
    "name ? a : b",
  ])("A line seems not to write the name: %s", (line) => expect(writesLikely(line, "name")).toBe(false));

  it("A hostile line is checked in linear time", () => {
    for (const part of ["name[", "name ", "set(name", "{", "name:", "WithValue("])
      expect(writesLikely(part.repeat(50_000), "name")).toBeTypeOf("boolean");
  });
});
