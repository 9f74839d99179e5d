/** Where a command ends. Bytes and milliseconds. */
export interface SandboxLimits {
  /** Of all processes and files together; more ends the command. */
  memoryBytes: number;
  /** Of all files together: they lie in memory. More cannot be written. */
  filesBytes: number;
  /** Of one file, holes included. */
  fileBytes: number;
  /** Files and folders; more end the command. */
  files: number;
  /** Processes and threads; more cannot be started. */
  processes: number;
  openFiles: number;
  /** Of stdout and stderr together; more ends the command. */
  outputBytes: number;
  /** Of head and of tail, each, that are kept of each of the two. */
  keptBytes: number;
  /** Seconds of processor time of each process. */
  cpuSeconds: number;
  /** Memory that has to be left over on the machine; less ends the command. */
  spareBytes: number;
}

const MIB = 1024 * 1024;

/** What holds where the operator allows so much memory (HUNKWISE_SANDBOX_MEMORY_MB). */
export const limitsFor = (memoryMb: number): SandboxLimits => ({
  memoryBytes: memoryMb * MIB,
  filesBytes: (memoryMb / 2) * MIB,
  fileBytes: (memoryMb / 4) * MIB,
  files: 300_000,
  processes: 256,
  openFiles: 4_096,
  outputBytes: 64 * MIB,
  keptBytes: 32 * 1024,
  // Twice what the longest command may take: several threads count together.
  cpuSeconds: 1_200,
  spareBytes: 256 * MIB,
});
