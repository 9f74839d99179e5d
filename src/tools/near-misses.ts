import { distance } from "fastest-levenshtein";

const MAX_SUGGESTIONS = 3;

const fold = (path: string) => path.normalize("NFC").toLowerCase();
const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/") + 1);

/** Folders that two paths do not share, counted from the root. */
export function folderDistance(left: string, right: string): number {
  const [a, b] = [left.split("/"), right.split("/")];
  let shared = 0;
  while (shared < Math.min(a.length, b.length) && a[shared] === b[shared]) shared += 1;
  return a.length + b.length - 2 * shared;
}

/** Smaller is nearer; undefined when a path has nothing to do with the one wanted. */
function score(wanted: string, candidate: string): number | undefined {
  const path = fold(candidate);
  if (path === wanted) return 0;
  const [wantedName, name] = [nameOf(wanted), nameOf(path)];
  const apart = Math.min(folderDistance(folderOf(wanted), folderOf(path)), 20) / 100;
  if (name === wantedName) return 1 + apart;
  // Two letters changed places count as two.
  const limit = wantedName.length < 5 ? 1 : Math.max(2, Math.floor(wantedName.length / 4));
  // Names of other lengths cannot be near, and most names are of other lengths.
  if (Math.abs(wantedName.length - name.length) > limit) return undefined;
  const typos = distance(wantedName, name);
  return typos > limit ? undefined : 1 + typos + apart;
}

/** The paths a caller most likely meant: same name elsewhere, another case, a few letters apart. Best first. */
export function nearMisses(wanted: string, paths: Iterable<string>): string[] {
  const folded = fold(wanted);
  const scored: { path: string; score: number }[] = [];
  for (const path of paths) {
    const one = score(folded, path);
    if (one !== undefined) scored.push({ path, score: one });
  }
  return scored
    .sort((left, right) => left.score - right.score)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ path }) => path);
}

/** `; did you mean 'a' or 'b'?`, or nothing. */
export function didYouMean(suggestions: readonly string[]): string {
  return suggestions.length === 0
    ? ""
    : `; did you mean ${suggestions.map((one) => `'${one}'`).join(" or ")}?`;
}
