import { posix } from "node:path";
import { z } from "zod";
import { isLockFile, reasonByName } from "./skipped-names.ts";

/*
 * The sources of the packages in a lock file. Its lines are not reviewed, and one of them is enough to install another program under the
 * name of a known package.
 */

/** Reasons of lock files. The first one is followed by the places. */
export const NEW_SOURCE = "lock file with packages from a new place";
export const OTHER_COMMIT = "lock file with a package at another commit";
export const UNREADABLE_LOCK = "lock file that cannot be read";
export const BINARY_LOCK = "binary lock file";

/** Also occurs in ordinary updates, and is rarely an attack. */
const routine: ReadonlySet<string> = new Set([OTHER_COMMIT, BINARY_LOCK]);

/** What such a reason means for a check. */
export const lockAccount = (reason: string): "neutral" | "unread" =>
  routine.has(reason) ? "neutral" : "unread";

/** Maximum places that a reason names. */
const mostNamed = 3;

/** Default registries of tools; a new lock file may name them. */
const defaultPlaces = new Set([
  ...["registry.npmjs.org", "registry.yarnpkg.com", "npm.jsr.io", "jsr.io", "deno.land", "esm.sh"],
  ...["pypi.org", "files.pythonhosted.org", "conda.anaconda.org", "repo.anaconda.com"],
  ...["github.com/rust-lang/crates.io-index", "index.crates.io", "static.crates.io"],
  ...["rubygems.org", "repo.packagist.org", "pub.dev", "pub.dartlang.org", "repo.hex.pm", "hex.pm"],
  ...["cdn.cocoapods.org", "trunk.cocoapods.org", "api.nuget.org", "hackage.haskell.org"],
  ...["cran.rstudio.com", "cloud.r-project.org", "cran.r-project.org", "center2.conan.io"],
  ...["bcr.bazel.build", "registry.terraform.io", "registry.opentofu.org", "buf.build"],
]);

/** Hosts with content from anyone: there the first segments of a path identify the owner. */
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

/** Each of their packages has a repository of its own: only a different host counts as new. */
const decentralized = new Set([
  ...["package.resolved", "cartfile.resolved", "flake.lock", "shard.lock", "module.bazel.lock"],
]);

/** The package sources in one state of a lock file. */
interface Sources {
  /** "npm.example", "github.com/octo/left-pad". */
  places: Set<string>;
  /** Whole addresses on code hosts, which name a commit. */
  addresses: Set<string>;
  /** The places of each named package. */
  byPackage: Map<string, Set<string>>;
}

/** The place of packages whose code is part of the repository, and reviewed like the rest of it. */
const HERE = "this repository";

/**
 * The unreviewed effect of a changed lock file, as a reason for people; null if all packages come from places that were already in use.
 * `before` is null for a new file. If the format has no grammar here, every address counts: one too many is better than one too few.
 */
export function lockSourceReason(path: string, before: string | null, after: string): string | null {
  const name = nameOf(path);
  const now = sourcesOf(name, after, before);
  if (now === null) return UNREADABLE_LOCK;
  // If the old state could not be read, none of its places are known.
  const then = before === null ? null : sourcesOf(name, before, after);
  const known = then?.places ?? (before === null ? defaultPlaces : new Set<string>());
  const fresh = [...now.places].filter((place) => !known.has(place) && place !== HERE);
  const added = [...fresh, ...(then === null ? [] : takenOver(then, now, new Set(fresh)))];
  if (added.length > 0) return `${NEW_SOURCE} (${shown(added)})`;
  const isOther = [...now.addresses].some((address) => !then?.addresses.has(address));
  return then !== null && isOther ? OTHER_COMMIT : null;
}

/** Packages that now come from another place that was already in use for others: an attacker can take over a name in this way. */
function takenOver(then: Sources, now: Sources, told: ReadonlySet<string>): string[] {
  return [...now.byPackage].flatMap(([wanted, places]) => {
    const before = then.byPackage.get(wanted);
    if (before === undefined) return [];
    // Which of these a tool writes depends on the machine.
    const isPublic = [...before].every((place) => defaultPlaces.has(place));
    const isSame = (place: string) => before.has(place) || (isPublic && defaultPlaces.has(place));
    const other = [...places].filter((place) => !isSame(place) && !told.has(place));
    return other.map((place) => `${place} for ${wanted}`);
  });
}

