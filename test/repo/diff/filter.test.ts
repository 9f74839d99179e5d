import { describe, expect, it } from "vitest";
import {
  createFilter,
  createPrivacy,
  effectWithoutLines,
  type FilteredChange,
  leadsOut,
  MAX_REVIEWABLE_LINES,
  type PathPatterns,
  TEXT_AS_BINARY,
} from "../../../src/repo/diff/filter.ts";
import { NO_PARSER } from "../../../src/repo/diff/locks/compare.ts";
import type { BaseFacts } from "../../../src/repo/diff/origin.ts";

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
const base = (attributes: BaseFacts["attributes"] | undefined, header = false): BaseFacts => ({
  attributes: attributes === undefined ? { generated: null, vendored: null } : attributes,
  headerSaysGenerated: async () => header,
});
const silent = base(undefined);
type Unseen = Parameters<ReturnType<typeof createFilter>>[2];
/** What each query is to answer. */
type Answers = { [Query in keyof Unseen]: Awaited<ReturnType<Unseen[Query]>> };
const filterBy = (patterns: PathPatterns) => {
  const filter = createFilter(patterns);
  /** "account: reason"; null for a file that a model is to read. */
  return async (one: FilteredChange, word = silent, unseen: Partial<Answers> = {}) => {
    const { hiddenText = null, lock = null, knownFormat = null } = unseen;
    const skip = await filter(one, () => word, {
      hiddenText: async () => hiddenText,
      lock: async () => lock,
      knownFormat: async () => knownFormat,
    });
    return skip && `${skip.account}: ${skip.reason}`;
  };
};
const same = { newOid: "1".repeat(40), additions: 0, deletions: 0 };
const binary = { additions: null, deletions: null };
const emptyBlob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
const empty = { oldMode: "000000", oldOid: "0".repeat(40), newOid: emptyBlob, additions: 0, deletions: 0 };
const gone = { newMode: "000000", newOid: "0".repeat(40) };

