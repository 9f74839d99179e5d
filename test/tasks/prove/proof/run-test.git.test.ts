import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TestEnd } from "../../../../src/agent/record/test-end.ts";
import type { ProofTest } from "../../../../src/core/finding.ts";
import { limitsFor, type SandboxLimits } from "../../../../src/sandbox/bubblewrap.ts";
import type { PlacedFile } from "../../../../src/sandbox/run-in-sandbox.ts";
import { asItIs, runTest } from "../../../../src/tasks/prove/proof/run-test.ts";
import { noSignal, sandboxFor } from "../../../sandbox/sandbox.ts";

const { sandbox, skipped } = await sandboxFor("that a test of a model runs in the sandbox, and what it ran");
const limits: SandboxLimits = { ...limitsFor(1_024), spareBytes: 0 };

interface Over {
  command?: string;
  limits?: Partial<SandboxLimits>;
  timeoutMs?: number;
  placed?: PlacedFile[];
}

const filesOf = (files: Record<string, string>): PlacedFile[] =>
  Object.entries(files).map(([path, text]) => ({ path, mode: "100644", bytes: Buffer.from(text) }));

const run = (files: Record<string, string>, test: ProofTest, over: Over = {}): Promise<TestEnd> =>
  runTest(
    {
      files: [...filesOf(files), ...(over.placed ?? [])],
      ...{ test, sandbox: sandbox!, command: over.command ?? null, timeoutMs: over.timeoutMs ?? 60_000 },
      limits: { ...limits, ...over.limits },
    },
    noSignal,
  );

/** `path name` for each function, and `path` for a file itself. */
const ran = ({ executed }: TestEnd) =>
  executed?.map(({ path, name }) => `${path} ${name}`.trim()).toSorted() ?? null;

const js = (text: string, path = "test/it.test.mjs"): ProofTest => ({ path, text });
const esm = `import { test } from "node:test";\nimport assert from "node:assert/strict";\n`;

describe.skipIf(!sandbox)(`JavaScript as it is${skipped}`, () => {
  const sum = {
    "src/sum.mjs":
      "export function sum(a, b) {\n  return a + b;\n}\nexport const twice = (a) => sum(a, a);\nexport function other() {}\n",
  };

  it("A test of node:test runs, with the functions that it ran", async () => {
    const test = js(
      `${esm}import { twice } from "../src/sum.mjs";\ntest("twice", () => assert.equal(twice(2), 4));\n`,
    );
    const end = await run(sum, test);
    expect(end).toMatchObject({ exit_code: 0, ended: null, changed: [], stderr: "" });
    expect(end.executed).toEqual([
      { path: "src/sum.mjs", name: "", line: 1 },
      { path: "src/sum.mjs", name: "sum", line: 1 },
      { path: "src/sum.mjs", name: "twice", line: 4 },
    ]);
  });

  it("A script of assertions runs, and its failure is the exit code", async () => {
    const test = js(
      `import assert from "node:assert";\nimport { sum } from "../src/sum.mjs";\nassert.equal(sum(1, 1), 3);\n`,
    );
    const end = await run(sum, test);
    expect(end.exit_code).toBe(1);
    expect(end.stderr).toContain("2 == 3");
    expect(ran(end)).toEqual(["src/sum.mjs", "src/sum.mjs sum"]);
  });

  it("CommonJS runs with its own variables", async () => {
    const end = await run(
      {
        "package.json": '{ "name": "pack", "main": "index.js" }',
        "index.js":
          "const part = require('./lib/part');\nmodule.exports = { go: () => part.go(module.id) };\n",
        "lib/part/index.js": "exports.go = function go(id) { return id; };\n",
      },
      js(
        "const assert = require('node:assert');\nconst { go } = require('..');\nassert.equal(require('pack').go, go);\n" +
          "assert.ok(go().endsWith('/index.js'));\nassert.equal(require.main, module);\nassert.equal(__filename, '/work/test/it.test.js');\n",
        "test/it.test.js",
      ),
    );
    expect([end.exit_code, end.stderr]).toEqual([0, ""]);
    expect(ran(end)).toEqual(["index.js", "index.js go", "lib/part/index.js", "lib/part/index.js go"]);
  });

  it("What workers and killed child processes ran is reported", async () => {
    const end = await run(
      {
        "a.mjs": "export function inWorker() {}\n",
        "b.mjs": "export function inChild() {}\n",
        "worker.mjs":
          "import { parentPort } from 'node:worker_threads';\nimport { inWorker } from './a.mjs';\ninWorker();\nparentPort.postMessage(1);\nsetInterval(parentPort.ref, 9e6);\n",
        "child.mjs":
          "import { inChild } from './b.mjs';\ninChild();\nprocess.send(1);\nsetInterval(process.send, 9e6);\n",
      },
      js(
        "import { fork } from 'node:child_process';\nimport { once } from 'node:events';\nimport { Worker } from 'node:worker_threads';\n" +
          "const worker = new Worker(new URL('../worker.mjs', import.meta.url));\nconst child = fork('child.mjs');\n" +
          "await Promise.all([once(worker, 'message'), once(child, 'message')]);\nchild.kill();\nconst [code, signal] = await once(child, 'exit');\nif (code !== null || signal !== 'SIGTERM') throw new Error(code + signal);\nawait worker.terminate();\n",
      ),
    );
    expect([end.exit_code, end.stderr]).toEqual([0, ""]);
    expect(ran(end)).toEqual([
      ...["a.mjs", "a.mjs inWorker", "b.mjs", "b.mjs inChild", "child.mjs", "worker.mjs"],
    ]);
  });

  it("The probe keeps output, exit code and clock of a program", async () => {
    const end = await run(
      {},
      js(
        "import { mock } from 'node:test';\nmock.timers.enable();\nprocess.on('exit', () => { process.exitCode = 7; });\nconsole.log('out');\nconsole.error('err');\n",
      ),
    );
    expect(end).toMatchObject({ stdout: "out\n", stderr: "err\n", exit_code: 7 });
  });

  it("A file that Node cannot run is refused", async () => {
    expect(asItIs(js("", "a.tsx"))).toHaveProperty("why");
    expect(asItIs(js("", "a.rb"))).toEqual({ why: "a file '.rb' cannot be run as it is" });
    await expect(run({}, js("", "a.rb"))).rejects.toThrow("'a.rb' cannot be run: a file '.rb'");
  });

  it("A path is never an option or more than one word", async () => {
    for (const path of ["-e.mjs", "a'; exit 9; '.mjs", "$(exit 9) b.mjs"]) {
      const end = await run({}, js("process.exitCode = 4;", path));
      expect([path, end.exit_code]).toEqual([path, 4]);
    }
  });
});

