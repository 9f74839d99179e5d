import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Disk } from "../../../src/repo/git/disk.ts";
import { gitPath, TempFolder } from "../../support/git-repo.ts";
import { PullRequestServer } from "../../support/pull-request-server.ts";

let server: PullRequestServer;
let shas: { base: string; head: string };
let folder: TempFolder;
beforeEach(async () => {
  server = await PullRequestServer.start();
  shas = server.publish();
  folder = new TempFolder("full");
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  folder.dispose();
});

/** Failures that the disk only logs. */
const failures: unknown[] = [];
const log = { info() {}, warn: ({ err }: { err?: unknown }) => void (err && failures.push(err)) };
afterEach(() => {
  expect(failures.splice(0)).toEqual([]);
});

async function open(dataFolder: string, git = gitPath) {
  const disk = new Disk({ dataFolder, limitBytes: 1e9, log });
  return await disk.using(async () =>
    server.checkout(shas, { mirror: await server.mirror({ dataFolder, gitPath: git }) }),
  );
}
const bytes = (count: number) => randomBytes(count);

/** Half-written things of git, below a folder. */
const leftovers = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    /\.lock$|tmp_|\.new$|\.keep$/.test(name),
  );

describe.each([
  ["fetch", "fatal: write error: No space left on device", "fetch"],
  ["checkout", "error: unable to write file a: No space left on device", "read-tree"],
])("a disk that is full during a %s", (_, words, command) => {
  it("A full disk gives a retryable error, and nothing is half done afterwards", async () => {
    const wrapper = join(folder.path, "git");
    const flag = join(folder.path, "full");
    writeFileSync(
      wrapper,
      `#!/bin/sh\nif [ -e "${flag}" ]; then case " $* " in *" ${command} "*) echo "${words}" >&2; exit 128; esac; fi\nexec "${gitPath}" "$@"\n`,
      { mode: 0o755 },
    );
    writeFileSync(flag, "");
    const failing = open(server.dataFolder, wrapper);
    await expect(failing).rejects.toMatchObject({ code: "disk_full", retryable: true });
    spawnSync("rm", [flag]);
    const made = await open(server.dataFolder, wrapper);
    expect(readFileSync(join(made.place.root, "kept.txt"), "utf8")).toBe("kept\n");
    await made.release();
  });
});

const mounts = process.getuid?.() === 0 && process.platform === "linux";

/** Only root may mount one. */
describe.runIf(mounts)("a data folder on a disk of eight megabytes", () => {
  let disk: string;
  beforeEach(() => {
    disk = join(folder.path, "disk");
    mkdirSync(disk);
    const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", disk]);
    if (status !== 0) throw new Error(stderr.toString());
  });
  afterEach(() => {
    spawnSync("umount", ["--lazy", disk]);
  });
  const used = () => {
    const { blocks, bfree, bsize } = statfsSync(disk);
    return (blocks - bfree) * bsize;
  };

  it("A full disk refuses a pull request that it cannot fetch, and takes the next one", async () => {
    await (await open(disk)).release();
    const before = shas.head;
    shas.head = server.commit([["large", bytes(9_000_000)]]);
    await expect(open(disk)).rejects.toMatchObject({ code: "disk_full", retryable: true });
    expect(leftovers(disk)).toEqual([]);
    expect(used()).toBeLessThan(1_000_000);
    shas.head = before;
    await (await open(disk)).release();
  });

  it("A full disk refuses a pull request that it cannot check out, and takes the next one", async () => {
    const before = shas.head;
    shas.head = server.commit([["large", bytes(5_000_000)]]);
    await expect(open(disk)).rejects.toMatchObject({ code: "disk_full", retryable: true });
    expect(leftovers(disk)).toEqual([]);
    shas.head = before;
    await (await open(disk)).release();
  });

  it("A disk without a free byte is still cleared, because locks need no space", async () => {
    shas.head = server.commit([["large", bytes(500_000)]]);
    await (await open(disk)).release();
    const filler = spawnSync("dd", ["if=/dev/zero", `of=${join(disk, "filler")}`, "bs=1M"]);
    expect(filler.status).not.toBe(0);
    shas.head = server.commit([["large", "small now\n"]]);
    const made = await open(disk);
    expect(readFileSync(join(made.place.root, "large"), "utf8")).toBe("small now\n");
    await made.release();
  });
});
