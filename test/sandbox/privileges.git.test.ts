import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { partialCalls } from "../../src/sandbox/seccomp.ts";
import { attack, perl, sandboxFor } from "./sandbox.ts";

const { sandbox, skipped } = await sandboxFor(
  "that a command can neither leave its sandbox nor change anything outside of it",
);
const at = process.arch === "x64" ? 0 : 1;

describe.skipIf(!sandbox)(`the privileges of a command${skipped}`, () => {
  it("A command in the sandbox writes only to its three folders", async () => {
    const outside = join(tmpdir(), `hunkwise-escape-${process.pid}`);
    const places = [
      "/",
      "/etc",
      "/usr",
      "/usr/bin",
      "/usr/local",
      "/dev",
      "/proc",
      "/proc/sys/kernel",
      "/supervisor",
      "/session",
    ];
    const tries = [
      ...places,
      "/root",
      "/home",
      "/var/tmp",
      "/sys",
      "/work/..",
      "/tmp",
      "/dev/shm",
      "/work",
    ].map((place) => `touch ${place}/probe 2>/dev/null && echo ${place}`);
    const { text } = await attack(
      sandbox,
      [...tries, `mkdir -p ${outside} && touch ${outside}/x`].join("; "),
    );
    expect(text.trim().split("\n").slice(0, 3)).toEqual(["/tmp", "/dev/shm", "/work"]);
    expect(existsSync(outside)).toBe(false);
  });

  it("A command in the sandbox changes no file of the system over what is open there", async () => {
    const { text } = await attack(
      sandbox,
      "echo x > /proc/self/exe; echo x > /proc/sys/kernel/hostname; echo c > /proc/sysrq-trigger; echo x >> /bin/sh; chmod 777 /usr; hostname other",
    );
    expect(text.trim().split("\n")).toHaveLength(6);
    expect(text).not.toMatch(/^other$/m);
  });

  it("A command in the sandbox mounts nothing", async () => {
    const { text, exitCode } = await attack(
      sandbox,
      "mkdir m; mount -t tmpfs tmpfs m; mount --bind /usr m; umount /tmp; umount -l /usr",
    );
    expect(exitCode).not.toBe(0);
    expect(text.trim().split("\n").length).toBeGreaterThanOrEqual(4);
  });

  it("A command in the sandbox creates no namespaces, in which it could mount", async () => {
    const { text } = await attack(
      sandbox,
      "unshare -Urm true && echo in; bwrap --ro-bind / / --tmpfs /tmp true && echo in; " +
        [0x1000_0000, 0x0002_0000, 0x4000_0000]
          .map((flag) => perl(`print syscall(${partialCalls.unshare[at]}, ${flag}), "\n"`))
          .join("; "),
    );
    expect(text).not.toMatch(/^in$/m);
    expect(text.match(/^-1$/gm)).toHaveLength(3);
  });

  it("A command in the sandbox starts no process in a new namespace", async () => {
    // SIGCHLD and CLONE_NEWUSER.
    const { text } = await attack(
      sandbox,
      perl(`print syscall(${partialCalls.clone[at]}, 17 | 0x10000000, 0, 0, 0, 0); print " $!"`),
    );
    expect(text).toBe("-1 Operation not permitted");
  });

  it("A command in the sandbox uses only the system call numbers of its own architecture", async () => {
    // getpid by the numbers of x32; ARM64 has no others.
    const { text } = await attack(sandbox, perl(`print syscall(0x40000000 | 39); print " $!"`));
    expect(text).toBe("-1 Function not implemented");
  });

  it("A command in the sandbox makes no devices, and has none but those that do nothing", async () => {
    const { text } = await attack(sandbox, "mknod sda b 8 0; mknod mem c 1 1; ls /dev");
    expect(text.match(/Operation not permitted/g)).toHaveLength(2);
    const devices = text
      .trim()
      .split("\n")
      .filter((line) => !line.startsWith("mknod"));
    expect(devices).toEqual([
      ...["core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout"],
      ...["tty", "urandom", "zero"],
    ]);
  });

  it("A command in the sandbox becomes no other user, whatever bits a program has", async () => {
    const { text } = await attack(
      sandbox,
      "cp /usr/bin/id /tmp/id; chmod u+s /tmp/id; /tmp/id -u; su -c id root </dev/null; grep -E '^(Cap(Eff|Prm|Bnd|Amb)|NoNewPrivs)' /proc/self/status",
    );
    expect(text).toMatch(/^1000\n/);
    expect(text).not.toContain("uid=0");
    expect(text.match(/^Cap\w+:\t0{16}$/gm)).toHaveLength(4);
    expect(text).toMatch(/^NoNewPrivs:\t1$/m);
  });

  it("A command in the sandbox has no terminal to type on", async () => {
    const { text } = await attack(
      sandbox,
      "cut -d' ' -f6 /proc/self/stat; (echo x > /dev/tty) 2>/dev/null || echo none",
    );
    const [session, terminal] = text.trim().split("\n");
    // That of a process outside has no number in here.
    expect(Number(session)).toBeGreaterThan(0);
    expect(terminal).toBe("none");
  });

  it("A command in the sandbox has a name that says nothing", async () => {
    expect((await attack(sandbox, "uname -n; id -un")).text).toBe("sandbox\nuser\n");
  });
});
