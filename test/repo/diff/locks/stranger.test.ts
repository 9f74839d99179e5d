import { describe, expect, it } from "vitest";
import { compareLocks } from "../../../../src/repo/diff/locks/compare.ts";
import { written } from "./states.ts";

/*
 * Edits by somebody who knows the package managers and has not read the parsers. Each makes another program be
 * installed, hides one, or lets a manager and a reviewer read two things in one file.
 */

/** What the edit does; then, two by two, a text and what stands in its first place. */
type Edit = string[];

const pypi = "https://pypi.org/simple";
const E = `${"E".repeat(86)}==`;
const hex = "e".repeat(64);
const commit = "0123456789012345678901234567890123456789";
const evilGit = `https://github.com/evil/it.git#${commit}`;

const npmMs = "https://registry.npmjs.org/ms/-/ms-2.1.3.tgz";
const msHash = "6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA==";
const oldMsHash = "sGkPx+VjMtmA6MX27oA4FBFELFCZZ4S4XqeGOXCv68tT+jb3vk/RyaKWP0PTKyWtmLSM0b+adUTEvbs1PEaH2w==";
const npmAt = '"node_modules/ms": {';
const npmVersion = `${npmAt}\n      "version": "2.1.3`;
const npmUpgrade = (file: string, hash: string) => [
  npmVersion,
  `${npmAt}\n      "version": "2.1.4`,
  "ms/-/ms-2.1.3",
  file,
  `sha512-${msHash}`,
  hash === "" ? "" : `sha512-${hash}`,
];
const msKey = `"integrity": "sha512-${msHash}"`;
const npmEvil = `"resolved": "https://registry.npmjs.org/evil/-/evil-1.0.0.tgz", "integrity": "sha512-${E}"`;
const npmNew = (key: string) => [npmAt, `"${key}": { "version": "1.0.0", ${npmEvil} },\n    ${npmAt}`];

const yarnHash = "#574c8138ce1d2b5861f0b44579dbadd60c6615b2";
const yarnMs = `https://registry.yarnpkg.com/ms/-/ms-2.1.3.tgz${yarnHash}`;

const sum =
  "aa92de608021b242401676e35cfa5aa42dd70cbdc082b916da7fb925c542173e36bce97ea3e804923fe92c0ad991434e4a38327e15a1b5b5f945d66df615ae6d";
const yarnTo = (to: string) => ['"ms@npm:2.1.3"', `"${to}"`];

const mss = "https://registry.npmjs.org/mss/-/mss-2.1.2.tgz";
const pnpmMs = `resolution: {integrity: sha512-${oldMsHash}}`;
const pnpmTo = (to: string) => [pnpmMs, `resolution: ${to}`];
const pnpmArchive = (url: string) => pnpmTo(`{integrity: sha512-${oldMsHash}, tarball: ${url}}`);
const pnpmEvil = [
  "\n  ms@2.1.2:\n",
  `\n  evil@1.0.0:\n    resolution: {integrity: sha512-${E}}\n\n  ms@2.1.2:\n`,
  "\n  ms@2.1.2: {}",
  "\n  evil@1.0.0: {}\n\n  ms@2.1.2: {}",
];
const debug = "specifier: 4.4.0\n        version: ";

const bunMs = `["ms@2.1.2", "", {}, "sha512-${oldMsHash}"]`;
const bunTo = (to: string) => [`"ms": ${bunMs}`, `"ms": ${to}`];
const bunFrom = (url: string) => bunMs.replace('""', `"${url}"`);
const bunNew = (key: string) => [
  `"ms": ${bunMs}`,
  `"${key}": ["evil@1.0.0", "", {}, "sha512-${E}"],\n\n    "ms": ${bunMs}`,
];

const hosted =
  "https://files.pythonhosted.org/packages/b7/ce/149a00dd41f10bc29e5921b496af8b574d8413afcd5e30dfa0ed46c2cc5e/";
const wheel = "six-1.17.0-py2.py3-none-any.whl";
const wheelHash = "sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274";
const uvSix = 'name = "six"\nversion = "1.17.0"\nsource = ';
const uvTo = (to: string) => [`${uvSix}{ registry = "https://pypi.org/simple" }`, `${uvSix}{ ${to} }`];
const uvNew = (version: string) => [
  '[[package]]\nname = "six"',
  `[[package]]\nname = "evil"\nversion = "${version}"\nsource = { registry = "https://pypi.org/simple" }\n\n[[package]]\nname = "six"`,
];

