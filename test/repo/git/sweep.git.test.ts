import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sweep } from "../../../src/repo/git/disk.ts";
import { ownTag } from "../../../src/repo/git/owner.ts";
import { removeAbandoned } from "../../../src/repo/git/scratch.ts";
import { TempFolder } from "../../support/git-repo.ts";

const mirror = "mirrors/host/octo/app.git";
const slot = "checkouts/host/octo/app/0";
const pack = `objects/pack/pack-${"1".repeat(40)}`;
const [pid, started, scope] = ownTag.split(".");
const dead = (nonce: string) => [pid, `${started}0`, scope, nonce].join(".");
const alive = `${ownTag}.other`;

let folder: TempFolder;
beforeEach(() => {
  folder = new TempFolder("sweep");
  write(`${mirror}/hunkwise-id`, "id");
  write(`${mirror}/config`);
  write(`${mirror}/${pack}.pack`);
  write(`${mirror}/${pack}.idx`);
  settle(slot, "id");
});
afterEach(() => folder.dispose());

const at = (path: string) => join(folder.path, path);
function write(path: string, text = ""): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
}
function settle(place: string, id: string): void {
  write(`${place}/state.json`, JSON.stringify({ mirror: id, sha: "1", files: 1, bytes: 1 }));
  write(`${place}/index`);
  write(`${place}/tree/file`);
}
/** Everything but what was whole from the beginning. */
async function left(): Promise<string[]> {
  await sweep(folder.path);
  const whole = new Set(
    [`${mirror}/hunkwise-id`, `${mirror}/config`, `${mirror}/${pack}.pack`, `${mirror}/${pack}.idx`].concat(
      ["state.json", "index", "tree", "tree/file"].map((name) => `${slot}/${name}`),
    ),
  );
  const names = readdirSync(folder.path, { recursive: true, encoding: "utf8" });
  expect(names.filter((name) => whole.has(name))).toHaveLength(whole.size);
  const folders = new Set([...whole].flatMap((path) => [dirname(path), dirname(dirname(path))]));
  return names.filter((name) => !whole.has(name) && !folders.has(name) && name.split("/").length > 3).sort();
}

describe("the leftovers in the data folder", () => {
  it.each([
    "hunkwise-id.new",
    "packed-refs.lock",
    "refs/hunkwise/1.lock",
    "objects/pack/tmp_pack_x1",
    "objects/pack/.tmp-123-pack-1.pack",
    "objects/ab/tmp_obj_y2",
    `${pack}.keep`,
    `${pack.replace("1", "2")}.pack`,
  ])("The next start removes %s of a mirror", async (name) => {
    write(`${mirror}/${name}`);
    expect((await left()).filter((one) => one.endsWith(name))).toEqual([]);
  });

  it("The next start removes dead locks and rights to inherit one", async () => {
    symlinkSync(dead("a"), at(`${mirror}/hunkwise.pid`));
    symlinkSync(dead("b"), at(`${mirror}/hunkwise.pid.heir-of-a`));
    symlinkSync(dead("c"), at(`${slot}/pid`));
    symlinkSync(dead("d"), at(`${slot}/pid.heir-of-gone`));
    symlinkSync(dead("e"), at("disk.pid"));
    expect(await left()).toEqual([]);
    expect(existsSync(at("disk.pid"))).toBe(false);
  });

  it("The next start removes a checkout that is unfinished or has no mirror", async () => {
    settle("checkouts/host/octo/app/1", "");
    settle("checkouts/host/octo/app/2", "another");
    settle("checkouts/host/octo/lost/0", "id");
    write("checkouts/host/octo/app/3/tree/half");
    write("trash/1234/half/deleted");
    expect(await left()).toEqual([]);
    expect(readdirSync(at("trash"))).toEqual([]);
  });

  it("The next start removes a mirror that was never finished", async () => {
    write("mirrors/host/other/new.git/HEAD");
    expect(await left()).toEqual([]);
    expect(existsSync(at("mirrors/host/other"))).toBe(false);
  });

  it("A sweep keeps a mirror that is created meanwhile", async () => {
    const made = "mirrors/host/other/new.git";
    const pipe = "checkouts/host/other/new/0/state.json";
    mkdirSync(at(made), { recursive: true });
    mkdirSync(dirname(at(pipe)), { recursive: true });
    execFileSync("mkfifo", [at(pipe)]);
    const sweeping = sweep(folder.path);
    // Resolves when the sweep reads it, which it does after it has looked for the mirror.
    const reader = await open(at(pipe), "w");
    write(`${made}/hunkwise-id`, "new");
    await reader.close();
    await sweeping;
    expect(existsSync(at(`${made}/hunkwise-id`))).toBe(true);
  });

  it("A sweep keeps what a live process uses", async () => {
    settle("checkouts/host/octo/app/1", "");
    symlinkSync(alive, at("checkouts/host/octo/app/1/pid"));
    write(`${mirror}/objects/pack/tmp_pack_x1`);
    symlinkSync(alive, at(`${mirror}/hunkwise.pid`));
    expect(await left()).toContain("checkouts/host/octo/app/1/tree/file");
    expect(existsSync(at(`${mirror}/objects/pack/tmp_pack_x1`))).toBe(true);
  });

  it("A sweep removes temporary folders of dead owners at once, others after a day", async () => {
    const owner = { pid: 1, scope: "another container", started: "1" };
    write("hunkwise-range-known/owner.json", JSON.stringify(owner));
    write("hunkwise-range-nameless/index");
    await removeAbandoned(folder.path);
    expect(readdirSync(folder.path)).toEqual(
      expect.arrayContaining(["hunkwise-range-known", "hunkwise-range-nameless"]),
    );
    const before = new Date(Date.now() - 25 * 3_600_000);
    for (const name of ["known", "nameless"]) utimesSync(at(`hunkwise-range-${name}`), before, before);
    await removeAbandoned(folder.path);
    expect(readdirSync(folder.path).filter((name) => name.startsWith("hunkwise"))).toEqual([]);
  });
});
