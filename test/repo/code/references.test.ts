import { describe, expect, it } from "vitest";
import { parseSource } from "../../../src/repo/code/parse.ts";
import type { Source } from "../../../src/repo/code/source.ts";

async function sourceOf(path: string, text: string): Promise<Source> {
  const source = await parseSource(path, text);
  if (!source) throw new Error(`${path} was refused`);
  return source;
}

/** A statement of each language, wrapped so that it parses. */
const codes: Record<string, (body: string) => string> = {
  "a.ts": (body) => body,
  "a.py": (body) => body,
  "a.go": (body) => `package a\nfunc f() { ${body} }`,
  "A.java": (body) => `class A { void f() { ${body} } }`,
  "a.c": (body) => `void f(void) { ${body} }`,
  "a.cpp": (body) => `void f() { ${body} }`,
  "a.rs": (body) => `fn f() { ${body} }`,
  "a.rb": (body) => body,
  "a.kt": (body) => `fun f() { ${body} }`,
  "A.cs": (body) => `class A { void F() { ${body} } }`,
  "a.php": (body) => `<?php ${body}`,
};
const codeOf = (path: string, body: string) => codes[path]?.(body) ?? body;

describe("calls", () => {
  it.each([
    ["a.ts", "a?.b.c(new Foo(1));", ["a?.b c", " Foo"]],
    ["a.py", "a.b.c(Foo(1))", ["a.b c", " Foo"]],
    ["a.go", "a.b.C(foo(1))", ["a.b C", " foo"]],
    ["A.java", "this.b.c(new Foo<>(1)); d();", ["this.b c", " Foo", " d"]],
    ["a.c", "a->b(foo(1));", ["a b", " foo"]],
    ["a.cpp", "N::foo<int>(new Bar(1));", ["N foo", " Bar"]],
    ["a.rs", 'x::Foo::new(a.b()); println!("{}", baz(1));', ["x::Foo new", "a b", " println", " baz"]],
    ["a.rb", "a.b(foo(1))\nFoo.new(2)", ["a b", " foo", "Foo new"]],
    ["a.kt", "a.b.c(Foo(1)) { it }", ["a.b c", " Foo"]],
    ["A.cs", "a.B<int>(new Foo(1));", ["a B", " Foo"]],
    ["a.php", "$a->b(new Foo(1)); Bar::baz();", ["$a b", " Foo", "Bar baz"]],
  ])("Calls have a name and a receiver: %s", async (path, body, expected) => {
    const source = await sourceOf(path, codeOf(path, body));
    const found = source.calls(1, 10).map((one) => `${one.receiver ?? ""} ${one.name}`);
    expect([...new Set(found)].sort()).toEqual([...expected].sort());
  });

  it("Calls on some lines are those of these lines alone", async () => {
    const source = await sourceOf("a.py", "a()\nb()\nc()\n");
    expect(source.calls(2, 2)).toEqual([{ name: "b", line: 2, receiver: null }]);
  });
});

describe("references", () => {
  it.each([
    ["a.ts", "const o = { name: 1 }; o.name = 2; f(o.name); // name\n'name'", "write write read"],
    ["a.ts", "function f({ name = 1 }, name: string = '') { return name(name) }", "write write call read"],
    ["a.ts", "import { name } from './x'; let x: name;", "import type"],
    [
      "a.py",
      "f(name=1)\nself.name = name\ndef g(name, x=name): pass\n# name",
      "write write read definition read",
    ],
    ["a.py", "from x import name\nx: name = name.y()", "import type read"],
    ["a.go", "p := T{name: 1}; p.name = name(); name := 2", "write write call definition"],
    ["A.java", "this.name = name; int name = o.name(); // name", "write read definition call"],
    ["a.c", "p->name = name; struct s q = { .name = 1 }; name(name);", "write read write call read"],
    [
      "a.rs",
      "let a = A { name: name }; a.name = 3; let name = 1; name!();",
      "write read write definition call",
    ],
    ["a.rb", "f(name: 1)\nself.name = name\nx.name", "write write read call"],
    ["a.kt", "f(name = name); o.name = 2; val name = o.name", "write read write definition read"],
    ["A.cs", "f(name: name); o.name = 2; var name = o.name();", "write read write definition call"],
    ["a.php", "f(name: $name); $this->name = 2; $this->name();", "write read write call"],
  ])("A reference has a role: %s %s", async (path, body, roles) => {
    const source = await sourceOf(path, codeOf(path, body));
    const found = source.references(new Set(["name"])).map((one) => one.role);
    expect(found.join(" ")).toBe(roles);
  });

  it("References are found for names with signs of regular expressions", async () => {
    const source = await sourceOf("a.ts", "$a.b$(c)");
    expect(source.references(new Set(["$a", "b$", "(c)", "", "x|c"])).map((one) => one.name)).toEqual([
      "$a",
      "b$",
    ]);
  });
});

describe("names that lines rely on", () => {
  it.each([
    [
      "a.ts",
      "const local = options.limit;\nrun(local, { size: other, shared });",
      ["limit", "options", "other", "shared"],
    ],
    ["a.py", "local = options.limit\nrun(local, size=other)", ["limit", "options", "other"]],
    ["a.go", "local := options.limit; run(local, T{size: other})", ["limit", "options", "other"]],
    ["a.c", "int local = options->limit; run(local, other);", ["limit", "options", "other"]],
  ])("Lines rely on names that they read and do not define: %s", async (path, body, expected) => {
    const source = await sourceOf(path, codeOf(path, body));
    expect([...source.readNames(1, 10)].sort()).toEqual(expected);
  });
});

describe("imports", () => {
  it.each([
    [
      "a.ts",
      'import a from "x";\nexport * from "./y";\nconst b = require("z");\nawait import("./w");\nrequire(a);',
      "x ./y z ./w",
    ],
    ["a.py", "import os.path as p, sys\nfrom ..a.b import c\nfrom . import d", "os.path sys ..a.b . .d"],
    ["a.go", 'package a\nimport (\n"fmt"\nx "y/z"\n)', "fmt y/z"],
    ["A.java", "import a.b.C;\nimport static a.D.e;\nimport x.*;", "a.b.C a.D.e x.*"],
    ["a.c", '#include "x.h"\n#include <stdio.h>', "x.h stdio.h"],
    ["a.rs", "use std::io::Read;\nmod x;\nmod y { }", "std::io::Read x"],
    ["a.rb", 'require "json"\nrequire_relative "../x"', "json ../x"],
    ["a.kt", "import a.b.C\nimport x.*\nimport d.E as F", "a.b.C x.* d.E"],
    ["A.cs", "using A.B;\nusing static C.D;\nusing E = F.G;", "A.B C.D F.G"],
    ["a.php", "<?php use A\\B as C;\nrequire_once __DIR__ . '/x.php';", "A\\B /x.php"],
    ["a.sh", "source ./lib.sh\n. other.sh\necho import", "./lib.sh other.sh"],
  ])("An import is as the file writes it: %s", async (path, text, expected) => {
    const source = await sourceOf(path, text);
    expect(source.imports.map((one) => one.specifier).join(" ")).toBe(expected);
  });
});

describe("literals", () => {
  it.each(["a.ts", "a.py", "a.go", "A.java", "a.c", "a.rs", "a.rb", "a.kt", "A.cs", "a.php", "a.sh"])(
    "A literal is a text that documentation may contain: %s",
    async (path) => {
      const source = await sourceOf(path, codeOf(path, `f("--dry-run", "ab", "123", "${"x".repeat(61)}");`));
      expect(source.literals(1, 3)).toEqual(["--dry-run"]);
    },
  );
});
