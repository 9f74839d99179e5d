/** Files of the repository that the samples test. */
export const files: ReadonlySet<string> = new Set([
  "src/calc.ts",
  "src/server.js",
  "src/index.ts",
  "README.md",
  "package.json",
  "calc.py",
  "app/__init__.py",
  "app/models.py",
  "app/store.py",
  "tests/conftest.py",
  "shop/cart.go",
  "src/data.json",
  "src/click/__init__.py",
  "src/click/testing.py",
  "src/werkzeug/__init__.py",
  "src/werkzeug/datastructures.py",
  "src/werkzeug/exceptions.py",
  "src/werkzeug/routing.py",
  "src/werkzeug/test.py",
  "src/werkzeug/wrappers.py",
  "src/requests/__init__.py",
  "src/requests/adapters.py",
  "src/requests/structures.py",
  "src/requests/utils.py",
]);

type Sample = readonly [path: string, text: string];
const js = "test/calc.test.js";
const ts = "test/calc.test.ts";
const py = "tests/test_calc.py";
const go = "shop/cart_test.go";

/** Small tests as people write them. */
export const honest: readonly Sample[] = [
  [
    ts,
    `import { describe, expect, it } from "vitest";\nimport { add } from "../src/calc.ts";\ndescribe("add", () => {\n  it("adds", () => {\n    expect(add(1, 2)).toBe(3);\n  });\n});\n`,
  ],
  [
    ts,
    `import { expect, it } from "vitest";\nimport { add } from "../src/calc.js";\nit.each([[1, 2, 3], [2, 2, 4]])("adds %i and %i", (a: number, b: number, sum: number) => {\n  const result = add(a, b);\n  expect(result).toBe(sum);\n});\n`,
  ],
  [
    ts,
    `import { expect, it, vi } from "vitest";\nimport { Calc } from "../src/calc";\nit("tells its listener", async () => {\n  const listener = vi.fn();\n  const calc = new Calc({ listener });\n  await calc.add(1);\n  expect(listener).toHaveBeenCalledWith(1);\n  expect(listener.mock.calls.length).toBe(1);\n});\n`,
  ],
  [
    ts,
    `import { expect, test } from "vitest";\nimport { parse } from "../src/calc";\ntest("refuses nonsense", async () => {\n  expect(() => parse("1 +")).toThrow(/end/);\n  await expect(parse.later("x")).rejects.toThrow(TypeError);\n});\n`,
  ],
  [
    ts,
    `import { afterEach, beforeEach, expect, it, vi } from "vitest";\nimport { debounce } from "../src/calc";\nbeforeEach(() => { vi.useFakeTimers(); });\nafterEach(() => { vi.useRealTimers(); });\nit("waits", () => {\n  let calls = 0;\n  const slow = debounce(() => { calls += 1; }, 100);\n  slow();\n  vi.advanceTimersByTime(100);\n  expect(calls).toBe(1);\n});\n`,
  ],
  [
    js,
    `import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { listen } from "../src/server.js";\ntest("answers", async (t) => {\n  const server = listen(0);\n  t.after(() => server.close());\n  const { port } = server.address();\n  const response = await fetch(\`http://127.0.0.1:\${port}/\`);\n  assert.equal(response.status, 200);\n  assert.deepEqual(await response.json(), { ok: true });\n});\n`,
  ],
  [
    js,
    `const assert = require("node:assert");\nconst { test, describe } = require("node:test");\nconst calc = require("../src/calc");\ndescribe("calc", () => {\n  test("adds", () => { assert.strictEqual(calc.add(1, 2), 3); });\n  test("throws", () => { assert.throws(() => calc.add("a"), TypeError); });\n});\n`,
  ],
  [
    "test/plain.test.mjs",
    `import assert from "node:assert/strict";\nimport { add } from "../src/calc.js";\n\nconst cases = [[1, 2, 3], [0, 0, 0]];\nfor (const [a, b, sum] of cases) {\n  assert.equal(add(a, b), sum, \`\${a} + \${b}\`);\n}\n`,
  ],
  [
    "test/plain.test.mjs",
    `import assert from "node:assert";\nimport { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";\nimport { tmpdir } from "node:os";\nimport { join } from "node:path";\nimport { convert } from "../src/calc.js";\nconst folder = await mkdtemp(join(tmpdir(), "convert-"));\ntry {\n  const file = join(folder, "in.txt");\n  await writeFile(file, "a,b");\n  await convert(file, join(folder, "out.txt"));\n  assert.equal(await readFile(join(folder, "out.txt"), "utf8"), "a;b");\n} finally {\n  await rm(folder, { recursive: true });\n}\n`,
  ],
  [
    "test/plain.test.mjs",
    `import assert from "node:assert";\nimport { Readable } from "node:stream";\nimport { lines } from "../src/calc.js";\nconst seen = [];\nfor await (const line of lines(Readable.from(["a\\n", "b"]))) seen.push(line);\nassert.deepEqual(seen, ["a", "b"]);\n`,
  ],
  [
    "test/plain.test.mjs",
    `import { add } from "../src/calc.js";\nconst got = add(1, 2);\nif (got !== 3) throw new Error(\`expected 3, got \${got}\`);\n`,
  ],
  [
    "test/plain.test.mjs",
    `import assert from "node:assert";\nimport { Bus } from "../src/calc.js";\nconst bus = new Bus();\nconst heard = [];\nbus.on("x", (value) => heard.push(value));\nbus.emit("x", 1);\nassert.deepEqual(heard, [1]);\n`,
  ],
  [
    "test/plain.test.mjs",
    `import assert from "node:assert";\nimport { add } from "../src/calc.js";\nlet threw = false;\ntry {\n  add("x");\n} catch {\n  threw = true;\n}\nassert.equal(threw, true);\n`,
  ],
  [
    "test/plain.test.mjs",
    `import assert from "node:assert";\nimport { send } from "../src/calc.js";\nconst sent = [];\nconst transport = { send(message) { sent.push(message); return Promise.resolve(); }, close() { throw new Error("closed"); } };\nawait send(transport, "hello");\nassert.deepEqual(sent, ["hello"]);\n`,
  ],
  [
    js,
    `const { add } = require("../src/calc");\ndescribe("add", () => {\n  let calc;\n  beforeEach(() => { calc = { base: 1 }; });\n  test("adds", () => {\n    expect(add(calc, 2)).toEqual({ base: 3 });\n  });\n  test("later", async () => {\n    await expect(add.later(1)).resolves.toBe(2);\n  });\n});\n`,
  ],
  [
    js,
    `const { expect } = require("chai");\nconst { add } = require("../src/calc");\ndescribe("add", function () {\n  this.timeout(1000);\n  it("adds", function () {\n    expect(add(1, 2)).to.equal(3);\n    expect(add(1, -1) === 0).to.be.true;\n  });\n  it("calls back", function (done) {\n    add.later(1, (error, value) => {\n      expect(value).to.equal(2);\n      done(error);\n    });\n  });\n});\n`,
  ],
  [
    js,
    `import test from "ava";\nimport { add } from "../src/calc.js";\ntest("adds", (t) => {\n  t.is(add(1, 2), 3);\n});\n`,
  ],
  [
    ts,
    `import { expect, it } from "vitest";\nimport { retryDelay } from "../src/calc";\nconst env = process.env.RETRY_BASE;\nit("reads the environment", () => {\n  process.env.RETRY_BASE = "10";\n  try {\n    expect(retryDelay(new Date("2020-01-01"), 2)).toBe(40);\n  } finally {\n    if (env === undefined) delete process.env.RETRY_BASE;\n    else process.env.RETRY_BASE = env;\n  }\n});\n`,
  ],
  [
    "test/view.test.tsx",
    `import { render, screen } from "@testing-library/react";\nimport { expect, it } from "vitest";\nimport { View } from "../src/calc";\nit("shows a name", () => {\n  render(<View name="Ada"><b>x</b></View>);\n  expect(screen.getByText("Ada").textContent).toBe("Ada");\n});\n`,
  ],
  [
    ts,
    `import { createServer } from "node:http";\nimport { expect, it } from "vitest";\nimport { get } from "../src/calc";\nasync function withServer(status: number, use: (url: string) => Promise<void>) {\n  const server = createServer((request, response) => { response.statusCode = status; response.end("x"); });\n  await new Promise<void>((resolve) => server.listen(0, resolve));\n  try {\n    await use(\`http://127.0.0.1:\${(server.address() as { port: number }).port}\`);\n  } finally {\n    server.close();\n  }\n}\nit("gives up", async () => {\n  await withServer(500, async (url) => {\n    await expect(get(url)).rejects.toThrow("500");\n  });\n});\n`,
  ],
  [
    py,
    `import pytest\nfrom calc import add\n\n@pytest.mark.parametrize("a, b, total", [(1, 2, 3), (0, 0, 0)])\ndef test_add(a, b, total):\n    assert add(a, b) == total\n\ndef test_refuses():\n    with pytest.raises(ValueError, match="number"):\n        add("x", 1)\n`,
  ],
  [
    py,
    `import unittest\nfrom unittest.mock import Mock\nimport calc\n\nclass TestCalc(unittest.TestCase):\n    def setUp(self):\n        self.calc = calc.Calc(seed=1)\n\n    def test_add(self):\n        self.assertEqual(self.calc.add(1), 2)\n\n    def test_listener(self):\n        listener = Mock()\n        self.calc.on(listener)\n        self.calc.add(1)\n        listener.assert_called_once_with(1)\n        self.assertTrue(listener.called)\n\n    def test_raises(self):\n        with self.assertRaises(ValueError) as caught:\n            self.calc.add(None)\n        self.assertIn("None", str(caught.exception))\n\nif __name__ == "__main__":\n    unittest.main()\n`,
  ],
  [
    py,
    `from app.store import Store\n\ndef test_save(tmp_path):\n    path = tmp_path / "a" / "data.json"\n    path.parent_folder = None\n    store = Store(path)\n    store.save({"a": 1})\n    assert path.read_text() == '{"a": 1}'\n`.replace(
      "    path.parent_folder = None\n",
      "",
    ),
  ],
  [
    py,
    `import os\nimport tempfile\nfrom app.store import Store\n\nwith tempfile.TemporaryDirectory() as folder:\n    path = os.path.join(folder, "x.txt")\n    with open(path, "w") as file:\n        file.write("a=1")\n    assert Store.read(path) == {"a": "1"}\n`,
  ],
  [
    py,
    `import asyncio\nfrom app.store import Queue\n\nasync def main():\n    queue = Queue()\n    await queue.put(1)\n    await asyncio.sleep(0)\n    assert await queue.get() == 1\n\nasyncio.run(main())\n`,
  ],
  [
    py,
    `import pytest\nfrom app.models import User\n\n@pytest.fixture\ndef user():\n    return User(name="Ada")\n\ndef test_name(user, monkeypatch):\n    monkeypatch.setenv("LANG", "C")\n    assert user.title() == "ADA"\n`,
  ],
  [py, `def test_index(client):\n    response = client.get("/")\n    assert response.status_code == 200\n`],
  [
    py,
    `from calc import parse\n\ndef test_parse_error():\n    try:\n        parse("1 +")\n    except ValueError as error:\n        assert "end" in str(error)\n    else:\n        raise AssertionError("no error")\n`,
  ],
  [
    py,
    `from datetime import datetime, timedelta\nfrom app.models import is_due\n\nclass FakeClock:\n    def __init__(self, now):\n        self.now = now\n\n    def __call__(self):\n        return self.now\n\ndef test_due():\n    clock = FakeClock(datetime(2024, 1, 1))\n    assert is_due(clock, datetime(2024, 1, 1) - timedelta(days=1)) is True\n`,
  ],
  [
    py,
    `import io\nfrom contextlib import redirect_stdout\nfrom calc import main\n\ndef test_main():\n    out = io.StringIO()\n    with redirect_stdout(out):\n        main(["1", "2"])\n    assert out.getvalue().strip() == "3"\n`,
  ],
  [
    go,
    `package shop\n\nimport "testing"\n\nfunc TestTotal(t *testing.T) {\n\ttests := []struct {\n\t\tname string\n\t\titems []int\n\t\twant int\n\t}{\n\t\t{"none", nil, 0},\n\t\t{"two", []int{1, 2}, 3},\n\t}\n\tfor _, tt := range tests {\n\t\tt.Run(tt.name, func(t *testing.T) {\n\t\t\tif got := Total(tt.items); got != tt.want {\n\t\t\t\tt.Errorf("Total() = %d, want %d", got, tt.want)\n\t\t\t}\n\t\t})\n\t}\n}\n`,
  ],
  [
    go,
    `package shop_test\n\nimport (\n\t"errors"\n\t"os"\n\t"path/filepath"\n\t"testing"\n\n\t"example.com/shop"\n)\n\nfunc TestLoad(t *testing.T) {\n\tt.Setenv("SHOP", "1")\n\tpath := filepath.Join(t.TempDir(), "cart.json")\n\tif err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {\n\t\tt.Fatal(err)\n\t}\n\tcart, err := shop.Load(path)\n\tif err != nil {\n\t\tt.Fatalf("Load: %v", err)\n\t}\n\tif !errors.Is(cart.Check(), shop.ErrEmpty) {\n\t\tt.Error("no error")\n\t}\n}\n`,
  ],
  [
    go,
    `package shop\n\nimport (\n\t"net/http"\n\t"net/http/httptest"\n\t"testing"\n)\n\ntype fakeStore struct{ saved []string }\n\nfunc (f *fakeStore) Save(name string) error {\n\tf.saved = append(f.saved, name)\n\treturn nil\n}\n\nfunc TestHandler(t *testing.T) {\n\tstore := &fakeStore{}\n\tserver := httptest.NewServer(Handler(store))\n\tdefer server.Close()\n\tresponse, err := http.Get(server.URL + "/a")\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tif response.StatusCode != 200 {\n\t\tt.Fatalf("got %d", response.StatusCode)\n\t}\n\tif len(store.saved) != 1 {\n\t\tt.Fatalf("saved %v", store.saved)\n\t}\n}\n`,
  ],
  [
    go,
    `package shop\n\nimport (\n\t"testing"\n\n\t"github.com/stretchr/testify/require"\n)\n\nfunc TestAdd(t *testing.T) {\n\tc := Cart{}\n\trequire.NoError(t, c.Add("x"))\n\trequire.Equal(t, 1, c.Len())\n}\n`,
  ],
  // In the styles of known projects: clients and servers of HTTP, schemas, command lines, plug-ins, runners.
  [
    js,
    `"use strict";
const { tspl } = require("@matteo.collina/tspl");
const { test, after } = require("node:test");
const { createServer } = require("node:http");
const { once } = require("node:events");
const { Client } = require("../src/server.js");
test("sends a body", async (t) => {
  t = tspl(t, { plan: 2 });
  const server = createServer({ joinDuplicateHeaders: true }, (req, res) => {
    t.strictEqual(req.method, "POST");
    res.setHeader("content-type", "text/plain");
    res.end("hello");
  });
  after(() => server.close());
  server.listen(0);
  await once(server, "listening");
  const client = new Client(\`http://localhost:\${server.address().port}\`);
  after(() => client.close());
  const { body, statusCode } = await client.request({ path: "/", method: "POST", body: Buffer.from("abc") });
  t.strictEqual(statusCode, 200);
  await t.completed;
});
`,
  ],
  [
    js,
    `const assert = require("node:assert");
const { test } = require("node:test");
const { once } = require("node:events");
const { createServer } = require("node:http");
const { fetch: ownFetch, Headers: OwnHeaders } = require("../src/server.js");
test("follows a redirect", async (t) => {
  const server = createServer((req, res) => {
    if (req.url === "/a") { res.writeHead(302, { location: "/b" }); res.end(); return; }
    res.end(req.headers["x-test"] ?? "none");
  }).listen(0);
  t.after(server.close.bind(server));
  await once(server, "listening");
  const response = await ownFetch(new URL("/a", \`http://localhost:\${server.address().port}\`), { headers: new OwnHeaders({ "x-test": "1" }) });
  t.assert.strictEqual(await response.text(), "1");
  t.assert.deepStrictEqual([...response.headers].filter(([name]) => /^x-/.test(name)), []);
});
`,
  ],
  [
    ts,
    `import test from "ava";
import { createServer } from "node:http";
import { promisify } from "node:util";
import got, { type Response, HTTPError } from "../src/index.js";
const withServer = async (use: (url: string) => Promise<void>) => {
  const server = createServer((_request, response) => {
    response.statusCode = 404;
    response.end(JSON.stringify({ message: "no" }));
  });
  await promisify(server.listen.bind(server))(0);
  try { await use(\`http://localhost:\${(server.address() as any).port}\`); } finally { server.close(); }
};
test("throws with the body", async (t) => {
  await withServer(async (url) => {
    const error = await t.throwsAsync<HTTPError>(got(url, { retry: { limit: 0 } }).json());
    t.is(error?.response.statusCode, 404);
    t.regex(error!.message, /404/);
    t.deepEqual(Object.keys(error!.options.headers), ["user-agent"]);
  });
});
`,
  ],
  [
    ts,
    `import { expect, expectTypeOf, test } from "vitest";
import * as z from "../src/index";
const Test = z.object({ f1: z.number(), f2: z.string().optional(), f3: z.array(z.string()) });
type Test = z.infer<typeof Test>;
test("parses", () => {
  expectTypeOf<Test>().toEqualTypeOf<{ f1: number; f2?: string; f3: string[] }>();
  const result = Test.safeParse({ f1: 1, f3: ["a"], extra: true });
  expect(result.success).toBe(true);
  expect(Object.keys(result.data!)).toEqual(["f1", "f3"]);
  expect(() => Test.parse(structuredClone({ f1: "1" }))).toThrow();
  try {
    Test.parse({});
  } catch (error) {
    expect((error as z.ZodError).issues.map((issue) => issue.path.join("."))).toEqual(["f1", "f3"]);
  }
});
test("dates", () => {
  const schema = z.date().min(new Date("2020-01-01"));
  expect(schema.safeParse(new Date("2019-12-31")).success).toEqual(false);
  expect(z.coerce.date().parse("2020-01-01").toString()).toContain("2020");
  expect(schema.parse(new Date(2022, 1, 1))).toBeInstanceOf(Date);
});
`,
  ],
  [
    ts,
    `import { describe, expect, it } from "vitest";
import { z } from "../src/index.js";
describe("refine", () => {
  it.each([["a@b.c", true], ["x", false]] as const)("says for %s %s", (input, valid) => {
    class Wrapped<T> { constructor(readonly inner: T) {} unwrap() { return this.inner; } }
    const wrapped = new Wrapped(z.string().email());
    expect(wrapped.unwrap().safeParse(input).success).toBe(valid);
  });
  it("formats errors", () => {
    const result = z.object({ a: z.string() }).safeParse({ a: 1 });
    if (result.success) throw new Error("unexpected");
    expect(result.error.format()).toMatchInlineSnapshot(\`{ "a": 1 }\`);
    const { message, ...rest } = result.error.issues[0]!;
    expect(rest).toMatchObject({ code: "invalid_type" });
    expect(message).toMatch(/expected string/i);
  });
});
`,
  ],
  [
    ts,
    `import path from "node:path";
import fs from "node:fs";
import os from "node:os";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadEnv, normalizePath } from "../src/index";
let dir: string;
beforeEach(() => { dir = fs.mkdtempSync(path.join(os.tmpdir(), "env-")); });
afterEach(() => { fs.rmSync(dir, { recursive: true, force: true }); });
describe("loadEnv", () => {
  test("basic", () => {
    fs.writeFileSync(path.join(dir, ".env"), "VITE_A=1\\nB=2");
    fs.mkdirSync(path.resolve(dir, "sub"));
    expect(loadEnv("development", dir)).toEqual({ VITE_A: "1" });
  });
  test("paths", () => {
    expect(normalizePath("src\\\\calc.ts")).toBe("src/calc.ts");
    expect(normalizePath("../src/calc.ts")).toBe("../src/calc.ts");
    expect(normalizePath("/usr/lib/x")).toEqual("/usr/lib/x");
  });
});
`,
  ],
  [
    ts,
    `import { describe, expect, test, vi } from "vitest";
import { transformWithPlugin, createLogger } from "../src/index";
import type { Plugin } from "../src/index";
async function transform(code: string, options: Partial<Plugin> = {}) {
  const plugin: Plugin = { name: "x", ...options, transform(src: string, id: string) { return id.endsWith(".css") ? null : src.replace(/a/g, "b"); } };
  const result = await transformWithPlugin(plugin, code, "/src/main.js");
  return result?.code ?? "";
}
test("transforms", async () => {
  expect(await transform(\`const x = "a";\`)).toBe(\`const x = "b";\`);
  expect((await transform("let a")).split("\\n").length).toBe(1);
});
test("warns", () => {
  const logger = createLogger("info", { prefix: "[x]" });
  const lines: string[] = [];
  const custom = { ...logger, info: (message: string) => void lines.push(message) };
  custom.info("a");
  expect(lines).toHaveLength(1);
});
`,
  ],
  [
    py,
    `import click
import pytest
from click.testing import CliRunner

@pytest.fixture(scope="function")
def runner(request):
    return CliRunner()

def test_option(runner):
    @click.command()
    @click.option("--name", default="x", help="A name.")
    @click.argument("src", type=click.Path())
    def cli(name, src):
        click.echo(f"{name}:{src}")

    result = runner.invoke(cli, ["--name", "a", "src/calc.ts"])
    assert not result.exception
    assert result.output == "a:src/calc.ts\\n"

@pytest.mark.parametrize(
    ("value", "expect"), [pytest.param("1", 1, id="one"), ("-1", -1)]
)
def test_int(runner, value, expect):
    assert click.INT.convert(value, None, None) == expect
`,
  ],
  [
    py,
    `import io
import os
import click
from click.testing import CliRunner

def test_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FOO", "1")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.txt"
    file.write_text("x", encoding="utf-8")
    with click.open_file(str(file)) as handle:
        assert handle.read() == "x"
    out = io.BytesIO(b"abc")
    click.echo("a", file=io.StringIO())
    assert os.path.exists(str(file))
    click.echo("hello")
    assert capsys.readouterr().out == "hello\\n"
`,
  ],
  [
    py,
    `from datetime import datetime, timezone
from io import BytesIO
import pytest
from werkzeug import wrappers
from werkzeug.datastructures import Headers
from werkzeug.test import Client, EnvironBuilder

class Extended(wrappers.Response):
    default_mimetype = "text/plain"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.extra = 1

def test_response():
    response = Extended("x", headers=Headers([("a", "b")]))
    response.last_modified = datetime(2020, 1, 1, tzinfo=timezone.utc)
    assert response.headers["Last-Modified"].startswith("Wed")
    assert repr(response) == "<Extended 1 bytes [200 OK]>"

def test_request():
    builder = EnvironBuilder(method="POST", data={"f": (BytesIO(b"x"), "a.txt")})
    request = wrappers.Request(builder.get_environ())
    with pytest.raises(KeyError) as error:
        request.form["missing"]
    assert "missing" in str(error.value)
    assert isinstance(request.files["f"].filename, str)
`,
  ],
  [
    py,
    `from __future__ import annotations
import pytest
from werkzeug.routing import Map, Rule
import werkzeug.exceptions as exc
import typing as t

def build(rules: list[Rule], **kwargs: t.Any):
    return Map(rules, **kwargs).bind("example.org", "/")

def test_build():
    adapter = build([Rule("/<int:id>", endpoint="x")])
    assert adapter.match("/1") == ("x", {"id": 1})
    pytest.raises(exc.NotFound, lambda: adapter.match("/a"))
    with pytest.raises(exc.NotFound):
        adapter.match("/a")
    assert {k: v for k, v in adapter.match("/2")[1].items()} == dict(id=2)
`,
  ],
  [
    py,
    `import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from unittest import mock
from unittest.mock import MagicMock
import pytest
import requests
from requests.adapters import HTTPAdapter

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *args):
        pass

@pytest.fixture
def url():
    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()

class TestRequests:
    digest = ("a", "b")

    def test_get(self, url):
        with requests.Session() as session:
            session.mount("http://", HTTPAdapter(max_retries=1))
            response = session.get(url, params={"a": [1, None]})
        assert response.status_code == requests.codes.ok
        assert response.text == "ok"
        assert response.raw is not None

    def test_hook(self):
        raw = MagicMock()
        raw.read.return_value = b"x"
        response = requests.Response()
        response.raw = raw
        response.status_code = 200
        assert response.ok
        hook = mock.Mock(return_value=None)
        requests.hooks.dispatch_hook("response", {"response": [hook]}, response)
        hook.assert_called_once_with(response)
`,
  ],
  [
    py,
    `import pytest
from requests.structures import CaseInsensitiveDict
from requests.utils import parse_header_links, to_key_val_list

class TestDict:
    @pytest.fixture(autouse=True)
    def setup(self):
        self.dict = CaseInsensitiveDict()
        self.dict["Accept"] = "x"

    def test_list(self):
        assert list(self.dict) == ["Accept"]

    possible_keys = pytest.mark.parametrize("key", ("accept", "ACCEPT"))

    @possible_keys
    def test_getitem(self, key):
        assert self.dict[key] == "x"

    @possible_keys
    def test_delitem(self, key):
        del self.dict[key]
        assert key not in self.dict
`,
  ],
  [
    py,
    `import pytest
from app.models import approx, ExceptionInfo

def test_pytester(pytester):
    pytester.makepyfile("""
        import pytest
        @pytest.fixture
        def x():
            return 1
        def test_a(x):
            assert x == 1
    """)
    result = pytester.runpytest("-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*1 passed*"])
`,
  ],
  [
    py,
    `import logging
import operator
from fractions import Fraction
import attr
import pytest
from app.models import approx

@pytest.fixture
def mocked(monkeypatch):
    calls = []
    def record(*args, **kwargs):
        calls.append((args, kwargs))
    return record, calls

class TestApprox:
    def test_repr(self):
        assert repr(approx(1.0)) == "1.0 ± 1.0e-06"
        assert repr(approx([1.0, 2.0])) == "approx([1.0 ± 1.0e-06, 2.0 ± 2.0e-06])"

    @pytest.mark.parametrize("value", [5e8, -5e8, Fraction(1, 2)])
    def test_eq(self, value):
        eq, ne = operator.eq, operator.ne
        assert eq(value, approx(value))
        assert not ne(value, approx(value))

    def test_log(self, caplog):
        with caplog.at_level(logging.INFO):
            approx(1).log()
        assert [r.levelname for r in caplog.records] == ["INFO"]

def test_fail():
    with pytest.raises(TypeError, match=r"unexpected \\w+") as info:
        approx({"a": {"b": 1}})
    assert info.match("nested")
    assert info.type is TypeError
`,
  ],
  [
    ts,
    `import { test, expect, vi } from "vitest";
import { EventEmitter } from "node:events";
import { Queue, type Job } from "../src/calc";
class FakeStore extends Queue { override save(job: Job) { this.saved.push(job); } saved: Job[] = []; }
function delayed<T>(value: T): Promise<T> { return new Promise((resolve) => setImmediate(() => resolve(value))); }
test.for([{ n: 1 }, { n: 2 }])("runs $n", async ({ n }, { expect }) => {
  const queue = new Queue({ concurrency: n, run: async (job) => delayed(job) });
  const bus = new EventEmitter();
  const onDone = vi.fn<(id: number) => void>();
  bus.on("done", onDone);
  queue.on("done", (id: number) => bus.emit("done", id));
  await Promise.all([1, 2, 3].map((id) => queue.add({ id })));
  expect(onDone).toHaveBeenCalledTimes(3);
  expect(queue.size).toBe(0);
});
test("typed", async () => {
  const queue = new FakeStore({ concurrency: 1 });
  await expect(queue.add(null as never)).rejects.toThrowErrorMatchingInlineSnapshot(\`[TypeError: x]\`);
  expect([...queue.saved]).toStrictEqual([]);
  const order: string[] = [];
  for await (const job of queue) order.push(job.id);
  expect(order.join(",")).toBe("");
});
`,
  ],
  [
    js,
    `const request = require("supertest");
const { describe, it, before } = require("mocha");
const assert = require("assert");
const app = require("../src/server");
let mod;
before(async () => { mod = await import("../src/calc.ts"); });
describe("app", function () {
  it("GET /", function (done) {
    request(app).get("/").expect("Content-Type", /json/).expect(200, done);
  });
  it("POST /", async () => {
    const res = await request(app).post("/").send({ a: 1 });
    assert.strictEqual(res.body.a, 1);
    assert.ok(mod.add(1, 2) === 3, \`got \${mod.add(1, 2)}\`);
  });
  it("throws", () => {
    assert.throws(() => mod.add("x"), (error) => { assert.equal(error.code, "ERR_X"); return true; });
  });
});
`,
  ],
  [
    py,
    `import unittest
import json
import tempfile
import os
from pathlib import Path
from unittest.mock import AsyncMock, Mock
from app.store import Store, key_of, async_get

class StoreTest(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = Store()

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="store")
        self.path = os.path.join(self.dir, "a.json")
        with open(self.path, "w", encoding="utf-8") as f:
            json.dump({"a": 1}, f)

    def test_key(self):
        for path, key in [("a/b", "a.b"), ("../x", "x")]:
            with self.subTest(path=path):
                self.assertEqual(key_of(path), key)
                self.assertEqual(Store.path_of(key), Path("root") / key)

    async def test_async(self):
        client = AsyncMock()
        client.get.side_effect = [ValueError("x"), {"a": 1}]
        self.assertEqual(await async_get(client, retries=1), {"a": 1})
        self.assertEqual(client.get.await_count, 2)
        client.get.assert_awaited_with("/a")

    def test_load(self):
        self.assertDictEqual(self.store.load(Path(self.path)), {"a": 1})
        with self.assertRaisesRegex(ValueError, "no such"):
            self.store.load(None)
`,
  ],
  [
    ts,
    `import { expect, it } from "vitest";\nimport { nameOf } from "../src/calc";\nenum Fruit { Apple = "apple", Pear = "pear" }\nabstract class Named { abstract name(): string; }\nclass Tree extends Named { name() { return Fruit.Apple; } }\nit("names", () => { expect(nameOf(new Tree())).toBe(Fruit.Apple); });\n`,
  ],
  [
    js,
    `const assert = require("node:assert");\nconst Base = require("../src/calc");\nconst { request } = require("../");\nclass Own extends Base { close() { return 1; } }\nassert.equal(new Own().add(1), 2);\nassert.equal(request("/"), 1);\n`,
  ],
  [
    js,
    `const { test } = require("node:test");\nconst { throws, doesNotThrow } = require("node:assert");\nconst { add } = require("../src/calc");\nfunction set(domain) {\n  add({ name: "a", domain });\n}\ntest("throws", () => {\n  doesNotThrow(() => set(" "));\n  throws(() => set("a".repeat(256)), new Error("too long"));\n});\n`,
  ],
];

