import { configText } from "../config/load-config.ts";
import { isNestedName, nestedNames, rootPaths } from "../config/repo-config.ts";
import { AppError } from "../errors.ts";
import type { Ref, Workspace } from "../git/workspace.ts";
import { inlineCode } from "../text/fence.ts";
import { count } from "../tools/show.ts";
import type { ConfigVersion } from "./describe-config-change.ts";

/** A pull request may change any number of files; people read a few sentences. Parsing each may take a while. */
const most = { sentences: 20, places: 10 };

/**
 * What a change would change in the configuration of reviews once it is merged, a sentence each: by key from old to new values,
 * and what is wrong with the files at the head. The texts are whatever the pull request holds.
 */
export async function findConfigChanges(
  workspace: Pick<Workspace, "changes" | "tree" | "readBlob">,
): Promise<string[]> {
  const changes = await workspace.changes();
  const touched = changes.flatMap(({ path, oldPath }) => (oldPath === null ? [path] : [path, oldPath]));
  const places = [...new Set(touched.flatMap(placeOf))];
  const sentences: string[] = [];
  for (const place of places.slice(0, most.places)) sentences.push(...(await changesAt(place, workspace)));
  const left = places.length - most.places;
  if (left > 0) sentences.push(`Configuration files of ${count(left, "more folder")} change, too.`);
  const beyond = sentences.length - most.sentences;
  if (beyond <= 0) return sentences;
  return [...sentences.slice(0, most.sentences - 1), `${count(beyond + 1, "more change")} of this kind.`];
}

/** Where one file counts, by the names it may have: the first one that exists. */
type Place = string;
const rootPlace: Place = "";

function placeOf(path: string): Place[] {
  if (rootPaths.some((one) => one === path)) return [rootPlace];
  return isNestedName(path) ? [path.slice(0, path.lastIndexOf("/") + 1) || "./"] : [];
}

function namesOf(place: Place): readonly string[] {
  if (place === rootPlace) return rootPaths;
  return nestedNames.map((name) => (place === "./" ? name : `${place}${name}`));
}

async function changesAt(place: Place, workspace: Pick<Workspace, "tree" | "readBlob">): Promise<string[]> {
  const at = (ref: Ref) => versionAt(place, ref, workspace);
  // What the base's tip has changed since is no change of this one.
  const [before, after] = [await at("merge_base"), await at("head")];
  // Few changes touch a configuration, and what reads one takes a review process a while to load.
  const { whyMisplaced } = await import("../config/load-config.ts");
  const { describeConfigChange, wouldBeRefused } = await import("./describe-config-change.ts");
  const misplaced =
    place === rootPlace || !after ? undefined : whyMisplaced(after.path, await workspace.tree("head"));
  if (after && misplaced) return [wouldBeRefused(inlineCode(after.path), [misplaced])];
  return describeConfigChange(place === rootPlace ? "root" : "nested", before, after);
}

async function versionAt(
  place: Place,
  ref: Ref,
  workspace: Pick<Workspace, "tree" | "readBlob">,
): Promise<ConfigVersion | undefined> {
  const tree = await workspace.tree(ref);
  const path = namesOf(place).find((name) => tree.has(name));
  const entry = path === undefined ? undefined : tree.get(path);
  if (path === undefined || entry === undefined) return undefined;
  if (!entry.mode.startsWith("100")) return { path, text: null };
  try {
    return { path, text: configText(await workspace.readBlob(entry.oid)) };
  } catch (error) {
    if (error instanceof AppError && error.code === "too_large") return { path, text: null };
    throw error;
  }
}