describe.skipIf(!sandbox)(`TypeScript as it is${skipped}`, () => {
  it("TypeScript sources are found behind .js, without extensions and in folders", async () => {
    const end = await run(
      {
        "package.json": '{ "name": "own", "type": "module" }',
        "src/a.ts":
          "import { Shape, area as areaOf } from './shape.js';\nimport Default, { type Other } from './deflt';\nimport { Only } from 'package-that-is-not-there';\n\n" +
          "// Shape in a comment, and it's one\nexport { Shape };\nexport function double(s: Shape & Other, o?: Only): number {\n  return areaOf(s) * Default(/[\"'`]/.test('\"') ? 2 : 0);\n}\n",
        "src/shape.ts":
          "export interface Shape { a: number }\nexport type Other = Shape;\nexport const area = (s: Shape) => s.a;\n",
        "src/deflt/index.ts":
          "import { readFileSync } from 'node:fs';\nexport type { Other } from '../shape';\nexport default (n: number) => n;\nimport type { Other as O2 } from '../shape.js';\nexport { Shape, // a, comment\n  area } from '../shape.js';\nconst local = 1;\nexport { local, O2 };\nexport const none = readFileSync;\n",
      },
      js(
        `${esm}import { double } from "../src/a.js";\nimport { Shape } from "../src/shape.ts";\ntest("it", () => { const s: Shape = { a: 2 }; assert.equal(double(s), 4); });\n`,
        "test/it.test.ts",
      ),
    );
    expect([end.exit_code, end.stderr]).toEqual([0, ""]);
    expect(end.executed).toContainEqual({ path: "src/a.ts", name: "double", line: 7 });
  });

  it("Enums, namespaces and parameter properties run, with lines of the source", async () => {
    const end = await run(
      {
        "e.ts":
          "export enum E { A = 'a' }\nexport namespace N { export const x = 1 }\nexport class P {\n  constructor(private readonly a: string) {}\n\n  get(): string {\n    if (this.a === 'b') throw new Error('no b');\n    return this.a;\n  }\n}\n",
      },
      js(
        `import assert from "node:assert";\nimport { E, N, P } from "./e";\nassert.equal(new P(E.A).get(), "a");\nassert.equal(N.x, 1);\nnew P("b").get();\n`,
        "it.test.ts",
      ),
    );
    expect(end.exit_code).toBe(1);
    expect(end.stderr).toContain("Error: no b");
    expect(end.stderr).toContain("/work/e.ts:7:");
    expect(end.executed).toContainEqual({ path: "e.ts", name: "get", line: 6 });
  });

  it("Packages of a monorepo, paths of a tsconfig, own imports and JSON are found", async () => {
    const end = await run(
      {
        "package.json": '{ "private": true, "workspaces": ["packages/*"] }',
        "tsconfig.json":
          '{ // comment\n "compilerOptions": { "baseUrl": ".", "paths": { "@/*": ["packages/app/src/*"], }, } }',
        "packages/core/package.json":
          '{ "name": "@x/core", "exports": { ".": { "types": "./dist/index.d.ts", "import": "./dist/esm/index.mjs", "require": "./dist/index.cjs" }, "./util/*": "./dist/util/*.js" } }',
        "packages/core/src/index.ts":
          "import data, { version as named, class as word } from './data.json';\nexport const version = data.version === named ? named + word : '';\n",
        "packages/core/src/data.json": '{ "version": 3, "class": "c", "a-b": 1 }',
        "packages/core/src/util/text.ts": "export const up = (s: string) => s.toUpperCase();\n",
        "packages/app/package.json":
          '{ "name": "app", "main": "lib/main.js", "imports": { "#inner": "./dist/inner.js" } }',
        "packages/app/src/main.ts":
          "import { inner } from '#inner';\nimport { version } from '@x/core';\nexport const text = () => inner() + version + require('./old').name + __filename;\n",
        "packages/app/src/inner.ts": "export const inner = () => 'inner';\n",
        "packages/app/src/old.ts": "export = { name: 'old' };\n",
      },
      js(
        `import assert from "node:assert";\nimport { up } from "@x/core/util/text";\nimport { text } from "app";\nimport { inner } from "@/inner";\nassert.equal(up(inner()), "INNER");\nassert.equal(text(), "inner3cold/work/packages/app/src/main.ts");\n`,
        "packages/app/test/it.test.ts",
      ),
    );
    expect([end.exit_code, end.stderr]).toEqual([0, ""]);
    expect(ran(end)).toContain("packages/core/src/util/text.ts up");
  });

  it("No text is taken for a decorator or for a use of a type", async () => {
    const end = await run(
      {
        "a.ts":
          "import { T } from './t';\n/**\n * @param(x) one\n */\nexport const q = `\n@include(if: true)\n`;\nexport const s = '// T';\nexport const at = (x: T) => x;\n",
        "t.ts": "export type T = string;\n",
      },
      js(
        `import { at, q, s } from "./a";\nif (at(q) + s !== "\\n@include(if: true)\\n// T") throw new Error(q);\n`,
        "it.test.ts",
      ),
    );
    expect([end.exit_code, end.stderr]).toEqual([0, ""]);
  });

  it("Decorators and JSX fail with the reason", async () => {
    const files = {
      "d.ts": "export class A {\n  @dec() a = 1;\n}\n",
      "x.tsx": "export const x = () => <p>hi</p>;\n",
    };
    for (const [from, why] of [
      ["./d.js", "it has decorators, which Node does not run"],
      ["./x.js", "it has JSX, which Node does not run"],
    ] as const) {
      const end = await run(files, js(`import "${from}";\n`, "it.test.ts"));
      expect(end.exit_code).toBe(1);
      expect(end.stderr).toContain(why);
    }
  });
});

