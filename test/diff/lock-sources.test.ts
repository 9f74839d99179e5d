import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BINARY_LOCK,
  lockAccount,
  lockSourceReason,
  NEW_SOURCE,
  OTHER_COMMIT,
  UNREADABLE_LOCK,
} from "../../src/diff/lock-sources.ts";

const integrity =
  "sha512-XI5MPzVNApjAyhQzphX8BkmKsKUxD4LdyK24iZeQGinBN9yTQT3bFlCBy/aVx2HrNcqQGsdot8ghrjyrvMCoEA==";
/** A package-lock.json with packages by place and address. */
const npm = (packages: Record<string, string | object>) =>
  JSON.stringify({
    ...{ name: "shop", version: "1.0.0", lockfileVersion: 3 },
    packages: {
      "": { name: "shop", version: "1.0.0", dependencies: { "left-pad": "^1.3.0" } },
      ...Object.fromEntries(
        Object.entries(packages).map(([place, resolved]) => [
          `node_modules/${place}`,
          typeof resolved === "string" ? { version: "1.3.0", resolved, integrity } : resolved,
        ]),
      ),
    },
  });
const registry = "https://npm.example";
const leftPad = `${registry}/left-pad/-/left-pad-1.3.0.tgz`;
const before = npm({ "left-pad": leftPad });
const of = (after: string, path = "package-lock.json", then: string | null = before) =>
  lockSourceReason(path, then, after);
const from = (...places: string[]) => `${NEW_SOURCE} (${places.join(", ")})`;