const nameOf = (path: string) => posix.basename(path).toLowerCase();

/** Whether `lockSourceReason` is called for a path even if it is skipped for another reason. */
export const hasLockName = (path: string): boolean => isLockFile(nameOf(path));

/** Names of hosts and folders use few characters; other places are not shown. */
function shown(places: readonly string[]): string {
  const words = places.slice(0, mostNamed).map((place) => place.replace(/[^\w./:@ -]/g, "?").slice(0, 80));
  const more = places.length - words.length;
  return `${words.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Null if the text cannot be read. `other` is the other state of the file, if there is one. */
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
  // The package manager reads an address with escapes, but we do not.
  if (/\\(?:[xuU/]|\r?\n)/.test(text)) return null;
  return collect(textLinks(name, text).map((link) => ({ ...link, isCoarse })));
}

/** An address, and the name of its package if the address does not contain it. */
interface Link {
  address: string;
  mismatch?: string;
  /** The name under which it is used, and its own name if that differs. */
  wanted?: string;
  alias?: string | undefined;
  /** Only its host counts, even on a shared host. */
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
  const sources: Sources = { places: new Set(), addresses: new Set(), byPackage: new Map() };
  for (const { address, mismatch, wanted, alias, isCoarse = false } of links) {
    const { place, isShared } = placeOf(address, isCoarse);
    sources.places.add(mismatch === undefined ? place : `${place} ${mismatch}`);
    if (wanted !== undefined && mismatch === undefined) {
      const places = sources.byPackage.get(wanted) ?? new Set();
      sources.byPackage.set(wanted, places.add(alias === undefined ? place : `${place} ${alias}`));
    }
    if (isShared && !isCoarse) sources.addresses.add(address);
  }
  return sources;
}

/** `git@host:owner/name` of scp and git, and `github:owner/name` of package managers. */
const scpLike = /^(?:[\w.-]+@)?([\w.-]+\.[a-z]+):(?!\/\/)(.*)$/i;
const shorthand = /^(github|gitlab|bitbucket|gist):(?!\/\/)(.*)$/i;

/** A place in the repository; `link` of pnpm and Yarn is a folder. */
const localLike = /^(?:file|link|portal):(?!\/\/)/i;

/** Files that package managers unpack. */
const archive = /\.(?:tgz|tar(?:\.\w+)?|zip|whl|egg|gem|nupkg|crate|jar)$/i;

/** Code in the repository is reviewed, unless it is in an archive or a skipped folder. */
function localPlace(written: string): string {
  const path = decode((written.replace(localLike, "").split(/#|\?|::/)[0] ?? "").trim()).replaceAll(
    "\\",
    "/",
  );
  const clean = posix.normalize(path === "" ? "." : path).replace(/\/+$/, "");
  const isUnread = archive.test(clean) || reasonByName(`${clean}/x`) !== null;
  return isUnread ? `file:${clean}` : HERE;
}

function placeOf(address: string, isCoarse: boolean): { place: string; isShared: boolean } {
  if (localLike.test(address)) return { place: localPlace(address), isShared: false };
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
    // Anyone can replace content that is fetched without encryption.
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
const Flag = z.boolean().optional().catch(undefined);
const NpmEntry = z.looseObject({ resolved: Text, version: Text, name: Text, link: Flag }).catch({});
const NpmEntries = z.record(z.string(), NpmEntry).catch({});
const NpmLock = z.looseObject({ packages: NpmEntries.optional() });

/** `resolved` of each package, and the versions of the older format that are addresses. */
function npmLinks(json: unknown): Link[] {
  const { packages = {} } = NpmLock.parse(json);
  const entries = [...Object.entries(packages), ...npmDependencies(json)];
  return entries.flatMap(([key, { resolved, version, name, link }]) => {
    const used = key.replace(/^.*node_modules\//s, "");
    if (link === true) return [{ address: `file:${resolved ?? ""}`, wanted: used }];
    // npm accepts every other address that it can fetch, including `owner/name`.
    const addresses = [resolved, version !== undefined && isAddress(version) ? version : undefined];
    return addresses
      .filter((one) => one !== undefined)
      .map((address) => npmLink(address, name ?? used, used));
  });
}

const NpmDependencies = z
  .looseObject({ dependencies: z.record(z.string(), z.unknown()) })
  .catch({ dependencies: {} });

function npmDependencies(json: unknown): [string, z.infer<typeof NpmEntry>][] {
  const found: [string, z.infer<typeof NpmEntry>][] = [];
  const open = [json];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    for (const [key, below] of Object.entries(NpmDependencies.parse(one).dependencies)) {
      const entry = NpmEntry.parse(below);
      const [, name = entry.name] = /^npm:(@?[^@]+)@/.exec(entry.version ?? "") ?? [];
      found.push([key, { ...entry, name }]);
      open.push(below);
    }
  }
  return found;
}

/** In a registry's addresses the package's name comes before `/-/`; another package's name counts as another place. */
function npmLink(address: string, wanted: string, used = wanted): Link {
  const path = /^https?:\/\/[^/]+\/(.*)\/-\//i.exec(address)?.[1];
  if (path === undefined) return { address, wanted: used };
  const isIts = `/${decode(path)}`.toLowerCase().endsWith(`/${wanted.toLowerCase()}`) && wanted !== "";
  const alias = used === wanted ? undefined : wanted;
  return isIts ? { address, wanted: used, alias } : { address, mismatch: `${path} for ${wanted}` };
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

/** Each package has a repository of its own, so a new repository only counts for an existing package. */
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

/** Composer's archive addresses of GitHub end with a commit, which changes with every version. */
const withoutCommit = (address: string) => address.replace(/\/[0-9a-f]{40}$/, "");

/** Package entries contain mostly text for people, so only the repositories are read. */
const RenvLock = z
  .looseObject({ R: z.looseObject({ Repositories: z.unknown() }) })
  .transform(({ R }) => R.Repositories);

const isAddress = (text: string) =>
  scpLike.test(text) ||
  (/^[a-z][a-z\d+.-]*:(?!\s)/i.test(text) && !/^(?:npm|workspace|patch):/i.test(text)) ||
  /^[\w.-]+\/[\w.-]+(?:#|$)/.test(text);

function everyText(json: unknown): Link[] {
  const links: Link[] = [];
  const open: unknown[] = [json];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (typeof one === "string") for (const link of addressesIn(one)) links.push(link);
    else if (typeof one === "object" && one !== null) {
      links.push(...fieldLinks(one as Record<string, unknown>));
      for (const [key, value] of Object.entries(one)) open.push(key, value);
    }
  }
  return links;
}

function fieldLinks({ type, owner, repo, path }: Record<string, unknown>): Link[] {
  // Lock files of Pipenv and of Nix.
  const local = typeof path === "string" ? [{ address: `file:${path}` }] : [];
  if (typeof owner !== "string" || typeof repo !== "string") return local;
  return [...local, { address: `https://${String(type)}.com/${owner}/${repo}` }];
}

