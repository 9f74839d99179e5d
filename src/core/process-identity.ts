import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Identifies a process across reuse of its pid and restarts of the machine or container. */
export interface ProcessIdentity {
  pid: number;
  /** Pids are unique within it: this boot of this machine, and this container. */
  scope: string;
  /** Start of the process in ticks since the boot; empty if the system does not say. */
  started: string;
}

const scope = [
  hostname(),
  read(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
  read(() => readlinkSync("/proc/self/ns/pid")),
].join(" ");

export const ownIdentity: ProcessIdentity = { pid: process.pid, scope, started: startOf("self") ?? "" };

/** Whether the process runs; "unknown" if its pid belongs to another scope. */
export function livenessOf(other: ProcessIdentity): "alive" | "dead" | "unknown" {
  if (other.scope !== scope) return "unknown";
  const started = startOf(other.pid);
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return "dead";
  }
  if (started !== undefined) return started === other.started ? "alive" : "dead";
  // It runs, but the system may hide processes of other users (hidepid, ProtectProc): then it may be any process.
  return other.started === "" ? "alive" : "unknown";
}

/** The 22nd field of /proc/PID/stat, whose second may hold spaces and brackets. Empty for a zombie; undefined if there is no such process. */
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