describe("a package-lock.json", () => {
  it.each([
    ["an update", { "left-pad": `${registry}/left-pad/-/left-pad-1.3.1.tgz` }],
    ["another package of the same registry", { "left-pad": leftPad, zod: `${registry}/zod/-/zod-4.0.0.tgz` }],
    ["a scoped package", { "left-pad": leftPad, "@a/b": `${registry}/@a/b/-/b-1.0.0.tgz` }],
    ["a nested package", { "left-pad": leftPad, "a/node_modules/zod": `${registry}/zod/-/zod-4.0.0.tgz` }],
    [
      "an alias",
      {
        "left-pad": leftPad,
        pad: { name: "right-pad", resolved: `${registry}/right-pad/-/right-pad-1.0.0.tgz` },
      },
    ],
    [
      "a package of this repository",
      {
        "left-pad": leftPad,
        ui: { resolved: "packages/ui", link: true },
        "packages/ui": { version: "1.0.0" },
      },
    ],
    [
      "words for people",
      {
        "left-pad": {
          resolved: leftPad,
          funding: { url: "https://pay.example/me" },
          deprecated: "https://x.example",
        },
      },
    ],
  ])("with %s says nothing new", (_, packages) => {
    expect(of(npm(packages))).toBeNull();
  });

  it.each<[what: string, packages: Record<string, string | object>, reason: string]>([
    [
      "another host",
      { "left-pad": "https://evil.example/left-pad/-/left-pad-1.3.0.tgz" },
      from("evil.example"),
    ],
    [
      "another package of the registry under the same name",
      { "left-pad": `${registry}/evil/-/evil-1.3.0.tgz` },
      from("npm.example evil for left-pad"),
    ],
    [
      "a package whose name ends in the same way",
      { "left-pad": `${registry}/evil-left-pad/-/left-pad-1.3.0.tgz` },
      from("npm.example evil-left-pad for left-pad"),
    ],
    [
      "a repository",
      { "left-pad": "git+ssh://git@github.com/evil/left-pad.git#abc" },
      from("github.com/evil/left-pad"),
    ],
    [
      "a repository in short",
      { "left-pad": { version: "github:Evil/left-pad#abc" } },
      from("github.com/evil/left-pad"),
    ],
    [
      "a repository as scp has it",
      { "left-pad": { version: "git@git.evil.example:a/b.git" } },
      from("git.evil.example"),
    ],
    ["a port", { "left-pad": "https://npm.example:8443/left-pad/-/a.tgz" }, from("npm.example:8443")],
    [
      "the same host without encryption",
      { "left-pad": leftPad.replace("https", "http") },
      from("http://npm.example"),
    ],
    [
      "another package of the registry as an alias of the same name",
      { "left-pad": { name: "evil", resolved: `${registry}/evil/-/evil-1.3.0.tgz` } },
      from("npm.example evil for left-pad"),
    ],
    ["a repository in two words", { "left-pad": { resolved: "evil/left-pad" } }, from("evil/left-pad")],
    [
      "an archive in this repository",
      { left: { version: "1.0.0", resolved: "file:./assets/left.tgz" } },
      from("file:assets/left.tgz"),
    ],
    [
      "a folder of this repository that nobody reads",
      { left: { resolved: "src/../vendor%2Fleft", link: true } },
      from("file:vendor/left"),
    ],
    [
      "this repository, under a known name",
      { "left-pad": { resolved: "test/left-pad", link: true } },
      from("this repository for left-pad"),
    ],
    [
      "more places than are named",
      Object.fromEntries(
        [..."abcde"].map((name) => [name, `https://${name}.example/${name}/-/${name}-1.tgz`]),
      ),
      `${NEW_SOURCE} (a.example, b.example, c.example and 2 more)`,
    ],
  ])("with a package from %s is unread", (_, packages, reason) => {
    expect(of(npm(packages))).toBe(reason);
  });

  it("is read with its escapes, whatever they hide", () => {
    const hidden = before.replace('"https://npm', String.raw`"\u0068ttps:\/\/evil.example\/`);
    expect(of(hidden)).toContain("evil.example");
  });

  it("of the format before is read through all levels", () => {
    const deep = (resolved: string) =>
      JSON.stringify({
        dependencies: { a: { version: "1.0.0", dependencies: { "left-pad": { resolved } } } },
      });
    expect(of(deep("https://evil.example/left-pad/-/a.tgz"), "package-lock.json", deep(leftPad))).toBe(
      from("evil.example"),
    );
    expect(of(deep(`${registry}/left-pad/-/left-pad-2.tgz`), "package-lock.json", deep(leftPad))).toBeNull();
  });

  it("that is no JSON is unread", () => {
    expect(of(`${before},`)).toBe(UNREADABLE_LOCK);
  });

  it("that is new may name the registries that tools ask by default", () => {
    const yarn =
      'left-pad@^1.3.0:\n  resolved "https://registry.yarnpkg.com/left-pad/-/left-pad-1.3.0.tgz#5b8a"\n';
    expect(of(yarn, "web/yarn.lock", null)).toBeNull();
    expect(of(npm({ a: "https://npm.corp.example/a/-/a-1.tgz" }), "package-lock.json", null)).toBe(
      from("npm.corp.example"),
    );
  });

  it("that leaves a private registry for a public one is unread: that is how a name is taken over", () => {
    const private_ = npm({ "left-pad": "https://npm.corp.example/left-pad/-/left-pad-1.3.0.tgz" });
    expect(of(before, "package-lock.json", private_)).toBe(from("npm.example"));
  });

  it("that takes a package from another one of its registries is unread: that is how a name is taken over", () => {
    const corp = "https://npm.corp.example/@corp/auth/-/auth-1.0.0.tgz";
    const both = (auth: string) => npm({ "left-pad": leftPad, "@corp/auth": auth });
    const taken = both(`${registry}/@corp/auth/-/auth-1.0.1.tgz`);
    expect(of(taken, "package-lock.json", both(corp))).toBe(from("npm.example for @corp/auth"));
    expect(of(both(corp.replace("1.0.0", "1.0.1")), "package-lock.json", both(corp))).toBeNull();
  });

  it("may take a package from another of the registries that tools ask by default", () => {
    const yarn = (host: string) =>
      `left-pad@^1.3.0:\n  resolved "https://${host}/left-pad/-/left-pad-1.3.0.tgz#5b8a"\nzod@^1.0.0:\n  resolved "https://registry.npmjs.org/zod/-/zod-1.0.0.tgz#1"\n`;
    expect(of(yarn("registry.npmjs.org"), "yarn.lock", yarn("registry.yarnpkg.com"))).toBeNull();
  });

  it("of this repository has nothing new against itself", () => {
    const text = readFileSync(join(import.meta.dirname, "../../package-lock.json"), "utf8");
    expect(lockSourceReason("package-lock.json", text, text)).toBeNull();
  });
});