describe("createFilter", () => {
  it("createFilter names what a lock file does, also if the base calls it generated", async () => {
    const filter = filterBy(nothing);
    const lock = { kind: "unread", reason: "lock file that cannot be read" } as const;
    const generated = base({ generated: true, vendored: null });
    for (const word of [silent, generated])
      expect(await filter(change("web/yarn.lock"), word, { lock })).toBe(`unread: ${lock.reason}`);
    const moved = {
      kind: "read",
      faults: [],
      neutral: "lock file with a package at another commit",
    } as const;
    expect(await filter(change("yarn.lock"), silent, { lock: moved })).toBe(`neutral: ${moved.neutral}`);
    const faults = [{ line: 1, entry: "a 1.0.0", what: "hash", text: "has another hash" }] as const;
    const faulty = { ...moved, faults, neutral: null };
    expect(await filter(change("yarn.lock"), silent, { lock: faulty })).toBe("parsed: lock file");
    const unknown = { kind: "unread", reason: NO_PARSER } as const;
    expect(await filter(change("flake.lock"), silent, { lock: unknown })).toBe(`neutral: ${NO_PARSER}`);
    expect(await filter(change("dist/a.js"), silent, { lock })).toBe("named: generated");
    expect(await filter(change("bun.lockb", binary))).toBe("neutral: binary lock file");
    const renamed = (oldPath: string) => filter(change("web/yarn.lock", { oldPath, ...same }));
    expect(await renamed("notes.txt")).toBe("unread: renamed to the name of a lock file");
    expect(await renamed("yarn.lock")).toBeNull();
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
  ])("createFilter reviews %s", async (path) => expect(await filterBy(nothing)(change(path))).toBeNull());

  it.each([
    ["package-lock.json", "parsed: lock file"],
    ["web/yarn.lock", "parsed: lock file"],
    ["go.sum", "parsed: lock file"],
    ["node_modules/a/index.js", "named: vendored"],
    ["go/vendor/github.com/a/b.go", "named: vendored"],
    ["dist/main.js", "named: generated"],
    ["packages/a/dist/index.d.ts", "named: generated"],
    ["web/dist/assets/app.css", "named: generated"],
    ["web/app.min.js", "named: generated"],
    ["api/service.pb.go", "named: generated"],
    ["api/service_pb2.py", "named: generated"],
    ["api/zz_generated.deepcopy.go", "named: generated"],
    ["web/.yarn/unplugged/a.cjs", "named: vendored"],
    ["src/__snapshots__/a.test.ts.snap", "named: snapshot"],
    ["src/a.test.ts.snap", "named: snapshot"],
    ["rust/pylock.toml", "parsed: lock file"],
    ["ios/Cartfile.resolved", "parsed: lock file"],
    ["cpp/third-party/zlib/inflate.c", "named: vendored"],
    ["Godeps/_workspace/src/a.go", "named: vendored"],
    ["ios/Carthage/Build/a.h", "named: vendored"],
    [".yarn/unplugged/a/index.js", "named: vendored"],
    [".pnp.cjs", "named: generated"],
    ["lib/client.pb.dart", "named: generated"],
    ["Forms/Main.Designer.vb", "named: generated"],
    ["src/schema.generated.graphql", "named: generated"],
    ["web/.next/server/page.js", "named: generated"],
    ["spec/vcr_cassettes/login.yml", "named: snapshot"],
  ])("createFilter answers for %s: %s", async (path, reason) =>
    expect(await filterBy(nothing)(change(path))).toBe(reason),
  );

  it.each<[string | null, Partial<FilteredChange>]>([
    ["neutral: binary data", binary],
    ["unread: binary that runs", { ...binary, path: "a.jar" }],
    ["unread: binary that runs", { ...binary, newMode: "100755" }],
    ["neutral: submodule at another commit", { oldMode: "160000", newMode: "160000" }],
    ["neutral: symbolic link to another place", { oldMode: "000000", newMode: "120000" }],
    ["neutral: symbolic link to another place", { oldMode: "120000", newMode: "120000", ...same }],
    ["neutral: empty file", { ...empty, path: "CODEOWNERS" }],
    ["unread: path too long", { ...same, oldPath: "x".repeat(4_095) }],
    ...["a/.gitkeep", ".keep", "src/py.typed", "src/__init__.py"].map(
      (path): [string, Partial<FilteredChange>] => ["parsed: empty file", { ...empty, path }],
    ),
    ["neutral: empty file", { ...empty, path: ".keep", newMode: "100755" }],
    [`unread: too large (${MAX_REVIEWABLE_LINES + 1} changed lines)`, { additions: MAX_REVIEWABLE_LINES }],
    // One line tells all of these.
    [null, { ...binary, ...gone }],
    [null, { ...same, ...gone }],
    [null, { oldMode: "160000", ...gone }],
    [null, { newMode: "100755", ...same }],
    [null, { oldPath: "Makefile", ...same }],
    [null, { oldPath: "b.jar", path: "a.jar", ...binary, newOid: same.newOid }],
  ])("createFilter accounts for a file as %s: %j", async (account, over) => {
    expect(await filterBy(nothing)(change("a.ts", over))).toBe(account);
  });

  it("createFilter accepts a file of a known format, unless it can be run", async () => {
    const filter = filterBy({ ignore: ["docs/"], private: ["keys/"] });
    const image = { knownFormat: "image" };
    const answer = (path: string, over = {}) => filter(change(path, { ...binary, ...over }), silent, image);
    expect(await answer("a.png")).toBe("parsed: image");
    expect(await answer("docs/a.png")).toBe("left_out: ignored by configuration");
    expect(await answer("keys/a.png")).toBe("left_out: withheld by configuration");
    expect(await filter(change("a.snap"), silent, { knownFormat: "snapshot" })).toBe("parsed: snapshot");
    const text = { ...image, hiddenText: TEXT_AS_BINARY };
    expect(await filter(change("a.png", binary), silent, text)).toBe(`unread: ${TEXT_AS_BINARY}`);
  });

  it("createFilter distinguishes text with NUL bytes from binary files", async () => {
    const filter = filterBy({ ignore: ["docs/"], private: ["keys/"] });
    const vendored = base({ generated: null, vendored: true });
    const answer = (path: string, word = silent) =>
      filter(change(path, binary), word, { hiddenText: TEXT_AS_BINARY });
    expect(await answer("a.js")).toBe(`unread: ${TEXT_AS_BINARY}`);
    expect(await answer("vendor/a.js")).toBe(`unread: ${TEXT_AS_BINARY}`);
    expect(await answer("a.js", vendored)).toBe("left_out: binary");
    expect(await answer("docs/a.md")).toBe("left_out: ignored by configuration");
    expect(await answer("keys/a.ts")).toBe("left_out: withheld by configuration");
  });

  it("createFilter skips a file whose old or new path is too long for the tools", async () => {
    const long = "\u0001".repeat(680);
    expect(await filterBy(nothing)(change(long))).toBeNull();
    for (const over of [change(`${long}\u0001\u0001\u0001`), change("a.ts", { oldPath: "x".repeat(4_095) })])
      expect(await filterBy(nothing)(over)).toBe("unread: path too long");
  });

  it("createFilter reviews a changed mode together with changed lines", async () => {
    expect(await filterBy(nothing)(change("run.sh", { newMode: "100755" }))).toBeNull();
  });

  it("createFilter follows paths.ignore and its exceptions", async () => {
    const filter = filterBy({ ignore: ["*.gen.ts", "docs/", "!vendor/ours/**"], private: [] });
    expect(await filter(change("a.gen.ts"))).toBe("left_out: ignored by configuration");
    expect(await filter(change("docs/a.md"))).toBe("left_out: ignored by configuration");
    expect(await filter(change("vendor/ours/a.ts"))).toBeNull();
    expect(await filter(change("vendor/theirs/a.ts"))).toBe("named: vendored");
  });

  it.each<[string, BaseFacts["attributes"], string | null]>([
    ["src/a.ts", { generated: true, vendored: null }, "left_out: generated"],
    ["src/a.ts", { generated: null, vendored: true }, "left_out: vendored"],
    ["src/a.ts", { generated: true, vendored: true }, "left_out: generated"],
    ["yarn.lock", { generated: true, vendored: null }, "parsed: lock file"],
    ["dist/a.js", { generated: false, vendored: null }, null],
    ["yarn.lock", { generated: false, vendored: null }, null],
    ["src/a.snap", { generated: false, vendored: null }, null],
    ["vendor/a.go", { generated: null, vendored: false }, null],
    ["vendor/a.go", { generated: false, vendored: null }, null],
    ["vendor/a.go", { generated: false, vendored: true }, "left_out: vendored"],
    ["dist/a.js", null, null],
  ])("createFilter answers for %s with the attributes %j at base: %j", async (path, attributes, reason) => {
    expect(await filterBy(nothing)(change(path), base(attributes))).toBe(reason);
  });

  it("createFilter follows a header that says generated, unless the base's attributes deny it", async () => {
    const filter = filterBy(nothing);
    expect(await filter(change("a.ts"), base(undefined, true))).toBe("named: generated");
    expect(await filter(change("a.ts"), base(null, true))).toBe("named: generated");
    expect(await filter(change("vendor/a.go"), base({ generated: null, vendored: false }, true))).toBe(
      "named: generated",
    );
    expect(await filter(change("a.ts"), base({ generated: false, vendored: null }, true))).toBeNull();
  });

  it("createFilter reviews a file that takes effect, also if it is called generated", async () => {
    const filter = filterBy(nothing);
    const written = base({ generated: true, vendored: true }, true);
    for (const path of [".github/workflows/ci.lock.yml", "package.json", ".yarn/releases/yarn.cjs"])
      expect(await filter(change(path), written)).toBeNull();
    for (const path of ["docs/api.ts", ".github/workflows/yarn.lock", "vendor/a/Makefile"])
      expect(await filter(change(path), written)).not.toBeNull();
  });

  it("createFilter lets the configuration take back what attributes and headers skip", async () => {
    const filter = filterBy({ ignore: ["!src/ours/**"], private: [] });
    const word = base({ generated: true, vendored: true }, true);
    expect(await filter(change("src/ours/a.ts"), word)).toBeNull();
    expect(await filter(change("src/theirs/a.ts"), word)).toBe("left_out: generated");
  });

  it("createFilter decides by origin before size, and reads no header without need", async () => {
    const filter = filterBy({ ignore: ["docs/"], private: ["keys/"] });
    const huge = { additions: MAX_REVIEWABLE_LINES + 1 };
    expect(await filter(change("a.ts", huge), base(undefined, true))).toBe("unread: generated");
    const unasked: BaseFacts = {
      attributes: { generated: null, vendored: null },
      headerSaysGenerated: () => Promise.reject(new Error("asked for a header")),
    };
    const skipped = ["keys/a.ts", "docs/a.md", "go.sum", "vendor/a.go"].map((path) => change(path));
    for (const one of [...skipped, change("a.png", binary)]) {
      expect(await filter(one, unasked)).not.toBeNull();
    }
  });

  it("createFilter withholds private files and those renamed from one first of all", async () => {
    const filter = filterBy({ ignore: ["secrets/**"], private: ["secrets/**", "*.pem"] });
    expect(await filter(change("secrets/a.ts"))).toBe("left_out: withheld by configuration");
    expect(await filter(change("public.ts", { oldPath: "secrets/a.ts" }))).toBe(
      "unread: text of a private file",
    );
    expect(await filter(change("deep/key.pem", { additions: null }))).toBe(
      "left_out: withheld by configuration",
    );
    expect(await filter(change("secretsauce.ts"))).toBeNull();
  });
});

