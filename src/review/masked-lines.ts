import type { Finding } from "../finding.ts";
import type { Range } from "../secrets/ranges.ts";
import type { ChangedFile } from "../tools/tool.ts";
import type { ReviewDependencies } from "./dependencies.ts";
import type { MaskedLine } from "./review-result.ts";

/**
 * Where the change adds a value that the model was shown as a mask and that no finding of the secrets analyzer tells of: the first line of
 * each. What a model cannot read nobody may take for reviewed.
 */
export async function maskedLines(
  files: readonly ChangedFile[],
  findings: readonly Pick<Finding, "path" | "line" | "source">[],
  deps: Pick<ReviewDependencies, "workspace" | "diffs" | "masking">,
): Promise<MaskedLine[]> {
  const all: MaskedLine[] = [];
  for (const { change, reviewable } of files) {
    if (!reviewable || change.type === "deleted") continue;
    const told = findings.filter(({ path, source }) => path === change.path && source.startsWith("secrets/"));
    const lines = await maskedIn(change, new Set(told.map(({ line }) => line)), deps);
    all.push(...lines.map((line) => ({ path: change.path, line })));
  }
  return all;
}

async function maskedIn(
  change: ChangedFile["change"],
  told: ReadonlySet<number>,
  { workspace, diffs, masking }: Pick<ReviewDependencies, "workspace" | "diffs" | "masking">,
): Promise<number[]> {
  const file = await workspace.readBlob(change.newOid).catch(() => null);
  if (!masking || file === null || file.binary || !masking.masks.holdsSecret(file.text)) return [];
  const { hunks } = await diffs.fileDiff(change, 0);
  const added = new Set(
    hunks.flatMap(({ lines }) => lines.flatMap((line) => (line.kind === "added" ? [line.newLine] : []))),
  );
  const firsts = (await masking.masks.secretsIn(file.text)).flatMap((range) => {
    const lines = linesOf(file.text, range);
    const first = lines.find((line) => added.has(line));
    return first === undefined || lines.some((line) => told.has(line)) ? [] : [first];
  });
  return [...new Set(firsts)];
}

function linesOf(text: string, { start, end }: Range): number[] {
  const first = text.slice(0, start).split("\n").length;
  const count = text.slice(start, end).split("\n").length;
  return Array.from({ length: count }, (_, at) => first + at);
}