/** Whether the sandbox has a program: not every machine has them. */
const works = async (command: string) =>
  sandbox !== null && (await run({}, js(""), { command })).exit_code === 0;
const hasPython = await works("python3 -c ''");
const hasPytest = await works("python3 -c 'import pytest'");

const py = (text: string, path = "tests/test_it.py"): ProofTest => ({ path, text });
/** Makes Python not find pytest. */
const plain = { "pytest.py": "raise ImportError('none here')\n" };

const pythons: [string, Record<string, string>][] = [["without pytest", plain]];
if (hasPytest) pythons.push(["with pytest", {}]);

describe.skipIf(!hasPython).each(pythons)(`Python as it is, %s${skipped}`, (_, more) => {
  const files = {
    ...more,
    "src/pack/__init__.py": "from .sums import twice\n",
    "src/pack/sums.py":
      "def add(a, b):\n    return a + b\n\n\nclass Sums:\n    def twice(self, a):\n        return add(a, a)\n\n\ndef twice(a):\n    return Sums().twice(a)\n\n\ndef other():\n    pass\n",
  };

  it("Python functions run, with the functions that they ran", async () => {
    const end = await run(
      files,
      py("from pack import twice\n\n\ndef test_twice():\n    assert twice(2) == 4\n"),
    );
    expect([end.exit_code, end.stderr, end.changed]).toEqual([0, "", []]);
    expect(end.executed?.filter(({ path }) => path.startsWith("src/"))).toEqual([
      { path: "src/pack/__init__.py", name: "", line: 1 },
      { path: "src/pack/sums.py", name: "", line: 1 },
      { path: "src/pack/sums.py", name: "Sums", line: 5 },
      { path: "src/pack/sums.py", name: "twice", line: 10 },
      { path: "src/pack/sums.py", name: "twice", line: 6 },
      { path: "src/pack/sums.py", name: "add", line: 1 },
    ]);
  });

  it("Asynchronous tests and classes of unittest run", async () => {
    const text =
      "import asyncio, unittest\nfrom pack.sums import add\n\n\nasync def test_a():\n    await asyncio.sleep(0)\n    assert add(1, 1) == 2\n\n\n" +
      "class Case(unittest.IsolatedAsyncioTestCase):\n    async def test_b(self):\n        self.assertEqual(add(1, 1), WANTED)\n";
    const good = await run(files, py(text.replace("WANTED", "2")));
    expect([good.exit_code, ran(good)?.includes("src/pack/sums.py add")]).toEqual([0, true]);
    const bad = await run(files, py(text.replace("WANTED", "3")));
    expect(bad.exit_code).toBe(1);
    expect(bad.stdout + bad.stderr).toContain("AssertionError: 2 != 3");
  });

  it("A Python file that cannot be loaded, or has no test, fails", async () => {
    expect((await run(files, py("import pack.none\n\n\ndef test_a():\n    pass\n"))).exit_code).toBe(2);
    expect((await run(files, py("x = 1\n"))).exit_code).toBe(5);
    const skip =
      "import unittest\n\n\nclass A(unittest.TestCase):\n    @unittest.skip('no')\n    def test_a(self):\n        pass\n";
    expect((await run(files, py(skip))).exit_code).toBe(5);
  });

  it("What forked and killed processes ran is reported", async () => {
    const end = await run(
      files,
      py(
        "import os, subprocess, sys, signal\nfrom pack.sums import add\n\n\ndef test_a():\n    pid = os.fork()\n    if pid == 0:\n        add(1, 1)\n        os.kill(os.getpid(), signal.SIGKILL)\n    os.waitpid(pid, 0)\n" +
          "    subprocess.run([sys.executable, '-c', 'import pack.sums as s, os; s.other(); os._exit(0)'], check=True)\n",
      ),
    );
    expect([end.exit_code, end.stderr]).toEqual([0, ""]);
    expect(ran(end)).toEqual(expect.arrayContaining(["src/pack/sums.py add", "src/pack/sums.py other"]));
  });
});

