import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileStart } from "../../../src/repo/git/confined-file.ts";
import { decodeName } from "../../../src/repo/git/names.ts";
import { TempFolder } from "../../support/git-repo.ts";

describe("fileStart", () => {
  it("fileStart returns as many bytes as requested or present", () => {
    using folder = new TempFolder();
    mkdirSync(join(folder.path, "a"));
    writeFileSync(join(folder.path, "a/b.txt"), "0123456789");
    expect(fileStart(folder.path, "a/b.txt", 4).toString()).toBe("0123");
    expect(fileStart(folder.path, "a/b.txt", 100).toString()).toBe("0123456789");
    writeFileSync(join(folder.path, "empty"), "");
    expect(fileStart(folder.path, "empty", 4)).toHaveLength(0);
  });

  it("fileStart finds a file by the key of any name", () => {
    using folder = new TempFolder();
    const names = [Buffer.from("caf\xe9", "latin1"), Buffer.from("\\351"), Buffer.from("new\nline é")];
    for (const name of names) {
      writeFileSync(Buffer.concat([Buffer.from(`${folder.path}/`), name]), name);
      expect(fileStart(folder.path, decodeName(name), 100)).toEqual(name);
    }
  });

  it("fileStart refuses links, folders and missing files", () => {
    using folder = new TempFolder();
    writeFileSync(join(folder.path, "file"), "text");
    symlinkSync("file", join(folder.path, "link"));
    mkdirSync(join(folder.path, "folder"));
    for (const [name, code] of [
      ["link", "ELOOP"],
      ["folder", "not_allowed"],
      ["none", "ENOENT"],
      ["file/below", "ENOTDIR"],
    ] as const) {
      expect(() => fileStart(folder.path, name, 4)).toThrow(expect.objectContaining({ code }));
    }
  });
});
