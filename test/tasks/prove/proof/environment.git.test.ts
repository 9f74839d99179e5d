import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openWorkspace } from "../../../../src/repo/git/object-workspace.ts";
import { changedDependencies } from "../../../../src/tasks/prove/proof/dependency-files.ts";
import {
  changedEnvironment,
  removeEnvironments as removeFor,
} from "../../../../src/tasks/prove/proof/environment.ts";
import { attack as attackWith, sandboxFor } from "../../../sandbox/sandbox.ts";
import { placeOf } from "../../../support/checkout-place.ts";
import { GitRepo } from "../../../support/git-repo.ts";
import { digestOf, environmentsAt, filesIn, prepare, removeEnvironments } from "./environments.ts";

const { sandbox, skipped } = await sandboxFor(
  "that an environment of proofs is made of the merge base alone",
);
const folder = environmentsAt();
afterAll(() => removeEnvironments(folder));

/** Node needs more memory than other hostile commands do. */
const attack: typeof attackWith = (where, command, over = {}) =>
  attackWith(where, command, { limits: { memoryBytes: 1024 ** 3, dataBytes: 1024 ** 3 }, ...over });

const placed = (files: Record<string, string>) =>
  Object.entries(files).map(([path, text]) => ({ path, mode: "100644" as const, bytes: Buffer.from(text) }));

/** Two packages of Node, one with a scope, a program, and a venv. */
const install = [
  "mkdir -p node_modules/.bin node_modules/left node_modules/@acme/pad node_modules/.cache .venv/bin sub/node_modules/x",
  "echo 'module.exports = \"left\"' > node_modules/left/index.js",
  "echo 'module.exports = \"pad\"' > node_modules/@acme/pad/index.js",
  "printf '#!/bin/sh\\necho ran\\n' > node_modules/left/cli; chmod +x node_modules/left/cli",
  "ln -s ../left/cli node_modules/.bin/left; ln -s ../../sub node_modules/@acme/sub",
  "echo 1 > sub/node_modules/x/index.js; echo old > node_modules/.cache/x",
  "echo home > .venv/pyvenv.cfg; ln -s /usr/bin/perl .venv/bin/python; mkdir -p .git; echo x > .git/config",
  "echo changed >> package.json; mkfifo pipe",
].join("; ");
const base = { "package.json": "{}\n", "sub/index.js": "module.exports = 'sub of base'\n" };