const requestsHash = "sha256:70761cfe03c773ceb22aa2f671b4757976145175cdfca038c02654d061d6dcc6";
const socks = 'use-chardet-on-py3 = ["chardet (>=3.0.2,<6)"]\n\n[package.source]\n';
const poetryFrom = `${socks}type = "legacy"\nurl = "https://pypi.org/simple"\nreference = "index"`;
const poetryTo = (type: string, url: string) => [poetryFrom, `${socks}type = "${type}"\nurl = "${url}"`];

const pipVersion = '"version": "==2.32.3"';
const pipWith = (more: string) => [pipVersion, `${pipVersion}, ${more}`];
const evilIndex = '{ "name": "evil", "url": "https://evil.example/simple", "verify_ssl": true }';
const sources = '"sources": [';
const addIndex = [sources, `${sources} ${evilIndex},`];

const index = "registry+https://github.com/rust-lang/crates.io-index";
const itoaHash = "49f1f14873335454500d59611f1cf4a4b0f786f9ac11f4312a78e4cf2566695b";
const itoa = `version = "1.0.11"\nsource = "${index}"\nchecksum = "${itoaHash}"`;
const cargoTo = (to: string) => [itoa, itoa.replace(index, to)];
const crate = (from: string) => [
  '[[package]]\nname = "itoa"',
  `[[package]]\nname = "evil"\nversion = "1.0.0"\nsource = "${from}"\n\n[[package]]\nname = "itoa"`,
];

const rack = "    rackk (2.1.0)\n";
const rackFrom = (block: string) => [rack, "", "\nPLATFORMS", `\n${block}\n  specs:\n${rack}\nPLATFORMS`];

const ref = "79555596806112d49d2c7e1e0c08a83d6982d56b";
const composerKey = (key: string, at = `"name": "monolog/monolog",`) => [at, `${at} ${key},`];

const goHash = "h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=";
const goLine = `github.com/google/uuid v1.6.0 ${goHash}`;
const goEvil = goLine.replace(goHash, `h1:${E.slice(43, -1)}`);

