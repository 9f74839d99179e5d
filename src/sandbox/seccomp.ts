/** The numbers of a system call on x86-64 and on ARM64 (asm/unistd_64.h and asm-generic/unistd.h of Linux). */
type Numbers = readonly [x64: number, arm64: number];

/**
 * Calls that no build or test needs, and that lead to uncounted memory, other programs or deep into the kernel. They fail with ENOSYS, as on a
 * kernel without them.
 */
export const absentCalls = {
  // Memory that no process shows as its own.
  ...{ memfd_create: [319, 279], memfd_secret: [447, 447] },
  ...{ shmget: [29, 194], shmat: [30, 196], msgget: [68, 186], semget: [64, 190], mq_open: [240, 180] },
  // Namespaces and mounts; `clone` is filtered by its arguments below.
  ...{ clone3: [435, 435], setns: [308, 268], mount: [165, 40], umount2: [166, 39], pivot_root: [155, 41] },
  ...{ move_mount: [429, 429], open_tree: [428, 428], fsopen: [430, 430], fsconfig: [431, 431] },
  ...{ fsmount: [432, 432], fspick: [433, 433], mount_setattr: [442, 442] },
  // Kernel messages, and file access by other programs.
  ...{ syslog: [103, 116], fanotify_init: [300, 262] },
  // Other processes.
  ...{ ptrace: [101, 117], process_vm_readv: [310, 270], process_vm_writev: [311, 271] },
  ...{ pidfd_getfd: [438, 438], kcmp: [312, 272] },
  // Keys of the server's user: keyrings have no namespace.
  ...{ keyctl: [250, 219], add_key: [248, 217], request_key: [249, 218] },
  // Deep into the kernel.
  ...{ bpf: [321, 280], perf_event_open: [298, 241], userfaultfd: [323, 282] },
  ...{ io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427] },
  ...{ name_to_handle_at: [303, 264], open_by_handle_at: [304, 265] },
} satisfies Record<string, Numbers>;

/** Calls that are allowed only with some arguments. */
export const partialCalls = {
  ...{ clone: [56, 220], unshare: [272, 97], socket: [41, 198], socketpair: [53, 199] },
} satisfies Record<string, Numbers>;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET of linux/sched.h. */
export const NAMESPACE_FLAGS = 0x7e02_0000;

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, which respect the network namespace. AF_VSOCK does not. */
const socketFamilies: readonly number[] = [1, 2, 10, 16];

/** AUDIT_ARCH_X86_64 and AUDIT_ARCH_AARCH64 of linux/audit.h. */
const processors = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;
type Processor = keyof typeof processors;

export const isKnownProcessor = (name: string): name is Processor => name in processors;

// Instructions of classic BPF (linux/bpf_common.h), and offsets in struct seccomp_data.
const LOAD = 0x20;
const EQUALS = 0x15;
const AT_LEAST = 0x35;
const HAS_BITS = 0x45;
const RETURN = 0x06;
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

const returns = (value: number): Instruction => [RETURN, 0, 0, value];
/** Skips that many instructions if the loaded value differs. */
const unless = (value: number, skipped: number): Instruction => [EQUALS, 0, skipped, value];

/** A sequence of struct sock_filter: https://docs.kernel.org/userspace-api/seccomp_filter.html */
export function systemCallFilter(processor: Processor): Buffer {
  const at = processor === "x64" ? 0 : 1;
  const program: Instruction[] = [
    [LOAD, 0, 0, PROCESSOR],
    // Calls of another architecture have other numbers.
    [EQUALS, 1, 0, processors[processor]],
    returns(ENOSYS),
    [LOAD, 0, 0, NUMBER],
    [AT_LEAST, 0, 1, X32],
    returns(ENOSYS),
    ...Object.values(absentCalls).flatMap((numbers) => [unless(numbers[at] ?? 0, 1), returns(ENOSYS)]),
    ...withoutNamespaces(partialCalls.clone[at] ?? 0),
    ...withoutNamespaces(partialCalls.unshare[at] ?? 0),
    ...ofAllowedFamily(partialCalls.socket[at] ?? 0),
    ...ofAllowedFamily(partialCalls.socketpair[at] ?? 0),
    returns(ALLOW),
  ];
  return Buffer.concat(program.map(encode));
}

function withoutNamespaces(call: number): Instruction[] {
  return [
    unless(call, 4),
    [LOAD, 0, 0, FIRST_ARGUMENT],
    [HAS_BITS, 0, 1, NAMESPACE_FLAGS],
    returns(EPERM),
    returns(ALLOW),
  ];
}

function ofAllowedFamily(call: number): Instruction[] {
  const families = socketFamilies.flatMap((family) => [unless(family, 1), returns(ALLOW)]);
  return [
    unless(call, families.length + 2),
    [LOAD, 0, 0, FIRST_ARGUMENT],
    ...families,
    returns(EAFNOSUPPORT),
  ];
}

function encode([code, whenTrue, whenFalse, value]: Instruction): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt16LE(code, 0);
  bytes.writeUInt8(whenTrue, 2);
  bytes.writeUInt8(whenFalse, 3);
  bytes.writeUInt32LE(value >>> 0, 4);
  return bytes;
}