describe.skipIf(!sandbox)(`an environment of proofs${skipped}`, () => {
  async function made(command = install, files: Record<string, string> = base) {
    const environment = await prepare(sandbox, folder, files, { command });
    if ("why" in environment) throw new Error(environment.why);
    return environment.root;
  }

  it("An environment has the new files of its command, with links and executable bits", async () => {
    const root = await made();
    expect(filesIn(root)).toEqual([
      ...[
        ".venv/bin/python",
        ".venv/pyvenv.cfg",
        "node_modules/.bin/left",
        "node_modules/@acme/pad/index.js",
      ],
      ...["node_modules/@acme/sub", "node_modules/left/cli", "node_modules/left/index.js"],
      "sub/node_modules/x/index.js",
    ]);
    expect(lstatSync(join(root, "node_modules/left/cli")).mode & 0o777).toBe(0o555);
    expect(lstatSync(join(root, "node_modules/left/index.js")).mode & 0o777).toBe(0o444);
    expect(lstatSync(join(root, "node_modules/left")).mode & 0o777).toBe(0o555);
  });

  it("Programs find the environment beside the files of a revision, and write beside it", async () => {
    const files = placed({ ...base, "sub/index.js": "module.exports = 'sub of head'\n", "pipe/x": "" });
    const { text, outcome } = await attack(
      sandbox,
      "node_modules/.bin/left; readlink .venv/bin/python; mkdir node_modules/.vite; echo > node_modules/.vite/x; " +
        `/runner/bin/node -p 'require("left") + require("@acme/pad") + require("@acme/sub")'; readlink node_modules/left`,
      { files, environment: await made() },
    );
    expect(text).toBe("ran\n/usr/bin/perl\nleftpadsub of head\n/environment/node_modules/left\n");
    expect(outcome.left).toEqual([{ path: "node_modules/.vite/x", kind: "new", bytes: 1 }]);
    expect(outcome.odd).toEqual([]);
  });

  it("An environment does not replace files or links of the revision", async () => {
    const files = [
      ...placed({ ...base, "node_modules/left/index.js": "mine", ".venv": "a file" }),
      { path: "node_modules/@acme", mode: "120000" as const, bytes: Buffer.from("/tmp") },
    ];
    const { text } = await attack(
      sandbox,
      "cat node_modules/left/index.js .venv; readlink node_modules/@acme; ls /tmp",
      {
        ...{ files, environment: await made() },
      },
    );
    expect(text).toBe("minea file/tmp\n");
  });

  it.each([
    ["a file", "rm node_modules/left; echo mine > node_modules/left", ["changed node_modules/left"], []],
    ["another link", "ln -sfn /tmp node_modules/left", [], ["node_modules/left"]],
    ["a folder", "rm .venv; mkdir .venv; echo 1 > .venv/x", ["gone .venv", "new .venv/x"], []],
    ["nothing", "rm node_modules/.bin/left", ["gone node_modules/.bin/left"], []],
    ["a pipe", "rm .venv; mkfifo .venv", [], [".venv"]],
  ])("A command that puts %s in the place of a link is reported", async (_, command, left, odd) => {
    const { outcome } = await attack(sandbox, command, { files: placed(base), environment: await made() });
    expect(outcome.left.map(({ kind, path }) => `${kind} ${path}`).toSorted()).toEqual(left);
    expect(outcome.odd).toEqual(odd);
  });

  it("An environment is made once for the same dependency files and command", async () => {
    const stamp = "cat /proc/sys/kernel/random/uuid > id; sleep 1";
    const idOf = async (files: Record<string, string>, command = stamp) =>
      readFileSync(join(await made(command, files), "id"), "utf8");
    const [first, second] = await Promise.all([idOf(base), idOf(base)]);
    expect(second).toBe(first);
    expect(await idOf({ ...base, "sub/index.js": "other code" })).toBe(first);
    const others = [
      await idOf({ ...base, "package.json": "{ }" }),
      await idOf({ ...base, "deep/er/.npmrc": "x=1" }),
      await idOf(base, `${stamp}; true`),
    ];
    expect(new Set([first, ...others]).size).toBe(4);
  });

  it("Two processes make one environment at once", async () => {
    const script = `
      import { findSandbox } from ${JSON.stringify(join(import.meta.dirname, "../../../../src/sandbox/find-sandbox.ts"))};
      import { prepare } from ${JSON.stringify(join(import.meta.dirname, "environments.ts"))};
      const { sandbox } = await findSandbox({ searchPath: process.env.PATH, readable: [], hidden: [], signal: new AbortController().signal });
      console.log((await prepare(sandbox, ${JSON.stringify(folder)}, { "go.mod": "x" }, { command: "sleep 1; echo 1 > two" })).root);`;
    const start = async () => {
      const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
        stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, VITEST: "true" },
      });
      let text = "";
      child.stdout.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
      });
      await once(child, "close");
      return text.trim();
    };
    const [one, other] = await Promise.all([start(), start()]);
    expect(other).toBe(one);
    expect(readFileSync(join(one, "two"), "utf8")).toBe("1\n");
    expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
  });

  it("An environment whose making was stopped is made again", async () => {
    const stop = new AbortController();
    const command = "echo half > a; sleep 3; echo whole > b";
    const stopped = prepare(sandbox, folder, base, { command, repository: "acme/stopped" }, stop.signal);
    setTimeout(() => stop.abort(), 1_000);
    await expect(stopped).rejects.toMatchObject({ code: "aborted" });
    expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
    const again = await prepare(sandbox, folder, base, { command, repository: "acme/stopped" });
    expect("root" in again && readdirSync(again.root)).toEqual(["a", "b"]);
  });

  it("What a killed process left is removed", async () => {
    // The tag of a process that has ended.
    const dead = join(folder, ".999999.1.aaaaaaaaaaaa.x");
    mkdirSync(join(dead, "files", "sub"), { recursive: true });
    chmodSync(join(dead, "files"), 0o555);
    const old = new Date(Date.now() - 40 * 86_400_000);
    utimesSync(dead, old, old);
    await made("echo 1 > x");
    expect(existsSync(dead)).toBe(false);
  });

  it("Old and surplus environments are deleted, but none in use", async () => {
    const own = environmentsAt();
    const days = (path: string, age: number) => {
      mkdirSync(join(path, "files"), { recursive: true });
      writeFileSync(join(path, "bytes"), "1");
      const then = new Date(Date.now() - age * 86_400_000);
      utimesSync(path, then, then);
    };
    days(join(own, "old"), 31);
    for (let n = 1; n <= 25; n++) days(join(own, `n${n}`), n);
    days(join(own, "used"), 1 / 24);
    const { root } = (await prepare(sandbox, own, base)) as { root: string };
    const names = readdirSync(own);
    expect(names).toHaveLength(20);
    expect(names).toEqual(expect.arrayContaining(["used", "n1", "n18"]));
    expect(names).not.toEqual(expect.arrayContaining(["old"]));
    expect(root.startsWith(own)).toBe(true);
    removeEnvironments(own);
  });

  it("A command that fails is the reason, and is not tried again at once", async () => {
    const command = "echo one; echo 'cannot \u001b[31mfind\u202e it' >&2; exit 3";
    const fault = {
      why: expect.stringMatching(/^the command of `prove\.prepare` ended with 3: cannot .*find.* it$/),
    };
    const first = await prepare(sandbox, folder, base, { command });
    expect(first).toEqual(fault);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left.
    expect("why" in first && first.why).not.toMatch(/[\u0000-\u001f\u202e]/);
    const tree = { tree: async () => new Map(), readBytes: () => Promise.reject(new Error("is run again")) };
    expect(await prepare(sandbox, folder, base, { command })).toEqual(first);
    expect(await prepare(sandbox, folder, {}, { command, tree })).toMatchObject(fault);
  });

  it.runIf(process.getuid?.() === 0)(
    "An environment that sandboxes of root cannot enter is missing with the reason",
    async () => {
      const own = environmentsAt();
      chmodSync(dirname(own), 0o700);
      expect(await prepare(sandbox, own, base)).toEqual({
        why: `the environment cannot be prepared: the user nobody, as whom root runs sandboxes, cannot enter ${dirname(own)}`,
      });
      removeEnvironments(own);
    },
  );

  it("Only its sandboxes can enter an environment", async () => {
    const { mode, uid, gid } = lstatSync(dirname(await made()));
    const isRoot = process.getuid?.() === 0;
    expect([mode & 0o777, uid, gid]).toEqual([
      0o750,
      process.getuid?.(),
      isRoot ? 65_534 : process.getgid?.(),
    ]);
  });

  it("A command that takes too long or leaves too much is the reason", async () => {
    expect(await prepare(sandbox, folder, base, { command: "sleep 60", timeoutMs: 1_000 })).toEqual({
      why: "the command of `prove.prepare` was ended by its limit (timeout)",
    });
    expect(
      await prepare(sandbox, folder, base, { command: "truncate -s 300M big", memoryMb: 2_048 }),
    ).toEqual({
      why: "the environment is too large: 'big' is larger than 256 MB",
    });
  });

  it("A command sees no private file and no network", async () => {
    const files = { ...base, "secret/key": "hush" };
    const command = "ls -R . > seen; tail -n +3 /proc/net/dev >> seen; env >> seen";
    const environment = await prepare(sandbox, folder, files, {
      ...{ command, isPrivate: (path: string) => path.startsWith("secret/") },
    });
    const seen = "root" in environment ? readFileSync(join(environment.root, "seen"), "utf8") : "";
    expect(seen).toContain("sub:");
    expect(seen).toContain("lo:");
    expect(seen).not.toMatch(/secret|eth|proxy/i);
  });

  it("An environment takes nothing from a pull request", async () => {
    using repo = GitRepo.create();
    const good = { "package.json": '{"scripts":{}}', ".npmrc": "a=1", "setup.sh": "echo base > installed" };
    const from = repo.commit("base", good);
    repo.branch("pull").checkout("pull");
    const evil = {
      "package.json": '{"dependencies":{"evil":"1.0.0"},"scripts":{"preinstall":"echo evil > installed"}}',
      ...{ ".npmrc": "registry=http://evil", "pip.conf": "evil", "setup.sh": "echo evil > installed" },
      "package-lock.json": "evil",
    };
    repo.commit("pull", evil);
    using at = await placeOf(repo, from);
    await using workspace = openWorkspace(at.place);
    const command = "sh setup.sh; cat * .npmrc > all; ls -a >> all";
    const environment = await prepare(sandbox, folder, {}, { command, tree: workspace });
    const root = "root" in environment ? environment.root : "";
    expect(readFileSync(join(root, "installed"), "utf8")).toBe("base\n");
    expect(readFileSync(join(root, "all"), "utf8")).not.toMatch(/evil|lock/);
    expect(changedDependencies(await workspace.changes(), command)).toEqual([
      ...[".npmrc", "package-lock.json", "package.json", "pip.conf", "setup.sh"],
    ]);
  });
});