/** Edits that are named as faults. */
const found: Record<string, Edit[]> = {
  "npm folder": [
    ["an upgrade has the address of another package", ...npmUpgrade("mss/-/mss-2.1.4", E)],
    ["an upgrade has no hash", ...npmUpgrade("ms/-/ms-2.1.4", "")],
    ["a package needs what its version did not need before", '"ms": "^2.1.3"', '"ms": "^2.1.3", "pad": "*"'],
    ["the address is of another package of the registry", "/ms/-/ms-2", "/mss/-/mss-2"],
    ["the address is of another version of the package", "ms-2.1.3.tgz", "ms-2.1.2.tgz"],
    ["the address is of a package in capital letters", "/ms/-/ms-2", "/MS/-/ms-2"],
    ["the address goes up to another package", "/ms/-/ms-2", "/ms/-/../../mss/-/mss-2"],
    ["the address goes up with percent signs", "ms-2.1.3.tgz", "ms-2.1.3.tgz/%2e%2e/%2e%2e/%2e%2e/mss.tgz"],
    ["the host is the name of a user", "npmjs.org/ms", "npmjs.org@evil.example/ms"],
    ["the host goes on after a tabulator", "npmjs.org/ms", "npmjs.o\\trg.evil.example/ms"],
    ["the address is of a repository of another owner", npmMs, `git+${evilGit}`],
    ["the scope is dropped from the address", "/@types/node/-/node", "/node/-/node"],
    ["a second hash of the same kind is allowed", msHash, `${msHash} sha512-${E}`],
    ["an alias is declared by no manifest", npmAt, `${npmAt} "name": "mss",`, "/ms/-/ms-2", "/mss/-/mss-2"],
    ["a package is in a place where nothing needs it", ...npmNew("node_modules/debug/node_modules/evil")],
  ],
  yarn1: [
    ["an entry is of two packages", "debug@4.4.0:", "x@1:", "\nms@^2.1.3:", "\ndebug@4.4.0, ms@^2.1.3:"],
    ["the address is of another package of the registry", "/ms/-/ms-2.1.3", "/mss/-/mss-2.1.3"],
    ["the host only begins like the registry", "yarnpkg.com/ms/", "yarnpkg.com.evil.example/ms/"],
    ["the address is not encrypted", yarnMs, yarnMs.replace("https", "http")],
    ["both hashes are removed", yarnHash, "", `\n  integrity sha512-${msHash}`, ""],
    ["a second hash of the same kind is allowed", `sha512-${msHash}`, `"sha512-${msHash} sha512-${E}"`],
    ["a package needs what its version did not need before", 'ms "^2.1.3"', 'evil "1.0.0"\n    ms "^2.1.3"'],
  ],
  "yarn4 portal": [
    ["an entry is resolved to another package", ...yarnTo("mss@npm:2.1.3")],
    ["an entry is resolved to another package with an escape", ...yarnTo("\\x6dss@npm:2.1.3")],
    ["the hash is another", sum, hex + hex],
    ["the hash is another, of an older cache, which Yarn replaces silently", `10/${sum}`, `9/${hex}${hex}`],
    ["the hash is removed", `\n  checksum: 10/${sum}`, ""],
  ],
  "pnpm update": [
    ["the archive is of another package of the registry", ...pnpmArchive(mss)],
    ["the archive is on another host", ...pnpmArchive("https://evil.example/ms-2.1.2.tgz")],
    ["the archive has an address without a scheme", ...pnpmArchive("//evil.example/ms-2.1.2.tgz")],
    ["the package is a folder outside", ...pnpmTo("{type: directory, directory: ../ms}")],
    ["a dependency of the project is another package", `${debug}4.4.0`, `${debug}left-pad@1.2.0`],
    ["a dependency of a dependency is another package", "\n      ms: 2.1.2", "\n      ms: left-pad@1.3.0"],
    ["a package is needed by nothing", ...pnpmEvil],
  ],
  bun: [
    ["the archive is of another package of the registry", ...bunTo(bunFrom(mss))],
    ["an entry is another package", ...bunTo(`["mss@2.1.2", "", {}, "sha512-${oldMsHash}"]`)],
    ["an alias is another package than the manifest says", '["left-pad@1.3.0"', '["evil@1.3.0"'],
    ["the package is a folder outside", ...bunTo('["ms@file:../ms", {}]')],
    ["a workspace is a folder outside", "@shop/ui@workspace:packages/ui", "@shop/ui@workspace:../ui"],
    ["the hash is empty", ...bunTo('["ms@2.1.2", "", {}, ""]')],
    ["a package is needed by nothing where it is", ...bunNew("debug/evil")],
    ["a nested entry takes the place of a dependency", ...bunNew("react-dom/scheduler")],
  ],
  uv: [
    ["a wheel is on another host", `${hosted}six`, "https://evil.example/packages/six"],
    ["a wheel is of another version", wheel, "six-1.16.0-py2.py3-none-any.whl"],
    ["the hash is another, in single quotes", `"${wheelHash}"`, `'sha256:${hex}'`],
    ["the index is another", ...uvTo('registry = "https://evil.example/simple"')],
    ["the source is an address", ...uvTo(`url = "${hosted}${wheel}"`)],
    ["the source is a repository", ...uvTo(`git = "https://github.com/evil/six?rev=main#${commit}"`)],
    ["the editable folder is outside", '{ editable = "libs/core" }\ndep', '{ editable = "../core" }\ndep'],
    ["a package is needed by nothing", ...uvNew("1.0")],
  ],
  poetry: [
    ["the hash is another", requestsHash, `sha256:${hex}`],
    ["the source is another index", ...poetryTo("legacy", "https://evil.example/simple")],
    ["the source has another path", ...poetryTo("legacy", "https://pypi.org/evil/simple")],
    ["the source is an address", ...poetryTo("url", `${hosted}requests-2.32.3-py3-none-any.whl`)],
  ],
  pipenv: [
    ["the package is from an index that is added", ...addIndex, '"index": "pypi"', '"index": "evil"'],
    ["the package is a repository beside its version", ...pipWith(`"git": "${evilGit}", "ref": "${commit}"`)],
    ["the package is a file beside its version", ...pipWith('"file": "https://evil.example/requests.whl"')],
    ["the index is behind the name of a user", pypi, "https://pypi.org@evil.example/simple"],
    ["the index goes up to another path", pypi, `${pypi}/../evil`],
    ["the index is not verified", '"verify_ssl": true', '"verify_ssl": false'],
    ["the index is a variable", pypi, "https://$INDEX/simple"],
  ],
  cargo: [
    ["the hash is another", itoaHash, hex],
    ["the hash is removed", `\nchecksum = "${itoaHash}"`, ""],
    ["the registry is of another owner", ...cargoTo(index.replace("rust-lang", "evil"))],
    ["the source is a repository", ...cargoTo(`git+https://github.com/evil/itoa?branch=main#${commit}`)],
    ["an upgrade has no hash", itoa, `version = "1.0.12"\nsource = "${index}"`],
    ["a crate is needed by nothing", ...crate(index)],
  ],
  "cargo git": [
    ["the repository is of another owner", "github.com/dtolnay/", "github.com/evil/"],
    ["the commit is not the one that is asked for", `#${commit}`, `#${hex.slice(24)}`],
    ["there is no commit", `#${commit}`, ""],
  ],
  gem: [
    ["there is a second server", "rubygems.org/\n", "rubygems.org/\n  remote: https://evil.example/\n"],
    ["the server is behind the name of a user", "rubygems.org/", "rubygems.org@evil.example/"],
    ["a gem is from a server of its own", ...rackFrom("GEM\n  remote: https://evil.example/")],
    ["a folder of the project is outside", "remote: core", "remote: ../core"],
    ["a gem is needed by nothing", rack, `    evill (1.0)\n${rack}`],
    ["a gem needs what its version did not need before", rack, `    evill (1.0)\n${rack}      evill\n`],
    ["a gem is indented like a need", rack, "      rackk (2.1.0)\n"],
  ],
  "gem more": [
    ["the repository is of another owner", "com/good/", "com/evil/"],
    ["the repository is not verified", "https://github.com/good/", "git://github.com/good/"],
    ["the hash is another", `sha256=${hex}`, `sha256=${hex.replaceAll("e", "f")}`],
    ["the hash is removed", ` sha256=${hex}`, ""],
    ["a second hash is allowed", `sha256=${hex}`, `sha256=${hex},sha256=${hex.replaceAll("e", "f")}`],
  ],
  composer: [
    ["the server is not verified", ...composerKey('"transport-options": { "ssl": {} }')],
    ["the archive goes up to another owner", "repos/monolog/", "repos/monolog/../evil/"],
    ["the archive is of another owner", "repos/monolog/", "repos/evil/"],
    ["the archive is of another commit", `zipball/${ref}`, `zipball/${commit}`],
    ["the repository is of another owner", "github.com/monolog/monolog.git", "github.com/evil/monolog.git"],
    ["the repository is a command", "https://github.com/monolog/monolog.git", "ext::sh -c evil"],
    ["the repository has another commit", ref, commit],
    ["the folder of the project is outside", '"url": "core"', '"url": "../core"'],
    ["the package takes the place of another", ...composerKey('"replace": { "psr/log": "*" }')],
  ],
  "go install vanity": [
    ["the hash is another", goLine, goEvil],
    ["a hash that Go tries first is added", goLine, `${goEvil}\n${goLine}`],
    ["the hash only differs in bits that are not used", "4F0=", "4F1="],
  ],
};

