import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lockSourceReason } from "../../../../src/repo/diff/lock-sources.ts";
import { compareLocks, NO_PARSER, UNREADABLE_LOCK } from "../../../../src/repo/diff/locks/compare.ts";
import { hasLockName } from "../../../../src/repo/diff/skipped-names.ts";
import { lockDiagnostics } from "../../../../src/tasks/rules/analyzers/broken-files.ts";

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
  compareLocks(path, then, after);
const wordsOf = (address: string) => lockSourceReason("web/package-lock.json", before, npm({ c: address }));
const read = { kind: "read", faults: [], neutral: null };
describe("a changed lock file", () => {
  it("A changed lock file without a fault is read", () => {
    expect(of(at("npm.example", "a", "b", "c"))).toEqual(read);
  });

  it("A changed lock file names the path of an archive or unread code in the repository", () => {
    const from = (place: string) => `c 1.0.0 comes from ${place}, and nothing came from there before`;
    expect(wordsOf("file:./assets/c.tgz")).toBe(from("file:web/assets/"));
    expect(wordsOf("file:src/../vendor/c")).toBe(from("file:web/vendor/c"));
    expect(wordsOf("file:src/c")).toBeNull();
  });

  it("A changed lock file is unread if either state of it is not understood", () => {
    const broken = `${before},`;
    expect(of(broken)).toEqual({ kind: "unread", reason: `${UNREADABLE_LOCK} (it has a fault in its JSON)` });
    expect(of(before, "package-lock.json", broken)).toEqual(of(broken));
  });

  it("A lock file without a reader is unread, and a move to one registry is named", () => {
    expect(of("{}", "flake.lock", "{}")).toEqual({ kind: "unread", reason: NO_PARSER });
    const neutral = "lock file whose packages all come from another registry (corp.example)";
    expect(of(at("corp.example", "a", "b"))).toEqual({ ...read, neutral });
  });

  it("A changed lock file is known by its name in any case", () => {
    expect(["web/Cargo.lock", "CARGO.LOCK", "flake.lock", "lock"].map(hasLockName)).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  it("This repository's lock file has no fault against itself", () => {
    const text = readFileSync(join(import.meta.dirname, "../../../../package-lock.json"), "utf8");
    expect(compareLocks("package-lock.json", text, text)).toEqual(read);
  });

  it("The finding about a lock file uses few signs, whatever the file contains", () => {
    expect(wordsOf("https://a.example/`|*[x](https://b/)\u200b")).toMatch(/^[\w ()./:,@?-]+$/);
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
  ])("A changed lock file of hostile size is compared in linear time: %s", (path, text) => {
    const started = performance.now();
    compareLocks(path, null, text);
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

  it("The finding about a lock file lists twenty entries with their lines, and counts the rest", () => {
    const faults = reading.kind === "read" ? reading.faults : [];
    const diff = { path: "package-lock.json", oldPath: null, header: [], hunks: [] };
    const file = { path: diff.path, text: "", addedLines: new Set([1]), diff };
    const [found] = lockDiagnostics(file, faults);
    expect(found).toMatchObject({
      severity: "critical",
      line: 1,
      title: "The lock file has 24 entries that no package manager would write",
    });
    expect(found?.body.match(/^- line 1: `p\d+ 1\.0\.0` comes from evil\.example/gm)).toHaveLength(20);
    expect(found?.body).toContain("\n- and 4 more\n");
  });

  it("The finding about a lock file is on the line where the entry begins", () => {
    const text = (host: string) => JSON.stringify(JSON.parse(at(host, "a")), null, 2);
    const one = compareLocks("package-lock.json", text("npm.example"), text("evil.example"));
    expect(one).toMatchObject({ faults: [{ line: 9, entry: "a 1.0.0", what: "host" }] });
  });
});
