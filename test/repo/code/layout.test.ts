import { describe, expect, it } from "vitest";
import { outlineByLayout } from "../../../src/repo/code/layout-source.ts";
import { parseSource } from "../../../src/repo/code/parse.ts";

describe("an outline by layout", () => {
  it.each([
    [
      "shell",
      "# Opens.\nopen_shop() {\n  cat <<END\nnot indented\nEND\n}\nfunction close {\n  :\n}\n",
      "open_shop 1-6, close 7-9",
    ],
    [
      "Lua",
      "-- Opens.\nlocal function open(a)\n  return a\nend\nfunction M.close()\nend\n",
      "open 1-4, M.close 5-6",
    ],
    [
      "Swift",
      "class Shop {\n  init(a: Int) {\n  }\n  func open() -> Int {\n    1\n  }\n}\n",
      "Shop 1-7, init 2-3, open 4-6",
    ],
    [
      "Scala",
      "object Shop {\n  def open(a: Int): Int =\n    a\n\n  def close = 1\n}\n",
      "Shop 1-6, open 2-3, close 5-5",
    ],
    ["Elixir", "defmodule Shop do\n  defp open(a) do\n    a\n  end\nend\n", "Shop 1-5, open 2-4"],
    ["Perl", "sub open {\n  my $a = 1;\n}\n", "open 1-3"],
    ["braces of their own line", "function f()\n{\n  a();\n}\nb();\n", "f 1-4"],
  ])("An outline by layout finds blocks: %s", (_, text, expected) => {
    const found = outlineByLayout(text).map((one) => `${one.name} ${one.docStart}-${one.end}`);
    expect(found.join(", ")).toBe(expected);
  });

  it("An outline by layout names the type that a member belongs to", () => {
    const found = outlineByLayout("class Shop {\n  func open() {\n  }\n}\n");
    expect(found.map(({ kind, container }) => [kind, container])).toEqual([
      ["class", null],
      ["method", "Shop"],
    ]);
  });
});

describe("a file without a grammar", () => {
  it("A file without a grammar has references outside of comments and strings", async () => {
    const source = await parseSource("a.lua", 'local size = 1 -- size\nprint("size", size)\nsize(2)\n');
    expect(source?.references(new Set(["size"])).map(({ line, role }) => `${line} ${role}`)).toEqual([
      "1 write",
      "2 read",
      "3 call",
    ]);
    expect(source?.calls(1, 3).map((one) => one.name)).toEqual(["print", "size"]);
  });

  it("Prose and data define nothing", async () => {
    for (const path of ["README.md", "a.json", "a.yml", "LICENSE"]) {
      const source = await parseSource(path, "class of things {\n}\nfunction words\n");
      expect(source?.definitions).toEqual([]);
    }
  });
});
