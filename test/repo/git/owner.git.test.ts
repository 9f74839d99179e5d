import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  lutimesSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  endOrphans,
  livenessOfTag,
  lock,
  ownerVariable,
  ownTag,
  tryLock,
} from "../../../src/repo/git/owner.ts";
import { TempFolder } from "../../support/git-repo.ts";

let folder: TempFolder;
let path: string;
beforeEach(() => {
  folder = new TempFolder("lock");
  path = join(folder.path, "pid");
});
afterEach(() => folder.dispose());

const [pid, started, scope] = ownTag.split(".");
/** A lock that another process made. */
const lockedBy = (holder: { started?: string; scope?: string; nonce?: string }) => {
  rmSync(path, { force: true });
  symlinkSync(
    [pid, holder.started ?? started, holder.scope ?? scope, holder.nonce ?? "other"].join("."),
    path,
  );
};
const silentForLong = () => {
  const before = new Date(Date.now() - 60_000);
  lutimesSync(path, before, before);
};

describe("a lock", () => {
  it("A lock has one holder at a time, and leaves nothing behind", async () => {
    const first = await tryLock(path);
    expect(first?.inherited).toBe(false);
    expect(await tryLock(path)).toBeUndefined();
    const waiting = lock(path);
    await first?.release();
    await (await waiting).release();
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it("A lock admits one of many at a time", async () => {
    let inside = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const held = await lock(path);
        most = Math.max(most, ++inside);
        await new Promise((resolve) => setTimeout(resolve, 2));
        inside--;
        await held.release();
      }),
    );
    expect(most).toBe(1);
  });

  it("A wait for a lock ends when the job is aborted", async () => {
    const held = await lock(path);
    const abort = new AbortController();
    const waiting = lock(path, abort.signal);
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: "aborted" });
    await held.release();
  });

  it("A lock of a killed process is inherited by exactly one of many", async () => {
    const module = JSON.stringify(join(import.meta.dirname, "../../../src/repo/git/owner.ts"));
    const script = `const { lock } = await import(${module}); await lock(process.argv[1]); console.log("held"); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, path], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    expect(await tryLock(path)).toBeUndefined();
    child.kill("SIGKILL");
    await once(child, "close");
    const taken = (await Promise.all(Array.from({ length: 8 }, () => tryLock(path)))).filter(
      (one) => one !== undefined,
    );
    expect(taken.map((one) => one.inherited)).toEqual([true]);
    await taken[0]?.release();
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it("A dead process's lock goes to one alone, whenever others find it dead", async () => {
    for (let round = 0; round < 15; round++) {
      lockedBy({ started: "1", nonce: `dead-${round}` });
      const late = async (wait: number) => {
        await new Promise((resolve) => setTimeout(resolve, wait));
        return await tryLock(path);
      };
      const asked = await Promise.all(Array.from({ length: 24 }, (_, at) => late(at / 4)));
      const taken = asked.filter((one) => one !== undefined);
      expect(taken).toHaveLength(1);
      await taken[0]?.release();
    }
  });

  it("A lock is not fooled by a pid that was given to another process", async () => {
    lockedBy({ started: "1" });
    expect((await tryLock(path))?.inherited).toBe(true);
  });

  it("A lock of another machine or container counts until it has been silent for long", async () => {
    lockedBy({ scope: "elsewhere-12" });
    expect(livenessOfTag(`${pid}.${started}.elsewhere-12`)).toBe("unknown");
    expect(await tryLock(path)).toBeUndefined();
    silentForLong();
    expect((await tryLock(path))?.inherited).toBe(true);
  });

  it("A stopped process keeps its lock, except from those that must not wait", async () => {
    lockedBy({});
    expect(await tryLock(path, { evenFrozen: true })).toBeUndefined();
    silentForLong();
    expect(await tryLock(path)).toBeUndefined();
    expect((await tryLock(path, { evenFrozen: true }))?.inherited).toBe(true);
  });

  it("A lock whose heir was killed as well goes to the next one, and nothing is left behind", async () => {
    lockedBy({ started: "1", nonce: "first" });
    symlinkSync([pid, "1", scope, "second"].join("."), `${path}.heir-of-first`);
    const taken = await tryLock(path);
    expect(taken?.inherited).toBe(true);
    await taken?.release();
    expect(readdirSync(folder.path)).toEqual([]);
  });

  it("A lock needs no disk space", async () => {
    const held = await tryLock(path);
    expect(readlinkSync(path).length).toBeLessThan(60);
    await held?.release();
  });

  it.each([
    ["that cannot be read", () => writeFileSync(path, "")],
    ["that leads somewhere", () => symlinkSync("../../some.where/else", path)],
    [
      "that names what is longer than a name can be",
      () => symlinkSync(`${"a/".repeat(200)}.${"b".repeat(300)}`, path),
    ],
  ])("A lock %s is taken over when it is old", async (_, make) => {
    make();
    expect(await tryLock(path)).toBeUndefined();
    silentForLong();
    expect((await tryLock(path))?.inherited).toBe(true);
  });

  it("A lock is not given back twice", async () => {
    const first = await lock(path);
    await first.release();
    const second = await lock(path);
    await first.release();
    expect(readlinkSync(path)).toContain(ownTag);
    await second.release();
  });
});

const source = (file: string) => JSON.stringify(join(import.meta.dirname, "../../../src/repo/git", file));

/** A process that runs two programs, of which one started the other, and neither listens to anybody. */
async function starter(): Promise<{ process: ChildProcess; programs: number[] }> {
  const script = `
    const { ownerVariable } = await import(${source("owner.ts")});
    const { runProcess } = await import(${source("run-process.ts")});
    const args = ["-c", "trap '' TERM HUP PIPE; sleep 600 & echo $$ $!; wait"];
    const onStdout = (chunk) => void console.log(chunk.toString());
    await runProcess({ program: "/bin/sh", args, cwd: "/", env: ownerVariable, timeoutMs: 600_000, onStdout });`;
  const process_ = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = (await once(process_.stdout!, "data")) as [Buffer];
  return { process: process_, programs: said.toString().trim().split(" ").map(Number) };
}

const kill = async (child: ChildProcess) => {
  child.kill("SIGKILL");
  await once(child, "close");
};
/** Nobody may be there to take notice of its end. */
const runs = (pid: number) => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
};

/** Elsewhere the system does not show whose child a process was. */
describe.runIf(process.platform === "linux")("the programs of a process that was killed", () => {
  it("The programs of a killed process are ended, those of a live one are not", async () => {
    const [dead, living] = await Promise.all([starter(), starter()]);
    const own = spawn("/bin/sleep", ["600"], { env: ownerVariable });
    await kill(dead.process);
    expect(dead.programs.map(runs)).toEqual([true, true]);

    await endOrphans();

    expect(dead.programs.map(runs)).toEqual([false, false]);
    expect(living.programs.map(runs)).toEqual([true, true]);
    expect(runs(own.pid!)).toBe(true);
    own.kill();
    await kill(living.process);
    await endOrphans();
    expect(living.programs.map(runs)).toEqual([false, false]);
  });
});
