import { posix } from "node:path";
import { cargoLock } from "./cargo.ts";
import { composerLock } from "./composer.ts";
import { bundlerLock, goSum } from "./lines.ts";
import {
  DEFAULT,
  groupOf,
  HERE,
  hostOf,
  type Lock,
  type LockEntry,
  type Pair,
  PYPI_FILES,
  STRANGE,
  type Surroundings,
} from "./lock.ts";
import { bunLock, npmLock } from "./npm.ts";
import { NotRead, plainText } from "./parse.ts";
import { pnpmLock } from "./pnpm.ts";
import { pipfileLock, poetryLock, uvLock } from "./python.ts";
import { yarnLock } from "./yarn.ts";

/** An entry that a package manager only writes if somebody wants another program to be installed. */
export interface LockFault {
  /** Where the entry begins, 1-indexed; 1 if that is not known. */
  line: number;
  entry: string;
  /** `address`: it contradicts the entry. `host`: it is new. `name`: the package was from elsewhere. */
  what: "address" | "host" | "name" | "hash" | "needs" | "unreachable";
  /** What the entry does, as the end of a sentence, without any character that could be markup. */
  text: string;
}

export type LockReading =
  | { kind: "unread"; reason: string }
  /** `neutral`: a change that is not a fault, but that nobody has read. */
  | { kind: "read"; faults: readonly LockFault[]; neutral: string | null };

type Reader = (text: string, around: Surroundings) => Lock;

const readers: Record<string, Reader> = {
  "package-lock.json": npmLock,
  "npm-shrinkwrap.json": npmLock,
  "pnpm-lock.yaml": pnpmLock,
  "yarn.lock": yarnLock,
  "bun.lock": bunLock,
  "composer.lock": composerLock,
  "cargo.lock": cargoLock,
  "uv.lock": uvLock,
  "poetry.lock": poetryLock,
  "pipfile.lock": pipfileLock,
  "gemfile.lock": bundlerLock,
  "gems.locked": bundlerLock,
  "go.sum": goSum,
  "go.work.sum": goSum,
};

/** Reasons of lock files that are not read: their format is unknown, or its reader does not understand all of one. */
export const UNREADABLE_LOCK = "lock file that cannot be read";
export const NO_PARSER = "lock file in a format that is not read";

/**
 * Reads both states of a lock file whole and compares each package: its source, its hashes, its needs, and whether anything needs it.
 * @param before null for a new file, whose places are only named
 * @param manifests the texts of `package.json` in its folder, before and after the change
 */
export function compareLocks(
  path: string,
  before: string | null,
  after: string,
  manifests: readonly [before: string, after: string] = ["", ""],
): LockReading {
  const name = posix.basename(path).toLowerCase();
  const read = Object.hasOwn(readers, name) ? readers[name] : undefined;
  if (read === undefined) return { kind: "unread", reason: NO_PARSER };
  const parse = (text: string, manifest: string) =>
    read(plainText(text), { folder: posix.dirname(path), manifest });
  try {
    const now = parse(after, manifests[1]);
    return compared(now, before === null ? null : parse(before, manifests[0]), after);
  } catch (error) {
    const why = error instanceof NotRead ? ` (${error.message})` : "";
    return { kind: "unread", reason: UNREADABLE_LOCK + why };
  }
}

/** A repository has the same version at many commits. */
const idOf = ({ name, version, commit }: LockEntry) =>
  `${name} ${version}${commit === null ? "" : ` ${commit}`}`;
const scopeOf = (name: string) => /^@[^/]+\//.exec(name)?.[0] ?? "";
/** A registry counts as a whole; on a host of repositories, a new package has a new repository. */
const sourcesOf = ({ kind, places }: LockEntry) => (kind === "registry" ? places : places.map(hostOf));

/** Several texts as one: no text of the base has the character between them, so no text of the head can pretend to be two. */
const joined = (...texts: string[]) => texts.join("\0");