describe.skipIf(!hasPytest)(`Python with pytest${skipped}`, () => {
  it("pytest has the repository's fixtures, without options of its plugins", async () => {
    const end = await run(
      {
        "setup.cfg": "[tool:pytest]\naddopts = --cov=x -n auto\nrequired_plugins = pytest-cov\n",
        "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n",
      },
      py("def test_one(one):\n    assert one == 1\n"),
    );
    expect([end.exit_code, end.stderr]).toEqual([0, ""]);
  });

  it("pytest runs without a conftest.py that cannot be loaded", async () => {
    const end = await run(
      { "conftest.py": "import not_there\n" },
      py("def test_one():\n    assert 1 == 2\n"),
    );
    expect(end.exit_code).toBe(1);
    expect(end.stdout).toContain("assert 1 == 2");
  });
});

describe.skipIf(!sandbox)(`runners of a repository${skipped}`, () => {
  const sums = {
    "package.json": '{ "type": "module" }',
    "src/sum.ts":
      "interface A { a: number }\n\nexport function sum(a: number, b: number): number {\n  return a + b;\n}\n\nexport class K {\n  add(x: A): number {\n    return sum(x.a, 1);\n  }\n\n  never(): void {}\n}\n",
  };
  const text =
    'import { expect, it } from "vitest";\nimport { K } from "../src/sum.js";\nit("adds", () => expect(new K().add({ a: 1 })).toBe(2));\n';

  it.each(["forks", "threads", "vmThreads"])("What Vitest runs with %s is reported", async (pool) => {
    const here = { ...sandbox!, ...visiblePackages() };
    const end = await runTest(
      {
        files: filesOf(sums),
        test: js(text, "test/it.test.ts"),
        command: `ln -s ${packages} node_modules; /runner/bin/node ${packages}/vitest/vitest.mjs run --pool=${pool} test/it.test.ts`,
        ...{ sandbox: here, limits: limits },
        timeoutMs: 120_000,
      },
      noSignal,
    );
    expect([end.exit_code, end.stderr]).toEqual([0, ""]);
    expect(end.executed).toEqual(
      expect.arrayContaining([
        { path: "src/sum.ts", name: "sum", line: 3 },
        { path: "src/sum.ts", name: "add", line: 8 },
      ]),
    );
    expect(ran(end)).not.toContain("src/sum.ts never");
  });
});