const poison: Record<string, string> = {
  "writes into it":
    "echo evil > node_modules/left/index.js; echo evil > /environment/new; truncate -s 0 /environment/.venv/pyvenv.cfg",
  "writes into it through links":
    "echo evil > .venv/pyvenv.cfg; echo evil > node_modules/.bin/left; echo evil > /work/.venv/new",
  "replaces its links":
    "rm -rf node_modules .venv; ln -s /tmp node_modules; mkdir -p /tmp/left; echo 'module.exports = \"evil\"' > /tmp/left/index.js",
  "moves and removes it":
    "mv /environment /tmp/e; mv /environment/node_modules /environment/x; rm -rf /environment; rmdir /environment/sub",
  "changes modes, owners and times":
    "chmod -R 777 /environment; chmod 777 .venv node_modules/left/index.js; chown -R 1000 /environment; touch -d 2001-01-01 /environment/.venv/pyvenv.cfg",
  "makes hard links":
    "ln /environment/node_modules/left/index.js /tmp/x; ln /environment/.venv/pyvenv.cfg y; ln -P node_modules/left z",
  mounts:
    "mount --bind /tmp /environment; mount -o remount,rw /environment; umount /environment; unshare -Urm mount -o remount,rw /environment",
  "goes around by /proc":
    "echo evil > /proc/self/root/environment/new; echo evil > /proc/1/root/environment/new; for f in /proc/self/fd/*; do echo evil > $f/new; done",
  "fills caches":
    "mkdir -p node_modules/.cache; echo evil > node_modules/.cache/x; mkdir node_modules/left/.cache; mkdir -p /environment/node_modules/.cache",
  "compiles beside it":
    "mkdir /environment/.venv/__pycache__; mkdir .venv/__pycache__; echo evil > .venv/__pycache__/x.pyc",
  "installs at run time":
    "npm install --offline ./evil; npm install --fetch-retries=0 --prefix /environment evil; python3 -m pip install --retries 0 --target .venv evil",
  "locks and maps":
    'perl -e \'open(F, "+<", "/environment/.venv/pyvenv.cfg") and print F "evil"; link("/environment/.venv/pyvenv.cfg", "/environment/l"); symlink("/tmp", "/environment/s"); rename("/environment/sub", "/environment/t")\'',
};

