import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { attack, sandboxFor } from "../../../sandbox/sandbox.ts";
import { TempFolder } from "../../../support/git-repo.ts";
import { environmentsAt, filesIn, prepare, removeEnvironments } from "./environments.ts";

const { sandbox, skipped } = await sandboxFor(
  "that an environment gets packages from named registries alone",
);
const folder = environmentsAt();
const scratch = new TempFolder("registry");

/** A package of Node with a script that runs when it is installed, as npm publishes it. */
function packed(name: string): Buffer {
  const at = join(scratch.path, name, "package");
  mkdirSync(at, { recursive: true });
  writeFileSync(
    join(at, "package.json"),
    JSON.stringify({ name, version: "1.0.0", bin: { [name]: "cli.js" } }),
  );
  writeFileSync(join(at, "index.js"), `module.exports = "${name} of the registry";\n`);
  writeFileSync(join(at, "cli.js"), `#!/usr/bin/env node\nconsole.log(require("./index.js"));\n`);
  const { stdout, status } = spawnSync("tar", ["-czf", "-", "-C", dirname(at), "package"]);
  expect(status).toBe(0);
  return stdout;
}

/** A wheel: a zip, which Python writes. */
function wheel(): Buffer {
  const file = join(scratch.path, "right-1.0-py3-none-any.whl");
  const script = `import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as z:
  z.writestr("right.py", "word = 'right of the registry'\\n")
  z.writestr("right-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: right\\nVersion: 1.0\\n")
  z.writestr("right-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
  z.writestr("right-1.0.dist-info/RECORD", "")`;
  const { status, stderr } = spawnSync("python3", ["-c", script, file]);
  expect([status, stderr.toString()]).toEqual([0, ""]);
  return readFileSync(file);
}

const tarball = packed("left");
const asked: string[] = [];
const registry = createServer(({ url = "", headers }, answer) => {
  asked.push(`${headers.host}${url} ${headers.authorization ?? "-"}`);
  if (url === "/left/-/left-1.0.0.tgz") answer.end(tarball);
  else if (url === "/simple/right/")
    answer
      .setHeader("content-type", "text/html")
      .end('<a href="/right-1.0-py3-none-any.whl">right-1.0-py3-none-any.whl</a>');
  else if (url.endsWith(".whl")) answer.end(wheel());
  else answer.writeHead(404).end();
}).listen(0, "127.0.0.1");
await once(registry, "listening");
const { port } = registry.address() as AddressInfo;
const named = [`localhost:${port}`];
afterAll(() => {
  registry.close();
  scratch.dispose();
  removeEnvironments(folder);
});

const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
function project(host: string): Record<string, string> {
  const dependencies = { left: "1.0.0" };
  const resolved = `http://${host}:${port}/left/-/left-1.0.0.tgz`;
  const left = { version: "1.0.0", resolved, integrity, bin: { left: "cli.js" } };
  return {
    "package.json": JSON.stringify({ name: "shop", version: "1.0.0", dependencies }),
    "package-lock.json": JSON.stringify({
      ...{ name: "shop", version: "1.0.0", lockfileVersion: 3, requires: true },
      packages: { "": { name: "shop", version: "1.0.0", dependencies }, "node_modules/left": left },
    }),
    ".npmrc": `registry=http://${host}:${port}/\n//${host}:${port}/:_authToken=hush\nreplace-registry-host=never\nfetch-retries=0\n`,
  };
}

const limits = { memoryBytes: 1024 ** 3 };
const has = (...programs: string[]) => programs.every((name) => existsSync(`/usr/bin/${name}`));
const hasPip = spawnSync("/usr/bin/python3", ["-c", "import venv, ensurepip"]).status === 0;

describe.skipIf(!sandbox)(`an environment with packages from a registry${skipped}`, () => {
  it.skipIf(!has("npm", "node"))("A test runs with what npm installs from a lock file", async () => {
    const environment = await prepare(sandbox, folder, project("localhost"), {
      command: "npm ci",
      registries: named,
    });
    expect(environment).toEqual({ root: expect.any(String) });
    const { root } = environment as { root: string };
    expect(filesIn(root)).toEqual([
      ...["node_modules/.bin/left", "node_modules/.package-lock.json"],
      ...["cli.js", "index.js", "package.json"].map((name) => `node_modules/left/${name}`),
    ]);
    // The token of the repository went nowhere.
    expect(asked).toEqual([`localhost:${port}/left/-/left-1.0.0.tgz -`]);
    const run = { environment: root, limits };
    expect((await attack(sandbox, "node_modules/.bin/left; ls /registry", run)).text).toMatch(
      /^left of the registry\n.*No such file/,
    );
  });

  it.skipIf(!has("npm", "node"))(
    "An environment is missing if a host is not named, with its name",
    async () => {
      asked.length = 0;
      const order = { command: "npm ci", registries: named };
      const environment = await prepare(sandbox, folder, project("127.0.0.1"), order);
      expect(environment).toEqual({
        why: expect.stringMatching(
          new RegExp(
            `^the command of .prove.prepare. ended with 1: .*; HUNKWISE_PROVE_REGISTRIES does not name http://127.0.0.1:${port}/left/`,
          ),
        ),
      });
      expect(asked).toEqual([]);
    },
  );

  it.skipIf(!has("npm", "node"))(
    "An environment is missing without any registry, because there is no network",
    async () => {
      const environment = await prepare(sandbox, folder, project("localhost"), {
        command: "npm ci",
        repository: "acme/alone",
      });
      expect(environment).toMatchObject({
        why: expect.stringMatching(/^the command of .prove.prepare. ended with 1: /),
      });
      expect(asked).toEqual([]);
    },
  );

  it.skipIf(!hasPip)("A virtual environment of Python is found at its path", async () => {
    const index = `http://localhost:${port}/simple/`;
    const command = `python3 -m venv .venv && .venv/bin/pip install -q --retries 0 --index-url ${index} --trusted-host localhost right`;
    const environment = await prepare(sandbox, folder, {}, { command, registries: named });
    expect(environment).toEqual({ root: expect.any(String) });
    const { root } = environment as { root: string };
    const { text, outcome } = await attack(
      sandbox,
      ".venv/bin/python -c 'import right, sys; print(right.word, sys.prefix)'; .venv/bin/pip --version | cut -c1-4",
      { environment: root, limits },
    );
    expect(text).toBe("right of the registry /work/.venv\npip \n");
    expect([outcome.left, outcome.odd]).toEqual([[], []]);
  });

  it("A command reaches no host around the proxy", async () => {
    const direct = `perl -e 'use IO::Socket::INET; print IO::Socket::INET->new(PeerAddr => "127.0.0.1:${port}") ? "in" : "out"' > direct`;
    const environment = await prepare(
      sandbox,
      folder,
      {},
      { command: `${direct}; ls /registry >> direct`, registries: named },
    );
    expect(readFileSync(join((environment as { root: string }).root, "direct"), "utf8")).toBe("outproxy\n");
  });

  it("An environment is missing if a registry needs more memory", async () => {
    expect(await prepare(sandbox, folder, {}, { registries: named, memoryMb: 512 })).toEqual({
      why: "HUNKWISE_SANDBOX_MEMORY_MB is 512, but `prove.prepare` needs 640 to reach a registry",
    });
  });

  it("An environment fails with the exit code of its command", async () => {
    const order = { registries: named, command: "echo bad >&2; kill -9 $$" };
    expect(await prepare(sandbox, folder, {}, order)).toEqual({
      why: "the command of `prove.prepare` ended with 137: bad",
    });
  });
});