/** Limited, so that no text makes it slow. */
const address =
  /(?:(?<![a-z\d+.-])[a-z][a-z\d+.-]{1,20}:\/\/|(?<![\w.-])[\w.-]{1,40}@[\w.-]{1,100}\.[a-z]{2,20}:(?=[\w/])|\b(?:github|gitlab|bitbucket|gist):(?=[\w-])|\b(?:file|link|portal):(?=[\w.~/\\]))[^\s"'`<>,;)\]}]{1,2000}/gi;

/** A place in the repository, in the syntax of Python's and Ruby's tools and pnpm. */
const localValue =
  /\b(?:url|path|directory|editable|remote)\s?[:=]\s?["']?(?![a-z][a-z\d+.-]*:|[\w.-]+@)([^\s"',}]{1,2000})/gi;

const localsIn = (line: string): Link[] =>
  [...line.matchAll(localValue)].map(([, path = ""]) => ({ address: `file:${path}` }));

const addressesIn = (text: string): Link[] =>
  [...text.matchAll(address)].map(([found]) => ({ address: found }));

/** Descriptions of a package for people; pnpm's keys of sources are never on such a line. */
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
    if (name !== "yarn.lock") {
      links.push(...addressesIn(read), ...localsIn(read));
      continue;
    }
    for (const { address: found } of addressesIn(read)) links.push(npmLink(found, wanted));
    const [, resolved] = /^\s+resolution: "?(@?[^@"\s]+)@(?:patch:(?:@?[^@"\s]+)@)?npm:/.exec(read) ?? [];
    if (resolved !== undefined && resolved !== wanted)
      links.push({ address: "npm", mismatch: `${resolved} for ${wanted}` });
  }
  return links;
}
