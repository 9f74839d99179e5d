import { describe, expect, it } from "vitest";
import {
  createFilter,
  createPrivacy,
  type FilteredChange,
  isSkippedForSize,
  isUnreadable,
  MAX_REVIEWABLE_LINES,
  type PathPatterns,
  TEXT_AS_BINARY,
} from "../../src/diff/filter.ts";
import type { BaseWord } from "../../src/diff/origin.ts";

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

/** A base whose attributes and headers say nothing, but for what is given. */
const base = (attributes: BaseWord["attributes"] | undefined, header = false): BaseWord => ({
  attributes: attributes === undefined ? { generated: null, vendored: null } : attributes,
  headerSaysGenerated: async () => header,
});
const silent = base(undefined);
const filterBy = (patterns: PathPatterns) => {
  const filter = createFilter(patterns);
  return (
    one: FilteredChange,
    word = silent,
    hiddenText: string | null = null,
    lockSources: string | null = null,
  ) => filter(one, () => word, { hiddenText: async () => hiddenText, lockSources: async () => lockSources });
};
const same = { newOid: "1".repeat(40), additions: 0, deletions: 0 };

describe("createFilter", () => {
  it("says of a lock file what it does that nobody has read, also if the base calls it generated", async () => {
    const filter = filterBy(nothing);
    const lock = (path: string) => filter(change(path), silent, null, "packages from elsewhere");
    expect(await lock("web/yarn.lock")).toBe("packages from elsewhere");
    expect(await lock("dist/a.js")).toBe("generated");
    const generated = base({ generated: true, vendored: null });
    const called = filter(change("yarn.lock"), generated, null, "packages from elsewhere");
    expect(await called).toBe("packages from elsewhere");
    expect(await filter(change("bun.lockb", { additions: null }))).toBe("binary lock file");
    const renamed = (oldPath: string) => filter(change("web/yarn.lock", { oldPath, ...same }));
    expect(await renamed("notes.txt")).toBe("renamed to where it takes effect");
    expect(await renamed("yarn.lock")).toBe("pure rename");
  });

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
    ["build/release.ts"],
    ["src/external/client.py"],
    ["routes.gen.ts"],
    ["src/generated.ts"],
    ["src/third/party.c"],
    ["gradlew"],
    ["vendor.ts"],
    ["internals/math-min.js"],
    // A folder called dist in the middle of a source tree, and code that no build leaves in one.
    ["src/cmd/dist/build.js"],
    ["tests/dist/install.test.js"],
    ["packages/a/src/dist/index.css"],
    ["cmd/dist/main.go"],
    ["dist/setup.py"],
    ["dist/server.ts"],
  ])("reviews %s", async (path) => expect(await filterBy(nothing)(change(path))).toBeNull());

  it.each([
    ["package-lock.json", "lock file"],
    ["web/yarn.lock", "lock file"],
    ["go.sum", "lock file"],
    ["node_modules/a/index.js", "vendored"],
    ["go/vendor/github.com/a/b.go", "vendored"],
    ["dist/main.js", "generated"],
    ["packages/a/dist/index.d.ts", "generated"],
    ["web/dist/assets/app.css", "generated"],
    ["web/app.min.js", "generated"],
    ["api/service.pb.go", "generated"],
    ["api/service_pb2.py", "generated"],
    ["api/zz_generated.deepcopy.go", "generated"],
    ["web/.yarn/unplugged/a.cjs", "vendored"],
    ["src/__snapshots__/a.test.ts.snap", "snapshot"],
    ["src/a.test.ts.snap", "snapshot"],
    ["rust/pylock.toml", "lock file"],
    ["ios/Cartfile.resolved", "lock file"],
    ["cpp/third-party/zlib/inflate.c", "vendored"],
    ["Godeps/_workspace/src/a.go", "vendored"],
    ["ios/Carthage/Build/a.h", "vendored"],
    [".yarn/unplugged/a/index.js", "vendored"],
    [".pnp.cjs", "generated"],
    ["lib/client.pb.dart", "generated"],
    ["Forms/Main.Designer.vb", "generated"],
    ["src/schema.generated.graphql", "generated"],
    ["web/.next/server/page.js", "generated"],
    ["spec/vcr_cassettes/login.yml", "snapshot"],
  ])("skips %s as %s", async (path, reason) => expect(await filterBy(nothing)(change(path))).toBe(reason));

  it.each<[string, Partial<FilteredChange>]>([
    ["binary", { additions: null, deletions: null }],
    ["submodule", { oldMode: "160000", newMode: "000000" }],
    ["submodule at another commit", { oldMode: "160000", newMode: "160000" }],
    ["symbolic link to another place", { oldMode: "000000", newMode: "120000" }],
    ["symbolic link", { oldMode: "120000", newMode: "000000" }],
    ["symbolic link to another place", { oldMode: "100644", newMode: "120000" }],
    ["made executable", { newMode: "100755", ...same }],
    ["mode change only", { oldMode: "100755", ...same }],
    ["binary that runs", { newMode: "100755", additions: null, deletions: null }],
    ["renamed from where it took effect", { oldPath: "Makefile", ...same }],
    ["pure rename", { oldPath: "b.ts", ...same }],
    ["empty file", { oldMode: "000000", oldOid: "0".repeat(40), additions: 0, deletions: 0 }],
    [
      `too large (${MAX_REVIEWABLE_LINES + 1} changed lines)`,
      { additions: MAX_REVIEWABLE_LINES, deletions: 1 },
    ],
  ])("skips a file as %s", async (reason, over) => {
    expect(await filterBy(nothing)(change("a.ts", over))).toBe(reason);
  });

  it("tells text that git treats as binary from what is binary, and from text that nobody wrote", async () => {
    const reasonOf = filterBy({ ignore: ["docs/"], private: ["keys/"] });
    const binary = { additions: null, deletions: null };
    const paths = ["a.js", "vendor/a.js", "docs/a.md", "keys/a.ts"];
    const reasons = await Promise.all(
      paths.map((path) => reasonOf(change(path, binary), silent, TEXT_AS_BINARY)),
    );
    expect(reasons).toEqual([
      TEXT_AS_BINARY,
      "vendored",
      "ignored by configuration",
      "withheld by configuration",
    ]);
    expect(reasons.map((reason) => isUnreadable(reason ?? ""))).toEqual([true, false, false, false]);
    expect(isUnreadable("binary")).toBe(false);
  });

  it("tells a file that is too large from those that nobody wrote by hand", async () => {
    const reasonOf = filterBy({ ignore: ["docs/"], private: ["keys/"] });
    const huge = { additions: MAX_REVIEWABLE_LINES + 1 };
    const paths = ["a.ts", "package-lock.json", "dist/a.js", "docs/a.md", "keys/a.ts"];
    const reasons = await Promise.all(paths.map((path) => reasonOf(change(path, huge))));
    expect(reasons.map((reason) => isSkippedForSize(reason ?? ""))).toEqual([
      ...[true, false, false, false, false],
    ]);
  });

  it("skips a file whose path, new or old, is longer than tools take once it is escaped", async () => {
    const long = "\u0001".repeat(680);
    expect(await filterBy(nothing)(change(long))).toBeNull();
    for (const over of [
      change(`${long}\u0001\u0001\u0001`),
      change("a.ts", { oldPath: "x".repeat(4_095) }),
    ]) {
      const reason = (await filterBy(nothing)(over)) ?? "";
      expect(reason).toBe("path too long");
      expect(isSkippedForSize(reason)).toBe(true);
    }
  });

  it("reviews a changed mode together with changed lines", async () => {
    expect(await filterBy(nothing)(change("run.sh", { newMode: "100755" }))).toBeNull();
  });

  it("honours what the configuration ignores, and what it takes back", async () => {
    const filter = filterBy({ ignore: ["*.gen.ts", "docs/", "!vendor/ours/**"], private: [] });
    expect(await filter(change("a.gen.ts"))).toBe("ignored by configuration");
    expect(await filter(change("docs/a.md"))).toBe("ignored by configuration");
    expect(await filter(change("vendor/ours/a.ts"))).toBeNull();
    expect(await filter(change("vendor/theirs/a.ts"))).toBe("vendored");
  });

  it.each<[string, BaseWord["attributes"], string | null]>([
    ["src/a.ts", { generated: true, vendored: null }, "generated"],
    ["src/a.ts", { generated: null, vendored: true }, "vendored"],
    ["src/a.ts", { generated: true, vendored: true }, "generated"],
    ["yarn.lock", { generated: true, vendored: null }, "generated"],
    ["dist/a.js", { generated: false, vendored: null }, null],
    ["yarn.lock", { generated: false, vendored: null }, null],
    ["src/a.snap", { generated: false, vendored: null }, null],
    ["vendor/a.go", { generated: null, vendored: false }, null],
    ["vendor/a.go", { generated: false, vendored: null }, null],
    ["vendor/a.go", { generated: false, vendored: true }, "vendored"],
    ["dist/a.js", null, null],
  ])("answers for %s with the attributes %j at base: %j", async (path, attributes, reason) => {
    expect(await filterBy(nothing)(change(path), base(attributes))).toBe(reason);
  });

  it("skips what its header calls generated, unless the base's attributes deny it", async () => {
    const filter = filterBy(nothing);
    expect(await filter(change("a.ts"), base(undefined, true))).toBe("generated");
    expect(await filter(change("a.ts"), base(null, true))).toBe("generated");
    expect(await filter(change("vendor/a.go"), base({ generated: null, vendored: false }, true))).toBe(
      "generated",
    );
    expect(await filter(change("a.ts"), base({ generated: false, vendored: null }, true))).toBeNull();
  });

  it("reviews what takes effect by itself, also if the base or its header calls it generated", async () => {
    const filter = filterBy(nothing);
    const written = base({ generated: true, vendored: true }, true);
    for (const path of [".github/workflows/ci.lock.yml", "package.json", ".yarn/releases/yarn.cjs"])
      expect(await filter(change(path), written)).toBeNull();
    for (const path of ["docs/api.ts", ".github/workflows/yarn.lock", "vendor/a/Makefile"])
      expect(await filter(change(path), written)).not.toBeNull();
  });

  it("takes back what attributes and headers would skip, where the configuration says so", async () => {
    const filter = filterBy({ ignore: ["!src/ours/**"], private: [] });
    const word = base({ generated: true, vendored: true }, true);
    expect(await filter(change("src/ours/a.ts"), word)).toBeNull();
    expect(await filter(change("src/theirs/a.ts"), word)).toBe("generated");
  });

  it("calls what nobody wrote generated before too large, and asks no header without need", async () => {
    const filter = filterBy({ ignore: ["docs/"], private: ["keys/"] });
    const huge = { additions: MAX_REVIEWABLE_LINES + 1 };
    expect(await filter(change("a.ts", huge), base(undefined, true))).toBe("generated");
    const unasked: BaseWord = {
      attributes: { generated: null, vendored: null },
      headerSaysGenerated: () => Promise.reject(new Error("asked for a header")),
    };
    const skipped = ["keys/a.ts", "docs/a.md", "go.sum", "vendor/a.go"].map((path) => change(path));
    for (const one of [...skipped, change("a.png", { additions: null, deletions: null })]) {
      expect(await filter(one, unasked)).not.toBeNull();
    }
  });

  it("withholds private files and those renamed from one, before any other reason", async () => {
    const filter = filterBy({ ignore: ["secrets/**"], private: ["secrets/**", "*.pem"] });
    expect(await filter(change("secrets/a.ts"))).toBe("withheld by configuration");
    expect(await filter(change("public.ts", { oldPath: "secrets/a.ts" }))).toBe("text of a private file");
    expect(await filter(change("deep/key.pem", { additions: null }))).toBe("withheld by configuration");
    expect(await filter(change("secretsauce.ts"))).toBeNull();
  });
});