const ownJs = `import assert from "node:assert";\nimport * as calc from "../src/calc.js";\nimport { add } from "../src/calc.js";\n`;
const okJs = "assert.equal(add(1, 2), 3);\n";
const inJs = (text: string): Sample => ["test/plain.test.mjs", `${ownJs}${okJs}${text}\n`];
const inPy = (text: string): Sample => [
  py,
  `import os\nimport pytest\nimport calc\nfrom calc import add\nassert add(1, 2) == 3\n${text}\n`,
];
const inGo = (text: string, imports = ""): Sample => [
  go,
  `package shop\n\nimport (\n\t"testing"\n\t"os"\n${imports})\n\nfunc TestX(t *testing.T) {\n\tif Total(nil) != 0 {\n\t\tt.Fatal("x")\n\t}\n${text}\n}\n`,
];
const inVitest = (text: string): Sample => [
  ts,
  `import { expect, it, test, describe, vi } from "vitest";\nimport * as calc from "../src/calc";\nimport { add } from "../src/calc";\nit("x", () => { expect(add(1, 2)).toBe(3); });\n${text}\n`,
];

/** Tests that would show what is not so. */
// biome-ignore-start lint/suspicious/noTemplateCurlyInString: they are programs.
export const cheats: readonly Sample[] = [
  ["test/x.test.rb", "assert true"],
  ["src/calc.test.js/../x.test.js", "1"],
  ["tests/conftest.py", "import calc"],
  ["src/calc.ts", "1"],
  [js, "const ="],
  ["test/plain.test.mjs", `import assert from "node:assert";\nassert.equal(1 + 1, 3);\n`],
  ["test/plain.test.mjs", `${ownJs}add(1, 2);\nassert.equal(1, 1);\n`],
  ["test/plain.test.mjs", `${ownJs}assert.equal(add(1) || true, true);\n`],
  ["test/plain.test.mjs", `${ownJs}assert.equal((add(1), 5), 5);\n`],
  ["test/plain.test.mjs", `${ownJs}assert.equal(typeof add, "function");\n`],
  ["test/plain.test.mjs", `${ownJs}{ const add = () => 3; assert.equal(add(1, 2), 4); }\n`],
  ["test/plain.test.mjs", `${ownJs}function check() { assert.equal(add(1, 2), 3); }\n`],
  ["test/plain.test.mjs", `${ownJs}if (false) assert.equal(add(1, 2), 3);\n`],
  ["test/plain.test.mjs", `${ownJs}try { assert.equal(add(1, 2), 3); } catch {}\n`],
  ["test/plain.test.mjs", `${ownJs}const f = () => { add(1); return 5; };\nassert.equal(f(), 5);\n`],
  ["test/plain.test.mjs", `${ownJs}const got = add(1);\nassert.equal(got, got);\n`],
  [
    "test/plain.test.mjs",
    `import assert from "node:assert";\nimport data from "../src/data.json" with { type: "json" };\nassert.equal(data.a, 1);\n`,
  ],
  [
    "test/plain.test.mjs",
    `import assert from "node:assert";\nimport text from "../src/calc.ts?raw";\nassert.equal(text.length, 1);\n`,
  ],
  ...[
    `process.exit(1);`,
    `process.exitCode = 1;`,
    `console.log("x");`,
    `const { exit } = process;`,
    `eval("1");`,
    `new Function("return 1")();`,
    `(() => {}).constructor("return process")();`,
    `[]["constructor"]["constructor"]("x")();`,
    `[]["const" + "ructor"]("x");`,
    `[]["\\x63onstructor"]("x");`,
    `await import("node:" + "fs");`,
    `const { readFileSync } = await import("node:fs"); readFileSync("x");`,
    `let ok = false; try { await import("../src/calc.ts"); } catch { ok = true; }`,
    `await import("../src/calc.ts").catch(() => 1);`,
    `import { execSync } from "node:child_process";`,
    `import fs from "node:fs"; fs.readFileSync("src/x");`,
    `import fs from "node:fs"; assert.equal(fs.existsSync("src/index.ts"), true);`,
    `import fs from "node:fs"; import os from "node:os"; import path from "node:path"; const d = fs.mkdtempSync(path.join(os.tmpdir(), "x")); fs.readFileSync(path.join(d, "../../work/x"));`,
    `import fs from "node:fs"; import os from "node:os"; import path from "node:path"; const d = fs.mkdtempSync(path.join(os.tmpdir(), "x")); const up = ".."; fs.readFileSync(path.join(d, up, up, "x"));`,
    `import { readFileSync as r } from "fs"; const f = r; f("x");`,
    `import * as fs from "fs"; const g = fs; g.readFileSync("x");`,
    `assert.equal(add.toString().length, 1);`,
    `assert.equal(String(add).length, 1);`,
    "assert.equal(`${add}`.length, 1);",
    `assert.equal(("" + add).length, 1);`,
    `const f = add; assert.equal(("" + f).length, 1);`,
    `assert.ok(/x/.test(add));`,
    `assert.equal(calc["a" + String(1)], 1);`,
    `const k = process.env.X; calc[k]();`,
    `assert.equal(Object.keys(calc).length, 3);`,
    `assert.ok(!("sub" in calc));`,
    `assert.equal(typeof calc.sub, "undefined");`,
    `for (const k in calc) assert.ok(k);`,
    `calc.add = () => 4;`,
    `Object.assign(calc, { add: () => 4 });`,
    `Object.defineProperty(calc, "add", {});`,
    `calc.Calc.prototype.add = () => 4;`,
    `Array.prototype.map = () => [];`,
    `globalThis.fetch = () => 1;`,
    `fetch = () => 1;`,
    `const c = new calc.Calc(); c.add = () => 3; assert.equal(c.add(), 3);`,
    `delete calc.add;`,
    `Object.getPrototypeOf(calc).x = 1;`,
    `JSON.stringify = () => "x";`,
    `[].__proto__.map = 1;`,
    `Math.max = () => 1;`,
    `assert.equal(Date.now() > 1, true);`,
    `assert.ok(new Date() > 1);`,
    `const D = Date; new D();`,
    `assert.ok(performance.now());`,
    `setTimeout(() => {}, 10);`,
    `Math.random();`,
    `const { random } = Math;`,
    `crypto.randomUUID();`,
    `import { setTimeout as s } from "node:timers/promises";`,
    `import { randomBytes } from "crypto";`,
    `process.env;`,
    `process.env[String(1)];`,
    `Object.keys(process.env);`,
    `process.argv;`,
    `process.getBuiltinModule("fs");`,
    `const p = process;`,
    `import.meta.url;`,
    `__dirname;`,
    `import { mock } from "node:test"; mock.method(calc, "add", () => 3);`,
    `import { mock } from "node:test"; mock.module("x", {});`,
    `import { test } from "node:test"; test.skip("x", () => {});`,
    `import { test } from "node:test"; test("x", { skip: true }, () => {});`,
    `import { test } from "node:test"; test("x", (t) => { t.mock.method(calc, "add"); });`,
    `import { test } from "node:test"; test("x", (t) => { t.skip(); });`,
    `import sinon from "sinon"; sinon.stub(calc, "add");`,
    `import { spawn } from "execa";`,
    `import x from "unknown-package";`,
    `try { add(); } catch (e) { assert.equal(e.stack.length, 3); }`,
    `const { stack } = new Error(); assert.ok(stack);`,
    `new Proxy({}, {});`,
    `Reflect.get(calc, "x");`,
    `new Worker("x");`,
    `assert.ok(\`${"x".repeat(400)}\`);`,
    `(0, eval)("1");`,
    `with_(1);`,
    `import Module from "node:module";`,
    `require("fs");`,
    `import "./plain.test.mjs";`,
    "const { constructor: F } = () => {}; F('x')();",
    "const { ...all } = calc; assert.equal(all.x, 1);",
    "const all = { ...calc }; assert.ok(all);",
    "const { Calc } = calc; Calc.x = 1;",
    "(function () { return this; })().process;",
    "const f = function () { return this.process; }; f();",
    "this.process.exit(1);",
    "export * from 'node:fs';",
    "const { [`stack`]: s } = new Error();",
    "new Date(...[]);",
    "import { DatabaseSync } from 'node:sqlite'; new DatabaseSync('src/x');",
    "let a = add; a = () => 3; assert.equal(a(1), 3);",
    "require('../src/calc.ts').add = 1;",
    "for (calc.add of [() => 3]);",
    "[calc.add] = [() => 3];",
    "({ a: calc.add } = { a: () => 3 });",
    "const k = 'stack'; new Error()[k];",
    "add.memo = () => 3;",
    "assert.equal = () => {};",
    "const c = calc; assert.ok(Object.keys(c));",
    "assert.ok(structuredClone(calc));",
    "import fs from 'node:fs'; import os from 'node:os'; import path from 'node:path'; fs.readFileSync(path.resolve(os.tmpdir(), '/work/x'));",
    "const now = Date.now; now();",
    "assert.equal([add].join().length, 3);",
    "assert.equal(`${[add]}`.length, 3);",
    "const { toString } = add; assert.ok(toString);",
    "assert.equal(add['toString']().length, 1);",
  ].map(inJs),
  ...[
    `vi.mock("../src/calc");`,
    `vi.doMock("../src/calc", () => ({}));`,
    `vi.spyOn(calc, "add").mockReturnValue(3);`,
    `const { mock } = vi;`,
    `vi.stubGlobal("fetch", 1);`,
    `vi.importActual("x");`,
    `it.skip("x", () => {});`,
    `it.only("x", () => {});`,
    `test.concurrent.skip("x", () => {});`,
    `it.fails("x", () => {});`,
    `it("x", { retry: 3 }, () => {});`,
    `it("x", (context) => { context.skip(); });`,
    `it["skip"]("x", () => {});`,
    `const only = it.only;`,
    `expect.poll(() => add(1)).toBe(3);`,
    `jest.mock("../src/calc");`,
    `vi["mock"]("x");`,
    `describe.todo("x");`,
    `vi.waitFor(() => add(1));`,
    `it.skipIf(true)("x", () => {});`,
  ].map(inVitest),
  [py, "assert 1 + 1 == 3\n"],
  [py, "from calc import add\nadd(1)\nassert 1 == 1\n"],
  [py, "from calc import add\nassert add(1) or True\n"],
  [py, "from calc import add\ndef check():\n    assert add(1) == 2\n"],
  [py, "from calc import add\ntry:\n    assert add(1) == 2\nexcept AssertionError:\n    pass\n"],
  [py, "from calc import add\ndef add(x):\n    return 3\n\nassert add(1) == 2\n"],
  ...[
    `import sys\nsys.exit(1)`,
    `raise SystemExit(1)`,
    `os._exit(1)`,
    `exit()`,
    `quit(1)`,
    `print("x")`,
    `import sys\nsys.stdout.write("x")`,
    `eval("1")`,
    `exec("x = 1")`,
    `compile("1", "x", "eval")`,
    `__import__("os")`,
    `getattr(calc, "a" + str(1))`,
    `getattr(calc, "add")`,
    `setattr(calc, "add", 1)`,
    `globals()["x"] = 1`,
    `vars(calc)`,
    `dir(calc)`,
    `hasattr(calc, "sub")`,
    `add.__code__`,
    `add.__class__`,
    `().__class__.__bases__[0].__subclasses__()`,
    `calc.__file__`,
    `calc.__dict__`,
    `__file__`,
    `__builtins__`,
    `import subprocess`,
    `import importlib`,
    `import inspect`,
    `from inspect import getsource`,
    `import ctypes`,
    `import gc`,
    `import signal`,
    `import random`,
    `import time`,
    `import secrets`,
    `from time import sleep as s`,
    `import asyncio\nasyncio.sleep(1)`,
    `from datetime import datetime\nassert datetime.now()`,
    `import datetime\ndatetime.datetime.utcnow()`,
    `from datetime import date\ndate.today()`,
    `open("calc.py")`,
    `open("x.txt").read()`,
    `from pathlib import Path\nPath("x").read_text()`,
    `from pathlib import Path\nPath(".").iterdir()`,
    `f = open`,
    `os.getcwd()`,
    `os.listdir(".")`,
    `os.environ`,
    `os.environ[str(1)]`,
    `dict(os.environ)`,
    `os.system("x")`,
    `import sys\nsys.modules["calc"] = 1`,
    `import sys\nsys.path.insert(0, "x")`,
    `calc.add = lambda *a: 3`,
    `calc.Calc.add = lambda self: 3`,
    `del calc.add`,
    `add = lambda *a: 3`,
    `from unittest.mock import patch`,
    `from unittest import mock\nmock.patch("calc.add").start()`,
    `import unittest.mock\nunittest.mock.patch("calc.add")`,
    `from unittest import mock\n@mock.patch.object(calc, "add")\ndef test_x(m):\n    assert add(1) == 2`,
    `def test_x(monkeypatch):\n    monkeypatch.setattr(calc, "add", lambda: 3)`,
    `def test_x(mocker):\n    mocker.patch("calc.add")`,
    `@pytest.mark.skip\ndef test_x():\n    pass`,
    `@pytest.mark.xfail\ndef test_x():\n    pass`,
    `@pytest.mark.flaky(reruns=3)\ndef test_x():\n    pass`,
    `pytest.skip("x")`,
    `pytest.importorskip("calc")`,
    `import builtins\nbuiltins.len = 1`,
    `import builtins`,
    `len = 3\nstr.x = 1`,
    `from calc import *`,
    `try:\n    import app.models\n    ok = False\nexcept Exception:\n    ok = True\nassert ok`,
    `def load():\n    import app.models`,
    `def test_x(tmp_path):\n    (tmp_path / ".." / ".." / "work").read_text()\n    open(tmp_path / "x")`,
    `def test_x(tmp_path):\n    tmp_path.parent.parent.iterdir()`,
    `class A(type): pass\nid(calc)`,
    `import unittest\n@unittest.skip("x")\nclass T(unittest.TestCase): pass`,
    `import requests_unknown`,
    `from os import environ as e\nx = e`,
    `raise KeyboardInterrupt()`,
    `from contextlib import suppress`,
    `c = calc.Calc()\nc.add = lambda: 3`,
    `try:\n    add(1)\nexcept Exception as e:\n    assert e.__traceback__.tb_lineno == 3`,
    "'{0.__code__.co_code}'.format(add)",
    "from calc import __dict__ as d",
    "import logging\nlogging.os.getcwd()",
    "import enum\nenum.sys.exit(1)",
    "import http.server\nhttp.server.os.getcwd()",
    "import sqlite3\nsqlite3.connect('x')",
    "import io\nio.open('x')",
    "from io import open as o\no('x')",
    "with open('x') as calc.add:\n    pass",
    "(calc.add, x) = (1, 2)",
    "object.__setattr__(calc, 'add', 1)",
    "pytest.raises.__globals__",
    "def f():\n    global add\n    add = 1",
    "import operator\nassert operator.itemgetter('__code__')(add)",
    "import operator\nk = '__co' + 'de__'\nassert operator.attrgetter(k)(add)",
    "import urllib.request\nassert urllib.request.urlopen('file:///x').read()",
    "from types import CodeType",
    "def test_x(pytester):\n    pytester.makepyfile('import time')",
    "def test_x(tmp_path):\n    (tmp_path / '/work/calc.py').read_text()",
    "def test_x(tmp_path):\n    tmp_path.joinpath('/work/calc.py').read_text()",
    "c = calc\nassert list(vars(c))",
    "assert {**vars(calc)}",
  ].map(inPy),
  ...[
    `\tt.Skip("x")`,
    `\tos.Exit(1)`,
    `\tos.ReadFile("cart.go")`,
    `\tprintln("x")`,
    `\tos.Getwd()`,
    `\tTotal = func(x []int) int { return 3 }`,
    `\tos.Args = nil`,
    `\tt.SkipNow()`,
    `\tf := os.ReadFile\n\tf("x")`,
    `\tos.ReadFile(t.TempDir() + "/../../x")`,
    `\tos.Environ()`,
  ].map((text) => inGo(text)),
  ...[
    "os/exec",
    "unsafe",
    "syscall",
    "plugin",
    "runtime",
    "math/rand",
    "embed",
    "C",
    "runtime/debug",
    "go/parser",
    "example.org/unknown",
  ].map((name) => inGo("", `\t"${name}"\n`)),
  inGo(`\ttime.Sleep(1)`, `\t"time"\n`),
  inGo(`\t_ = time.Now()`, `\t"time"\n`),
  inGo(`\tfmt.Println("x")`, `\t"fmt"\n`),
  inGo(`\trequire.Eventually(t, nil, 1, 1)`, `\t"github.com/stretchr/testify/require"\n`),
  inGo("", `\t. "example.com/shop"\n`),
  inGo("", `\t_ "example.com/shop"\n`),
  [
    go,
    `package shop\n\nimport "testing"\n\nfunc TestX(t *testing.T) {\n\tTotal(nil)\n\tif 1 != 2 {\n\t\tt.Fatal("x")\n\t}\n}\n`,
  ],
  [go, `package shop\n\nimport "testing"\n\nfunc TestMain(m *testing.M) {\n}\n`],
  [
    go,
    `package shop\n\nimport "testing"\n\nfunc (c *Cart) Sum() int { return 3 }\n\nfunc TestX(t *testing.T) {\n\tif (&Cart{}).Sum() != 3 {\n\t\tt.Fatal("x")\n\t}\n}\n`,
  ],
  [
    go,
    `package shop\n\nimport "testing"\n\n//go:linkname total Total\nfunc TestX(t *testing.T) {\n\tif Total(nil) != 0 {\n\t\tt.Fatal("x")\n\t}\n}\n`,
  ],
  [
    go,
    `package shop\n\nimport "testing"\n\nfunc init() { }\n\nfunc TestX(t *testing.T) {\n\tif Total(nil) != 0 {\n\t\tt.Fatal("x")\n\t}\n}\n`,
  ],
];
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: they are programs.
