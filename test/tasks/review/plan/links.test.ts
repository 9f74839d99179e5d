import { describe, expect, it } from "vitest";
import { findLinks } from "../../../../src/tasks/review/plan/plan-units.ts";
import { changedFile, changedFiles } from "./changed-file.ts";

/** Whom a file that begins so imports, of changed files at these paths. */
async function importedBy(path: string, text: string, others: readonly string[]): Promise<string[]> {
  const { users } = await findLinks(changedFiles([path, ...others]), async (asked) =>
    asked === path ? text : "",
  );
  return others.filter((_, at) => users[at + 1] === 1);
}

describe("imports between changed files", () => {
  it.each([
    ["src/a.ts", 'import { b } from "./b.ts";', "src/b.ts"],
    ["src/a.ts", 'import type { b } from "./b.js"', "src/b.ts"],
    ["src/a.ts", 'export * from "../lib"', "lib/index.ts"],
    ["src/a.ts", 'const b = await import("./b.service")', "src/b.service.ts"],
    ["src/a.js", "const b = require( './b' );", "src/b.cjs"],
    ["src/a.ts", 'import {\n  one,\n  two,\n} from "@/parts/b";', "src/parts/b.tsx"],
    ["src/a.vue", 'import "./a.css"', "src/a.css"],
    ["app/a.scss", '@use "parts/b";', "app/parts/_b.scss"],
    ["lib/a.dart", "import 'package:app/src/b.dart';", "lib/src/b.dart"],
    ["pkg/a.py", "from .b import c", "pkg/b.py"],
    ["pkg/a.py", "from . import b, d", "pkg/b.py"],
    ["pkg/sub/a.py", "from ..b import c", "pkg/b.py"],
    ["pkg/sub/a.py", "from .. import c", "pkg/__init__.py"],
    ["tools/x/a.py", "from pkg.b import c", "src/pkg/b.py"],
    ["a.py", "import os, pkg.b as b", "pkg/b.py"],
    [
      "cmd/main.go",
      'import (\n\t"fmt"\n\n\tstore "example.com/o/r/internal/store"\n)',
      "internal/store/open.go",
    ],
    ["cmd/main.go", 'import "example.com/o/r/store"', "store/open.go"],
    ["A.java", "import org.x.b.Bill;", "core/src/main/java/org/x/b/Bill.java"],
    ["A.kt", "import org.x.b.Bill.Companion.of", "src/main/kotlin/org/x/b/Bill.kt"],
    ["A.java", "import static org.x.b.Bill.of;", "org/x/b/Bill.java"],
    ["src/a.c", '#include "b.h"', "include/b.h"],
    ["src/a.c", "#  include <lib/b.h>", "src/lib/b.h"],
    ["src/main.rs", "pub mod b;", "src/b.rs"],
    ["src/b.rs", "mod c;", "src/b/c.rs"],
    ["crates/x/src/b/c.rs", "use crate::d::e::F;", "crates/x/src/d/e.rs"],
    ["src/b/c.rs", "pub(crate) use super::d;", "src/b/d.rs"],
    ["lib/x/a.rb", "require_relative '../b'", "lib/b.rb"],
    ["app/a.rb", "require 'x/b'", "lib/x/b.rb"],
    ["src/A.php", "use App\\Models\\Bill;", "src/Models/Bill.php"],
    ["A.cs", "using Shop.Services.Billing;", "src/Services/Billing/Bill.cs"],
  ])("In %s, %j means %s", async (path, text, target) => {
    expect(await importedBy(path, text, [target, "other/z.ts", "other/z.py"])).toEqual([target]);
  });

  it.each([
    ["src/a.ts", 'import x from "lodash"', "lib/lodash.ts"],
    ["src/a.ts", 'import { b } from "./b"', "src/b.py"],
    ["a.py", "import json", "lib/json.py"],
    ["main.go", 'import "net/http"', "http/a.go"],
    ["src/a.ts", 'import x from "./a"', "src/a.test.ts"],
  ])("In %s, %j does not mean %s", async (path, text, other) => {
    expect(await importedBy(path, text, [other])).toEqual([]);
  });

  it("An import leads to the nearest of several files", async () => {
    const others = ["one/src/x/b.py", "two/src/x/b.py"];
    expect(await importedBy("two/app/a.py", "from x.b import c", others)).toEqual(["two/src/x/b.py"]);
  });

  it("An import leads to a moved file, by its old path too", async () => {
    const moved = changedFile({ path: "src/new/b.ts", over: { oldPath: "src/b.ts", type: "renamed" } });
    const files = [...changedFiles(["src/a.ts"]), moved];
    expect((await findLinks(files, async () => 'import "./b.ts"')).users).toEqual([0, 1]);
  });

  it("An import leads to the file that is at a path now, not to one that was moved away", async () => {
    const moved = changedFile({ path: "a/b.ts", over: { oldPath: "src/b.ts", type: "renamed" } });
    const files = [moved, ...changedFiles(["src/a.ts", "src/b.ts"])];
    const { users } = await findLinks(files, async (path) => (path === "src/a.ts" ? 'import "./b.ts"' : ""));
    expect(users).toEqual([0, 0, 1]);
  });

  it("A deleted file is not searched for imports", async () => {
    const gone = changedFile({ path: "src/a.ts", over: { type: "deleted" } });
    const asked: string[] = [];
    await findLinks([gone, ...changedFiles(["src/b.ts", "c.md"])], async (path) => {
      asked.push(path);
      return "";
    });
    expect(asked).toEqual(["src/b.ts"]);
  });

  it("An import of a test makes no user", async () => {
    const files = changedFiles(["src/a.ts", "src/b.test.ts", "src/c.ts"]);
    expect((await findLinks(files, async () => 'import "./a"')).users).toEqual([1, 0, 0]);
  });

  it("The links are bounded if everything imports everything", async () => {
    const paths = Array.from({ length: 500 }, (_, at) => `src/f${at}.ts`);
    const text = paths.map((path) => `import "./${path.slice(4)}"`).join("\n");
    const { related } = await findLinks(changedFiles(paths), async () => text);
    expect(related.reduce((sum, one) => sum + one.size, 0)).toBeLessThan(500 * 150);
  });
});

describe("pairs by name", () => {
  it.each([
    ["src/login.ts", "src/login.test.ts"],
    ["src/login.tsx", "src/__tests__/login.tsx"],
    ["app/login.py", "app/test_login.py"],
    ["app/users/login.py", "tests/users/test_login.py"],
    ["pkg/login.go", "pkg/login_test.go"],
    ["src/main/java/a/Login.java", "src/test/java/a/LoginTest.java"],
    ["src/main/java/a/Login.java", "src/it/LoginIT.java"],
    ["lib/login.rb", "spec/login_spec.rb"],
    ["src/login.ts", "test/login.test.ts"],
  ])("%s is tested by %s", async (code, test) => {
    const files = changedFiles([code, test, "src/other.ts"]);
    expect([...(await findLinks(files, async () => "")).tested]).toEqual([[1, 0]]);
  });

  it("A test belongs to the file whose folders are its own", async () => {
    const files = changedFiles(["src/b/run.ts", "src/a/run.ts", "test/a/run.test.ts"]);
    expect([...(await findLinks(files, async () => "")).tested]).toEqual([[2, 1]]);
  });

  it.each([
    ["a header and its source", changedFiles(["src/a.c", "src/a.h"])],
    ["a template and its code", changedFiles(["src/a.component.html", "src/a.component.ts"])],
  ])("A pair is made of %s", async (_, files) => {
    expect((await findLinks(files, async () => "")).pairs).toEqual([[0, 1]]);
  });
});