/** Edits after which the file is refused as a whole: no tool writes such a text, or no reader could be sure of it. */
const unread: Record<string, Edit[]> = {
  "npm folder": [
    ["the later of two equal keys counts", msKey, `${msKey}, "integrit\\u0079": "sha512-${E}"`],
    ["the same place is written in another way", ...npmNew("node_modules/x/../ms")],
    ["the kind of hash is unknown, which npm skips", `sha512-${msHash}`, `sha3-${E}`],
  ],
  yarn1: [
    ["an escape hides the host", "yarnpkg.com/ms/", "yarnpkg.com\\u002eevil.example/ms/"],
    ["a comment holds the right address", yarnMs, `${yarnMs.replaceAll("ms", "mss")}" # "${yarnMs}`],
    ["a carriage return ends a comment for some readers", "\nms@^2.1.3:", "\n# x\rms@^2.1.3:"],
  ],
  "yarn4 portal": [["the hash is of a cache that does not exist yet", `10/${sum}`, `11/${hex}${hex}`]],
  "pnpm update": [["a merged key brings another hash", ...pnpmTo(`{<<: {integrity: sha512-${E}}}`)]],
  bun: [["an entry has a fifth part", ...bunTo(bunMs.replace("]", `, "sha512-${E}"]`))]],
  uv: [["the name has a letter of another alphabet", uvSix, uvSix.replace("six", "\u0455ix")]],
  poetry: [["the source is of an unknown type", ...poetryTo("hg", "https://evil.example/requests")]],
  pipenv: [
    ["a hash has an option for pip", requestsHash, `${requestsHash} --index-url https://evil.example/simple`],
    ["any version is allowed", pipVersion, '"version": "*"'],
    ["two indexes have one name", sources, `${sources} ${evilIndex.replace("evil", "pypi")},`],
  ],
  cargo: [["the source is there twice", itoa, `${itoa}\n"source" = "registry+https://evil.example/index"`]],
  gem: [
    ["a gem is from two servers", ...rackFrom("GEM\n  remote: https://evil.example/").slice(2)],
    ["a carriage return is inside of a line", rack, `    rackk (2.1.0)\r    evill (1.0)\n`],
  ],
  composer: [["the text has a list of repositories", '"aliases"', '"repositories": [], "aliases"']],
  "go install vanity": [
    ["the parts of a line are apart by tabulators", goLine, goEvil.replaceAll(" ", "\t")],
    ["a comment holds the right hash", goLine, `${goEvil} // ${goHash}`],
  ],
};

