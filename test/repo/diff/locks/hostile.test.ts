import { describe, expect, it } from "vitest";
import { compareLocks, type LockFault } from "../../../../src/repo/diff/locks/compare.ts";
import { lastOf } from "./states.ts";

type Found = LockFault["what"] | "unread" | "neutral" | "nothing";
type Edit = readonly [what: string, from: string | RegExp, to: string, found: Found];

/** The first thing that is found in a lock file of a tool after an edit. */
function foundIn(tool: string, edit: (text: string) => string, base = (text: string) => text): Found {
  const { path, text } = lastOf(tool);
  const before = base(text);
  const after = edit(before);
  expect(after).not.toBe(before);
  const reading = compareLocks(path, before, after);
  if (reading.kind === "unread") return "unread";
  return reading.faults[0]?.what ?? (reading.neutral === null ? "nothing" : "neutral");
}

const registry = "https://registry.npmjs.org";
const hash = `sha512-${"A".repeat(86)}==`;
const hex = "a".repeat(64);
const sha = "a".repeat(40);

describe("an entry of package-lock.json", () => {
  interface Package {
    [field: string]: unknown;
  }
  const found = (edit: (debug: Package, packages: Record<string, Package>) => unknown) =>
    foundIn("npm", (text) => {
      const json = JSON.parse(text) as { packages: Record<string, Package> };
      edit(json.packages["node_modules/debug"] ?? {}, json.packages);
      return JSON.stringify(json, null, 2);
    });

  it.each<[address: unknown, found: Found]>([
    ["https://evil.example/debug/-/debug-4.4.3.tgz", "host"],
    [`${registry}/evil/-/evil-4.4.3.tgz`, "address"],
    [`${registry}/@evil/debug/-/debug-4.4.3.tgz`, "address"],
    [`${registry}/debug/-/debug-4.0.0.tgz`, "address"],
    [`${registry}/evil/-/evil.tgz?/debug/-/debug-4.4.3.tgz`, "address"],
    [`${registry}/evil/-/evil.tgz#/debug/-/debug-4.4.3.tgz`, "address"],
    [`${registry}/evil/../debug/-/debug-4.4.3.tgz`, "address"],
    [`${registry}/%2e%2e/debug/-/debug-4.4.3.tgz`, "address"],
    [`${registry}/evil%2fdebug/-/debug-4.4.3.tgz`, "address"],
    [`${registry}/debug/%2D/debug-4.4.3.tgz`, "address"],
    ["https:\\\\registry.npmjs.org\\debug\\-\\debug-4.4.3.tgz", "address"],
    ["https://evil.example\\@registry.npmjs.org/debug/-/debug-4.4.3.tgz", "address"],
    ["https://registry.npmjs.org@evil.example/debug/-/debug-4.4.3.tgz", "address"],
    ["https://registry.npmjs.org:8443/debug/-/debug-4.4.3.tgz", "host"],
    ["https://registry.npmjs.org./debug/-/debug-4.4.3.tgz", "address"],
    ["https://REGISTRY.npmjs.org/debug/-/debug-4.4.3.tgz", "address"],
    ["http://registry.npmjs.org/debug/-/debug-4.4.3.tgz", "host"],
    ["//evil.example/debug/-/debug-4.4.3.tgz", "address"],
    [`git+ssh://git@github.com/evil/debug.git#${sha}`, "address"],
    ["evil/debug", "address"],
    ["file:assets/debug.tgz", "host"],
    ["file:vendor/debug", "host"],
    ["file:src/debug", "name"],
    ["file:../../debug", "host"],
    [["https://evil.example/debug/-/debug-4.4.3.tgz"], "unread"],
  ])("An entry of package-lock.json that comes from %j is found", (address, wanted) => {
    expect(found((debug) => Object.assign(debug, { resolved: address }))).toBe(wanted);
  });

  const evil = { version: "1.0.0", resolved: `${registry}/evil/-/evil-1.0.0.tgz`, integrity: hash };
  it.each<[what: string, edit: Parameters<typeof found>[0], found: Found]>([
    ["has no hash any more", (debug) => delete debug.integrity, "hash"],
    ["has another hash", (debug) => Object.assign(debug, { integrity: hash }), "hash"],
    [
      "has one hash more",
      (debug) => Object.assign(debug, { integrity: `${String(debug.integrity)} ${hash}` }),
      "hash",
    ],
    [
      "has a weaker hash",
      (debug) => Object.assign(debug, { integrity: "sha1-XI5MPzVNApjAyhQzphX8BkmKsKU=" }),
      "hash",
    ],
    [
      "has a hash that npm ignores",
      (debug) => Object.assign(debug, { integrity: `sha999-${hex}` }),
      "unread",
    ],
    [
      "has neither address nor hash",
      (debug) => ["resolved", "integrity"].map((key) => delete debug[key]),
      "hash",
    ],
    ["is another package", (debug) => Object.assign(debug, evil, { name: "evil" }), "address"],
    ["is a link", (debug) => Object.assign(debug, { link: true, resolved: "packages/ui" }), "name"],
    ["has a field that npm does not know", (debug) => Object.assign(debug, { tarball: "x" }), "unread"],
    ["is needed by nothing", (_, all) => Object.assign(all, { "node_modules/evil": evil }), "unreachable"],
    [
      "is needed by a version that did not need it",
      (debug, all) => {
        debug.dependencies = { ms: "^2.1.3", evil: "1.0.0" };
        all["node_modules/evil"] = evil;
      },
      "needs",
    ],
    ["is at an odd place", (_, all) => Object.assign(all, { "node_modules/../evil": evil }), "unread"],
    [
      "is nested and another one",
      (_, all) => Object.assign(all, { "node_modules/debug/node_modules/ms": evil }),
      "address",
    ],
    [
      "is new at a new host",
      (_, all) => {
        Object.assign(all[""]?.dependencies ?? {}, { evil: "1" });
        all["node_modules/evil"] = { ...evil, resolved: "https://evil.example/evil/-/evil-1.0.0.tgz" };
      },
      "host",
    ],
  ])("An entry of package-lock.json that %s is found", (_, edit, wanted) => {
    expect(found(edit)).toBe(wanted);
  });

  it.each<Edit>([
    [
      "an alias dropped",
      /(node_modules\/pad": \{\n).*\n(.*\n).*\/left-pad-(.*)/,
      `$1$2      "resolved": "${registry}/pad/-/pad-$3`,
      "address",
    ],
    ["another command", /(node_modules\/ms": \{)/, '$1 "bin": { "node": "index.js" },', "needs"],
    [
      "twice the same key",
      '"node_modules/debug": {',
      '"node_modules/debug": {"version": "1.0.0", ',
      "unread",
    ],
    [
      "an escaped key",
      '"node_modules/debug": {',
      '"node_modules/debug": {"\\u0076ersion": "1.0.0", ',
      "unread",
    ],
    ["a key of all objects", '"node_modules/debug": {', '"__proto__": {}, "node_modules/debug": {', "unread"],
    ["a byte order mark", /^/, "\ufeff", "unread"],
    ["a sign that turns text around", "node_modules/debug", "node_modules/de\u202ebug", "unread"],
    ["the format of another tool", /^.*$/s, lastOf("pnpm").text, "unread"],
  ])("An entry with %s is found", (_, from, to, wanted) => {
    expect(foundIn("npm", (text) => text.replace(from, to))).toBe(wanted);
  });
});

const edits: Record<string, Edit[]> = {
  pnpm: [
    ["a version beside that of the key", /( {2}ms@2\.\d\.\d:\n.*\n)/, "$1    version: 2.0.0\n", "address"],
    [
      "another package for a peer",
      /(react-dom@19\.0\.0\(.*:\n {4}dependencies:\n {6}react: ).*/,
      "$1left-pad@1.3.0",
      "address",
    ],
    ["a tarball", /(debug@4\S*\n\s*resolution: \{)/, "$1tarball: https://evil.example/x.tgz, ", "address"],
    [
      "a tarball without a protocol",
      /(debug@4\S*\n\s*resolution: \{)/,
      "$1tarball: //evil.example/x.tgz, ",
      "address",
    ],
    ["another hash", /(debug@4\S*\n\s*resolution: \{integrity: )[^}]*/, `$1${hash}`, "hash"],
    ["no hash", /(debug@4\S*\n\s*resolution: )\{[^}]*\}/, "$1{}", "hash"],
    [
      "a repository",
      /(debug@4\S*\n\s*resolution: )\{[^}]*\}/,
      "$1{repo: https://github.com/a/b, commit: c}",
      "address",
    ],
    ["an anchor", /(debug@4\S*\n\s*resolution: )\{/, "$1&a {", "unread"],
    ["a tag", /(debug@4\S*\n\s*resolution: )\{/, "$1!!map {", "unread"],
    [
      "a merge key",
      /(debug@4\S*\n)/,
      "$1    <<: {resolution: {tarball: 'https://evil.example/x'}}\n",
      "unread",
    ],
    ["two documents", /$/, "\n---\na: b\n", "unread"],
    ["an alias", /( {6}debug:\n.*\n {8}version: ).*/, "$1left-pad@1.3.0", "address"],
    ["an alias below", /( {2}debug@4\S*\n {4}dependencies:\n {6}ms: ).*/, "$1left-pad@1.3.0", "needs"],
    ["a link to unread code", /( {6}debug:\n.*\n {8}version: ).*/, "$1link:vendor/x", "host"],
  ],
  bun: [
    ["an alias dropped", '["left-pad@1.3.0"', '["pad@1.3.0"', "address"],
    ["another command", /("ms": \["ms@[\d.]+", "", \{)\}/, '$1 "bin": { "node": "index.js" } }', "needs"],
    ["another package", '"debug@4.4.0"', '"evil@4.4.0"', "address"],
    ["another registry", '"debug@4.4.0", ""', '"debug@4.4.0", "https://evil.example/"', "host"],
    ["another address", '"debug@4.4.0", ""', `"debug@4.4.0", "${registry}/evil/-/evil-4.4.0.tgz"`, "address"],
    ["no hash", /("debug@4.4.0".*), "sha512-[^"]*"\]/, '$1, ""]', "hash"],
    ["a repository", /"debug": \[.*\],/, '"debug": ["debug@github:evil/debug#abc", {}, "x"],', "address"],
    ["a key twice", /("debug": \[.*\],)/, "$1\n$1", "unread"],
    ["a stray package", /("debug": \[)/, `"evil": ["evil@1.0.0", "", {}, "${hash}"],\n$1`, "unreachable"],
  ],
  yarn1: [
    ["another host", "registry.yarnpkg.com/debug/", "evil.example/debug/", "host"],
    ["another package", "com/debug/-/debug", "com/evil/-/evil", "address"],
    ["two names", "\ndebug@4.4.0:", "\ndebug@4.4.0, evil@1.0.0:", "address"],
    ["another name", "\ndebug@4.4.0:", "\nevil@4.4.0:", "address"],
    ["another hash", /(debug-4.4.0.tgz#).*"/, `$1${sha}"`, "hash"],
    ["only a weak hash", /(debug-4.4.0.tgz#.*\n) {2}integrity.*\n/, "$1", "hash"],
    [
      "a repository",
      /resolved "\S*debug-4.4.0.*/,
      'resolved "git+https://github.com/evil/debug.git#abc"',
      "address",
    ],
    ["another need", /(\ndebug@4.4.0:[\s\S]*?dependencies:\n)/, '$1    evil "1.0.0"\n', "needs"],
    ["an escape", "registry.yarnpkg.com/debug/", "regi\\u0073try.evil.example/debug/", "unread"],
    ["a carriage return", "\ndebug@4.4.0:", "\rdebug@4.4.0:", "unread"],
  ],
  yarn4: [
    [
      "a file in place of a patch of Yarn's own",
      /(resolution: .*#)optional!builtin<.*?>/,
      "$1./evil.patch",
      "address",
    ],
    ["another package", '"debug@npm:4.4.0"\n', '"evil@npm:4.4.0"\n', "address"],
    [
      "an address",
      '"debug@npm:4.4.0"\n',
      '"debug@npm:4.4.0::__archiveUrl=https%3A%2F%2Fevil.example%2Fa"\n',
      "address",
    ],
    ["two names", '"debug@npm:4.4.0":', '"debug@npm:4.4.0, evil@npm:1":', "address"],
    ["another hash", /(debug@npm:4.4.0"\n[\s\S]*?checksum: 10\/)\w*/, `$1${hex}`, "hash"],
    ["a hash that Yarn ignores", /(debug@npm:4.4.0"\n[\s\S]*?checksum: )10/, "$19", "hash"],
    ["a program", '"debug@npm:4.4.0"\n', '"debug@exec:./x.js"\n', "address"],
    ["unread code", '"debug@npm:4.4.0"\n', '"debug@portal:vendor/x::locator=shop%40workspace%3A."\n', "host"],
    [
      "a patch of another",
      '"debug@npm:4.4.0"\n',
      '"debug@patch:evil@npm%3A1.0.0#./x.patch::hash=abc"\n',
      "address",
    ],
    ["a patch", '"debug@npm:4.4.0"\n', '"debug@patch:debug@npm%3A4.4.0#./x.patch::hash=abc"\n', "address"],
  ],
  uv: [
    ["a file whose name only begins like the package", "/six-1.17.0-py2", "/six_evil-1.17.0-py2", "address"],
    [
      "an address",
      /(name = "idna"\n.*\n)source.*/,
      '$1source = { url = "https://evil.example/idna-1.tar.gz" }',
      "host",
    ],
    [
      "a repository",
      /(name = "idna"\n.*\n)source.*/,
      '$1source = { git = "https://github.com/evil/idna#abc" }',
      "host",
    ],
    ["a folder", /(name = "idna"\n.*\n)source.*/, '$1source = { editable = "libs/x" }', "name"],
    ["two sources", /(name = "idna"\n.*\nsource = \{)/, '$1 url = "https://evil.example/a.whl",', "unread"],
    ["another index", /(name = "idna"\n.*\nsource = .*)pypi.org/, "$1evil.example", "host"],
    ["a file of another", /(name = "idna"[\s\S]*?)\/idna-/, "$1/evil-", "address"],
    ["a file of another version", /(name = "idna"[\s\S]*?\/idna-)[\d.]*\.tar/, "$11.0.tar", "address"],
    ["another hash", /(name = "idna"[\s\S]*?sha256:)\w*/, `$1${hex}`, "hash"],
    ["a file without its hash", /(name = "idna"[\s\S]*?) hash = "[^"]*",/, "$1", "hash"],
    ["a name twice", 'name = "idna"\n', 'name = "idna"\nname = "evil"\n', "unread"],
  ],
  poetry: [
    [
      "a package that nothing needs, for the same manifest",
      /$/,
      `\n[[package]]\nname = "evil"\nversion = "1.0"\nfiles = [{file = "evil-1.0.tar.gz", hash = "sha256:${hex}"}]\n`,
      "unreachable",
    ],
    ["another index", /(name = "idna"[\s\S]*?url = ")[^"]*/, "$1https://evil.example/simple", "host"],
    ["another hash", /(name = "idna"[\s\S]*?sha256:)\w*/, `$1${hex}`, "hash"],
    ["no hash", /(name = "idna"[\s\S]*?)files = \[[\s\S]*?\n\]/, "$1files = []", "hash"],
  ],
  cargo: [
    ["another index", /(name = "itoa"\n.*\n)source.*/, '$1source = "sparse+https://evil.example/"', "host"],
    ["an odd index", /(name = "itoa"\n.*\nsource = ".*)"/, '$1?x"', "address"],
    ["no source", /(name = "itoa"\n.*\n)source.*/, "$1", "neutral"],
    [
      "a replacement",
      'name = "itoa"',
      'name = "itoa"\nreplace = "itoa 1.0.11 (git+https://evil.example/x)"',
      "needs",
    ],
    [
      "a hash at two places",
      /$/,
      '\n[metadata]\n"checksum itoa 1.0.11 (registry+https://github.com/rust-lang/crates.io-index)" = "<none>"\n',
      "unread",
    ],
    ["another hash", /(name = "itoa"[\s\S]*?checksum = ")\w*/, `$1${hex}`, "hash"],
    ["no hash", /(name = "itoa"[\s\S]*?)checksum = .*\n/, "$1", "hash"],
    ["a stray package", /$/, '\n[[package]]\nname = "evil"\nversion = "1.0.0"\n', "nothing"],
    [
      "an unused patch",
      /$/,
      `\n[[patch.unused]]\nname = "x"\nversion = "1.0.0"\nsource = "git+https://evil.example/x#${sha}"\n`,
      "host",
    ],
  ],
  go: [
    ["another hash", /h1:.{9}/, "h1:AAAAAAAAA", "hash"],
    ["a hash that Go ignores", "h1:", "h2:", "unread"],
  ],
  gem: [
    [
      "two sources",
      "  remote: https://rubygems.org/",
      "  remote: https://rubygems.org/\n  remote: https://evil.example/",
      "host",
    ],
    ["a user in its address", "https://", "https://a:b@", "address"],
    ["a gem of a folder", /(core \(0.1\)\n[\s\S]*?) {4}tiltt \(2.0.11\)\n/, "tiltt (2.0.11)\n    $1", "name"],
    [
      "a plugin",
      "PLATFORMS",
      "PLUGIN SOURCE\n  remote: https://evil.example\n  type: x\n  specs:\n    x (1)\n\nPLATFORMS",
      "unread",
    ],
    ["a stray gem", "    tiltt (2.0.11)\n", "    tiltt (2.0.11)\n    evil (1.0)\n", "unreachable"],
    ["another need", "      tiltt\n", "      tiltt\n      nokogirii\n", "needs"],
    ["a gem twice", "    tiltt (2.0.11)\n", "    tiltt (2.0.11)\n    tiltt (2.0.11)\n", "unread"],
    ["unread code", "remote: core", "remote: vendor/core", "host"],
    ["an unknown section", /$/, "\nEVIL\n  x\n", "unread"],
  ],
  composer: [
    [
      "a package that nothing needs, for the same manifest",
      '"packages": [',
      `"packages": [{"name": "monolog/evil", "version": "1.0.0", "dist": {"type": "zip", "url": "https://api.github.com/repos/monolog/evil/zipball/${sha}", "reference": "${sha}", "shasum": ""}},`,
      "unreachable",
    ],
    ["a name that leads up", '"name": "monolog/monolog"', '"name": "monolog/../monolog"', "unread"],
    ["another repository", "github.com/monolog/monolog.git", "github.com/evil/monolog.git", "address"],
    ["another archive", "repos/monolog/monolog", "repos/evil/monolog", "address"],
    ["an archive of another commit", /zipball\/\w{40}/, `zipball/${sha}`, "address"],
    ["a mirror", '"type": "zip",', '"type": "zip", "mirrors": [{"url": "https://evil.example"}],', "unread"],
    ["code that always runs", '"autoload": {', '"autoload": {"files": ["x.php"],', "needs"],
    ["a plugin", '"type": "library"', '"type": "composer-plugin"', "needs"],
  ],
};

describe.each(Object.entries(edits))("a lock file of %s", (tool, all) => {
  it.each(all)("An entry with %s is found", (_, from, to, wanted) => {
    expect(foundIn(tool, (text) => text.replace(from, to))).toBe(wanted);
  });
});

describe("a lock file of Pipenv", () => {
  it.each<
    [
      what: string,
      edit: (requests: Record<string, unknown>, sources: Record<string, unknown>[]) => unknown,
      Found,
    ]
  >([
    ["an index that it does not have", (requests) => Object.assign(requests, { index: "evil" }), "unread"],
    [
      "another index",
      (requests, all) => {
        all.push({ name: "evil", url: "https://evil.example/simple", verify_ssl: true });
        requests.index = "evil";
      },
      "host",
    ],
    [
      "an index whose host is not checked",
      (_, all) => Object.assign(all[0] ?? {}, { verify_ssl: false }),
      "host",
    ],
    [
      "a repository",
      (requests) => Object.assign(requests, { git: "https://github.com/evil/x.git", ref: sha }),
      "host",
    ],
    ["unread code", (requests) => Object.assign(requests, { path: "./vendor/x" }), "host"],
    ["other hashes", (requests) => Object.assign(requests, { hashes: [`sha256:${hex}`] }), "hash"],
    [
      "a second requirement",
      (requests) => Object.assign(requests, { markers: "a\nevil @ https://x" }),
      "unread",
    ],
  ])("An entry with %s is found", (_, edit, wanted) => {
    const found = foundIn("pipenv", (text) => {
      const json = JSON.parse(text) as {
        _meta: { sources: [] };
        default: { requests: Record<string, unknown> };
      };
      edit(json.default.requests, json._meta.sources);
      return JSON.stringify(json, null, 4);
    });
    expect(found).toBe(wanted);
  });
});

describe("a package of a repository", () => {
  const git = (commit: string, asked = "branch=main") =>
    lastOf("cargo").text.replace(
      /(name = "itoa"\n.*\n)source.*/,
      `$1source = "git+https://github.com/a/itoa?${asked}#${commit}"`,
    );
  it("A package at another commit is neutral, and a fault if that was not asked for", () => {
    expect(
      foundIn(
        "cargo",
        () => git("b".repeat(40)),
        () => git(sha),
      ),
    ).toBe("neutral");
    expect(
      foundIn(
        "cargo",
        () => git("b".repeat(40), "rev=aaaaaaaa"),
        () => git(sha, "rev=aaaaaaaa"),
      ),
    ).toBe("address");
  });
});

describe("a package of a registry with addresses of its own", () => {
  const at = (file: string) =>
    JSON.stringify({
      lockfileVersion: 3,
      packages: {
        "": { dependencies: { a: "1" } },
        "node_modules/a": {
          version: file,
          resolved: `https://npm.corp.example/files/${file}`,
          integrity: hash,
        },
      },
    });
  it("A registry's own address is a fault only if it is new", () => {
    const faults = (before: string | null, after: string) => compareLocks("package-lock.json", before, after);
    expect(faults(null, at("1.0.0"))).toMatchObject({ faults: [{ what: "address" }] });
    expect(faults(at("1.0.0"), at("1.0.1"))).toMatchObject({ faults: [] });
    expect(faults(at("1.0.0"), at("1.0.1").replace("corp", "evil"))).toMatchObject({
      faults: [{ what: "address" }],
    });
  });
});

describe("packages of a private registry", () => {
  const at = (host: string, scope = host) =>
    JSON.stringify({
      lockfileVersion: 3,
      packages: {
        "": { dependencies: { a: "1", "@corp/b": "1" } },
        "node_modules/a": { version: "1.0.0", resolved: `https://${host}/a/-/a-1.0.0.tgz`, integrity: hash },
        "node_modules/@corp/b": {
          version: "1.0.0",
          resolved: `https://${scope}/@corp/b/-/b-1.0.0.tgz`,
          integrity: hash,
        },
      },
    });
  const found = (before: string | null, after: string) => compareLocks("package-lock.json", before, after);
  const npm = "registry.npmjs.org";

  it("Packages may all move to a new registry, but none to another known one", () => {
    expect(found(at(npm), at("npm.corp.example/virtual"))).toEqual({
      kind: "read",
      faults: [],
      neutral: "lock file whose packages all come from another registry (npm.corp.example/virtual)",
    });
    expect(found(at(npm, "npm.corp.example"), at(npm))).toMatchObject({ faults: [{ what: "name" }] });
    const more = at(npm, "npm.corp.example")
      .replace(
        '"node_modules/a"',
        `"node_modules/@corp/c": ${JSON.stringify({ version: "1.0.0", resolved: `https://${npm}/@corp/c/-/c-1.0.0.tgz`, integrity: hash })}, "node_modules/a"`,
      )
      .replace('"@corp/b":"1"', '"@corp/b":"1","@corp/c":"1"');
    expect(found(at(npm, "npm.corp.example"), more)).toMatchObject({
      faults: [{ what: "name", entry: "@corp/c 1.0.0" }],
    });
  });

  it("Packages of a private registry are named if the lock file is new", () => {
    expect(found(null, at(npm, "npm.corp.example"))).toMatchObject({
      faults: [],
      neutral: "new lock file with packages from other places (npm.corp.example)",
    });
    expect(found(null, at("registry.yarnpkg.com", npm))).toEqual({ kind: "read", faults: [], neutral: null });
  });
});
