import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { dataFolder, defaultDataFolder, isInPackage } from "../../src/config/folders.ts";

const root = join(import.meta.dirname, "../..");
const linux = { platform: "linux", home: "/home/me", dataHome: undefined } as const;

const folder = mkdtempSync(join(tmpdir(), "hunkwise-folders-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A new folder of the program that holds these folders. */
function program(name: string, ...folders: string[]): string {
  for (const one of folders) mkdirSync(join(folder, name, one), { recursive: true });
  return join(folder, name);
}

describe("the data folder", () => {
  it.each([
    ["linux", undefined, "/home/me/.local/share/hunkwise"],
    ["linux", "/srv/data", "/srv/data/hunkwise"],
    ["linux", "relative", "/home/me/.local/share/hunkwise"],
    ["linux", "", "/home/me/.local/share/hunkwise"],
    ["darwin", undefined, "/home/me/Library/Application Support/hunkwise"],
    ["win32", undefined, "/home/me/AppData/Local/hunkwise"],
  ] as const)(
    "An installed program keeps its data in the user's folder, on %s with %j",
    (platform, dataHome, expected) => {
      const system = { platform, home: "/home/me", dataHome };
      expect(defaultDataFolder(program("new", "dist"), system)).toBe(expected);
    },
  );

  it("A checkout keeps its data in its own folder, also if its bundle runs", () => {
    const checkout = program("checkout", "src", "dist");
    expect(defaultDataFolder(checkout, linux)).toBe(join(checkout, ".hunkwise"));
    expect(dataFolder(undefined)).toBe(join(root, ".hunkwise"));
  });

  it("An installed program goes on with the data in its own folder, also through a link, but not through one that leads nowhere", () => {
    const old = program("old", "dist", ".hunkwise");
    expect(defaultDataFolder(old, linux)).toBe(join(old, ".hunkwise"));
    const linked = program("linked", "dist");
    symlinkSync(join(old, ".hunkwise"), join(linked, ".hunkwise"));
    expect(defaultDataFolder(linked, linux)).toBe(join(linked, ".hunkwise"));
    const broken = program("broken", "dist");
    symlinkSync(join(folder, "nowhere"), join(broken, ".hunkwise"));
    expect(defaultDataFolder(broken, linux)).toBe("/home/me/.local/share/hunkwise");
  });

  it("An installed program without a home has no other folder than its own", () => {
    const place = program("homeless", "dist");
    expect(defaultDataFolder(place, { ...linux, home: null })).toBe(join(place, ".hunkwise"));
  });

  it("An update threatens what is in the program's own folder or in node_modules, and nothing else", () => {
    const place = program("threatened", "dist");
    expect(isInPackage(join(place, "data/of/mine"), place)).toBe(true);
    expect(isInPackage("/usr/lib/node_modules/hunkwise/.hunkwise", place)).toBe(true);
    expect(isInPackage("/home/me/.local/share/hunkwise", place)).toBe(false);
    expect(isInPackage(`${place}-data`, place)).toBe(false);
    expect(isInPackage(join(root, ".hunkwise"))).toBe(false);
  });
});
