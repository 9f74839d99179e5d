import { describe, expect, it } from "vitest";
import { effectWithoutLines, type ListedChange, leadsOut } from "../../src/diff/without-lines.ts";

const listed = (path: string, over: Partial<ListedChange> = {}): ListedChange => ({
  ...{ path, oldPath: null, oldMode: "100644", newMode: "100644" },
  ...{ oldOid: "1".repeat(40), newOid: "2".repeat(40), additions: 0 },
  ...over,
});
const sameText = { newOid: "1".repeat(40) };
const absent = { newMode: "000000", newOid: "0".repeat(40) };
const binary = { additions: null };
const link = { newMode: "120000" };
const submodule = { oldMode: "160000", newMode: "160000" };

describe("a change without lines", () => {
  it.each<[what: string, change: ListedChange]>([
    ["neutral: symbolic link to another place", listed("a", { ...link, oldMode: "000000" })],
    ["neutral: symbolic link to another place", listed("a.ts", link)],
    [
      "neutral: symbolic link to another place",
      listed("b", { ...link, oldPath: "a", oldMode: "120000", ...sameText }),
    ],
    ["neutral: submodule at another commit", listed("lib", submodule)],
    ["neutral: new submodule", listed("lib", { ...submodule, oldMode: "000000" })],
    ["neutral: binary data", listed("logo.png", binary)],
    ["unread: binary that runs", listed("gradle/wrapper/gradle-wrapper.jar", binary)],
    ["unread: binary that runs", listed("assets/left-pad-1.3.0.tgz", binary)],
    ["unread: binary that runs", listed("native/libcrypto.so.1.1", { ...binary, oldMode: "000000" })],
    ["unread: binary that runs", listed("tool", { ...binary, newMode: "100755", ...sameText })],
    ["unread: binary that runs", listed(".husky/pre-commit", binary)],
    ["unread: binary that runs", listed("lib/a.jar", { ...binary, oldPath: "docs/a.png", ...sameText })],
  ])("is named %s", (what, change) => {
    const effect = effectWithoutLines(change);
    expect(`${effect?.account}: ${effect?.reason}`).toBe(what);
  });

  it.each<[what: string, change: ListedChange]>([
    ["a link that goes", listed("a", { oldMode: "120000", ...absent })],
    ["a submodule that goes", listed("lib", { oldMode: "160000", ...absent })],
    ["a submodule in another folder", listed("b", { ...submodule, oldPath: "a", ...sameText })],
    ["a jar that goes", listed("a.jar", { ...binary, ...absent })],
    ["a name", listed("src/b.ts", { oldPath: "src/a.ts", ...sameText })],
    ["an executable script", listed("run.sh", { newMode: "100755", ...sameText })],
    ["an empty file", listed("a.txt", { oldMode: "000000" })],
  ])("does nothing that no line tells: %s", (_what, change) => expect(effectWithoutLines(change)).toBeNull());
});

describe("a link", () => {
  it.each([
    "/etc/passwd",
    "../../x",
    "../..",
    "a/../../../x",
    "C:\\x",
    "\\\\host\\x",
    "..\\..\\x",
    "~/x",
    "",
    "a\0b",
  ])("in a folder leads out of the repository to %j", (target) =>
    expect(leadsOut("src/link", target)).toBe(true),
  );

  it("leads out where it ends in git's own folder", () => {
    expect(leadsOut("link", ".git/hooks")).toBe(true);
    expect(leadsOut("src/link", "../.GIT/config")).toBe(true);
  });

  it.each(["a.ts", "../a.ts", "../docs/../a.ts", "./b/c", "..a", ".github/workflows"])(
    "in a folder stays within the repository with %j",
    (target) => expect(leadsOut("src/link", target)).toBe(false),
  );
});
