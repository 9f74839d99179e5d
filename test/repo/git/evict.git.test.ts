import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { Disk, type DiskOptions, freeSpace, listKept, mirrorBytes } from "../../../src/repo/git/disk.ts";
import { tryLock } from "../../../src/repo/git/owner.ts";
import { TempFolder } from "../../support/git-repo.ts";

const MB = 1_000_000;
const DAY_MS = 24 * 3_600_000;
let folder: TempFolder;
let now: number;
beforeEach(() => {
  folder = new TempFolder("disk");
  now = Date.now();
});
afterEach(() => folder.dispose());

const at = (path: string) => join(folder.path, path);
const mirrorOf = (name: string) => `mirrors/host/octo/${name}.git`;
const slotOf = (name: string, number = 0) => `checkouts/host/octo/${name}/${number}`;

function write(path: string, text: string, usedAt: number): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
  utimesSync(at(path), usedAt / 1000, usedAt / 1000);
}
/** A mirror of ten megabytes with checkouts of as many each, last used so many minutes ago. */
function keep(name: string, minutesAgo: number, checkouts = 1): void {
  const usedAt = now - minutesAgo * 60_000;
  write(`${mirrorOf(name)}/hunkwise-id`, name, usedAt);
  for (let number = 0; number < checkouts; number++) {
    const state = { mirror: name, sha: "1", files: 0, bytes: 10 * MB };
    write(`${slotOf(name, number)}/tree/file`, "", usedAt);
    write(`${slotOf(name, number)}/state.json`, JSON.stringify(state), usedAt);
  }
  write(`${mirrorOf(name)}/hunkwise-used`, String(10 * MB), usedAt);
}
const roomy = async () => ({ freeBytes: 1e12, isLow: false });
const logged: string[] = [];
function disk(options: Partial<DiskOptions> = {}): Disk {
  const note = (fields: { err?: unknown }, text: string) => {
    if (fields.err) throw fields.err;
    logged.push(text);
  };
  const log = { info: note, warn: note };
  return new Disk({
    dataFolder: folder.path,
    limitBytes: 1e12,
    log,
    now: () => now,
    freeSpace: roomy,
    ...options,
  });
}
const left = async () =>
  (await listKept(folder.path)).map((one) => one.folder.slice(folder.path.length + 1)).sort();

describe("a mirror", () => {
  it("The size of a mirror includes objects outside of packs", async () => {
    write(`${mirrorOf("shop")}/objects/ab/cd`, "x".repeat(3 * MB), now);
    write(`${mirrorOf("shop")}/objects/pack/tmp_pack_x`, "x".repeat(2 * MB), now);
    expect(await mirrorBytes(at(mirrorOf("shop")))).toBeGreaterThan(5 * MB);
  });
});

