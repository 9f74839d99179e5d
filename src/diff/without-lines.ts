import { posix } from "node:path";
import { takesEffect } from "./takes-effect.ts";

/*
 * Changes that no diff shows as lines but that take effect. Their reasons are text for people.
 */

/** A link that is new or has a new target. */
export const LINK = "symbolic link to another place";
export const LINK_OUT = "symbolic link out of the repository";
const SUBMODULE = "submodule at another commit";
const SUBMODULE_ADDED = "new submodule";
/** Only in a work tree: no commit holds what is edited inside. */
export const SUBMODULE_EDITED = "submodule with uncommitted changes";
const BINARY = "binary data";
const BINARY_THAT_RUNS = "binary that runs";

/**
 * Files that are loaded, run or installed unchanged. Data archives are not included; npm's packages are the `.tgz` files that a lock file
 * may name.
 */
const runnable =
  /\.(?:jar|war|ear|aar|class|dex|apk|aab|exe|dll|com|scr|msi|sys|so(?:\.[\d.]+)?|dylib|ko|a|lib|o|elf|node|wasm|py[cdo]|whl|egg|gem|crate|tgz|nupkg|phar|deb|rpm|pkg|dmg|appimage|vsix|crx|xpi)$/i;

/** A change as git lists it. Modes are git's six octal digits. */
export interface ListedChange {
  path: string;
  oldPath: string | null;
  oldMode: string;
  newMode: string;
  oldOid: string;
  newOid: string;
  /** Null if git considers the file binary. */
  additions: number | null;
}

/** git's mode of an executable file. */
export const EXECUTABLE = "100755";

/** What a link, a submodule or binary data does that no diff shows, and whether it is dangerous; null for anything else. */
export function effectWithoutLines(
  change: ListedChange,
): { reason: string; account: "unread" | "neutral" } | null {
  const { path, oldMode, newMode, oldOid, newOid, additions } = change;
  if (newMode === "120000") return { reason: LINK, account: "neutral" };
  if (newMode === "160000" && oldMode !== newMode) return { reason: SUBMODULE_ADDED, account: "neutral" };
  if (newMode === "160000") return oldOid === newOid ? null : { reason: SUBMODULE, account: "neutral" };
  if (!newMode.startsWith("100") || additions !== null) return null;
  const runs = newMode === EXECUTABLE || runnable.test(path) || takesEffect(path);
  return runs ? { reason: BINARY_THAT_RUNS, account: "unread" } : { reason: BINARY, account: "neutral" };
}

/** Whether a link at `path` leads out of the repository, into git's own folder, or to an unknown place. */
export function leadsOut(path: string, target: string): boolean {
  if (target === "" || /^[/\\~]|^[a-z]:|\0/i.test(target)) return true;
  const end = posix.normalize(posix.join(posix.dirname(path), target.replaceAll("\\", "/")));
  return end.split("/").some((name) => name === ".." || name.toLowerCase() === ".git");
}
