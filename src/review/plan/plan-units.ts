import type { ChangedFile } from "../../tools/tool.ts";
import { bundleFiles, type PlannedFile } from "./bundles.ts";
import { findLinks, type Links } from "./links.ts";
import { packBundles } from "./pack.ts";
import { fileRisk } from "./risk.ts";

/** A part of a change that one loop reviews. */
export interface Unit {
  /** "1", "2" ...: riskiest first; names the loop of the unit in the trajectory. */
  id: string;
  /** In the order in which they should be read: riskiest first, tests behind the code they test. */
  files: readonly ChangedFile[];
  /** Bytes of the rendered diff (with line numbers) of these files. */
  diffBytes: number;
  /** That of its riskiest file (`fileRisk`). */
  risk: number;
}

export interface Plan {
  units: readonly Unit[];
  /** Reviewable files for which the budget has no room, riskiest first. */
  left: readonly ChangedFile[];
}

export interface PlanOptions {
  /** The whole change; only reviewable files with hunks are planned. */
  files: readonly ChangedFile[];
  /** Rendered bytes of diff one unit may have. */
  unitBytes: number;
  /** Rendered bytes of diff that all units together may have; the rest is left. */
  totalBytes: number;
  /** First bytes of a changed file at head, cheap: `IMPORT_CHARACTERS` are looked at. */
  headStart(path: string): Promise<string>;
  /** Lines that analyzers matched, by path. */
  candidates: ReadonlyMap<string, number>;
}

/** Tests stay with their code where both take at most this part of a unit: with parts so small, units become four fifths full. */
const BUNDLE_SHARE = 1 / 5;

/**
 * Divides a change into units of related files, riskiest first. The same files give the same plan, in whatever order they come.
 *
 * - What is reviewed is decided file by file, riskiest first (by path where two are equal): a file is left when it is larger than
 *   what the riskier ones leave of `totalBytes`.
 * - A change that fits one unit is one unit. No two units would fit into one. A file that is larger than a unit is one by itself.
 */
export async function planUnits(options: PlanOptions): Promise<Plan> {
  const { unitBytes, totalBytes, candidates } = options;
  const files = options.files
    .filter((file) => file.reviewable && file.totalHunks > 0)
    .toSorted((a, b) => (a.change.path < b.change.path ? -1 : 1));
  const links = await findLinks(files, options.headStart);
  const ranked = files
    .map((file, id) => ({ id, file, risk: riskOf(file, links.users[id] ?? 0, candidates) }))
    .toSorted((a, b) => b.risk - a.risk);
  const { chosen, left } = choose(ranked, totalBytes);
  const bundles = bundleFiles(chosen, links, unitBytes * BUNDLE_SHARE);
  const units = packBundles(bundles, unitBytes).map((unit, at) => ({
    id: `${at + 1}`,
    files: readingOrder(
      unit.flatMap((bundle) => bundle.files),
      links,
    ),
    diffBytes: unit.reduce((sum, bundle) => sum + bundle.bytes, 0),
    risk: unit[0]?.risk ?? 0,
  }));
  return { units, left };
}

function riskOf(file: ChangedFile, users: number, candidates: PlanOptions["candidates"]): number {
  return fileRisk(file, { candidates: candidates.get(file.change.path) ?? 0, users });
}

function choose(ranked: readonly PlannedFile[], totalBytes: number) {
  const chosen: PlannedFile[] = [];
  const left: ChangedFile[] = [];
  let room = totalBytes;
  for (const one of ranked) {
    if (one.file.diffBytes > room) {
      left.push(one.file);
      continue;
    }
    room -= one.file.diffBytes;
    chosen.push(one);
  }
  return { chosen, left };
}

/** Riskiest first, each followed by its tests as far as they are here. */
function readingOrder(files: readonly PlannedFile[], { tested }: Links): ChangedFile[] {
  const ranked = files.toSorted((a, b) => b.risk - a.risk || a.id - b.id);
  const here = new Set(files.map(({ id }) => id));
  const tests = Map.groupBy(ranked, ({ id }) => tested.get(id));
  const leading = ranked.filter(({ id }) => !here.has(tested.get(id) ?? -1));
  return leading.flatMap((one) => [one, ...(tests.get(one.id) ?? [])]).map(({ file }) => file);
}
