import { execFileSync } from "node:child_process";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { rgPath } from "@vscode/ripgrep";

/** The machine, its programs and its load, in three lines. */
export function describeMachine(): string {
  const version = (program: string) =>
    /\d+(?:\.\d+)+/.exec(execFileSync(program, ["--version"], { encoding: "utf8" }))?.[0];
  const memory = `${(totalmem() / 1024 ** 3).toFixed(0)} GB`;
  return [
    `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores, ${memory}, ${type()} ${release()}`,
    `node ${process.versions.node} · git ${version("git")} · ripgrep ${version(rgPath)}`,
    `load ${loadavg()[0]?.toFixed(1)}: ${isBusy() ? "something else is running here, which makes all of this less certain" : "the machine is idle"}`,
  ].join("\n");
}

const isBusy = () => (loadavg()[0] ?? 0) > availableParallelism() / 2;