const hasGo = await works("go version");

describe.skipIf(!hasGo)(`Go as it is${skipped}`, () => {
  it("Go runs the tests of one file, with the functions that they ran", async () => {
    const end = await run(
      {
        "go.mod": "module example.com/m\n\ngo 1.19\n",
        "sum/sum.go":
          "package sum\n\nfunc Sum(a, b int) int {\n\treturn a + b\n}\n\nfunc Never() int {\n\treturn 1\n}\n",
        "sum/old_test.go":
          'package sum\n\nimport "testing"\n\nfunc TestOld(t *testing.T) {\n\tt.Fatal("old")\n}\n',
      },
      {
        path: "sum/new_test.go",
        text: 'package sum\n\nimport "testing"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 1) != 2 {\n\t\tt.Error("no")\n\t}\n}\n',
      },
      { timeoutMs: 300_000 },
    );
    expect([end.exit_code, end.stderr, end.changed]).toEqual([0, "", []]);
    expect(end.executed).toEqual([{ path: "sum/sum.go", name: "Sum", line: 3 }]);
  });
});

describe("a test of Go", () => {
  it.skipIf(!sandbox || hasGo)("A test of Go ends with 127 where Go is missing", async () => {
    const test = { path: "a_test.go", text: "func TestA(t *testing.T) {}\n" };
    expect((await run({}, test)).exit_code).toBe(127);
  });

  it("A test of Go needs a name and a function of a test", () => {
    expect(asItIs({ path: "pkg/a_test.go", text: "func TestA(t *testing.T) {}" })).toMatchObject({
      shown: "go test -count=1 -run '^(TestA)$' './pkg'",
    });
    expect(asItIs({ path: "a.go", text: "" })).toEqual({ why: "Go runs tests only in files '*_test.go'" });
    expect(asItIs({ path: "a_test.go", text: "func Testing(t) {}" })).toEqual({
      why: "it has no function 'Test...'",
    });
  });
});

const packages = join(import.meta.dirname, "../../../../node_modules");
const visiblePackages = () => ({ readable: [packages] });

