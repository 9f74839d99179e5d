import { existsSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { absentCalls, NAMESPACE_FLAGS, partialCalls, systemCallFilter } from "../../src/sandbox/seccomp.ts";
import { attack, perl, sandboxFor } from "./sandbox.ts";

const { sandbox, skipped } = await sandboxFor(
  "that the kernel refuses a command what no build or test needs",
);
const at = process.arch === "x64" ? 0 : 1;
const calls = Object.entries({ ...absentCalls, ...partialCalls });

/** What a program is answered that makes the call with arguments of no sense, and the numbers of errors. */
const ENOSYS = "38";

describe.skipIf(!sandbox)(`system calls of a command${skipped}`, () => {
  let answers: Record<string, string> = {};
  beforeAll(async () => {
    const tries = Object.entries(absentCalls).map(
      ([name, numbers]) => `$! = 0; syscall(${numbers[at]}, 0, 0, 0, 0, 0); printf "${name} %d\\n", $!;`,
    );
    const { text } = await attack(sandbox, perl(tries.join(" ")));
    answers = Object.fromEntries(
      text
        .trim()
        .split("\n")
        .map((line) => line.split(" ")),
    );
  });

  it.each([
    ...["memfd_create", "memfd_secret", "shmget", "shmat", "msgget", "semget", "mq_open"],
    ...["clone3", "setns", "mount", "umount2", "pivot_root", "move_mount", "open_tree", "fsopen"],
    ...["fsconfig", "fsmount", "fspick", "mount_setattr", "ptrace", "process_vm_readv", "process_vm_writev"],
    ...[
      "syslog",
      "fanotify_init",
      "pidfd_getfd",
      "kcmp",
      "keyctl",
      "add_key",
      "request_key",
      "bpf",
      "perf_event_open",
      "userfaultfd",
    ],
    ...["io_uring_setup", "io_uring_enter", "io_uring_register", "name_to_handle_at", "open_by_handle_at"],
  ])("%s", (name) => expect(answers[name]).toBe(ENOSYS));
});

const headers = ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h"];

describe("the numbers of system calls", () => {
  it.skipIf(!headers.every((path) => existsSync(path)))(
    "The numbers of system calls are those of Linux",
    () => {
      const [x64 = "", arm64 = ""] = headers.map((path) => readFileSync(path, "utf8"));
      const numberIn = (text: string, name: string) =>
        Number(new RegExp(`#define __NR(?:3264)?_${name}\\s+(\\d+)`).exec(text)?.[1]);
      for (const [name, numbers] of calls) {
        expect([name, ...numbers]).toEqual([name, numberIn(x64, name), numberIn(arm64, name)]);
      }
    },
  );
});

describe("the filter of system calls", () => {
  /** What the kernel would do: runs the program on a call, as linux/bpf_common.h says. */
  function judge(filter: Buffer, call: { number: number; processor: number; first?: number }): number {
    const data = new Map([
      [0, call.number],
      [4, call.processor],
      [16, call.first ?? 0],
    ]);
    let loaded = 0;
    for (let at = 0; at < filter.length; at += 8) {
      const [code, yes, no, value] = [
        filter.readUInt16LE(at),
        ...[filter.readUInt8(at + 2), filter.readUInt8(at + 3), filter.readUInt32LE(at + 4)],
      ] as [number, number, number, number];
      if (code === 0x06) return value;
      if (code === 0x20) loaded = data.get(value) ?? Number.NaN;
      const holds = { 21: loaded === value, 53: loaded >= value, 69: (loaded & value) !== 0 }[code];
      if (holds !== undefined) at += 8 * (holds ? yes : no);
    }
    throw new Error("the program has no end");
  }
  const allow = 0x7fff_0000;
  const error = (number: number) => 0x0005_0000 | number;

  it.each([
    // read, write, openat and exit_group of either.
    ["x64", 0xc000_003e, 0, [0, 1, 257, 231]],
    ["arm64", 0xc000_00b7, 1, [63, 64, 56, 94]],
  ] as const)(
    "The filter of system calls lets %s do its own and nothing else",
    (name, processor, at, usual) => {
      const filter = systemCallFilter(name);
      const ask = (number: number, first?: number) =>
        judge(filter, { number, processor, ...(first === undefined ? {} : { first }) });
      for (const numbers of Object.values(absentCalls)) expect(ask(numbers[at])).toBe(error(38));
      const { clone, unshare, socket } = partialCalls;
      for (let bit = 0; bit < 32; bit++) {
        const flag = (1 << bit) >>> 0;
        const expected = (flag & NAMESPACE_FLAGS) === 0 ? allow : error(1);
        expect([bit, ask(clone[at], flag), ask(unshare[at], flag)]).toEqual([bit, expected, expected]);
      }
      const families = Array.from({ length: 50 }, (_, family) => family);
      expect(families.filter((family) => ask(socket[at], family) === allow)).toEqual([1, 2, 10, 16]);
      for (const number of usual) expect(ask(number)).toBe(allow);
      expect(judge(filter, { number: 1, processor: 0x4000_0003 })).toBe(error(38));
    },
  );
});