describe("a lock file", () => {
  it.each([
    [
      "yarn.lock",
      `left-pad@^1.3.0:\n  version "1.3.0"\n  resolved "https://registry.yarnpkg.com/left-pad/-/left-pad-1.3.0.tgz#5b8a"\n`,
      ["registry.yarnpkg.com/left-pad/-/", "evil.example/left-pad/-/", "evil.example"],
    ],
    [
      "yarn.lock",
      `left-pad@^1.3.0:\n  version "1.3.0"\n  resolved "https://registry.yarnpkg.com/left-pad/-/left-pad-1.3.0.tgz#5b8a"\n`,
      ["com/left-pad/-/", "com/evil/-/", "registry.yarnpkg.com evil for left-pad"],
    ],
    [
      "yarn.lock",
      `"left-pad@npm:^1.3.0":\n  version: 1.3.0\n  resolution: "left-pad@npm:1.3.0"\n  checksum: 10c0/1\n`,
      ["left-pad@npm:1.3.0", "evil@npm:1.3.0", "npm evil for left-pad"],
    ],
    [
      "yarn.lock",
      `"left-pad@npm:^1.3.0":\n  version: 1.3.0\n  resolution: "left-pad@npm:1.3.0"\n  checksum: 10c0/1\n`,
      ["npm:1.3.0", "npm:1.3.0::__archiveUrl=https%3A%2F%2Fevil.example%2Fa.tgz", "evil.example"],
    ],
    [
      "pnpm-lock.yaml",
      `packages:\n\n  left-pad@1.3.0:\n    resolution: {integrity: sha512-XI5M==}\n    deprecated: see https://else.example\n`,
      [
        "integrity: ",
        "tarball: https://codeload.github.com/evil/left-pad/tar.gz/abc, integrity: ",
        "codeload.github.com/evil/left-pad",
      ],
    ],
    [
      "Cargo.lock",
      `[[package]]\nname = "serde"\nsource = "registry+https://github.com/rust-lang/crates.io-index"\n`,
      ["rust-lang/", "evil/", "github.com/evil/crates.io-index"],
    ],
    [
      "poetry.lock",
      `[[package]]\nname = "requests"\n\n[package.source]\ntype = "legacy"\nurl = "https://pypi.corp.example/simple"\n`,
      ["pypi.corp", "pypi.evil", "pypi.evil.example"],
    ],
    [
      "uv.lock",
      `source = { registry = "https://pypi.org/simple" }\nsdist = { url = "https://files.pythonhosted.org/a.tar.gz" }\n`,
      ["files.pythonhosted.org", "files.evil.example", "files.evil.example"],
    ],
    [
      "Pipfile.lock",
      `{"_meta":{"sources":[{"name":"pypi","url":"https://pypi.org/simple"}]},"default":{}}`,
      ["pypi.org", "evil.example", "evil.example"],
    ],
    [
      "Gemfile.lock",
      `GEM\n  remote: https://rubygems.org/\n  specs:\n    rake (13.0.0)\n`,
      ["rubygems.org", "evil.example", "evil.example"],
    ],
    [
      "composer.lock",
      `{"packages":[{"name":"a/b","homepage":"https://a.example","source":{"url":"https://github.com/a/b.git"},"dist":{"url":"https://api.github.com/repos/a/b/zipball/${"1".repeat(40)}"}}],"packages-dev":[]}`,
      ["github.com/a/b.git", "github.com/evil/b.git", "github.com/evil/b for a/b"],
    ],
    [
      "Package.resolved",
      `{"pins":[{"identity":"nio","location":"https://github.com/apple/swift-nio.git","state":{"revision":"abc"}}]}`,
      ["github.com", "git.evil.example", "git.evil.example"],
    ],
    [
      "deno.lock",
      `{"remote":{"https://deno.land/std@0.1.0/a.ts":"abc"}}`,
      ["deno.land", "evil.example", "evil.example"],
    ],
  ])(
    "of the name %s is unread with a new place, and only then",
    (name, text, [here = "", there = "", place]) => {
      const path = `web/${name}`;
      expect(text).toContain(here);
      expect(lockSourceReason(path, text, text)).toBeNull();
      expect(lockSourceReason(path, text, text.replace("1.3.0", "1.3.1"))).toBeNull();
      expect(lockSourceReason(path, text, text.replaceAll(here, there))).toContain(`(${place}`);
    },
  );

  it.each([
    [
      "yarn.lock",
      '"left-pad@npm:^1.3.0":\n  resolution: "left-pad@file:./assets/a.tgz#./assets/a.tgz::hash=1"\n',
    ],
    ["yarn.lock", 'left-pad@^1.3.0:\n  version "1.3.0"\n  resolved "file:assets/a.tgz#1"\n'],
    [
      "pnpm-lock.yaml",
      "  left-pad@1.3.0:\n    resolution: {tarball: file:assets/a.tgz, integrity: sha512-1}\n",
    ],
    ["pnpm-lock.yaml", "      left-pad:\n        specifier: ^1.3.0\n        version: link:vendor/a\n"],
    ["pnpm-lock.yaml", "    resolution: {directory: vendor/a, type: directory}\n"],
    ["poetry.lock", '[package.source]\ntype = "file"\nurl = "assets/a.whl"\n'],
    ["poetry.lock", '[package.source]\ntype = "directory"\nurl = "vendor/a"\n'],
    ["uv.lock", 'source = { path = "assets/a.whl" }\n'],
    ["uv.lock", 'source = { editable = "vendor/a" }\n'],
    ["Gemfile.lock", "PATH\n  remote: vendor/a\n  specs:\n"],
    ["Pipfile.lock", '{"default":{"a":{"path":"./vendor/a"}}}'],
  ])("of the name %s is unread if it takes a package from where nobody reads: %s", (name, text) => {
    expect(lockSourceReason(name, name.endsWith(".lock") && text.startsWith("{") ? "{}" : "", text)).toMatch(
      /\(file:(?:assets\/a\.(?:tgz|whl)|vendor\/a)\)$/,
    );
    expect(lockSourceReason(name, text, text)).toBeNull();
  });

  it.each([
    ["pnpm-lock.yaml", "      ui:\n        specifier: workspace:*\n        version: link:../packages/ui\n"],
    ["yarn.lock", '"ui@workspace:packages/ui":\n  resolution: "ui@workspace:packages/ui"\n'],
    ["uv.lock", 'source = { editable = "packages/ui" }\n'],
    ["Gemfile.lock", "PATH\n  remote: .\n  specs:\n"],
    ["Cargo.lock", '[[package]]\nname = "ui"\nversion = "1.0.0"\n'],
  ])("of the name %s may have packages of this repository: %s", (name, text) => {
    expect(lockSourceReason(name, "", text)).toBeNull();
  });

  it("may have new packages of a tool that gives each its own repository", () => {
    const pin = (name: string) => ({ identity: name, location: `https://github.com/apple/${name}.git` });
    const swift = (...names: string[]) => JSON.stringify({ pins: names.map(pin) });
    expect(lockSourceReason("Package.resolved", swift("a"), swift("a", "b"))).toBeNull();
    const php = (...names: string[]) =>
      JSON.stringify({
        packages: names.map((name) => ({ name, source: { url: `https://github.com/${name}.git` } })),
      });
    expect(lockSourceReason("composer.lock", php("a/b"), php("a/b", "c/d"))).toBeNull();
  });

  it("tells the owners on a shared host apart, also without encryption", () => {
    const at = (owner: string) => `  remote: http://github.com/${owner}/lib.git\n`;
    expect(lockSourceReason("Gemfile.lock", at("octo"), at("evil"))).toBe(from("http://github.com/evil/lib"));
  });

  it("with a package at another commit of the same repository is routine, and nobody has read it", () => {
    const at = (commit: string) => `source = "git+https://github.com/octo/lib?branch=main#${commit}"\n`;
    const reason = lockSourceReason("Cargo.lock", at("a".repeat(40)), at("b".repeat(40)));
    expect(reason).toBe(OTHER_COMMIT);
    expect([OTHER_COMMIT, BINARY_LOCK, UNREADABLE_LOCK, from("a")].map(lockAccount)).toEqual([
      ...["neutral", "neutral", "unread", "unread"],
    ]);
  });

  it.each([String.raw`source = "\u0068ttps://evil.example"`, '"https\\\n  ://evil.example"'])(
    "with an address that is written with escapes is unread: %j",
    (line) => {
      expect(lockSourceReason("Cargo.lock", "", line)).toBe(UNREADABLE_LOCK);
    },
  );

  it("is named with few signs, whatever stands in it", () => {
    const reason = lockSourceReason("Cargo.lock", "", 'source = "https://a.example/`|*[x](https://b/"\n');
    expect(reason).toMatch(/^[\w ()./:,@?-]+$/);
  });

  it("of a size that anybody can commit is looked at in time that grows with its length", () => {
    for (const piece of [
      "a",
      "a.",
      "@a.",
      "a+",
      "git@",
      "https://",
      "https://a",
      "%3A",
      "github:",
      "a@b.c:",
    ]) {
      const started = performance.now();
      lockSourceReason("yarn.lock", null, piece.repeat(2_000_000 / piece.length));
      expect({ piece, tooLong: performance.now() - started > 60_000 }).toEqual({ piece, tooLong: false });
    }
  });

  it("names each host that a URL of it has and the base does not", () => {
    const host = fc.stringMatching(/^[a-z]{1,8}\.(example|test)$/);
    fc.assert(
      fc.property(fc.array(host, { maxLength: 5 }), host, (known, added) => {
        fc.pre(!known.includes(added));
        const text = (hosts: readonly string[]) =>
          hosts.map((one) => `  remote: https://${one}/x\n`).join("");
        expect(lockSourceReason("Gemfile.lock", text(known), text([...known, added]))).toBe(from(added));
        expect(lockSourceReason("Gemfile.lock", text([...known, added]), text(known))).toBeNull();
      }),
    );
  });
});