describe.skipIf(!sandbox)(
  `a pull request that poisons an environment which others use: one that${skipped}`,
  async () => {
    const files = placed(base);
    const asks = `/runner/bin/node -p 'require("left") + require("@acme/pad")'; cat .venv/pyvenv.cfg; node_modules/.bin/left; ls -R /environment`;
    it.each(Object.entries(poison))(
      "A pull request that %s changes nothing for the next one",
      async (_, command) => {
        const environment = await prepare(sandbox, folder, base, { command: install });
        const root = "root" in environment ? environment.root : "";
        const before = digestOf(root);
        const first = await attack(sandbox, asks, { files, environment: root });
        expect(first.text).toContain("leftpad\nhome\nran\n");
        await attack(sandbox, `(${command}) 2>/dev/null`, { files, environment: root });
        expect(digestOf(root)).toBe(before);
        const second = await attack(sandbox, asks, { files, environment: root });
        expect([second.exitCode, second.text]).toEqual([first.exitCode, first.text]);
      },
    );
  },
);

describe.skipIf(!sandbox)(`the environments of a repository${skipped}`, () => {
  it("Environments of a repository are deleted with it, whatever the case of its name", async () => {
    const own = environmentsAt();
    for (const repository of ["Acme/Shop", "acme/shop", "acme/shop2"])
      await prepare(sandbox, own, base, { repository });
    expect(readdirSync(own)).toHaveLength(3);
    await removeFor(own, "acme/SHOP");
    expect(readdirSync(own)).toHaveLength(1);
    removeEnvironments(own);
  });

  it("A change may put no file into an environment", async () => {
    const { root } = (await prepare(sandbox, folder, base, { command: install })) as { root: string };
    const changed = async (...paths: string[]) =>
      await changedEnvironment(
        { root },
        paths.map((path) => ({ path })),
        new Map(Object.entries(base)),
      );
    const bad = [
      ".venv",
      ".venv/bin/new",
      "node_modules/left/index.js",
      "node_modules/new/index.js",
      "sub/node_modules/x/y",
    ];
    expect(await changed(...bad)).toEqual(bad);
    expect(await changed("package.json", "sub/index.js", "sub/new.js", "new/deep/a.js", "README.md")).toEqual(
      [],
    );
  });
});
