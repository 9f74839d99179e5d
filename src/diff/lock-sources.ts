import { posix } from "node:path";
import { z } from "zod";
import { isLockFile } from "./skipped-names.ts";

/*
 * Where a lock file has packages fetched from. Nobody reads its lines, and one of them is enough to have another program installed
 * under the name of a known package.
 */

/** Reasons of lock files, of which the first names the places behind it. */
export const NEW_SOURCE = "lock file with packages from a new place";
export const OTHER_COMMIT = "lock file with a package at another commit";
export const UNREADABLE_LOCK = "lock file that cannot be read";
export const BINARY_LOCK = "binary lock file";

/** What happens with every other update, and is rarely an attack. */
const routine: ReadonlySet<string> = new Set([OTHER_COMMIT, BINARY_LOCK]);

/** Whether a lock file was skipped although it takes packages from where nobody has looked. */
export const isUnreadLock = (reason: string): boolean =>
  reason.startsWith(NEW_SOURCE) || reason === UNREADABLE_LOCK || routine.has(reason);

/** Whether that is routine, so that it keeps a check from being green and never turns it red. */
export const isRoutineLock = (reason: string): boolean => routine.has(reason);

/** Places that a reason names. */
const mostNamed = 3;

/** Registries that a tool asks by default, so that a lock file that is new may name them. */
const defaultPlaces = new Set([
  ...["registry.npmjs.org", "registry.yarnpkg.com", "npm.jsr.io", "jsr.io", "deno.land", "esm.sh"],
  ...["pypi.org", "files.pythonhosted.org", "conda.anaconda.org", "repo.anaconda.com"],
  ...["github.com/rust-lang/crates.io-index", "index.crates.io", "static.crates.io"],
  ...["rubygems.org", "repo.packagist.org", "pub.dev", "pub.dartlang.org", "repo.hex.pm", "hex.pm"],
  ...["cdn.cocoapods.org", "trunk.cocoapods.org", "api.nuget.org", "hackage.haskell.org"],
  ...["cran.rstudio.com", "cloud.r-project.org", "cran.r-project.org", "center2.conan.io"],
  ...["bcr.bazel.build", "registry.terraform.io", "registry.opentofu.org", "buf.build"],
]);

/** Hosts that anybody may put something on: there the first segments of a path say whose it is. */
const sharedHosts: readonly { host: RegExp; segments: number }[] = [
  { host: /^api\.github\.com$/, segments: 3 },
  {
    host: /^(?:.+\.)?(?:github|githubusercontent|gitlab|bitbucket|codeberg|gitea|sr)\.(?:com|org|ht)$/,
    segments: 2,
  },
  {
    host: /^(?:cdn\.jsdelivr\.net|pkgs\.dev\.azure\.com|dl\.cloudsmith\.io|npm\.pkg\.github\.com)$/,
    segments: 3,
  },
  { host: /^(?:storage\.googleapis\.com|s3[\w.-]*\.amazonaws\.com)$/, segments: 1 },
];

const jsonLocks = new Set([
  ...["pipfile.lock", "package.resolved", "flake.lock", "deno.lock", "conan.lock", "devbox.lock"],
  "module.bazel.lock",
]);

/** Each package of theirs has a repository of its own: only another host is news. */
const decentralized = new Set([
  ...["package.resolved", "cartfile.resolved", "flake.lock", "shard.lock", "module.bazel.lock"],
]);

/** What one state of a lock file takes packages from. */
interface Sources {
  /** "npm.example", "github.com/octo/left-pad". */
  places: Set<string>;
  /** Whole addresses on hosts of code, which name a commit. */
  addresses: Set<string>;
}

/**
 * What a changed lock file does that nobody has read, as a reason in words; null if all packages come from where others came from
 * before. `before` is null for a new file. Every address counts if the format has no grammar here: one too many is better than
 * one too few.
 */
export function lockSourceReason(path: string, before: string | null, after: string): string | null {
  const name = nameOf(path);
  const now = sourcesOf(name, after, before);
  if (now === null) return UNREADABLE_LOCK;
  // What could not be read before had no place that is known.
  const then = before === null ? null : sourcesOf(name, before, after);
  const known = then?.places ?? (before === null ? defaultPlaces : new Set<string>());
  const added = [...now.places].filter((place) => !known.has(place));
  if (added.length > 0) return `${NEW_SOURCE} (${shown(added)})`;
  const isOther = [...now.addresses].some((address) => !then?.addresses.has(address));
  return then !== null && isOther ? OTHER_COMMIT : null;
}

const nameOf = (path: string) => posix.basename(path).toLowerCase();

/** Whether `lockSourceReason` is to be asked about a path, whatever else says that nobody reads it. */
export const hasLockName = (path: string): boolean => isLockFile(nameOf(path));

