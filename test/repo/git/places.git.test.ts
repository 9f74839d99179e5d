import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type PidLock, tryLock } from "../../../src/repo/git/owner.ts";
import { removeRepository } from "../../../src/repo/git/places.ts";
import { TempFolder } from "../../support/git-repo.ts";

const repository = { host: "github.test", id: 7 };
let folder: TempFolder;
beforeEach(() => {
  folder = new TempFolder("removal");
  keep("mirrors/github.test/id/7.git/HEAD");
  keep("checkouts/github.test/id/7/0/tree/a/file");
  keep("checkouts/github.test/id/7/1/tree/file");
});
afterEach(() => folder.dispose());

const at = (path: string) => join(folder.path, path);
function keep(path: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), "");
}
const holding = async (path: string): Promise<PidLock> => (await tryLock(at(path)))!;
const remove = () => removeRepository(folder.path, repository);

describe("removing a repository", () => {
  it("Removing a repository deletes its mirror, checkouts and empty folders", async () => {
    keep("mirrors/github.test/other/8.git/HEAD");
    expect(await remove()).toBe(true);
    const left = readdirSync(folder.path, { recursive: true });
    expect(left.sort()).toEqual([
      "checkouts",
      "mirrors",
      "mirrors/github.test",
      "mirrors/github.test/other",
      "mirrors/github.test/other/8.git",
      "mirrors/github.test/other/8.git/HEAD",
      "trash",
    ]);
  });

  it.each([
    ["a checkout", "checkouts/github.test/id/7/1/pid"],
    ["the mirror", "mirrors/github.test/id/7.git/hunkwise.pid"],
  ])("A repository is not removed while %s is in use", async (_, lock) => {
    const held = await holding(lock);
    expect(await remove()).toBe(false);
    expect(existsSync(at("checkouts/github.test/id/7/0/tree/a/file"))).toBe(true);
    expect(existsSync(at("checkouts/github.test/id/7/0/pid"))).toBe(false);
    await held.release();
    expect(await remove()).toBe(true);
    expect(readdirSync(at("mirrors"))).toEqual([]);
  });

  it("Removing a repository succeeds if nothing was kept", async () => {
    expect(await removeRepository(folder.path, { ...repository, id: 9 })).toBe(true);
    expect(await removeRepository(at("no-such-folder"), repository)).toBe(true);
  });
});
