import { readdirSync, readFileSync } from "node:fs";

/** One that runs, as the system tells it. */
interface Running {
  pid: number;
  parent: number;
  /** When it began: a pid alone may be somebody else's later. */
  start: string;
}

/** The processes below one, as "pid start". Empty on systems without /proc. */
export function below(pid: number | undefined): string[] {
  const all = running();
  const under = (parent: number | undefined): string[] =>
    all.filter((one) => one.parent === parent).flatMap((one) => [nameOf(one), ...under(one.pid)]);
  return under(pid);
}

/** Which of them still run. */
export function stillRunning(names: readonly string[]): string[] {
  const now = new Set(running().map(nameOf));
  return names.filter((name) => now.has(name));
}

const nameOf = ({ pid, start }: Running) => `${pid} ${start}`;

function running(): Running[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => statOf(Number(pid)));
  } catch {
    return [];
  }
}

/** What ended and was not reaped yet runs no more. */
function statOf(pid: number): Running[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field, the program's name, may hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? [] : [{ pid, parent: Number(fields[1]), start: fields[19] ?? "" }];
  } catch {
    return [];
  }
}
