import { describe, expect, it } from "vitest";
import { basesOf, typeNameOf, unlistedFields } from "../../../src/repo/code/declared-types.ts";
import { parseSource } from "../../../src/repo/code/parse.ts";

async function definitionsOf(path: string, text: string) {
  const source = await parseSource(path, text);
  return { definitions: source?.definitions ?? [], lines: text.split("\n") };
}

describe("the name of a written type", () => {
  it.each([
    [": Store", "Store"],
    [": Promise<Store | null>", "Store"],
    [": null | store.Store", "store.Store"],
    ['-> Optional["Store"]', "Store"],
    ["(*vault.Vault, error)", "vault.Vault"],
    ["&mut Box<dyn Store>", "Store"],
    ["List<Store>", "List"],
    ["Store[]", null],
    ["[]*Store", null],
    ["Store | Other", null],
    ["(store: Store) => Other", null],
    ["{ a: Store }", null],
    ["", null],
  ])("The name of a written type %s is %s", (written, name) => {
    expect(typeNameOf(written)).toBe(name);
  });
});

describe("declared types", () => {
  it.each([
    [
      "a.ts",
      "class A {\n  f: Store;\n  m(): Promise<Store> {}\n}\nconst c = async (): Promise<Store> => {};\ntype T = Store;\n",
    ],
    ["a.py", "class A:\n    f: Store\n    def m(self) -> Store:\n        pass\n"],
    [
      "a.go",
      "package a\ntype A struct {\n\tf *Store\n}\nfunc (a A) m() (*Store, error) { return nil, nil }\n",
    ],
    ["A.java", "class A {\n  Store f;\n  Store m() { return f; }\n}\n"],
    ["a.rs", "struct A { f: Store }\nimpl A {\n  fn m(&self) -> Result<Store, E> { x }\n}\n"],
    ["A.cs", "class A {\n  Store f { get; }\n  Store M() { return f; }\n}\n"],
    ["a.php", "<?php class A {\n  private Store $f;\n  function m(): Store {}\n}\n"],
  ])("Fields and results have declared types: %s", async (path, text) => {
    const { definitions } = await definitionsOf(path, text);
    const typed = definitions.filter(({ kind }) => kind !== "class" && kind !== "extension");
    expect(typed.length).toBeGreaterThanOrEqual(2);
    expect(typed.map(({ name, type }) => `${name} ${type}`)).toEqual(
      typed.map(({ name }) => `${name} Store`),
    );
  });

  it.each([
    ["a.ts", "class A<T extends X> extends ns.Base<T> implements One, Two {\n}\n", ["ns.Base", "One", "Two"]],
    ["a.py", "class A(Base, Generic[T], metaclass=M):\n    pass\n", ["Base"]],
    ["a.go", "package a\ntype A struct {\n\t*Base\n\tone.One `x`\n\tf int\n}\n", ["Base", "one.One"]],
    ["A.java", "class A extends Base<T> implements One {\n}\n", ["Base", "One"]],
    ["A.cs", "class A : Base, IOne where T : X {\n}\n", ["Base", "IOne"]],
    ["a.rb", "class A < Base\nend\n", ["Base"]],
    ["a.kt", "class A(val x: X) : Base(x), One {\n}\n", ["Base", "One"]],
  ])("A type names its bases: %s", async (path, text, bases) => {
    const { definitions, lines } = await definitionsOf(path, text);
    const one = definitions.find(({ name }) => name === "A");
    expect(one && basesOf(one, { path, lines })).toEqual(bases);
  });

  it("A field that only methods declare is listed once", async () => {
    const script = await definitionsOf(
      "a.ts",
      "class A {\n  listed = 1;\n  constructor(readonly store: Store, other: Other) {\n    this.made = new Made();\n    this.made = null;\n    this.listed = 2;\n  }\n}\n",
    );
    const python = await definitionsOf(
      "a.py",
      "class B:\n    def __init__(self):\n        self.cache: Cache | None = None\n        self.size = 3\n",
    );
    const found = [script, python].flatMap(({ definitions, lines }) => unlistedFields(definitions, lines));
    expect(found).toEqual([
      { name: "store", container: "A", line: 3, type: "Store" },
      { name: "made", container: "A", line: 4, type: "Made" },
      { name: "cache", container: "B", line: 3, type: "Cache" },
      { name: "size", container: "B", line: 4, type: null },
    ]);
  });
});
