import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Disk } from "../../../src/repo/git/disk.ts";
import type { RevisionPlace } from "../../../src/repo/git/workspace.ts";
import { gitPath } from "../../support/git-repo.ts";
import { baseRef, PullRequestServer, pullRef } from "../../support/pull-request-server.ts";

const long = process.env.HUNKWISE_LONG === "1";
const source = (file: string) => JSON.stringify(join(import.meta.dirname, "../../../src/repo/git", file));

/** Checks one head after the other out, and evicts all that is not in use after each second one. */
const worker = `
const { Mirror } = await import(${source("mirror.ts")});
const { checkout } = await import(${source("checkout.ts")});
const { Disk } = await import(${source("disk.ts")});
const { options, base, heads } = JSON.parse(process.argv[1]);
const log = { info() {}, warn() {} };
const disk = (limitBytes) => new Disk({ dataFolder: options.dataFolder, limitBytes, log });
console.log("begins");
for (const [at, sha] of heads.entries()) {
  const mirror = await Mirror.open(options);
  const head = { sha, ref: ${JSON.stringify(pullRef)} };
  const made = await checkout({ mirror, head, base: { sha: base, ref: ${JSON.stringify(baseRef)} }, authorization: null });
  await made.release();
  if (at % 2) await disk(0).keep();
}`;

let server: PullRequestServer;
let base: string;
let heads: string[];
let undisturbed: string[];
beforeAll(async () => {
  server = await PullRequestServer.start();
  ({ base } = server.publish());
  heads = [1, 2, 3, 4, 5].map((number) => server.commit(manyFiles(number)));
  await withoutFault();
  undisturbed = listing();
});
afterAll(() => server[Symbol.asyncDispose]());

/** So many that writing them takes a while. */
function manyFiles(round: number): [string, string][] {
  return Array.from({ length: 200 }, (_, at) => [`folder-${at % 7}/file-${at}`, `round ${round} of ${at}\n`]);
}

const log = { info() {}, warn: ({ err }: { err?: unknown }) => expect(err).toBeUndefined() };

/** A start, a checkout of the last head, and what of it was read. */
async function withoutFault(): Promise<void> {
  const disk = new Disk({ dataFolder: server.dataFolder, limitBytes: 1e9, log });
  await disk.start();
  const { place, release } = await server.checkout({ head: heads.at(-1)!, base });
  expect(differences(place)).toBe("");
  await release();
  await disk.clean();
  await disk.close();
}

/** What stands in the work tree and not in the head, or the other way round, in git's own words. */
function differences({ gitDir, root, shas }: RevisionPlace): string {
  const args = [
    `--git-dir=${gitDir}`,
    `--work-tree=${root}`,
    "status",
    "--porcelain",
    "--untracked-files=all",
  ];
  const env = { GIT_INDEX_FILE: join(root, "../index"), GIT_OPTIONAL_LOCKS: "0" };
  const staged = spawnSync("git", [`--git-dir=${gitDir}`, "diff-index", "--cached", shas.head], { env });
  const { stdout, stderr } = spawnSync("git", args, { env, cwd: root });
  // The commit that HEAD would name is no part of a mirror, so every file counts as added.
  const lines = `${stdout}`.split("\n").filter((line) => !/^A {2}/.test(line));
  return `${staged.stdout}${staged.stderr}${stderr}${lines.join("\n")}`;
}

/** Every file and link of the data folder; how many packs there are depends on how often was fetched. */
function listing(): string[] {
  const names = readdirSync(server.dataFolder, { recursive: true, encoding: "utf8" });
  return [...new Set(names.map((name) => name.replace(/pack-[0-9a-f]{40}/, "pack")))].sort();
}

/** A git that kills whoever calls it for the n-th time, also where several are called at once, and does its work all the same. */
function killingGit(n: number): string {
  const [path, count] = [join(server.folder.path, "git"), join(server.folder.path, "calls")];
  rmSync(count, { force: true });
  const script = `#!/bin/sh
echo $$ >>"${count}"
[ "$(sed -n ${n}p "${count}")" = $$ ] && kill -9 $PPID
exec "${gitPath}" "$@"
`;
  writeFileSync(path, script, { mode: 0o755 });
  return path;
}

async function startWorker(git: string) {
  const { options } = await server.mirror();
  const job = { options: { ...options, gitPath: git }, base, heads };
  const child = spawn(process.execPath, ["--input-type=module", "-e", worker, JSON.stringify(job)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "exit") as Promise<[number | null, string | null]>;
  await once(child.stdout, "data");
  return { child, closed };
}

const orphans = () => {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return processes.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "latin1").includes(server.dataFolder);
    } catch {
      return false;
    }
  });
};

describe("a process killed while it makes checkouts and evicts them", () => {
  // Five checkouts, of which three begin without a mirror, start about fifty programs.
  it.each(long ? Array.from({ length: 50 }, (_, at) => at + 1) : [3, 9, 14])(
    "A process killed at its %i. call of git leaves nothing behind after the next start",
    async (n) => {
      const { closed } = await startWorker(killingGit(n));
      const [code, signal] = await closed;
      expect([code, signal]).toEqual(long && code === 0 ? [0, null] : [null, "SIGKILL"]);
      await withoutFault();
      expect(listing()).toEqual(undisturbed);
      expect(orphans()).toEqual([]);
    },
  );

  it.runIf(long)("A process killed at any moment leaves nothing behind", { timeout: 1_800_000 }, async () => {
    for (let round = 0; round < 50; round++) {
      const { child, closed } = await startWorker(gitPath);
      const timer = setTimeout(() => child.kill("SIGKILL"), ((round * 37) % 50) * 40);
      await closed;
      clearTimeout(timer);
      await withoutFault();
      expect(listing()).toEqual(undisturbed);
      expect(orphans()).toEqual([]);
    }
  });
});