describe.skipIf(!sandbox)(`what a test leaves${skipped}`, () => {
  it("Changed, removed and new files are listed, and caches are not", async () => {
    const end = await run(
      { "a.txt": "a", "b.txt": "b", "c.txt": "c", "d.txt": "d", "__pycache__/tracked": "x" },
      js(
        "import { appendFileSync as add, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';\n" +
          "add('a.txt', '!');\nrmSync('b.txt');\nrmSync('d.txt');\nsymlinkSync('c.txt', 'd.txt');\nadd('__pycache__/tracked', '!');\nwriteFileSync('new.txt', '');\n" +
          "for (const name of ['coverage', 'src/__pycache__', '.pytest_cache', 'node_modules/.vite-temp']) { mkdirSync(name, { recursive: true }); writeFileSync(name + '/x', ''); }\n" +
          "writeFileSync('x.tsbuildinfo', '');\nadd(process.env.HUNKWISE_RUNNER + '/probe.cjs', '//');\nadd('test/it.test.mjs', '//');\n",
      ),
    );
    expect(end.exit_code).toBe(0);
    expect(end.changed.map((path) => path.replace(/^\.hunkwise-[0-9a-f]{8}/, "RUNNER"))).toEqual([
      ...["(1 links, pipes or other entries)", "RUNNER/probe.cjs", "__pycache__/tracked", "a.txt", "b.txt"],
      ...["new.txt", "test/it.test.mjs"],
    ]);
  });

  it("At most 20 changed files are listed", async () => {
    const end = await run(
      {},
      js(
        "import { writeFileSync } from 'node:fs';\nfor (let n = 0; n < 50; n++) writeFileSync('f' + n, '');\n",
      ),
    );
    expect(end.changed).toHaveLength(20);
  });

  const forge = (lines: string) =>
    js(
      `import { writeFileSync } from 'node:fs';\nwriteFileSync(process.env.HUNKWISE_RUNNER + '/report/9.jsonl', ${lines});\n`,
    );
  const files = { "src/a.mjs": "export const a = () => {};\n" };
  const line = (one: object) => `${JSON.stringify(one)}\n`;

  it.each([
    ["that is no JSON", JSON.stringify("nothing\n")],
    ["with other keys", JSON.stringify(line({ path: "src/a.mjs", name: "a", line: 1, more: 1 }))],
    ["with a path outside", JSON.stringify(line({ path: "../etc/passwd", name: "a", line: 1 }))],
    ["with an absolute path", JSON.stringify(line({ path: "/work/src/a.mjs", name: "a", line: 1 }))],
    ["with a long name", `JSON.stringify({ path: "src/a.mjs", name: "x".repeat(501), line: 1 }) + "\\n"`],
    ["of any size", `"x".repeat(5 * 1024 * 1024)`],
    [
      "with names that fill a record",
      `Array.from({ length: 8_000 }, (_, n) => JSON.stringify({ path: "src/a.mjs", name: "f".repeat(400) + n, line: 1 }) + "\\n").join("")`,
    ],
    [
      "with more functions than there are",
      `Array.from({ length: 20_001 }, (_, n) => JSON.stringify({ path: "src/a.mjs", name: "f" + n, line: 1 }) + "\\n").join("")`,
    ],
  ])("A forged report %s says nothing about what ran", async (_, text) => {
    const end = await run(files, forge(text));
    expect([end.exit_code, end.executed]).toEqual([0, null]);
  });

  it("A report that is no file, or too many reports, say nothing about what ran", async () => {
    const link = await run(
      files,
      js(
        "import { symlinkSync as s } from 'node:fs';\nfor (let n = 0; n < 201; n++) s('/etc/passwd', process.env.HUNKWISE_RUNNER + '/report/' + n + '.jsonl');\n",
      ),
    );
    expect(link.changed).toEqual(["(201 links, pipes or other entries)"]);
    const many = await run(
      files,
      js(
        "import { writeFileSync as w } from 'node:fs';\nfor (let n = 0; n < 201; n++) w(process.env.HUNKWISE_RUNNER + '/report/' + n + '.jsonl', '');\n",
      ),
    );
    expect(many.executed).toBeNull();
  });

  it("What ran leaves out new files, packages and the test itself", async () => {
    const end = await run(
      { ...files, "node_modules/p/index.js": "exports.p = () => {};\n" },
      js(
        "import { writeFileSync } from 'node:fs';\nimport { p } from 'p';\nimport { a } from '../src/a.mjs';\np();\na();\nwriteFileSync('made.mjs', 'export const made = () => {}; made();');\nawait import('../made.mjs');\n",
      ),
    );
    expect([end.exit_code, end.stderr]).toEqual([0, ""]);
    expect(ran(end)).toEqual(["src/a.mjs", "src/a.mjs a"]);
  });

  it("A program without a report has an unknown result", async () => {
    expect(await run(files, js(""), { command: "echo ran; exit 3" })).toMatchObject({
      ...{ stdout: "ran\n", exit_code: 3, executed: null },
    });
  });

  it("A test is ended by its limits", async () => {
    expect(
      await run(files, js("console.log('begun');\nsetInterval(() => {}, 1);\n"), { timeoutMs: 3_000 }),
    ).toMatchObject({ ended: "timeout", exit_code: 137, stdout: "begun\n" });
    const eats = "const all = [];\nfor (;;) all.push(Buffer.alloc(1e7, 1));\n";
    const end = await run(files, js(eats), { limits: { memoryBytes: 2 ** 29 } });
    expect([end.exit_code, end.ended]).not.toEqual([0, null]);
    if (!hasPython) return;
    const py3 = await run(files, py("x = []\nwhile True:\n    x.append(b'x' * 10_000_000)\n"), {
      limits: { memoryBytes: 2 ** 28 },
    });
    expect([py3.exit_code, py3.ended]).not.toEqual([0, null]);
  });
});