describe("the files that a run selects", () => {
  const only = (...patterns: string[]) => filterBy({ ...nothing, only: patterns });

  it("A run selects files that match a pattern by their new or old path", async () => {
    const filter = only("/api/**", "*.sql");
    expect(await filter(change("api/a.ts"))).toBeNull();
    expect(await filter(change("web/a.ts"))).toBe("left_out: left out by --only");
    expect(await filter(change("web/b/a.sql"))).toBeNull();
    expect(await filter(change("web/a.ts", { oldPath: "api/a.ts" }))).toBeNull();
  });

  it("A run selects no file that would not be reviewed", async () => {
    const filter = filterBy({ ignore: ["*.ts"], private: ["*.key"], only: ["/api/"] });
    expect(await filter(change("api/a.ts"))).toBe("left_out: ignored by configuration");
    expect(await filter(change("api/a.key"))).toBe("left_out: withheld by configuration");
  });

  it("A run selects files whose path is too long to be matched", async () => {
    expect(await only("/api/**")(change(`web/${"a/".repeat(3_000)}`))).toBe("unread: path too long");
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
  ])("createPrivacy answers for %j", (path, answer) => expect(isPrivate(path)).toBe(answer));

  it("createPrivacy withholds a path that is too long to be matched", async () => {
    const deep = "a/".repeat(3_000);
    expect(createPrivacy(["**/a/**/b/**"])(`${deep}x`)).toBe(true);
    expect(createPrivacy(["**/a/**/b/**"])(`${deep.slice(0, 4_000)}x`)).toBe(false);
    expect(createPrivacy([])(`${deep}x`)).toBe(false);
    const filter = filterBy({ ignore: ["**/a/**/b/**"], private: [] });
    expect(await filter(change(`${deep}x.ts`))).toBe("unread: path too long");
    expect(await filter(change(`${deep.slice(0, 4_000)}x.ts`))).toBeNull();
  });
});

