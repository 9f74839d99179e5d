import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folderOfCaller } from "../../src/config/process-env.ts";

const own = join(import.meta.dirname, "../..");
const npm = {
  npm_lifecycle_event: "hunkwise",
  npm_package_json: join(own, "package.json"),
  INIT_CWD: "/home/me/shop",
};

describe("folderOfCaller", () => {
  it("The caller's folder is meant where npm runs the script of Hunkwise's own checkout", () => {
    expect(folderOfCaller(npm, own)).toBe("/home/me/shop");
  });

  it.each([
    ["another script of the checkout", own, { npm_lifecycle_event: "test" }],
    ["a script with this name of another package", own, { npm_package_json: "/home/me/shop/package.json" }],
    ["a script that has gone to another folder", "/home/me/shop", {}],
    ["a process that npm did not start", own, { npm_package_json: undefined }],
    ["a program that names no folder", own, { INIT_CWD: undefined }],
    ["a relative folder", own, { INIT_CWD: "shop" }],
  ])("The caller's folder does not count for %s", (_, current, raw) => {
    expect(folderOfCaller({ ...npm, ...raw }, current)).toBeNull();
  });
});
