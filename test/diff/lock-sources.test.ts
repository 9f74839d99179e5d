import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  BINARY_LOCK,
  hasLockName,
  lockAccount,
  lockSourceReason,
  NEW_SOURCE,
  UNREADABLE_LOCK,
} from "../../src/diff/lock-sources.ts";
import { compareLocks, NO_PARSER } from "../../src/diff/locks/compare.ts";
import { lockFinding } from "../../src/diff/locks/report.ts";

const hash = `sha512-${"A".repeat(86)}==`;
/** A package-lock.json with packages by name and address. */
const npm = (packages: Record<string, string>) =>
  JSON.stringify({
    lockfileVersion: 3,
    packages: {
      "": { dependencies: Object.fromEntries(Object.keys(packages).map((name) => [name, "1"])) },
      ...Object.fromEntries(
        Object.entries(packages).map(([name, resolved]) => [
          `node_modules/${name}`,
          { version: "1.0.0", resolved, integrity: hash },
        ]),
      ),
    },
  });
const at = (host: string, ...names: string[]) =>
  npm(Object.fromEntries(names.map((name) => [name, `https://${host}/${name}/-/${name}-1.0.0.tgz`])));
const before = at("npm.example", "a", "b");
const of = (after: string, path = "web/package-lock.json", then: string | null = before) =>
  lockSourceReason(path, then, after);

describe("a changed lock file", () => {
  it("without a fault counts as read", () => {
    expect(of(at("npm.example", "a", "b", "c"))).toBeNull();
  });

  it("with packages from elsewhere is unread and names up to three places", () => {
    const evil = Object.fromEntries(
      [..."bcdef"].map((name) => [name, `https://${name}.example/${name}/-/${name}-1.0.0.tgz`]),
    );
    const reason = of(npm({ a: "https://npm.example/a/-/a-1.0.0.tgz", ...evil }));
    expect(reason).toBe(`${NEW_SOURCE} (b.example, c.example, d.example and 2 more)`);
    expect(lockAccount(reason ?? "")).toBe("unread");
  });

  it("with an archive of the change, or code that nobody reads, names its path", () => {
    expect(of(npm({ c: "file:./assets/c.tgz" }))).toBe(`${NEW_SOURCE} (file:web/assets/c.tgz)`);
    expect(of(npm({ c: "file:src/../vendor/c" }))).toBe(`${NEW_SOURCE} (file:web/vendor/c)`);
    expect(of(npm({ c: "file:src/c" }))).toBeNull();
  });

  it("with another fault names the packages", () => {
    const reason = of(before.replace(hash, hash.replace("AA", "BB")));
    expect(reason).toBe("lock file with entries that contradict it or its base (a 1.0.0)");
    expect(lockAccount(reason ?? "")).toBe("unread");
  });

  it("is unread if either state of it is not understood", () => {
    const broken = `${before},`;
    expect(of(broken)).toBe(`${UNREADABLE_LOCK} (it has a fault in its JSON)`);
    expect(of(before, "package-lock.json", broken)).toBe(of(broken));
    expect(lockAccount(of(broken) ?? "")).toBe("unread");
  });

  it("of a format without a reader, a binary one and a move to one other registry are neutral", () => {
    expect(of("{}", "flake.lock", "{}")).toBe(NO_PARSER);
    const moved = of(at("corp.example", "a", "b"));
    expect(moved).toBe("lock file whose packages all come from another registry (corp.example)");
    for (const reason of [NO_PARSER, BINARY_LOCK, moved ?? ""]) expect(lockAccount(reason)).toBe("neutral");
  });

  it("is known by its name in any case", () => {
    expect(["web/Cargo.lock", "CARGO.LOCK", "flake.lock", "lock"].map(hasLockName)).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  it("of this repository has nothing new against itself", () => {
    const text = readFileSync(join(import.meta.dirname, "../../package-lock.json"), "utf8");
    expect(lockSourceReason("package-lock.json", text, text)).toBeNull();
  });

  it("is named with few signs, whatever stands in it", () => {
    const reason = of(npm({ c: "https://a.example/`|*[x](https://b/)\u200b" }));
    expect(reason).toMatch(/^[\w ()./:,@?-]+$/);
  });

  // Each of them once took time that grew with the square of the length.
  it.each([
    ["package-lock.json", "[".repeat(500_000)],
    [
      "composer.lock",
      `{"packages":[{"name":"a/b","version":"1","extra":${"[".repeat(200_000)}${"]".repeat(200_000)}}]}`,
    ],
    ["yarn.lock", `"${"a, ".repeat(300_000)}":\n  version "1"\n`],
    ["pnpm-lock.yaml", "&a ".repeat(100_000)],
    ["uv.lock", `version = 1\n${'[[package]]\nname = "a"\nversion = "1"\n'.repeat(10_000)}`],
    [
      "Cargo.lock",
      Array.from(
        { length: 10_000 },
        (_, at) => `[[package]]\nname = "a"\nversion = "${at}"\ndependencies = ["a"]\n`,
      ).join(""),
    ],
    ["go.sum", "a/".repeat(500_000)],
    ["Gemfile.lock", `GIT\n  remote: ${"https://a".repeat(100_000)}\n  specs:\n    a (1)\n`],
  ])("of hostile size is compared in linear time: %s", (path, text) => {
    const started = performance.now();
    lockSourceReason(path, null, text);
    expect(performance.now() - started > 30_000).toBe(false);
  });
});

describe("the finding about a lock file", () => {
  const names = Array.from({ length: 25 }, (_, at) => `p${at}`);
  const reading = compareLocks(
    "package-lock.json",
    at("npm.example", ...names),
    at("evil.example", ...names).replace("evil.example/p0/", "npm.example/p0/"),
  );

  it("lists twenty entries with their lines, and counts the rest", () => {
    const faults = reading.kind === "read" ? reading.faults : [];
    const found = lockFinding(faults);
    expect(found).toMatchObject({
      severity: "critical",
      line: 1,
      title: "The lock file has 24 entries that no package manager would write",
    });
    expect(found.body.match(/^- line 1: `p\d+ 1\.0\.0` comes from evil\.example/gm)).toHaveLength(20);
    expect(found.body).toContain("\n- and 4 more\n");
  });

  it("stands where the entry begins", () => {
    const text = (host: string) => JSON.stringify(JSON.parse(at(host, "a")), null, 2);
    const one = compareLocks("package-lock.json", text("npm.example"), text("evil.example"));
    expect(one).toMatchObject({ faults: [{ line: 9, entry: "a 1.0.0", what: "host" }] });
  });
});
