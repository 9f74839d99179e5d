import { describe, expect, it } from "vitest";
import {
  createFilter,
  createPrivacy,
  type FilteredChange,
  isSkippedForSize,
  MAX_REVIEWABLE_LINES,
} from "../../src/diff/filter.ts";

const change = (path: string, over: Partial<FilteredChange> = {}): FilteredChange => ({
  path,
  oldPath: null,
  oldMode: "100644",
  newMode: "100644",
  oldOid: "1".repeat(40),
  newOid: "2".repeat(40),
  additions: 3,
  deletions: 1,
  ...over,
});
const nothing = { ignore: [], private: [] };
const same = { newOid: "1".repeat(40), additions: 0, deletions: 0 };

describe("createFilter", () => {
  it.each([
    ["src/index.ts"],
    ["lib/vendors/list.ts"],
    ["package.json"],
    ["src/dist.ts"],
    ["vendor"],
    [".yarn/config.cjs"],
    ["src/block.rs"],
    [".github/workflows/ci.yml"],
    ["docs/größe.md"],
  ])("reviews %s", (path) => expect(createFilter(nothing)(change(path))).toBeNull());

  it.each([
    ["package-lock.json", "lock file"],
    ["web/yarn.lock", "lock file"],
    ["go.sum", "lock file"],
    ["node_modules/a/index.js", "vendored"],
    ["go/vendor/github.com/a/b.go", "vendored"],
    ["dist/main.js", "generated"],
    ["web/app.min.js", "generated"],
    ["api/service.pb.go", "generated"],
    ["api/service_pb2.py", "generated"],
    ["api/zz_generated.deepcopy.go", "generated"],
    ["web/.yarn/releases/yarn.cjs", "vendored"],
    ["src/__snapshots__/a.test.ts.snap", "snapshot"],
    ["src/a.test.ts.snap", "snapshot"],
  ])("skips %s as %s", (path, reason) => expect(createFilter(nothing)(change(path))).toBe(reason));

  it.each<[string, Partial<FilteredChange>]>([
    ["binary", { additions: null, deletions: null }],
    ["submodule", { oldMode: "160000", newMode: "160000" }],
    ["symbolic link", { oldMode: "000000", newMode: "120000" }],
    ["symbolic link", { oldMode: "120000", newMode: "100644" }],
    ["mode change only", { newMode: "100755", ...same }],
    ["pure rename", { oldPath: "b.ts", ...same }],
    ["empty file", { oldMode: "000000", oldOid: "0".repeat(40), additions: 0, deletions: 0 }],
    [
      `too large (${MAX_REVIEWABLE_LINES + 1} changed lines)`,
      { additions: MAX_REVIEWABLE_LINES, deletions: 1 },
    ],
  ])("skips a file as %s", (reason, over) => {
    expect(createFilter(nothing)(change("a.ts", over))).toBe(reason);
  });

  it("tells a file that is too large from those that nobody wrote by hand", () => {
    const reasonOf = createFilter({ ignore: ["docs/"], private: ["keys/"] });
    const huge = { additions: MAX_REVIEWABLE_LINES + 1 };
    const paths = ["a.ts", "package-lock.json", "dist/a.js", "docs/a.md", "keys/a.ts"];
    expect(paths.map((path) => isSkippedForSize(reasonOf(change(path, huge)) ?? ""))).toEqual([
      ...[true, false, false, false, false],
    ]);
  });

  it("skips a file whose path, new or old, is longer than tools take once it is escaped", () => {
    const long = "\u0001".repeat(680);
    expect(createFilter(nothing)(change(long))).toBeNull();
    for (const over of [
      change(`${long}\u0001\u0001\u0001`),
      change("a.ts", { oldPath: "x".repeat(4_095) }),
    ]) {
      const reason = createFilter(nothing)(over) ?? "";
      expect(reason).toBe("path too long");
      expect(isSkippedForSize(reason)).toBe(true);
    }
  });

  it("reviews a changed mode together with changed lines", () => {
    expect(createFilter(nothing)(change("run.sh", { newMode: "100755" }))).toBeNull();
  });

  it("honours what the configuration ignores, and what it takes back", () => {
    const filter = createFilter({ ignore: ["*.gen.ts", "docs/", "!vendor/ours/**"], private: [] });
    expect(filter(change("a.gen.ts"))).toBe("ignored by configuration");
    expect(filter(change("docs/a.md"))).toBe("ignored by configuration");
    expect(filter(change("vendor/ours/a.ts"))).toBeNull();
    expect(filter(change("vendor/theirs/a.ts"))).toBe("vendored");
  });

  it("withholds private files and those renamed from one, before any other reason", () => {
    const filter = createFilter({ ignore: ["secrets/**"], private: ["secrets/**", "*.pem"] });
    expect(filter(change("secrets/a.ts"))).toBe("withheld by configuration");
    expect(filter(change("public.ts", { oldPath: "secrets/a.ts" }))).toBe("withheld by configuration");
    expect(filter(change("deep/key.pem", { additions: null }))).toBe("withheld by configuration");
    expect(filter(change("secretsauce.ts"))).toBeNull();
  });
});

describe("createPrivacy", () => {
  const isPrivate = createPrivacy(["secrets/**", "*.pem", "/config/prod.yml", "hidden/"]);
  it.each([
    ["secrets/a", true],
    ["secrets/deep/a\nb", true],
    ["a/b.pem", true],
    ["a\nb.pem", true],
    ["config/prod.yml", true],
    ["hidden/x", true],
    ["x/config/prod.yml", false],
    ["SECRETS/a", false],
    ["", false],
  ])("answers for %j", (path, answer) => expect(isPrivate(path)).toBe(answer));

  it("withholds what lies too deep to be matched in reasonable time", () => {
    const deep = "a/".repeat(2_000);
    expect(createPrivacy(["**/a/**/b/**"])(`${deep}x`)).toBe(true);
    expect(createPrivacy([])(`${deep}x`)).toBe(false);
    expect(createFilter({ ignore: ["**/a/**/b/**"], private: [] })(change(`${deep}x.ts`))).toBeNull();
  });
});
