import { posix } from "node:path";
import { staysWorkflow, takesEffect } from "./takes-effect.ts";

/*
 * Changes of which no diff shows a line, and which do something all the same. Their reasons are words that people read.
 */

/** A link that was set anew, or leads to another place. */
export const LINK = "symbolic link to another place";
export const LINK_OUT = "symbolic link out of the repository";
export const SUBMODULE = "submodule at another commit";
export const BINARY_THAT_RUNS = "binary that runs";
export const RENAMED_INTO_EFFECT = "renamed to where it takes effect";
export const RENAMED_OUT_OF_EFFECT = "renamed from where it took effect";
export const EXECUTABLE_IN_EFFECT = "made executable where it takes effect";

/** What happens all the time and is rarely an attack. Nobody has read it, but nobody shall be stopped for it either. */
const routine: ReadonlySet<string> = new Set([LINK, SUBMODULE]);

const all: ReadonlySet<string> = new Set([
  ...[...routine, LINK_OUT, BINARY_THAT_RUNS],
  ...[RENAMED_INTO_EFFECT, RENAMED_OUT_OF_EFFECT, EXECUTABLE_IN_EFFECT],
]);

/** Whether a file was skipped although its change, which has no lines, does something that nobody has looked at. */
export const isUnreadWithoutLines = (reason: string): boolean => all.has(reason);

/** Whether that is routine, so that it keeps a check from being green and never turns it red. */
export const isRoutineWithoutLines = (reason: string): boolean => routine.has(reason);

/** Files that are loaded or run as they are, or installed. Archives of data are not among them; npm's packages are the `.tgz` that a lock file may name. */
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
  /** Null where git calls the file binary. */
  additions: number | null;
}

/** git's mode of a file that may be run. */
export const EXECUTABLE = "100755";

/** What a change without lines does, in a few words; null for one that does nothing by itself. */
export function effectWithoutLines(change: ListedChange): string | null {
  const { path, oldPath, oldMode, newMode, oldOid, newOid, additions } = change;
  if (newMode === "120000") return LINK;
  if (newMode === "160000") return oldOid === newOid ? null : SUBMODULE;
  if (!newMode.startsWith("100")) return null;
  if (additions === null && (newMode === EXECUTABLE || runnable.test(path) || takesEffect(path)))
    return BINARY_THAT_RUNS;
  if (oldPath !== null) return effectOfRename(path, oldPath);
  const isMadeExecutable = oldMode === "100644" && newMode === EXECUTABLE && oldOid === newOid;
  return isMadeExecutable && takesEffect(path) ? EXECUTABLE_IN_EFFECT : null;
}

function effectOfRename(path: string, oldPath: string): string | null {
  if (staysWorkflow(path, oldPath)) return null;
  if (takesEffect(path)) return RENAMED_INTO_EFFECT;
  return takesEffect(oldPath) ? RENAMED_OUT_OF_EFFECT : null;
}

/** Whether a link at `path` leads out of the repository, into git's own folder, or nobody can say where. */
export function leadsOut(path: string, target: string): boolean {
  if (target === "" || /^[/\\~]|^[a-z]:|\0/i.test(target)) return true;
  const end = posix.normalize(posix.join(posix.dirname(path), target.replaceAll("\\", "/")));
  return end.split("/").some((name) => name === ".." || name.toLowerCase() === ".git");
}
