import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { dangerOf, isFull, requireDataFolder, tryDataFolder } from "../../src/cli/require-workable.ts";
import { AppError } from "../../src/core/errors.ts";
import { TempFolder } from "../support/git-repo.ts";

let folder: TempFolder;
beforeEach(() => {
  folder = new TempFolder("workable");
});
afterEach(() => folder.dispose());

describe("The data folder that a process of the App needs", () => {
  it("The data folder is made with the folders above it, and nothing of the trial stays in it", async () => {
    const dataDir = join(folder.path, "var/lib/hunkwise");
    expect(await requireDataFolder(dataDir)).toBe(join(folder.path, "var"));
    mkdirSync(join(dataDir, "mirrors"));
    expect(await requireDataFolder(dataDir)).toBeUndefined();
    expect(readdirSync(dataDir, { recursive: true })).toEqual(["mirrors"]);
  });

  it("The data folder can be tried without being made, and existing files stay", async () => {
    const dataDir = join(folder.path, "var/hunkwise");
    expect(await tryDataFolder(dataDir)).toBe("to be created");
    expect(readdirSync(folder.path)).toEqual([]);
    mkdirSync(dataDir, { recursive: true });
    expect(await tryDataFolder(dataDir)).toBe("there");
    expect(readdirSync(folder.path)).toEqual(["var"]);
    rmSync(dataDir, { recursive: true });
    expect(await tryDataFolder(dataDir)).toBe("to be created");
    expect(readdirSync(folder.path)).toEqual(["var"]);
  });
});

it.skipIf(process.getuid === undefined)(
  "A data folder is called dangerous if others can change what is in it",
  async () => {
    const place = (name: string, mode: number) => {
      const made = join(folder.path, name);
      mkdirSync(made);
      chmodSync(made, mode);
      return made;
    };
    expect(await dangerOf(join(folder.path, "none"))).toBeNull();
    expect(await dangerOf(place("private", 0o700))).toBeNull();
    expect(await dangerOf(place("of-a-group", 0o2775))).toBeNull();
    expect(await dangerOf(place("open", 0o777))).toMatchObject({
      says: expect.stringMatching(/^belongs to another user, or/),
    });
    if (process.getuid?.() !== 0) return;
    const foreign = place("foreign", 0o700);
    chownSync(foreign, 65_534, 65_534);
    expect(await dangerOf(foreign)).not.toBeNull();
  },
);

describe("A full disk", () => {
  const error = (code: string) => Object.assign(new Error("write"), { code });

  it("A full disk is told from a folder without permission, wherever it shows", () => {
    const wrapped = (code: string) => new AppError("data_folder_unusable", "No", { cause: error(code) });
    expect([error("ENOSPC"), wrapped("ENOSPC"), wrapped("EDQUOT")].map(isFull)).toEqual([true, true, true]);
    expect([error("EACCES"), wrapped("EACCES"), wrapped("EROFS"), null].map(isFull)).not.toContain(true);
  });
});
