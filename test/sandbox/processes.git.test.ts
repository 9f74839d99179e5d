import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownTag } from "../../src/repo/git/owner.ts";
import { runInSandbox } from "../../src/sandbox/run-in-sandbox.ts";
import { attack, endLeft, isRunning, leftProcesses, perl, sandboxFor, smallLimits } from "./sandbox.ts";

const long = process.env.HUNKWISE_LONG === "1";

const { sandbox, skipped } = await sandboxFor("that nothing of a command is left once it has ended");
const mark = { MARK: ownTag };

/** Resolves once a command with this mark runs. */
const running = (tag: string) => expect.poll(() => isRunning(tag), { timeout: 120_000 }).toBe(true);

describe.skipIf(!sandbox)(`processes of a command${skipped}`, () => {
  it("Nothing is left of a command if it forks as often as it can", async () => {
    const count = perl("while (defined(my $p = fork)) { $p or sleep 60; last if ++$n >= 500 } print $n");
    const { text } = await attack(sandbox, count, { env: mark });
    expect(Number(text)).toBeGreaterThan(10);
    expect(Number(text)).toBeLessThan(smallLimits.processes);
  });

  it("Nothing is left of a command if it is a fork bomb", async () => {
    const { ended } = await attack(sandbox, "bomb() { bomb | bomb & }; bomb; while :; do sleep 1; done", {
      ...{ env: mark, timeoutMs: 1_500 },
    });
    expect(ended).toBe("timeout");
  });

  it("Nothing is left of a command if it becomes a daemon: two forks, its own session", async () => {
    const daemon = perl(
      `use POSIX; exit if fork; POSIX::setsid(); exit if fork; $SIG{$_} = "IGNORE" for keys %SIG; ` +
        `open STDOUT, ">/dev/null"; open STDERR, ">/dev/null"; sleep 600`,
    );
    const { exitCode, ended } = await attack(sandbox, `${daemon}; echo done`, { env: mark });
    expect([exitCode, ended]).toEqual([0, null]);
  });

  it("Nothing is left of a command if it leaves a process that keeps its output open", async () => {
    const { text, exitCode, ended } = await attack(sandbox, "(sleep 600 & sleep 600 &) ; echo done", {
      env: mark,
    });
    expect([text, exitCode, ended]).toEqual(["done\n", 0, null]);
  });

  it("Nothing is left of a command if it ignores signals", async () => {
    const deaf = "trap '' TERM INT HUP QUIT; (trap '' TERM; sleep 600) & while :; do sleep 600; done";
    const { ended, exitCode } = await attack(sandbox, deaf, { env: mark, timeoutMs: 700 });
    expect([ended, exitCode]).toEqual(["timeout", 137]);
  });

  it("Nothing is left of a command if it kills every process that it sees", async () => {
    const { exitCode, ended } = await attack(
      sandbox,
      `${perl("kill 9, -1")}; kill -9 1; echo alive; kill -9 $$`,
    );
    expect([exitCode, ended]).toEqual([137, null]);
  });

  it.runIf(long)("Nothing is left of a command if it uses all processor time", async () => {
    const { exitCode, ended } = await attack(sandbox, "while :; do :; done", { limits: { cpuSeconds: 1 } });
    // SIGKILL or SIGXCPU, and not because the time was over.
    expect([137, 152]).toContain(exitCode);
    expect(ended).toBe(null);
  });

  it("Nothing is left of a command if the caller aborts", async () => {
    const controller = new AbortController();
    const run = runInSandbox(
      sandbox!,
      {
        ...{ command: "sleep 600", folder: "", env: mark, files: [], timeoutMs: 60_000 },
        ...{ limits: smallLimits, wants: () => [], maxFileBytes: 0 },
      },
      controller.signal,
    );
    await running(ownTag);
    controller.abort();
    await expect(run).rejects.toMatchObject({ code: "aborted" });
    expect(leftProcesses()).toEqual([]);
  });

  it("Nothing is left of a command if the server is killed", async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, "run-and-wait.ts")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [tag] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
    await running(tag.trim());
    child.kill("SIGKILL");
    try {
      await expect.poll(() => leftProcesses(tag.trim()), { timeout: 120_000 }).toEqual([]);
    } finally {
      endLeft(tag.trim());
    }
  });

  it("Nothing is left of a command if the outer sandbox is killed", async () => {
    const run = attack(sandbox, "sleep 600", { env: mark });
    await running(ownTag);
    const isRoom = (pid: string) => {
      const text = (name: string) => readFileSync(`/proc/${pid}/${name}`, "latin1");
      try {
        return text("environ").includes(ownTag) && text("stat").split(" ")[3] === String(process.pid);
      } catch {
        return false;
      }
    };
    const [first] = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isRoom(name));
    process.kill(Number(first), "SIGKILL");
    await expect(run).rejects.toMatchObject({ code: "child_died" });
    await expect.poll(() => leftProcesses(), { timeout: 120_000 }).toEqual([]);
  });
});