describe("the files that a run selects", () => {
  const only = (...patterns: string[]) => filterBy({ ...nothing, only: patterns });

  it("are those that match a pattern, under their old name too", async () => {
    const filter = only("/api/**", "*.sql");
    expect(await filter(change("api/a.ts"))).toBeNull();
    expect(await filter(change("web/a.ts"))).toBe("left out by --only");
    expect(await filter(change("web/b/a.sql"))).toBeNull();
    expect(await filter(change("web/a.ts", { oldPath: "api/a.ts" }))).toBeNull();
  });

  it("are no more than those that would be reviewed", async () => {
    const filter = filterBy({ ignore: ["*.ts"], private: ["*.key"], only: ["/api/"] });
    expect(await filter(change("api/a.ts"))).toBe("ignored by configuration");
    expect(await filter(change("api/a.key"))).toBe("withheld by configuration");
  });

  it("are not left unread because they are, but a path that cannot be matched is no way out", async () => {
    expect(isUnreadable("left out by --only")).toBe(false);
    expect(await only("/api/**")(change(`web/${"a/".repeat(3_000)}`))).not.toBe("left out by --only");
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
    ["SECRETS/a", true],
    ["", false],
  ])("answers for %j", (path, answer) => expect(isPrivate(path)).toBe(answer));

  it("withholds what has too long a path to be matched, whatever the patterns are", async () => {
    const deep = "a/".repeat(3_000);
    expect(createPrivacy(["**/a/**/b/**"])(`${deep}x`)).toBe(true);
    expect(createPrivacy(["**/a/**/b/**"])(`${deep.slice(0, 4_000)}x`)).toBe(false);
    expect(createPrivacy([])(`${deep}x`)).toBe(false);
    const filter = filterBy({ ignore: ["**/a/**/b/**"], private: [] });
    expect(await filter(change(`${deep}x.ts`))).toBe("path too long");
    expect(await filter(change(`${deep.slice(0, 4_000)}x.ts`))).toBeNull();
  });
});