describe("mirrors and checkouts together", () => {
  it("Mirrors and checkouts within the limit stay", async () => {
    keep("one", 2);
    keep("two", 1);
    await disk({ limitBytes: 40 * MB }).keep();
    expect(await left()).toHaveLength(4);
  });

  it("Mirrors and checkouts beyond the limit are evicted, the least recently used first", async () => {
    keep("old", 30, 2);
    keep("newer", 20);
    keep("newest", 10);
    await disk({ limitBytes: 45 * MB }).keep();
    expect(await left()).toEqual(
      [mirrorOf("newer"), mirrorOf("newest"), slotOf("newer"), slotOf("newest")].sort(),
    );
    expect(existsSync(at("mirrors/host/octo/old.git"))).toBe(false);
    expect(existsSync(at("checkouts/host/octo/old"))).toBe(false);
    expect(readdirSync(at("trash"))).toEqual([]);
  });

  it("An idle checkout is evicted before the mirror that others use", async () => {
    keep("one", 5, 3);
    write(
      `${slotOf("one", 2)}/state.json`,
      JSON.stringify({ mirror: "one", sha: "1", files: 0, bytes: 10 * MB }),
      0,
    );
    now = DAY_MS;
    await disk({ limitBytes: 35 * MB }).keep();
    expect(await left()).toEqual([mirrorOf("one"), slotOf("one", 0), slotOf("one", 1)].sort());
  });

  it("A checkout is evicted before its mirror, also if both were used at once", async () => {
    keep("one", 5);
    const { folder: slot, usedAt } = (await listKept(folder.path)).find(({ kind }) => kind === "checkout")!;
    utimesSync(join(slot, "state.json"), (usedAt + 20) / 1000, (usedAt + 20) / 1000);
    await disk({ limitBytes: 15 * MB }).keep();
    expect(await left()).toEqual([mirrorOf("one")]);
  });

  it("A mirror or checkout of a live process is never evicted", async () => {
    keep("used", 30, 2);
    keep("idle", 10);
    const held = await tryLock(at(`${slotOf("used", 1)}/pid`));
    await disk({ limitBytes: 1 }).keep();
    expect(await left()).toEqual([mirrorOf("used"), slotOf("used", 1)].sort());
    await held?.release();
    await disk({ limitBytes: 1 }).keep();
    expect(await left()).toEqual([]);
  });

  it("Mirrors and checkouts are evicted after thirty days without use", async () => {
    keep("forgotten", 31 * 24 * 60);
    keep("remembered", 29 * 24 * 60);
    await disk().keep();
    expect(await left()).toEqual([mirrorOf("remembered"), slotOf("remembered")].sort());
  });

  it("All jobs that end within a minute share one look at the disk", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      keep("old", 30);
      const room = disk({ limitBytes: 1 });
      const pass = vi.spyOn(room, "keep");
      for (let job = 0; job < 3; job++) room.keepSoon();
      vi.advanceTimersByTime(59_999);
      expect(pass).not.toHaveBeenCalled();
      vi.advanceTimersByTime(60_000);
      expect(pass).toHaveBeenCalledOnce();
      await pass.mock.results[0]?.value;
      expect(await left()).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("Several processes evict at a time as if they were one", async () => {
    for (let number = 0; number < 6; number++) keep(`repo-${number}`, 100 - number);
    await Promise.all([1, 2, 3].map(() => disk({ limitBytes: 45 * MB }).keep()));
    expect(await left()).toEqual(
      [mirrorOf("repo-4"), mirrorOf("repo-5"), slotOf("repo-4"), slotOf("repo-5")].sort(),
    );
  });

  it("A mirror is measured if its user was killed before it noted the size", async () => {
    write(`${mirrorOf("cut")}/objects/pack/pack-1.pack`, "x".repeat(100_000), now);
    const [mirror] = await listKept(folder.path);
    expect(mirror?.bytes).toBeGreaterThan(100_000);
    expect(mirror?.bytes).toBeLessThan(200_000);
  });
});

describe("a disk that is nearly full of other things", () => {
  /** Each eviction frees ten megabytes. */
  const filled = (freeAtFirst: number, lowBelow: number, most: number) => async () => {
    const freeBytes = freeAtFirst + (most - (await listKept(folder.path)).length) * 10 * MB;
    return { freeBytes, isLow: freeBytes < lowBelow };
  };

  it("A nearly full disk evicts the oldest before a fetch, until there is room", async () => {
    keep("old", 30);
    keep("new", 10);
    const room = disk({ freeSpace: filled(0, 15 * MB, 4) });
    expect(await room.using(left)).toEqual([mirrorOf("new"), slotOf("new")].sort());
  });

  it("A nearly full disk evicts for a checkout that needs more than is free", async () => {
    keep("old", 30);
    keep("new", 10);
    await disk({ freeSpace: filled(5 * MB, 0, 4) }).require({ totalBytes: 30 * MB, newBytes: 20 * MB });
    expect(await left()).toEqual([mirrorOf("new"), slotOf("new")].sort());
  });

  it("A nearly full disk takes a checkout that needs less than is free", async () => {
    const low = disk({ freeSpace: async () => ({ freeBytes: 10 * MB, isLow: true }) });
    await low.require({ totalBytes: 30 * MB, newBytes: 0 });
    await low.require({ totalBytes: 30 * MB, newBytes: 5 * MB });
  });

  it("A nearly full disk refuses what does not fit, to be retried", async () => {
    keep("old", 30);
    const asked = disk({ freeSpace: filled(0, 0, 2) }).require({ totalBytes: 90 * MB, newBytes: 80 * MB });
    await expect(asked).rejects.toMatchObject({ code: "disk_full", retryable: true });
    expect(await left()).toEqual([]);
  });

  it("A job that found the disk full makes room for the next attempt", async () => {
    keep("old", 30);
    keep("new", 10);
    const full = new AppError("disk_full", "a quota", { retryable: true });
    const failing = disk().using(() => Promise.reject(full));
    await expect(failing).rejects.toBe(full);
    expect(await left()).toEqual([mirrorOf("new"), mirrorOf("old"), slotOf("new")].sort());
  });
});

describe("a disk of which the system does not say how full it is", () => {
  it("A disk of unknown free space has room", async () => {
    // A file system that counts no blocks.
    if (process.platform === "linux")
      expect(await freeSpace("/proc")).toEqual({ freeBytes: Number.POSITIVE_INFINITY, isLow: false });
    const silent = disk({ freeSpace: () => Promise.reject(new Error("statfs is not allowed")) });
    keep("one", 1);
    await silent.require({ totalBytes: 30 * MB, newBytes: 20 * MB });
    await silent.keep();
    expect(await left()).toHaveLength(2);
  });
});

describe("a closed disk", () => {
  it("A closed disk deletes and creates nothing", async () => {
    keep("one", 1);
    const room = disk({ limitBytes: 1 });
    let isAtWork = true;
    const cleaning = room.clean().then(() => {
      isAtWork = false;
    });
    await room.close();
    expect(isAtWork).toBe(false);
    await cleaning;
    await room.clean();
    expect(await left()).toHaveLength(2);
  });
});

describe("a repository that alone is larger than the limit", () => {
  it("A repository larger than the limit is refused with the variable to set", async () => {
    const asked = disk({ limitBytes: 100 * MB }).require({ totalBytes: 2_345 * MB, newBytes: 1 });
    await expect(asked).rejects.toMatchObject({
      code: "too_large",
      retryable: false,
      message: expect.stringContaining("2.3 GB"),
      remedy: expect.stringContaining("HUNKWISE_DISK_LIMIT_GB, which is now 0.1"),
    });
  });
});
