import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { endOrphans, ownerVariable } from "../../src/git/owner.ts";

const source = (file: string) => JSON.stringify(join(import.meta.dirname, "../../src/git", file));

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
  it("are ended, with what they started, and those of the living are not", async () => {
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
