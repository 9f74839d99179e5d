import { absentCalls, NAMESPACE_FLAGS, partialCalls, socketFamilies } from "./system-calls.ts";

/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h. */
const processors = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;
export type Processor = keyof typeof processors;

export const isKnownProcessor = (name: string): name is Processor => name in processors;

// Instructions of classic BPF (linux/bpf_common.h), and where the kernel puts what they look at (struct seccomp_data).
const LOAD = 0x20;
const EQUALS = 0x15;
const AT_LEAST = 0x35;
const HAS_BITS = 0x45;
const ANSWER = 0x06;
const NUMBER = 0;
const PROCESSOR = 4;
const FIRST_ARGUMENT = 16;

const ALLOW = 0x7fff_0000;
const REFUSE = 0x0005_0000;
const EPERM = REFUSE | 1;
const ENOSYS = REFUSE | 38;
const EAFNOSUPPORT = REFUSE | 97;
/** Set in the numbers of the 32-bit calls of x86-64. */
const X32 = 0x4000_0000;

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number];

const answer = (value: number): Instruction => [ANSWER, 0, 0, value];
/** Skips so many instructions where the loaded value is another one. */
const unless = (value: number, skipped: number): Instruction => [EQUALS, 0, skipped, value];

/**
 * The filter through which all system calls of a command go, as the kernel takes it (struct sock_filter, one after the other).
 * https://docs.kernel.org/userspace-api/seccomp_filter.html
 */
export function systemCallFilter(processor: Processor): Buffer {
  const at = processor === "x64" ? 0 : 1;
  const program: Instruction[] = [
    [LOAD, 0, 0, PROCESSOR],
    // Calls of another processor's kind have other numbers.
    [EQUALS, 1, 0, processors[processor]],
    answer(ENOSYS),
    [LOAD, 0, 0, NUMBER],
    [AT_LEAST, 0, 1, X32],
    answer(ENOSYS),
    ...Object.values(absentCalls).flatMap((numbers) => [unless(numbers[at] ?? 0, 1), answer(ENOSYS)]),
    ...withoutNamespaces(partialCalls.clone[at] ?? 0),
    ...withoutNamespaces(partialCalls.unshare[at] ?? 0),
    ...ofKnownFamily(partialCalls.socket[at] ?? 0),
    ...ofKnownFamily(partialCalls.socketpair[at] ?? 0),
    answer(ALLOW),
  ];
  return Buffer.concat(program.map(encode));
}

function withoutNamespaces(call: number): Instruction[] {
  return [
    unless(call, 4),
    [LOAD, 0, 0, FIRST_ARGUMENT],
    [HAS_BITS, 0, 1, NAMESPACE_FLAGS],
    answer(EPERM),
    answer(ALLOW),
  ];
}

function ofKnownFamily(call: number): Instruction[] {
  const families = socketFamilies.flatMap((family) => [unless(family, 1), answer(ALLOW)]);
  return [unless(call, families.length + 2), [LOAD, 0, 0, FIRST_ARGUMENT], ...families, answer(EAFNOSUPPORT)];
}

function encode([code, whenTrue, whenFalse, value]: Instruction): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(whenTrue, 2);
  bytes.writeUInt8(whenFalse, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
