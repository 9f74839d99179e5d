import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";

const source = JSON.stringify(join(import.meta.dirname, "../../src/border/parent-port.ts"));

/** Leads a group with a program in it, and is busy for ever. */
const busy = `
  const { spawn } = require("node:child_process");
  import(${source}).then(({ watchParent }) => {
    watchParent(0, 10);
    const { pid } = spawn("/bin/sleep", ["600"], { stdio: "ignore" });
    setTimeout(() => {
      process.stdout.write(process.pid + " " + pid);
      for (;;);
    }, 200);
  });`;
const parent = `
  const options = { detached: true, stdio: ["ignore", "inherit", "inherit", "ipc"] };
  require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(busy)}], options);`;

const runs = (pid: number) => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
};

it.runIf(process.platform === "linux")(
  "A process that is busy for ever ends with its parent, and with what it started",
  async () => {
    const child = spawn(process.execPath, ["-e", parent], { stdio: ["ignore", "pipe", "inherit"] });
    const [said] = (await once(child.stdout, "data")) as [Buffer];
    const pids = said.toString().split(" ").map(Number);
    expect(pids.map(runs)).toEqual([true, true]);
    child.kill("SIGKILL");
    await vi.waitUntil(() => !pids.some(runs), { timeout: 120_000, interval: 20 });
  },
);
