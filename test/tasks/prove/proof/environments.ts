import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Sandbox } from "../../../../src/sandbox/bubblewrap.ts";
import { type EnvironmentOrder, prepareEnvironment } from "../../../../src/tasks/prove/proof/environment.ts";
import { noSignal } from "../../../sandbox/sandbox.ts";

/** Files by path as the tree of a merge base. */
export function treeOf(files: Readonly<Record<string, string>>): EnvironmentOrder["tree"] {
  const oidOf = (text: string) => createHash("sha1").update(text).digest("hex");
  const bytes = new Map(Object.values(files).map((text) => [oidOf(text), Buffer.from(text)]));
  const entries = Object.entries(files).map(([path, text]) => ({ path, mode: "100644", oid: oidOf(text) }));
  return {
    tree: async (ref) => {
      if (ref !== "merge_base") throw new Error(`an environment must not read the ${ref}`);
      return new Map(entries.map((entry) => [entry.path, entry]));
    },
    readBytes: async (oid) => bytes.get(oid) ?? Buffer.alloc(0),
  };
}

/** A folder for environments, as private as the user allows: the sandboxes of root must be able to enter it. */
export function environmentsAt(): string {
  const folder = mkdtempSync(join(tmpdir(), "hunkwise-environments-"));
  chmodSync(folder, process.getuid?.() === 0 ? 0o711 : 0o700);
  const inner = join(folder, "kept");
  mkdirSync(inner);
  return inner;
}

/** Deletes such a folder: what is in it is read-only. */
export function removeEnvironments(folder: string): void {
  spawnSync("chmod", ["-R", "u+rwx", dirname(folder)]);
  rmSync(dirname(folder), { recursive: true, force: true });
}

export function prepare(
  sandbox: Sandbox | null,
  folder: string,
  files: Readonly<Record<string, string>>,
  over: Partial<EnvironmentOrder> = {},
  signal = noSignal,
) {
  if (!sandbox) throw new Error("a test that needs a sandbox was not skipped");
  const order: EnvironmentOrder = {
    ...{ repository: "acme/shop", command: "true", tree: treeOf(files), isPrivate: () => false, sandbox },
    ...{ memoryMb: 1_024, registries: [], folder, timeoutMs: 120_000 },
    ...over,
  };
  return prepareEnvironment(order, signal);
}

/** Everything about a folder that a command could change: names, kinds, modes, contents, targets and numbers of names. */
export function digestOf(folder: string): string {
  const hash = createHash("sha256");
  const open = [folder];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const name of [".", ...readdirSync(at).toSorted()]) {
      const path = join(at, name);
      const { mode, uid, gid, nlink, size, ctimeMs } = lstatSync(path);
      hash.update(JSON.stringify([path, mode, uid, gid, nlink, size, ctimeMs]));
      if (name === ".") continue;
      const facts = lstatSync(path);
      if (facts.isDirectory()) open.push(path);
      else hash.update(facts.isSymbolicLink() ? readlinkSync(path) : readFileSync(path));
    }
  }
  return hash.digest("hex");
}

/** The paths of everything in a folder but folders; follows no links. */
export function filesIn(folder: string, below = ""): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(below, entry.name);
      return entry.isDirectory() ? filesIn(folder, path) : [path];
    })
    .toSorted();
}
