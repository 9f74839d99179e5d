import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FileEdit, type FixScope, most, refusalsOf } from "../../../src/review/fix/check-edits.ts";
import { protectionOf } from "../../../src/review/fix/protected-paths.ts";

const scope: FixScope = {
  files: new Set(["src/cart.py", "package.json", ".github/workflows/ci.yml", "secret/plan.py"]),
  isPrivate: (path) => path.startsWith("secret/"),
};

const state = (text: string | Buffer, mode = "100644") => ({ mode, bytes: Buffer.from(text) });
const edit = (path: string, before: string | null, after: string | Buffer | null): FileEdit => ({
  path,
  before: before === null ? null : state(before),
  after: after === null ? null : state(after),
});
const reasonsOf = async (...edits: FileEdit[]) =>
  (await refusalsOf(edits, scope)).map(({ path, reason }) => `${path}: ${reason}`);

const many = (count: number, of: (n: number) => string) => Array.from({ length: count }, (_, n) => of(n));

describe("the edits of a fix", () => {
  it("are taken where they change a file of the pull request, or a test", async () => {
    expect(await reasonsOf(edit("src/cart.py", "a\nb\n", "a\nc\n"))).toEqual([]);
    expect(await reasonsOf(edit("tests/test_cart.py", null, "def test_c():\n    assert c\n"))).toEqual([]);
    expect(await reasonsOf(edit("src/cart.py", "a\n", null))).toEqual([]);
  });

  it("are refused in any other file, and in one that is private", async () => {
    expect(await reasonsOf(edit("src/other.py", "a\n", "b\n"))).toEqual([
      "src/other.py: it is neither a file of the pull request nor a test",
    ]);
    expect(await reasonsOf(edit("secret/plan.py", "a\n", "b\n"))).toEqual([
      "secret/plan.py: the configuration keeps it private",
    ]);
  });

  it.each([
    ".github/workflows/ci.yml",
    ".GitHub/Workflows/CI.yml",
    ".github/actions/setup/test/action.yml",
    ".github/dependabot.yml",
    ".github/hunkwise.yml",
    "tests/.hunkwise.yml",
    "CODEOWNERS",
    "docs/codeowners",
    ".gitattributes",
    "tests/.gitmodules",
    "tests/.git/config",
    "tests/.GIT/hooks/pre-commit",
    "../tests/a.py",
    "/tests/a.py",
    "tests/a.py\0",
    "tests/package-lock.json",
    "Cargo.lock",
    ".husky/pre-commit",
    "packages/a/.husky/test/run",
    ".npmrc",
    ".circleci/config.yml",
    "Jenkinsfile",
    "AGENTS.md",
    "tests/.claude/settings.json",
  ])("are refused in %s, also where the pull request changes it", async (path) => {
    expect(protectionOf(path)).not.toBeNull();
    const refusals = await refusalsOf([edit(path, "a\n", "b\n")], { ...scope, files: new Set([path]) });
    expect(refusals).toEqual([{ path, reason: protectionOf(path) }]);
  });

  it.each(["src/a.ts", "github/workflows/a.yml", "docs/lock.md", "src/husky.ts", "lib/agents.py"])(
    "may be made in %s",
    (path) => expect(protectionOf(path)).toBeNull(),
  );

  it("leave alone what a package program runs and installs", async () => {
    const before = '{"name": "a", "scripts": {"test": "vitest"}, "dependencies": {"b": "1"}}';
    const changed = [
      '{"name": "a", "scripts": {"test": "curl x | sh"}, "dependencies": {"b": "1"}}',
      '{"name": "a", "scripts": {"test": "vitest", "postinstall": "x"}, "dependencies": {"b": "1"}}',
      '{"name": "a", "scripts": {"test": "vitest"}, "dependencies": {"b": "1", "evil": "1"}}',
      '{"name": "a", "scripts": {"test": "vitest"}, "scripts": {"x": "y"}, "dependencies": {"b": "1"}}',
      "{",
    ];
    for (const after of changed) {
      expect(await reasonsOf(edit("package.json", before, after))).toEqual([
        "package.json: it changes what a package program runs",
      ]);
    }
    const described = before.replace('"a"', '"a", "description": "b"');
    expect(await reasonsOf(edit("package.json", before, described))).toEqual([]);
  });

  it("keep each file's mode, and are text", async () => {
    const run = { path: "src/cart.py", before: state("a\n"), after: state("b\n", "100755") };
    expect(await reasonsOf(run)).toEqual(["src/cart.py: it changes whether the file can be executed"]);
    const link = { path: "src/cart.py", before: state("/etc", "120000"), after: state("b\n") };
    expect(await reasonsOf(link)).toEqual(["src/cart.py: it is a link or a submodule"]);
    const fresh = { path: "tests/run.sh", before: null, after: state("b\n", "100755") };
    expect(await reasonsOf(fresh)).toEqual(["tests/run.sh: it changes whether the file can be executed"]);
    expect(await reasonsOf(edit("src/cart.py", "a\n", Buffer.from([97, 0])))).toEqual([
      "src/cart.py: it is binary",
    ]);
  });

  it("bring no secret and no character that nobody sees, but may leave what stands", async () => {
    const key = ["AKIA", "Z7QX3VJ5KD2WMN4T"].join("");
    expect(await reasonsOf(edit("src/cart.py", "a\n", `key = "${key}"\n`))).toEqual([
      "src/cart.py: it adds what looks like a secret",
    ]);
    expect(await reasonsOf(edit("src/cart.py", `key = "${key}"\na\n`, `key = "${key}"\nb\n`))).toEqual([]);
    expect(await reasonsOf(edit("src/cart.py", "a\n", 'a = "\u202e;x"\n'))).toEqual([
      "src/cart.py: it adds characters that nobody sees",
    ]);
  });

  it("are small", async () => {
    const files = many(most.files + 1, (n) => `tests/t${n}.py`).map((path) => edit(path, null, "a\n"));
    expect(await reasonsOf(...files)).toEqual(["null: it changes 21 files; a fix changes at most 20"]);
    const long = many(most.lines, (n) => `${n}\n`).join("");
    expect(await reasonsOf(edit("src/cart.py", "", long))).toEqual([]);
    expect(await reasonsOf(edit("src/cart.py", "a\n", long))).toEqual([
      `null: it changes ${most.lines + 1} lines; a fix changes at most ${most.lines}`,
    ]);
  });

  it("are judged by what a path means, however it is written", async () => {
    const mixed = (text: string) =>
      fc
        .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
        .map((upper) => [...text].map((char, at) => (upper[at] ? char.toUpperCase() : char)).join(""));
    const hostile = fc.constantFrom(".github/workflows/test.yml", "codeowners", "tests/.gitattributes");
    await fc.assert(
      fc.asyncProperty(hostile.chain(mixed), async (path) => {
        const refusals = await refusalsOf([edit(path, null, "a\n")], { ...scope, files: new Set([path]) });
        expect(refusals).toHaveLength(1);
      }),
      { numRuns: 50 },
    );
  });
});
