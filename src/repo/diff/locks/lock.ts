import { posix } from "node:path";
import { reasonByName } from "../skipped-names.ts";

export type Pair = readonly [key: string, value: string];

/** A package as a lock file has it. Which facts there are depends on the format; a missing one is no fault. */
export interface LockEntry {
  /** Unique in its file. */
  id: string;
  /** The package whose code is installed, whatever name it is used under. */
  name: string;
  version: string;
  /** What `places` are: a registry counts as a whole, of repositories and addresses only the host does if a package is new. */
  kind: "registry" | "repository" | "address" | "folder";
  places: readonly string[];
  /** How address, name and version contradict each other; null if they do not. */
  fault: string | null;
  /** Hashes that are accepted, each after its artifact and algorithm, with a space between these two. */
  hashes: readonly Pair[];
  /** What is the same wherever this version is installed: its dependencies, or what the tool does with it. */
  fixed: readonly Pair[];
  /** The entries that it may need, by id or by a key of `named`; null if the format does not say. */
  needs: readonly string[] | null;
  /** Whether the project itself asks for it, or it is the project. */
  isRoot: boolean;
  commit: string | null;
  /** One or two whole lines, trimmed, with which it begins. */
  line: string;
}

/** What decides of the meaning of a lock file besides its text. */
export interface Surroundings {
  folder: string;
  /** The text of `package.json` in the same folder; empty if there is none. */
  manifest: string;
}

export interface Lock {
  entries: LockEntry[];
  /** The ids that a need may mean, if needs are no ids. */
  named?: ReadonlyMap<string, ReadonlySet<string>>;
  /** What identifies the content of the manifest, if entries say what they need and not whether the project asks for them. */
  manifest?: string | undefined;
  /** Whether other files may add needs, such as Yarn's package extensions. */
  isOpen?: true;
  /** What else `fixed` depends on: it is only compared between files in which this is equal. */
  settings?: string | undefined;
}

/** The registry that a tool asks unless something else is configured. Tools name it in several ways, or not at all. */
export const DEFAULT = "the default registry";
/** The place of packages whose code is part of the repository, and reviewed like the rest of it. */
export const HERE = "this repository";

const usual: Omit<LockEntry, "id" | "name" | "version" | "line"> = {
  kind: "registry",
  places: [DEFAULT],
  fault: null,
  hashes: [],
  fixed: [],
  needs: null,
  isRoot: false,
  commit: null,
};

/** An entry with the usual value for each fact that its format leaves out. */
export const entryOf = (
  entry: Pick<LockEntry, "id" | "name" | "version" | "line"> & Partial<LockEntry>,
): LockEntry => ({ ...usual, ...entry });

export function groupOf<T>(pairs: Iterable<readonly [key: string, value: T]>): Map<string, Set<T>> {
  const groups = new Map<string, Set<T>>();
  for (const [key, value] of pairs) groups.set(key, (groups.get(key) ?? new Set()).add(value));
  return groups;
}

/** The part of an entry that its address decides. */
export type Source = Pick<LockEntry, "kind" | "places"> & Partial<LockEntry>;

const plain = /^(https?):\/\/([a-z\d](?:[a-z\d.-]*[a-z\d])?(?::\d{1,5})?)((?:\/[\w@.~+!-]+)*)\/?$/;
const hasDots = (path: string) => path.split("/").some((part) => part === "." || part === "..");

/** An address in its plainest form. Null for any other one, such as with a user, a question or an escape, which programs may read differently. */
export function plainAddress(address: string): { host: string; path: string } | null {
  // Registries escape these three, and every program reads them alike.
  const written = address
    .replace(/(\/@[\w.-]+)%2f/i, "$1/")
    .replace(/%2b/gi, "+")
    .replaceAll("%21", "!");
  const [, protocol, host = "", path = ""] = plain.exec(written) ?? [];
  if (protocol === undefined || hasDots(path)) return null;
  // Anyone can replace content that is fetched without encryption.
  return { host: protocol === "http" ? `http://${host}` : host, path };
}

