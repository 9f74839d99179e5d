import { posix } from "node:path";
import {
  DEFAULT,
  entryOf,
  fileAt,
  fileIn,
  groupOf,
  type LockEntry,
  type Pair,
  plainAddress,
  repositoryAt,
  type Source,
  STRANGE,
  type Surroundings,
} from "./lock.ts";
import { refuse } from "./parse.ts";

/** A package of npm's registry, for all tools that install them. */
export interface NodePackage extends Pick<LockEntry, "id" | "name" | "version" | "line"> {
  /** The name under which it is used. Default: its own. */
  used?: string;
  /** Default, or null: the tool computes it from name and version. */
  address?: string | null;
  integrity?: string | undefined;
  /** The commands that it installs: files by name, or the one that is called like it. */
  bin?: unknown;
  links?: readonly Link[];
  /** What manifests ask for. Default: what the links to it say. */
  asked?: readonly string[];
  /** Anything that the other fields do not decide. */
  more?: Partial<LockEntry>;
}

interface Link {
  used: string;
  /** What is asked for; pnpm only has what is found. */
  range: string;
  /** Whether the same version may have another one, or none. */
  varies?: boolean;
  to: string | undefined;
}

/** @param isWhole whether the file says all that manifests ask for @param folder the folder of the lock file */
export function nodeEntries(
  packages: readonly NodePackage[],
  isWhole: boolean,
  { folder, manifest }: Surroundings,
): LockEntry[] {
  const open = new Set(packages.filter((one) => one.asked === undefined).map(({ id }) => id));
  const links = packages.flatMap((one) => one.links?.filter(({ to = "" }) => open.has(to)) ?? []);
  const asked = groupOf(links.map(({ to = "", range }) => [to, range]));
  return packages.map((one) => {
    const { id, name, version, line, links = [], integrity, more } = one;
    const ranges = one.asked ?? [...(asked.get(id) ?? [])];
    const misnamed = nameFault(one, ranges, manifest);
    return entryOf({
      id,
      name,
      version,
      line,
      hashes: integrityOf(integrity),
      needs: links.flatMap(({ to }) => to ?? []),
      fixed: commandsOf(one).concat(
        links.flatMap(({ used, range, varies }) => (varies === true ? [] : [[used, range] as const])),
      ),
      ...(more?.places === undefined ? sourceOf(one, one.asked || isWhole ? ranges : null, folder) : {}),
      ...misnamed,
      ...more,
    });
  });
}

const gitLike =
  /^(?:git|ssh)|\.git(?:#|$)|^https:\/\/(?:codeload\.)?github\.com\/|^(?:(?:github|gitlab|bitbucket):)?[\w.-]+\/[\w.-]+(?:#|$)/;
const localAddress = /^(?:file|link|portal):(?!\/\/)/;

const commandsOf = ({ name, bin }: NodePackage): Pair[] => {
  const files = typeof bin === "string" ? { [name.replace(/^.*\//, "")]: bin } : bin;
  return Object.entries(files ?? {}).map(([command, file]) => [
    `command ${command}`,
    posix.normalize(String(file)),
  ]);
};

const aliasForm = /^npm:((?:@[^/]+\/)?[^@]+)@/;

/** A package has another name than its user only where a range, or an override in the manifest, says so; and then it has that one. */
export function nameFault(
  { name, used = name }: Pick<NodePackage, "name" | "used">,
  asked: readonly string[],
  manifest: string,
): Pick<LockEntry, "fault"> | null {
  const aliases = new Set(asked.flatMap((range) => aliasForm.exec(range)?.[1] ?? []));
  const isSaid = aliases.has(name) || manifest.includes(`"npm:${name}@`);
  if (isSaid || (name === used && aliases.size === 0)) return null;
  return { fault: `is installed as ${used}, which no manifest says` };
}

/** The source of a package, and whether it is the one that was asked for. `asked` is null if that is not known. */
function sourceOf(
  { name, version, address = null }: NodePackage,
  asked: readonly string[] | null,
  folder: string,
): Source {
  const usual: Source = { kind: "registry", places: [DEFAULT] };
  const registry = address === null ? DEFAULT : registryOf(address, name, version);
  if (address === null || registry !== null) return { ...usual, places: [registry ?? DEFAULT] };
  if (localAddress.test(address)) return fileIn(folder, address.replace(localAddress, ""));
  const repository = gitLike.test(address) ? repositoryAt(address) : null;
  const isAsked = (range: string) =>
    range === address || (repository !== null && repositoryAt(range)?.places[0] === repository.places[0]);
  const fault = `${STRANGE} that is not of its name and version (${address})`;
  return { ...(repository ?? fileAt(address)), ...(asked?.some(isAsked) === false ? { fault } : {}) };
}

const defaults = new Set(["registry.npmjs.org", "registry.yarnpkg.com"]);

/** The registry that has exactly this package and version at an address; null if that is none. */
function registryOf(address: string, name: string, version: string): string | null {
  const { host = "", path = "" } = plainAddress(address) ?? {};
  const bare = name.replace(/^.*\//, "");
  const [number = ""] = version.split("+");
  const usual = `/${name}/-/${bare}-${number}.tgz`;
  if (defaults.has(host)) return path === usual ? DEFAULT : null;
  const others = [
    `${name}/-/${name}-${number}`,
    `${name}/${number}/${bare}-${number}`,
    `${name}/-/${number}/${bare}-${number}`,
  ];
  const end = [usual, ...others.map((other) => `/${other}.tgz`)].find((one) => path.endsWith(one));
  if (end !== undefined) return host + path.slice(0, -end.length);
  // GitHub ends with a digest; JSR has the number of its own format before the name.
  if (path.startsWith(`/download/${name}/${number}/`) && /\/[\da-f]{40,64}$/.test(path))
    return `${host}/download`;
  return host === "npm.jsr.io" && path.endsWith(`/${name}/${number}.tgz`) ? host : null;
}

const integrityForm = /^(md5|sha1|sha256|sha384|sha512)-([A-Za-z\d+/]+={0,2})$/;

/** Hashes in the format of subresource integrity. */
const integrityOf = (text = ""): Pair[] =>
  (text.match(/\S+/g) ?? []).map((word) => {
    const [, algorithm = "", hash = ""] = integrityForm.exec(word) ?? refuse("a hash of an unknown form");
    return [`package ${algorithm}`, hash];
  });