/** The facts of the base, each under the name of its package, with the version for what belongs to a version. */
function factsOf({ entries }: Lock) {
  const ids = entries.map(idOf);
  const hashed = entries.filter(({ hashes }) => hashes.some(isHash));
  const all = <T>(facts: (entry: LockEntry, id: string) => T[]) =>
    new Set(entries.flatMap((entry, at) => facts(entry, ids[at] ?? "")));
  return {
    versions: new Set(ids),
    places: groupOf(
      entries.flatMap(({ name, places }) =>
        [name, scopeOf(name)].flatMap((key) => places.map((place) => [key, place] as const)),
      ),
    ),
    sources: new Set(entries.flatMap(sourcesOf)),
    faults: all(({ name, fault }) => (fault === null ? [] : [joined(name, fault)])),
    strange: new Set(entries.filter(({ fault }) => fault?.startsWith(STRANGE)).map(({ name }) => name)),
    commits: all(({ name, commit }) => (commit === null ? [] : [joined(name, commit)])),
    fixed: all(({ fixed }, id) => fixed.map(([key, value]) => joined(id, key, value))),
    artifacts: groupOf(hashed.flatMap((entry) => entry.hashes.map(([key]) => [idOf(entry), key] as const))),
    hashes: all(({ hashes }, id) => hashes.map(([key, hash]) => joined(id, key, hash))),
    hashed: new Set(hashed.map(({ name }) => name)),
    hashedIds: new Set(hashed.map(({ id }) => id)),
  };
}

type Facts = ReturnType<typeof factsOf>;
type Fault = Pick<LockFault, "what" | "text">;

function compared(now: Lock, then: Lock | null, text: string): LockReading {
  const base = then === null ? null : factsOf(then);
  const moved = base === null ? null : movedTo(now, base);
  const stray = strayIn(now, then);
  const isSame = now.settings === then?.settings;
  const isStray = (entry: LockEntry) => stray.has(entry.id) && base?.versions.has(idOf(entry)) !== true;
  const rules = (entry: LockEntry) => [
    (wasStrange(entry, base) ? null : faultOf("address", entry.fault)) ??
      (base && placeFault(entry, base, moved)),
    base && hashFault(entry, base),
    base && isSame ? needsFault(entry, base) : null,
    isStray(entry) && now.isOpen !== true ? unneeded : null,
  ];
  const faults = now.entries.flatMap((entry) =>
    rules(entry).flatMap((one) => (one === null ? [] : [{ entry, one }])),
  );
  // The second version of npm's format has everything twice.
  const unique = new Map(
    faults.map((fault) => [`${idOf(fault.entry)} ${fault.one.text}`, fault] as const).reverse(),
  );
  const lines = linesOf(text, new Set(faults.map(({ entry }) => entry.line)));
  const shown = [...unique.values()].reverse().map(({ entry, one: { what, text } }) => ({
    line: lines.get(entry.line) ?? 1,
    entry: plainly(idOf(entry).trim()),
    what,
    text: plainly(text),
  }));
  return {
    kind: "read",
    faults: shown,
    neutral: neutralOf(now, base, moved) ?? (now.entries.some(isStray) ? STRAY : null),
  };
}

/** Whether it had this fault before, or any other one at the same place: some registries have addresses of their own. */
function wasStrange({ name, fault, places }: LockEntry, base: Facts | null): boolean {
  if (fault === null || base === null) return false;
  const isHere = places.every((place) => base.places.get(name)?.has(place) === true);
  return base.faults.has(joined(name, fault)) || (isHere && base.strange.has(name));
}

const faultOf = (what: LockFault["what"], text: string | null): Fault | null =>
  text === null ? null : { what, text };
const STRAY = "lock file with a package that nothing in it needs";
const unneeded = faultOf("unreachable", "is needed by nothing");

