/** Numbers of a system call: on x86-64, and on ARM64 (asm/unistd_64.h and asm-generic/unistd.h of Linux). */
type Numbers = readonly [x64: number, arm64: number];

/**
 * What no build or test needs and is a way to memory that nobody counts, to others on the machine, or deep into the kernel. Programs
 * that try them are told that this kernel does not have them, and do without.
 */
export const absentCalls = {
  // Memory that no process shows as its own.
  ...{ memfd_create: [319, 279], memfd_secret: [447, 447] },
  ...{ shmget: [29, 194], shmat: [30, 196], msgget: [68, 186], semget: [64, 190], mq_open: [240, 180] },
  // Walls of one's own; `clone` itself is looked at more closely below.
  ...{ clone3: [435, 435], setns: [308, 268], mount: [165, 40], umount2: [166, 39], pivot_root: [155, 41] },
  ...{ move_mount: [429, 429], open_tree: [428, 428], fsopen: [430, 430], fsconfig: [431, 431] },
  ...{ fsmount: [432, 432], fspick: [433, 433], mount_setattr: [442, 442] },
  // What the kernel says of the machine, and what others on it do with files.
  ...{ syslog: [103, 116], fanotify_init: [300, 262] },
  // Other processes.
  ...{ ptrace: [101, 117], process_vm_readv: [310, 270], process_vm_writev: [311, 271] },
  ...{ pidfd_getfd: [438, 438], kcmp: [312, 272] },
  // Keys of the server's user, which no wall divides.
  ...{ keyctl: [250, 219], add_key: [248, 217], request_key: [249, 218] },
  // Deep into the kernel.
  ...{ bpf: [321, 280], perf_event_open: [298, 241], userfaultfd: [323, 282] },
  ...{ io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427] },
  ...{ name_to_handle_at: [303, 264], open_by_handle_at: [304, 265] },
} satisfies Record<string, Numbers>;

/** What is allowed with some arguments alone. */
export const partialCalls = {
  ...{ clone: [56, 220], unshare: [272, 97], socket: [41, 198], socketpair: [53, 199] },
} satisfies Record<string, Numbers>;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET of linux/sched.h. */
export const NAMESPACE_FLAGS = 0x7e02_0000;

/**
 * AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: those that end at the wall. Others do not: AF_VSOCK reaches the host of a virtual machine
 * from everywhere in it.
 */
export const socketFamilies: readonly number[] = [1, 2, 10, 16];