/** What the tool could have written, before the edit, in tables whose name is not that of a state. */
const given: Record<string, Edit> = {
  "cargo git": [
    "",
    itoa,
    `version = "1.0.11"\nsource = "git+https://github.com/dtolnay/itoa?rev=0123456#${commit}"`,
  ],
  "gem more": [
    "",
    "PATH\n",
    `GIT\n  remote: https://github.com/good/gitt.git\n  revision: ${commit}\n  specs:\n    gitt (0.1)\n\nPATH\n`,
    "  core!\n",
    "  core!\n  gitt!\n",
    "\nBUNDLED",
    `\nCHECKSUMS\n  rackk (2.1.0) sha256=${hex}\n  tiltt (2.0.11) sha256=${hex}\n\nBUNDLED`,
  ],
};

const edited = (text: string, [, ...changes]: Edit) => {
  let now = text;
  for (let at = 0; at < changes.length; at += 2) {
    const [from = "", to = ""] = changes.slice(at, at + 2);
    expect(now).toContain(from);
    now = now.replace(from, () => to);
  }
  expect(now).not.toBe(text);
  return now;
};

const rows = (edits: Record<string, Edit[]>) =>
  Object.entries(edits).flatMap(([name, some]) => some.map((edit) => [name, edit[0] ?? "", edit] as const));

/** Reads the edited file with the line ends of the tool, and with those of Windows. */
function readings(name: string, edit: Edit) {
  const [tool, ...state] = name.split(" ");
  const { path = "", states = [] } = written.find((one) => one.tool === tool) ?? {};
  const wrote = (states.find((one) => one.name === state.join(" ")) ?? states.at(-1))?.text ?? "";
  const base = given[name] === undefined ? wrote : edited(wrote, given[name]);
  expect(compareLocks(path, wrote, base).kind).toBe("read");
  const head = edited(base, edit);
  return [head, head.replaceAll("\n", "\r\n")].map((after) => compareLocks(path, base, after));
}

describe("a lock file that a stranger edited", () => {
  it.each(rows(found))("A lock file of %s has a fault if %s", (name, _, edit) => {
    for (const reading of readings(name, edit)) {
      expect(reading).toMatchObject({ kind: "read", faults: expect.arrayContaining([expect.anything()]) });
    }
  });

  it.each(rows(unread))("A lock file of %s is not read if %s", (name, _, edit) => {
    for (const reading of readings(name, edit)) expect(reading.kind).toBe("unread");
  });

  it("The edits of a stranger are tried in all formats, at least 5 times each", () => {
    const names = [...rows(found), ...rows(unread)].map(([name]) => name.split(" ")[0]);
    const times = written.map(({ tool }) => names.filter((name) => name === tool).length);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(5);
    expect(names.length).toBeGreaterThan(100);
  });
});