/** Names of hosts and folders have few signs; whatever else stands there is not shown. */
function shown(places: readonly string[]): string {
  const words = places.slice(0, mostNamed).map((place) => place.replace(/[^\w./:@ -]/g, "?").slice(0, 80));
  const more = places.length - words.length;
  return `${words.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Null for what cannot be read. `other` is the other state of the file, if there is one. */
function sourcesOf(name: string, text: string, other: string | null): Sources | null {
  if (name === "package-lock.json" || name === "npm-shrinkwrap.json") return fromJson(text, npmLinks);
  if (name === "composer.lock") {
    const both = other === null ? new Set<string>() : composerNames(other);
    return fromJson(text, (json) => composerLinks(json, both));
  }
  if (name === "renv.lock") return fromJson(text, (json) => everyText(RenvLock.parse(json)));
  const isCoarse = decentralized.has(name);
  if (name.endsWith(".json") || jsonLocks.has(name)) {
    return fromJson(text, (json) => everyText(json).map((link) => ({ ...link, isCoarse })));
  }
  // An address that is written with escapes is read by the package manager, and not here.
  if (/\\(?:[xuU/]|\r?\n)/.test(text)) return null;
  return collect(textLinks(name, text).map((link) => ({ ...link, isCoarse })));
}

/** An address, and a word for the package that it is for if its name does not say so. */
interface Link {
  address: string;
  mismatch?: string;
  /** Only its host counts, also of a host that many share. */
  isCoarse?: boolean;
}

function fromJson(text: string, links: (json: unknown) => Link[]): Sources | null {
  try {
    return collect(links(JSON.parse(text.replace(/^\uFEFF/, ""))));
  } catch {
    return null;
  }
}

function collect(links: Iterable<Link>): Sources {
  const sources: Sources = { places: new Set(), addresses: new Set() };
  for (const { address, mismatch, isCoarse = false } of links) {
    const { place, isShared } = placeOf(address, isCoarse);
    sources.places.add(mismatch === undefined ? place : `${place} ${mismatch}`);
    if (isShared && !isCoarse) sources.addresses.add(address);
  }
  return sources;
}

/** `git@host:owner/name`, as scp and git have it, and `github:owner/name`, as package managers do. */
const scpLike = /^(?:[\w.-]+@)?([\w.-]+\.[a-z]+):(?!\/\/)(.*)$/i;
const shorthand = /^(github|gitlab|bitbucket|gist):(?!\/\/)(.*)$/i;

function placeOf(address: string, isCoarse: boolean): { place: string; isShared: boolean } {
  const [, service, below] = shorthand.exec(address) ?? [];
  if (service !== undefined)
    return ofHost(
      `${service.toLowerCase()}.${service === "bitbucket" ? "org" : "com"}`,
      below ?? "",
      isCoarse,
    );
  const [, host, path] = scpLike.exec(address) ?? [];
  if (host !== undefined) return ofHost(host, path ?? "", isCoarse);
  try {
    const url = new URL(
      address.replace(/^[a-z]+\+(?=[a-z]+:\/\/)/i, "").replace(/^(?:git|ssh)(?=:\/\/)/i, "https"),
    );
    if (url.host === "") throw new TypeError("an address without a host");
    const { place, isShared } = ofHost(url.host, url.pathname, isCoarse);
    // What is fetched without encryption can be anybody's.
    return { place: url.protocol === "http:" ? `http://${place}` : place, isShared };
  } catch {
    return { place: address.slice(0, 80), isShared: false };
  }
}

