import { describe, expect, it } from "vitest";
import {
  effectWithoutLines,
  isRoutineWithoutLines,
  isUnreadWithoutLines,
  type ListedChange,
  leadsOut,
} from "../../src/diff/without-lines.ts";

const listed = (path: string, over: Partial<ListedChange> = {}): ListedChange => ({
  ...{ path, oldPath: null, oldMode: "100644", newMode: "100644" },
  ...{ oldOid: "1".repeat(40), newOid: "2".repeat(40), additions: 0 },
  ...over,
});
const sameText = { newOid: "1".repeat(40) };
const renamed = (oldPath: string, path: string) => listed(path, { oldPath, ...sameText });
const absent = { newMode: "000000", newOid: "0".repeat(40) };
const binary = { additions: null };

describe("a change without lines", () => {
  it.each<[reason: string, change: ListedChange]>([
    ["symbolic link to another place", listed("a", { oldMode: "000000", newMode: "120000" })],
    ["symbolic link to another place", listed("a.ts", { newMode: "120000" })],
    [
      "symbolic link to another place",
      listed("b", { oldPath: "a", oldMode: "120000", newMode: "120000", ...sameText }),
    ],
    ["submodule at another commit", listed("lib", { oldMode: "160000", newMode: "160000" })],
    ["new submodule", listed("lib", { oldMode: "000000", newMode: "160000" })],
    ["binary that runs", listed("gradle/wrapper/gradle-wrapper.jar", binary)],
    ["binary that runs", listed("assets/left-pad-1.3.0.tgz", binary)],
    ["binary that runs", listed("native/libcrypto.so.1.1", { ...binary, oldMode: "000000" })],
    ["binary that runs", listed("tool", { ...binary, newMode: "100755", ...sameText })],
    ["binary that runs", listed(".husky/pre-commit", binary)],
    ["binary that runs", listed("lib/a.jar", { ...binary, oldPath: "docs/a.png", ...sameText })],
    ["renamed to where it takes effect", renamed("docs/x.yml", ".github/workflows/ci.yml")],
    ["renamed to where it takes effect", renamed("ci.yml.off", ".github/workflows/ci.yml")],
    ["renamed to where it takes effect", renamed("examples/package.json", "package.json")],
    ["renamed to where it takes effect", renamed(".husky/pre-commit.off", ".husky/pre-commit")],
    ["renamed from where it took effect", renamed("CODEOWNERS", "docs/owners.txt")],
    [
      "made executable where it takes effect",
      listed(".githooks/pre-commit", { newMode: "100755", ...sameText }),
    ],
  ])("is named %s", (reason, change) => {
    expect(effectWithoutLines(change)).toBe(reason);
    expect(isUnreadWithoutLines(reason)).toBe(true);
  });

  it.each<[what: string, change: ListedChange]>([
    ["a link that goes", listed("a", { oldMode: "120000", ...absent })],
    ["a submodule that goes", listed("lib", { oldMode: "160000", ...absent })],
    [
      "a submodule in another folder",
      listed("b", { oldPath: "a", oldMode: "160000", newMode: "160000", ...sameText }),
    ],
    ["a jar that goes", listed("a.jar", { ...binary, ...absent })],
    ["a picture", listed("logo.png", binary)],
    ["a name", renamed("src/a.ts", "src/b.ts")],
    ["a workflow under another name", renamed(".github/workflows/a.yml", ".github/workflows/b.yml")],
    ["an executable script", listed("run.sh", { newMode: "100755", ...sameText })],
    ["a hook that is switched off", listed(".githooks/pre-commit", { oldMode: "100755", ...sameText })],
    ["an empty file", listed("a.txt", { oldMode: "000000" })],
  ])("does nothing by itself: %s", (_what, change) => expect(effectWithoutLines(change)).toBeNull());

  it("is routine where it is a submodule, or a link within the repository", () => {
    const reasons = ["submodule at another commit", "new submodule", "symbolic link to another place"];
    expect(reasons.map(isRoutineWithoutLines)).toEqual([true, true, true]);
    expect(isRoutineWithoutLines("symbolic link out of the repository")).toBe(false);
    expect(isRoutineWithoutLines("binary that runs")).toBe(false);
  });
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
