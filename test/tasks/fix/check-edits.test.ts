import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type FileEdit,
  type FixScope,
  most,
  protectionOf,
  refusalsOf,
} from "../../../src/tasks/fix/check-edits.ts";

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

describe("refusalsOf", () => {
  it("A fix may change a file of the pull request, and a test", async () => {
    expect(await reasonsOf(edit("src/cart.py", "a\nb\n", "a\nc\n"))).toEqual([]);
    expect(await reasonsOf(edit("tests/test_cart.py", null, "def test_c():\n    assert c\n"))).toEqual([]);
    expect(await reasonsOf(edit("src/cart.py", "a\n", null))).toEqual([]);
  });

  it("A fix may change no other file, and no private one", async () => {
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
    ".github/scripts/release.test.sh",
    ".github/copilot-instructions.md",
    ".gitlab/ci/build.test.yml",
    "azure-pipelines-tests.yaml",
    "Jenkinsfile.release",
    ...["lefthook-local.yml", ".lintstagedrc.mjs", "pnpm-workspace.yaml"],
    ".cargo/config.toml",
    ".mvn/wrapper/maven-wrapper.properties",
    "tests/requirements-dev.txt",
    "requirements/test.txt",
    "pyproject.toml",
    "tests/Cargo.toml",
    "go.mod",
    "Gemfile",
    "build.gradle.kts",
    "CLAUDE.local.md",
    ".zed/tasks.json",
    "tests/app.code-workspace",
    ".devcontainer.json",
    "mise.toml",
    "PACKAGE-LOCK.JSON",
    "module.bazel.LOCK",
    // Other spellings of the same file: of other systems, of other letters, of a folder in its place.
    "tests/codeowner\u017f",
    "tests/.np\u200bmrc",
    "tests/CODEOW~1",
    ...["tests/.npmrc.", "tests/.npmrc ", "tests/.npmrc::$DATA"],
    ".github\\workflows\\ci.test.yml",
    ".github\\134workflows\\134ci.test.yml",
    "./.github/workflows/ci.test.yml",
    ".github//workflows/ci.test.yml",
    "CODEOWNERS/tests/a.test.js",
    "package-lock.json/tests/a.test.js",
    "tests/",
    "tests/a\n.test.js",
    "tests/caf\\351.test.js",
  ])("A fix may not change %s, even if the pull request changes it", async (path) => {
    expect(protectionOf(path)).not.toBeNull();
    const refusals = await refusalsOf([edit(path, "a\n", "b\n")], { ...scope, files: new Set([path]) });
    expect(refusals).toEqual([{ path, reason: protectionOf(path) }]);
  });

  it.each([
    ...[
      "src/a.ts",
      "github/workflows/a.yml",
      "docs/lock.md",
      "src/husky.ts",
      "lib/agents.py",
      "src/größe/日.py",
    ],
    ...[
      "Makefile",
      "Dockerfile",
      "tests/conftest.py",
      "src/go.ts",
      "docs/environment.md",
      "src/[id]/page.tsx",
    ],
  ])("A fix may change %s", (path) => expect(protectionOf(path)).toBeNull());

  it("A fix may not change what a package manager runs or installs", async () => {
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
        "package.json: it changes what a package manager runs",
      ]);
    }
    const fetched = [
      '{"name": "a", "scripts": {"test": "vitest"}, "dependencies": {"b": "1"}, "packageManager": "yarn@https://x.example/y.tgz"}',
      '{"name": "a", "scripts": {"test": "vitest"}, "dependencies": {"b": "1"}, "trustedDependencies": ["b"]}',
      '{"name": "a", "scripts": {"test": "vitest"}, "dependencies": {"b": "1"}, "workspaces": ["*"]}',
      '{"name": "a", "scripts": {"test": "curl x | sh"}, "scripts": {"test": "vitest"}, "dependencies": {"b": "1"}}',
      "[]",
    ];
    for (const after of fetched) {
      expect(await reasonsOf(edit("package.json", before, after))).toEqual([
        "package.json: it changes what a package manager runs",
      ]);
    }
    const described = before.replace('"a"', '"a", "description": "b"');
    expect(await reasonsOf(edit("package.json", before, described))).toEqual([]);
  });

  it("A fix may not change a file's mode, and writes text only", async () => {
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

  it("A fix may add no secret and no invisible character, but may leave existing ones", async () => {
    const key = ["AKIA", "Z7QX3VJ5KD2WMN4T"].join("");
    expect(await reasonsOf(edit("src/cart.py", "a\n", `key = "${key}"\n`))).toEqual([
      "src/cart.py: it adds text that looks like a secret",
    ]);
    expect(await reasonsOf(edit("src/cart.py", `key = "${key}"\na\n`, `key = "${key}"\nb\n`))).toEqual([]);
    expect(await reasonsOf(edit("src/cart.py", "a\n", 'a = "\u202e;x"\n'))).toEqual([
      "src/cart.py: it adds invisible characters",
    ]);
    for (const line of ["a\u001b[2K", "a\rb", "a\b", "a\u009b2K"]) {
      expect(await reasonsOf(edit("src/cart.py", "a\n", `${line}\n`))).toEqual([
        "src/cart.py: it adds invisible characters",
      ]);
    }
    expect(await reasonsOf(edit("src/cart.py", "a\r\n", "\tb\r\n\f\r\n"))).toEqual([]);
  });

  it("A fix may add no secret that spans added and old lines", async () => {
    const body = Array.from({ length: 8 }, (_, n) =>
      createHash("sha384").update(`${n}`).digest("base64"),
    ).join("\n");
    const key = (text: string) => `-----BEGIN PRIVATE KEY-----\n${text}\n-----END PRIVATE KEY-----\n`;
    expect(await reasonsOf(edit("src/cart.py", key("put it here"), key(body)))).toEqual([
      "src/cart.py: it adds text that looks like a secret",
    ]);
    expect(await reasonsOf(edit("src/cart.py", key(body), `${key(body)}more\n`))).toEqual([]);
  });

  it("A fix may not delete or empty a test that the pull request does not change", async () => {
    const kept = "it is a test that the pull request does not change, and may not be deleted";
    expect(await reasonsOf(edit("tests/test_cart.py", "a\n", null))).toEqual([`tests/test_cart.py: ${kept}`]);
    expect(await reasonsOf(edit("tests/test_cart.py", "a\n", " \n"))).toEqual([
      `tests/test_cart.py: ${kept}`,
    ]);
    expect(await reasonsOf(edit("tests/test_cart.py", "a\n", "b\n"))).toEqual([]);
    expect(await reasonsOf(edit("tests/__init__.py", null, ""))).toEqual([]);
  });

  it("A fix may edit each path once, and no path may be the folder of another", async () => {
    const twice = "it is changed twice, or is also used as a folder";
    const first = edit("tests/test_cart.py", "a\n", "b\n");
    expect(await reasonsOf(first, edit("tests/test_cart.py", "a\n", "c\n"))).toEqual(
      Array(2).fill(`tests/test_cart.py: ${twice}`),
    );
    expect(await reasonsOf(edit("tests/test_cart.py/tests/a.py", null, "a\n"), first)).toEqual([
      `tests/test_cart.py: ${twice}`,
    ]);
    expect(
      await reasonsOf(edit("src/cart.py", "a\n", null), edit("src/cart.py/tests/a.py", null, "a\n")),
    ).toEqual([]);
  });

  it("A fix may change few files, lines and bytes", async () => {
    const files = many(most.files + 1, (n) => `tests/t${n}.py`).map((path) => edit(path, null, "a\n"));
    expect(await reasonsOf(...files)).toEqual(["null: it changes 21 files; a fix changes at most 20"]);
    const long = many(most.lines, (n) => `${n}\n`).join("");
    expect(await reasonsOf(edit("src/cart.py", "", long))).toEqual([]);
    expect(await reasonsOf(edit("src/cart.py", "a\n", long))).toEqual([
      `null: it changes ${most.lines + 1} lines; a fix changes at most ${most.lines}`,
    ]);
    const wide = "é".repeat(most.bytes / 2 + 1);
    expect(await reasonsOf(edit("src/cart.py", wide, null))).toEqual([
      `null: it changes ${most.bytes + 2} bytes; a fix changes at most ${most.bytes}`,
    ]);
  });

  it("A path is judged by what it means, however it is written", async () => {
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