/** Hosts with content from anyone: there the first parts of a path identify the owner. */
const shared =
  /^(?:.+\.)?(?:(?:github|githubusercontent|gitlab|bitbucket|codeberg|gitea|sr)\.(?:com|org|ht)|jsdelivr\.net|dev\.azure\.com|cloudsmith\.io|googleapis\.com|amazonaws\.com|windows\.net|pkg\.dev)$/;

/** A file at an address, which counts by its host or its owner. */
export function fileAt(address: string): Source {
  const found = plainAddress(address);
  if (found === null) return strange(address);
  const { host, path } = found;
  return {
    kind: "address",
    places: [shared.test(host) ? host + path.split("/").slice(0, 4).join("/") : host],
  };
}

/** Where the files of pypi.org are, also those that other indexes list. */
export const PYPI_FILES = "files.pythonhosted.org";

/** The same with its path, in which versions and hashes do not count: that of another package is another place. */
export function exactFileAt(address: string): Source {
  const { host = "", path = "" } = plainAddress(address) ?? {};
  const pattern = path.replace(/(?<![A-Za-z\d])(?:[\da-f]{7,}|v?\d[\w.+-]*)/g, "*");
  return host === "" ? strange(address) : { kind: "address", places: [host + pattern] };
}

/** How faults of addresses begin. */
export const STRANGE = "has an address";

export const strange = (address: string): Source => ({
  kind: "address",
  places: [address],
  fault: `${STRANGE} of a form that no tool writes (${address})`,
});

export const hostOf = (place: string): string => /^(?:http:\/\/)?[^/]*/.exec(place)?.[0] ?? "";

const at = String.raw`(?:\.git)?\/?(?:#([\w./:&=+~^-]*))?$`;
const byUrl = new RegExp(
  String.raw`^(?:git\+)?(https|ssh|http|git):\/\/(?:git@)?([\w.-]+(?::\d{1,5})?)[/:]([\w.~/-]+?)${at}`,
);
const byScp = new RegExp(String.raw`^()(?:git@)([\w.-]+):([\w.~/-]+?)${at}`);
const short = new RegExp(String.raw`^()(?:(github|gitlab|bitbucket):)?([\w.-]+\/[\w.-]+?)${at}`);
const archive = /^()https:\/\/(codeload\.github\.com)\/([\w.-]+\/[\w.-]+)\/tar\.gz\/([\w./-]+)$/;
const hosts = new Map(
  Object.entries({
    github: "github.com",
    gitlab: "gitlab.com",
    bitbucket: "bitbucket.org",
    "codeload.github.com": "github.com",
  }),
);

/** A repository, in any notation of package managers. Null if the address names none. */
export function repositoryAt(address: string): (Source & { places: [string]; commit: string }) | null {
  const forms = [archive, byUrl, byScp, short];
  const [, protocol, host = "github", path = "", commit = ""] =
    forms.map((form) => form.exec(address)).find((found) => found !== null) ?? [];
  if (path === "" || hasDots(path)) return null;
  const place = `${hosts.get(host) ?? host}/${path}`.toLowerCase();
  const isOpen = protocol === "http" || protocol === "git";
  return { kind: "repository", places: [isOpen ? `http://${place}` : place], commit };
}

/** Files that package managers unpack. */
const packed = /\.(?:tgz|tar(?:\.\w+)?|zip|whl|egg|gem|nupkg|crate|jar)$/i;

/** Code in the repository is reviewed, unless it is in an archive, in a skipped folder, or outside. Archives count by their folder. It is relative to `folder`. */
export function fileIn(folder: string, written: string): Source {
  const path = posix.join(folder, written).replace(/(.)\/+$/, "$1");
  const isOut = /^\.\.(?:\/|$)/.test(path) || /^[/~]|[\\%:?#]/.test(written);
  const isRead = !isOut && !packed.test(path) && reasonByName(`${path}/x`) === null;
  return isRead
    ? { kind: "folder", places: [HERE] }
    : {
        kind: "address",
        places: [`file:${isOut ? written : packed.test(path) ? `${posix.dirname(path)}/` : path}`],
      };
}
