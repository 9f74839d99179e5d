import { closeSync, readdirSync, readFileSync } from "node:fs";

const FIRST = 3;
/** O_CLOEXEC, in octal digits as the system writes it. */
const CLOSES_ITSELF = 0o2000000;

/**
 * Closes what whoever started the server had open and did not mean for it. Programs hand such descriptors on to all that they start,
 * and a command could read what they lead to. All that Node opens closes by itself.
 */
export function closeInherited(): void {
  for (const name of readdirSync("/proc/self/fd")) {
    const fd = Number(name);
    if (fd >= FIRST && !closesItself(fd)) closeSync(fd);
  }
}

/** Also true of one that is gone: that of the list itself. */
function closesItself(fd: number): boolean {
  try {
    const [, flags = ""] = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8")) ?? [];
    return (Number.parseInt(flags, 8) & CLOSES_ITSELF) !== 0;
  } catch {
    return true;
  }
}