/** Text that is safe wherever it is shown: names of hosts, packages and folders use few characters. */
const plainly = (text: string) => text.slice(0, 200).replace(/[^\w ./:@,()+#~=-]/g, "?");

/** The new registry, if all packages now come from it and at least two came from another one before; else null. */
function movedTo(now: Lock, base: Facts): string | null {
  const fetched = now.entries.filter(({ kind, places }) => kind === "registry" && places.length > 0);
  const places = new Set(fetched.flatMap((entry) => entry.places).filter((place) => place !== PYPI_FILES));
  const [only = ""] = places;
  const moved = new Set(fetched.map(({ name }) => name).filter((name) => base.places.has(name)));
  const isSafe = only === DEFAULT || !/^http:| /.test(only);
  return places.size === 1 && isSafe && !base.sources.has(only) && moved.size > 1 ? only : null;
}

function placeFault(entry: LockEntry, base: Facts, moved: string | null): Fault | null {
  const { name, places } = entry;
  const known = base.places.get(name);
  const scope = scopeOf(name);
  const inScope = scope === "" ? undefined : base.places.get(scope);
  const sources = sourcesOf(entry);
  const fresh = places.find((place, at) => {
    const isMoved = place === moved || (moved !== null && place === PYPI_FILES && known?.has(DEFAULT));
    if (isMoved || known?.has(place) === true) return false;
    if (known !== undefined) return true;
    const isTaken = entry.kind === "registry" && inScope?.has(place) === false;
    return place !== HERE && (isTaken || !base.sources.has(sources[at] ?? place));
  });
  if (fresh === undefined) return null;
  const before = [...(known ?? inScope ?? [])].slice(0, 3).join(", ");
  const was = known === undefined && before !== "" ? `other packages of ${scope} came` : "it came";
  const text = before === "" ? "nothing came from there before" : `${was} from ${before}`;
  return {
    what: base.sources.has(fresh) || fresh === HERE ? "name" : "host",
    text: `comes from ${fresh}, and ${text}`,
  };
}

const isHash = ([key]: Pair) => !key.endsWith(" none");

const strengths = ["none", "md5", "sha1", "sha224", "sha256", "sha384", "sha512"];

/** The strongest algorithm of each artifact; Yarn's kinds of archives have numbers. */
function strengthsOf(keys: Iterable<string>): Map<string, number> {
  const found = new Map<string, number>();
  for (const key of keys) {
    const [artifact = "", algorithm = ""] = key.split(" ");
    const strength = strengths.includes(algorithm)
      ? strengths.indexOf(algorithm)
      : Number.parseInt(algorithm, 10) || 0;
    found.set(artifact, Math.max(found.get(artifact) ?? 0, strength));
  }
  return found;
}

function hashFault(entry: LockEntry, base: Facts): Fault | null {
  const { name, kind, hashes } = entry;
  const id = idOf(entry);
  const fault = (text: string) => ({ what: "hash", text }) as const;
  const keys = base.artifacts.get(id);
  const hadHash = keys !== undefined && (kind !== "folder" || base.hashedIds.has(entry.id));
  const isUpdate = kind === "registry" && base.hashed.has(name) && !base.versions.has(id);
  const isBare = hashes.length === 0 || (kind === "registry" && !hashes.every(isHash));
  if (isBare && (hadHash || isUpdate)) return fault("has no hash any more");
  if (hashes.length === 0) return null;
  // The files of a folder are reviewed.
  if (keys === undefined || entry.places[0] === HERE) return null;
  const isOther = hashes.some(([key, hash]) => keys.has(key) && !base.hashes.has(joined(id, key, hash)));
  if (isOther) return fault("has another hash than the same version had before");
  const before = strengthsOf(keys);
  const now = [...strengthsOf(hashes.map(([key]) => key))];
  // Yarn hashes its own archives since its second version.
  if (now[0]?.[0] === "archive" && before.has("package")) return null;
  if (!now.some(([artifact]) => before.has(artifact)))
    return fault("has none of the hashes that the same version had before");
  const isWeaker = now.some(([artifact, strength]) => strength < (before.get(artifact) ?? 0));
  return isWeaker ? fault("only has a hash of a weaker kind than before") : null;
}

function needsFault(entry: LockEntry, base: Facts): Fault | null {
  if (entry.kind === "folder" || !base.versions.has(idOf(entry))) return null;
  const id = idOf(entry);
  const other = entry.fixed.find(([key, value]) => !base.fixed.has(joined(id, key, value)));
  return faultOf(
    "needs",
    other === undefined ? null : `asks for another ${other[0]} than the same version did before`,
  );
}

/** The ids of entries that the roots do not reach; none if the format has no roots. */
function strayIn(now: Lock, then: Lock | null): ReadonlySet<string> {
  // The same manifest asks for the same packages.
  const isSameManifest = now.manifest !== undefined && now.manifest === then?.manifest;
  const known = new Set(isSameManifest ? then?.entries.map(({ name }) => name) : []);
  const hasRoots = known.size > 0 || [now, then].some((lock) => lock?.entries.some(({ isRoot }) => isRoot));
  if (!hasRoots || now.entries.every(({ needs }) => needs === null)) return new Set();
  const byId = new Map(now.entries.map((entry) => [entry.id, entry]));
  const stray = new Set(byId.keys());
  // What is in the repository is reviewed, needed or not.
  const open = now.entries.filter(
    ({ isRoot, places, name }) => isRoot || known.has(name) || places.includes(HERE),
  );
  for (const { id } of open) stray.delete(id);
  // Many may need the same name of many, so each name is followed once.
  const followed = new Set<string>();
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    for (const need of one.needs ?? []) {
      if (followed.has(need)) continue;
      followed.add(need);
      const next = [...(now.named?.get(need) ?? [need])].filter((id) => stray.delete(id));
      open.push(...next.flatMap((id) => byId.get(id) ?? []));
    }
  }
  return stray;
}

const most = 3;

function neutralOf(now: Lock, base: Facts | null, moved: string | null): string | null {
  if (moved !== null) return `lock file whose packages all come from another registry (${plainly(moved)})`;
  if (base === null) {
    // Composer has a repository for each package.
    const named = now.entries.filter(({ kind, commit }) => kind !== "repository" || commit !== null);
    const places = new Set(named.flatMap(sourcesOf).filter((place) => place !== DEFAULT && place !== HERE));
    const rest = places.size > most ? ` and ${places.size - most} more` : "";
    return places.size === 0
      ? null
      : `new lock file with packages from other places (${plainly([...places].slice(0, most).join(", "))}${rest})`;
  }
  const isOther = ({ name, commit }: LockEntry) => commit !== null && !base.commits.has(joined(name, commit));
  if (now.entries.some(isOther)) return "lock file with a package at another commit";
  const isHere = ({ kind, places, name }: LockEntry) =>
    kind === "folder" && places.length === 0 && base.places.has(name);
  if (now.entries.some(isHere)) return "lock file with a package that is in the repository now";
  const isBare = ({ kind, hashes, name }: LockEntry) =>
    kind === "registry" && hashes.length === 0 && !base.places.has(name);
  return base.hashed.size > 0 && now.entries.some(isBare)
    ? "lock file with a new package without a hash"
    : null;
}

function linesOf(text: string, wanted: ReadonlySet<string>): Map<string, number> {
  const found = new Map<string, number>();
  let last = "";
  for (const [at, line] of (wanted.size === 0 ? [] : text.split("\n")).entries()) {
    const trimmed = line.trim();
    const bare = /^['"].*['"]:$/.test(trimmed)
      ? `${trimmed.slice(1, -2)}:`
      : trimmed.replace(/ \[".*$/, " [");
    for (const key of [trimmed, bare]) if (wanted.has(key) && !found.has(key)) found.set(key, at + 1);
    const both = `${last}\n${trimmed}`;
    if (wanted.has(both) && !found.has(both)) found.set(both, at);
    last = trimmed;
  }
  return found;
}
