/**
 * What the two sides of a sandbox say to each other. Paths are relative to the workspace; each character stands for one byte of the
 * name (Latin-1), because names need not be text.
 */
export type ToWarden =
  /** Puts a file there (body: its bytes), or a link (120000; body: where it leads). */
  | { kind: "file"; path: string; mode: "100644" | "100755" | "120000" }
  | RunOrder
  /** Asks for the bytes of files that the command left. */
  | { kind: "take"; paths: readonly string[]; maxBytes: number };

/** The command, behind the second wall, and where it ends. The body is the filter of system calls. */
export interface RunOrder {
  kind: "run";
  /** The program that builds the wall, and its arguments with the command at their end. */
  program: string;
  args: readonly string[];
  timeoutMs: number;
  /** Of all processes and files together. */
  memoryBytes: number;
  /** That the machine must have left over. */
  spareBytes: number;
  /** Files and folders. */
  files: number;
  /** Of stdout and stderr together. */
  outputBytes: number;
  /** Bytes of head and of tail, each, that are kept of each of the two. */
  keptBytes: number;
}

/** Why a command was ended before its time. */
export type EarlyEnd = "timeout" | "memory" | "files" | "output";

/** A file that is not as it was. */
export interface LeftFile {
  path: string;
  kind: "new" | "changed" | "gone";
  /** As it says of itself, holes included; 0 for one that is gone. */
  bytes: number;
}

export type FromWarden =
  | { kind: "stdout" | "stderr" }
  | {
      kind: "end";
      /** Null where the wall could not be built; stderr then says why. */
      exitCode: number | null;
      ended: EarlyEnd | null;
      truncated: boolean;
      left: readonly LeftFile[];
      /** Links, pipes, sockets and the like that were made. */
      odd: number;
      /** Whether there is so much that it was not all looked at. */
      tooMany: boolean;
    }
  /** One that was asked for; the body are its bytes. */
  | { kind: "file"; path: string; executable: boolean }
  /** All that were asked for have been sent. */
  | { kind: "taken" }
  | { kind: "fault"; message: string };
