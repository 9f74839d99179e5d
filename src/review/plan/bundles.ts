import type { ChangedFile } from "../../tools/tool.ts";
import type { Links } from "./links.ts";

/** A file to be planned. */
export interface PlannedFile {
  /** Its place in the list of files that were related. */
  id: number;
  file: ChangedFile;
  risk: number;
}

/** Files that stay together: a test and what it tests, a header and its source. */
export interface Bundle {
  files: PlannedFile[];
  bytes: number;
  /** That of its riskiest file. */
  risk: number;
  /** Where it is in the tree: the path of its riskiest file. */
  path: string;
  /** Bundles that are related to this one and how closely. */
  related: Map<Bundle, number>;
}

/** Joins pairs of files as long as what comes of it has at most `maxBytes`. Everything else is a bundle of one file. */
export function bundleFiles(
  files: readonly PlannedFile[],
  { pairs, related }: Pick<Links, "pairs" | "related">,
  maxBytes: number,
): Bundle[] {
  const bundles = new Map(files.map((one) => [one.id, bundleOf(one)]));
  for (const [first, second] of pairs) {
    const [into, from] = [bundles.get(first), bundles.get(second)];
    if (!into || !from || into === from || into.bytes + from.bytes > maxBytes) continue;
    into.files.push(...from.files);
    into.bytes += from.bytes;
    if (from.risk > into.risk) [into.risk, into.path] = [from.risk, from.path];
    for (const { id } of from.files) bundles.set(id, into);
  }
  for (const [id, bundle] of bundles) {
    for (const [other, weight] of related[id] ?? []) {
      const to = bundles.get(other);
      if (to && to !== bundle) bundle.related.set(to, (bundle.related.get(to) ?? 0) + weight);
    }
  }
  return [...new Set(bundles.values())];
}

const bundleOf = (one: PlannedFile): Bundle => ({
  files: [one],
  bytes: one.file.diffBytes,
  risk: one.risk,
  path: one.file.change.path,
  related: new Map(),
});
