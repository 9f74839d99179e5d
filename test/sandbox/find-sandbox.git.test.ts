import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checks } from "../../src/cli/commands/doctor.ts";
import { readEnv } from "../../src/config/env.ts";
import { findSandbox } from "../../src/sandbox/find-sandbox.ts";
import { TempFolder } from "../support/git-repo.ts";
import { noSignal, sandboxFor, whyUnproven } from "./sandbox.ts";

const { sandbox, skipped } = await sandboxFor("that doctor tells of a sandbox that works");
const folder = new TempFolder("find-sandbox");
chmodSync(folder.path, 0o755);
afterAll(() => folder.dispose());

/** Where bubblewrap is a program that says this and ends with a fault. */
function findWhereItSays(words: string) {
  const program = join(folder.path, "bwrap");
  writeFileSync(program, `#!/bin/sh\necho "bwrap: ${words}" >&2\nexit 1\n`);
  chmodSync(program, 0o755);
  return findSandbox({ searchPath: folder.path, readable: [], hidden: [], signal: noSignal });
}

describe("a machine without a sandbox", () => {
  it("A machine without a sandbox has no bubblewrap", async () => {
    const found = await findSandbox({
      searchPath: "/nowhere:relative",
      readable: [],
      hidden: [],
      signal: noSignal,
    });
    expect(found).toMatchObject({ sandbox: null, why: "bubblewrap (bwrap) is not on PATH" });
  });

  it.each([
    ["Unknown option --disable-userns", "Install bubblewrap 0.8 or newer"],
    [
      "No permissions to create new namespace, likely because the kernel does not allow it",
      "Allow users to create namespaces",
    ],
    ["setting up uid map: Permission denied", "Allow users to create namespaces"],
    ["Can't mount proc on /newroot/proc: Operation not permitted", "`--security-opt systempaths=unconfined`"],
    ["execvp /supervisor/node: Permission denied", "Make the programs in the error message readable"],
  ])("A machine without a sandbox says why, and what to do: %s", async (words, remedy) => {
    const found = await findWhereItSays(words);
    expect(found).toMatchObject({ sandbox: null, why: expect.stringContaining(words) });
    expect(found).toMatchObject({ remedy: expect.stringContaining(remedy) });
  });

  it("A machine without a sandbox is reported by tests that are skipped there", async () => {
    const said: string[] = [];
    const why = whyUnproven(
      await findWhereItSays("Unknown option --size"),
      "that the sandbox holds",
      (line) => said.push(line),
    );
    expect(why).toContain("Unknown option --size");
    expect(said).toEqual([
      expect.stringMatching(/^NOT PROVEN, because this machine has no sandbox: that the sandbox holds\. /),
    ]);
  });
});

const isRoot = process.getuid?.() === 0;
const others = isRoot ? { uid: 65_534, gid: 65_534 } : {};
/** Whether the simplest sandbox of bubblewrap works here, for any user, and that user can run our Node. */
const builds =
  spawnSync(process.execPath, ["--version"], others).status === 0 &&
  spawnSync(
    "bwrap",
    [
      ...["--ro-bind", "/", "/", "--unshare-user", "--unshare-pid", "--unshare-net"],
      "--proc",
      "/proc",
      "true",
    ],
    others,
  ).status === 0;

describe("a machine with a sandbox", () => {
  it.skipIf(!builds)("A machine with a sandbox is found wherever bubblewrap works", () =>
    expect(skipped).toBe(""),
  );
});

describe("doctor", () => {
  const check = checks.find(({ name }) => name === "sandbox");

  it.skipIf(!sandbox)(`Names what commands get${skipped}`, async () => {
    const env = readEnv({ HUNKWISE_SANDBOX_READ: folder.path, HUNKWISE_SANDBOX_MEMORY_MB: "512" });
    expect(await check?.run({ env, faults: [] }, noSignal)).toEqual({
      state: "ok",
      says: `commands run in bubblewrap with 512 MB; they can read /usr and ${folder.path}`,
      remedy: null,
    });
  });

  const proofs = checks.find(({ name }) => name === "proofs");
  it.skipIf(!sandbox).each<[Record<string, string>, string, string]>([
    [{}, "ok", "tests of findings run in the sandbox; `prove.prepare` reaches no network"],
    [
      { HUNKWISE_PROVE_REGISTRIES: " Registry.npmjs.org, localhost:4873" },
      "ok",
      "tests of findings run in the sandbox; `prove.prepare` reaches registry.npmjs.org, localhost:4873",
    ],
    [
      { HUNKWISE_SANDBOX_MEMORY_MB: "512" },
      "warn",
      "tests of JavaScript cannot run: Node needs 640 MB, and a sandbox has 512",
    ],
  ])(`Doctor says whether tests of findings run here: %o${skipped}`, async (variables, state, says) => {
    expect(await proofs?.run({ env: readEnv(variables), faults: [] }, noSignal)).toMatchObject({
      state,
      says,
    });
  });

  it("Doctor says that no tests of findings run without a sandbox", async () => {
    const env = readEnv({ HUNKWISE_SANDBOX_READ: "/nowhere/tools" });
    expect(await proofs?.run({ env, faults: [] }, noSignal)).toMatchObject({
      ...{ state: "warn", says: "none: this machine runs no tests of findings, because it has no sandbox" },
      remedy: expect.stringMatching(/./),
    });
  });

  it("Doctor warns if a folder for commands does not exist", async () => {
    const env = readEnv({ HUNKWISE_SANDBOX_READ: "/nowhere/tools" });
    expect(await check?.run({ env, faults: [] }, noSignal)).toMatchObject({
      state: "warn",
      says: expect.stringMatching(/^none: fixes run no commands, because .*/),
    });
  });
});

describe("the environment of commands", () => {
  it("The environment of commands hides the server's files", () => {
    const { sandbox } = readEnv({ HUNKWISE_DATA_DIR: "/srv/data" });
    expect(sandbox).toMatchObject({ readable: [], memoryMb: 2_048 });
    const environments = isRoot ? "/var/cache/hunkwise/environments" : "/srv/data/environments";
    expect(sandbox.hidden).toEqual(["/srv/data", environments, join(import.meta.dirname, "../..")]);
  });

  it.each(["tools", "/", "/opt/../etc", "/opt/tools:x"])(
    "The environment of commands accepts only absolute folders, not %s",
    (value) => {
      expect(() => readEnv({ HUNKWISE_SANDBOX_READ: value })).toThrow(
        "HUNKWISE_SANDBOX_READ must be absolute paths",
      );
    },
  );

  it.each([
    "https://registry.npmjs.org",
    "user@host",
    "host/path",
    "*.npmjs.org",
    "npmjs.org.",
    "a b",
    "host:0",
    "host:99999",
    "host:",
  ])("The environment of commands accepts only hosts of registries, not %s", (value) => {
    expect(() => readEnv({ HUNKWISE_PROVE_REGISTRIES: value })).toThrow(
      "HUNKWISE_PROVE_REGISTRIES must be hosts with or without a port",
    );
  });

  it("The environment of commands may be several folders", () => {
    expect(readEnv({ HUNKWISE_SANDBOX_READ: "/opt/node:/opt/go:" }).sandbox.readable).toEqual([
      "/opt/node",
      "/opt/go",
    ]);
  });
});