function ofHost(name: string, path: string, isCoarse: boolean): { place: string; isShared: boolean } {
  const host = name.toLowerCase();
  const shared = sharedHosts.find((one) => one.host.test(host));
  if (shared === undefined || isCoarse) return { place: host, isShared: shared !== undefined };
  const segments = (path.split(/[#?]/)[0] ?? "").split("/").filter((segment) => segment !== "");
  const owner = segments
    .slice(0, shared.segments)
    .join("/")
    .replace(/\.git(?:@.*)?$/, "");
  return { place: `${host}/${owner.toLowerCase()}`, isShared: true };
}

const Text = z.string().optional().catch(undefined);
const NpmEntry = z.looseObject({ resolved: Text, version: Text, name: Text }).catch({});
const NpmEntries = z.record(z.string(), NpmEntry).catch({});
const NpmLock = z.looseObject({ packages: NpmEntries.optional() });

/** `resolved` of each package, and the versions of the older format that are addresses. */
function npmLinks(json: unknown): Link[] {
  const { packages = {} } = NpmLock.parse(json);
  const entries = [...Object.entries(packages), ...npmDependencies(json)];
  return entries.flatMap(([key, { resolved, version, name }]) => {
    const wanted = name ?? key.replace(/^.*node_modules\//s, "");
    return [resolved, version]
      .filter((one) => one !== undefined && isAddress(one))
      .map((address) => npmLink(address ?? "", wanted));
  });
}

const NpmDependencies = z
  .looseObject({ dependencies: z.record(z.string(), z.unknown()) })
  .catch({ dependencies: {} });

function npmDependencies(json: unknown): [string, z.infer<typeof NpmEntry>][] {
  const found: [string, z.infer<typeof NpmEntry>][] = [];
  const open = [json];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    for (const [name, below] of Object.entries(NpmDependencies.parse(one).dependencies)) {
      const entry = NpmEntry.parse(below);
      const alias = /^npm:(@?[^@]+)@/.exec(entry.version ?? "")?.[1];
      found.push([alias ?? name, entry]);
      open.push(below);
    }
  }
  return found;
}

/** In a registry's addresses the name of the package stands before `/-/`: that of another one is a place of its own. */
function npmLink(address: string, wanted: string): Link {
  const path = /^https?:\/\/[^/]+\/(.*)\/-\//i.exec(address)?.[1];
  if (path === undefined) return { address };
  const isIts = `/${decode(path)}`.toLowerCase().endsWith(`/${wanted.toLowerCase()}`) && wanted !== "";
  return isIts ? { address } : { address, mismatch: `${path} for ${wanted}` };
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const ComposerPackages = z.array(
  z.looseObject({
    name: z.string(),
    source: z.looseObject({ url: Text }).nullish().catch(null),
    dist: z.looseObject({ url: Text }).nullish().catch(null),
  }),
);
const ComposerLock = z.looseObject({
  packages: ComposerPackages,
  "packages-dev": ComposerPackages.nullish(),
});

const composerPackages = (json: unknown) => {
  const lock = ComposerLock.parse(json);
  return [...lock.packages, ...(lock["packages-dev"] ?? [])];
};

function composerNames(text: string): Set<string> {
  try {
    return new Set(composerPackages(JSON.parse(text)).map(({ name }) => name));
  } catch {
    return new Set();
  }
}

/** Each package has a repository of its own, which is news only of a package that was there. */
function composerLinks(json: unknown, both: ReadonlySet<string>): Link[] {
  return composerPackages(json).flatMap(({ name, source, dist }) =>
    [source?.url, dist?.url]
      .filter((one) => one !== undefined)
      .flatMap((address) => [
        { address, isCoarse: true },
        ...(both.has(name) ? [{ address: withoutCommit(address), mismatch: `for ${name}` }] : []),
      ]),
  );
}

/** Composer's archives of GitHub end in a commit, which changes with every version. */
const withoutCommit = (address: string) => address.replace(/\/[0-9a-f]{40}$/, "");

/** Of what it says of packages, most is for people. */
const RenvLock = z
  .looseObject({ R: z.looseObject({ Repositories: z.unknown() }) })
  .transform(({ R }) => R.Repositories);

const isAddress = (text: string) =>
  scpLike.test(text) ||
  (/^[a-z][a-z\d+.-]*:(?!\s)/i.test(text) && !/^(?:npm|file|link|workspace|patch|portal):/i.test(text));

function everyText(json: unknown): Link[] {
  const links: Link[] = [];
  const open: unknown[] = [json];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one === "string") for (const link of addressesIn(one)) links.push(link);
    else if (typeof one === "object" && one !== null) {
      const { type, owner, repo } = one as Record<string, unknown>;
      // A lock file of Nix.
      if (typeof owner === "string" && typeof repo === "string")
        links.push({ address: `https://${String(type)}.com/${owner}/${repo}` });
      for (const [key, value] of Object.entries(one)) open.push(key, value);
    }
  }
  return links;
}

/** Bounded, so that no text makes it slow. */
const address =
  /(?:(?<![a-z\d+.-])[a-z][a-z\d+.-]{1,20}:\/\/|(?<![\w.-])[\w.-]{1,40}@[\w.-]{1,100}\.[a-z]{2,20}:(?=[\w/])|\b(?:github|gitlab|bitbucket|gist):(?=[\w-]))[^\s"'`<>,;)\]}]{1,2000}/gi;

const addressesIn = (text: string): Link[] =>
  [...text.matchAll(address)].map(([found]) => ({ address: found }));

/** What tells people about a package; pnpm's keys of sources are not on such a line. */
const isAbout = (line: string) =>
  /^\s*(?:deprecated: |description = |homepage: )/.test(line) &&
  !/\b(?:tarball|repo|registry|url)\b/.test(line);

function textLinks(name: string, text: string): Link[] {
  const links: Link[] = [];
  let wanted = "";
  for (const line of text.split(/\r\n|[\n\r]/)) {
    if (isAbout(line)) continue;
    if (name === "yarn.lock")
      wanted =
        /^"?(@?[^@\s"]+)@(?:npm:(@?[^@\s"]+)@)?[^\n]*:$/.exec(line)?.slice(1).findLast(Boolean) ?? wanted;
    const read = /%3a/i.test(line) ? decode(line) : line;
    for (const { address: found } of addressesIn(read))
      links.push(name === "yarn.lock" ? npmLink(found, wanted) : { address: found });
  }
  return links;
}