const link = { newMode: "120000" };
const submodule = { oldMode: "160000", newMode: "160000" };

describe("a change without lines", () => {
  it.each<[what: string, one: FilteredChange]>([
    ["neutral: symbolic link to another place", change("a", { ...link, oldMode: "000000" })],
    ["neutral: symbolic link to another place", change("a.ts", link)],
    [
      "neutral: symbolic link to another place",
      change("b", { ...link, oldPath: "a", oldMode: "120000", ...same }),
    ],
    ["neutral: submodule at another commit", change("lib", submodule)],
    ["neutral: new submodule", change("lib", { ...submodule, oldMode: "000000" })],
    ["neutral: binary data", change("logo.png", binary)],
    ["unread: binary that runs", change("gradle/wrapper/gradle-wrapper.jar", binary)],
    ["unread: binary that runs", change("assets/left-pad-1.3.0.tgz", binary)],
    ["unread: binary that runs", change("native/libcrypto.so.1.1", { ...binary, oldMode: "000000" })],
    ["unread: binary that runs", change("tool", { ...binary, newMode: "100755", newOid: same.newOid })],
    ["unread: binary that runs", change(".husky/pre-commit", binary)],
    [
      "unread: binary that runs",
      change("lib/a.jar", { ...binary, oldPath: "docs/a.png", newOid: same.newOid }),
    ],
  ])("A change without lines is named %s", (what, change) => {
    const effect = effectWithoutLines(change);
    expect(`${effect?.account}: ${effect?.reason}`).toBe(what);
  });

  it.each<[what: string, one: FilteredChange]>([
    ["a link that goes", change("a", { oldMode: "120000", ...gone })],
    ["a submodule that goes", change("lib", { oldMode: "160000", ...gone })],
    ["a submodule in another folder", change("b", { ...submodule, oldPath: "a", ...same })],
    ["a jar that goes", change("a.jar", { ...binary, ...gone })],
    ["a name", change("src/b.ts", { oldPath: "src/a.ts", ...same })],
    ["an executable script", change("run.sh", { newMode: "100755", ...same })],
    ["an empty file", change("a.txt", { oldMode: "000000" })],
  ])("A change without lines has no hidden effect: %s", (_what, change) =>
    expect(effectWithoutLines(change)).toBeNull(),
  );
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
  ])("A link in a folder leads out of the repository to %j", (target) =>
    expect(leadsOut("src/link", target)).toBe(true),
  );

  it("A link leads out where it ends in git's own folder", () => {
    expect(leadsOut("link", ".git/hooks")).toBe(true);
    expect(leadsOut("src/link", "../.GIT/config")).toBe(true);
  });

  it.each(["a.ts", "../a.ts", "../docs/../a.ts", "./b/c", "..a", ".github/workflows"])(
    "A link in a folder stays within the repository with %j",
    (target) => expect(leadsOut("src/link", target)).toBe(false),
  );
});
