import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Says which process it is in a way that outlives the reuse of its pid, a restart of the machine and of a container. */
export interface ProcessIdentity {
  pid: number;
  /** Where pids mean the same: this boot of this machine, and this container. */
  scope: string;
  /** When the process began, in ticks since the boot; empty where the system does not say. */
  started: string;
}

const scope = [
  hostname(),
  read(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
  read(() => readlinkSync("/proc/self/ns/pid")),
].join(" ");

export const ownIdentity: ProcessIdentity = { pid: process.pid, scope, started: startOf("self") ?? "" };

/** Whether the process runs; "unknown" when it lives, or lived, where its pid means nothing to us. */
export function livenessOf(other: ProcessIdentity): "alive" | "dead" | "unknown" {
  if (other.scope !== scope) return "unknown";
  const started = startOf(other.pid);
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return "dead";
  }
  if (started !== undefined) return started === other.started ? "alive" : "dead";
  // It runs. Where the system shows processes, it may hide those of other users (hidepid, ProtectProc): then it may be any.
  return other.started === "" ? "alive" : "unknown";
}

/**
 * The 22nd field of /proc/PID/stat; the second one, the program's name, may hold spaces and brackets. Empty for a process that
 * has ended and of which its parent has not taken notice yet; undefined where the system shows none.
 */
function startOf(pid: number | "self"): string | undefined {
  const stat = read(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (stat === "") return undefined;
  const [state = "", ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return "ZX".includes(state) ? "" : (fields[18] ?? "");
}

function read(from: () => string): string {
  try {
    return from();
  } catch {
    return "";
  }
}
