import { readFile } from "node:fs/promises";
import { z } from "zod";
import { AppError, errorLine } from "../errors.ts";
import { Finding } from "../finding.ts";
import type { FixTarget } from "../review/fix/fix-input.ts";
import { ReviewResult } from "../review/review-result.ts";
import { readRunFile } from "./run-file.ts";
import { localRunIds, runPath } from "./run-record.ts";

export interface FindingQuery {
  /** Of a finding, or "all". */
  id: string;
  /** What `review --format json` printed; undefined looks among the records of local reviews. */
  file: string | undefined;
  /** Where those are; null where none are kept. */
  folder: string | null;
  /** The commit that was reviewed, and is to be repaired. */
  head: string;
}

/** What a repair needs of a printed review. Reports of other versions have other fields beside these. */
const Printed = z.object({
  head_sha: z.string(),
  findings: z.array(
    Finding.pick({
      id: true,
      path: true,
      side: true,
      line: true,
      title: true,
      body: true,
      evidence: true,
    })
      .extend({ rule: z.string().nullable().default(null) })
      .strip(),
  ),
});
type Found = z.infer<typeof Printed>["findings"][number];

/** The findings of a review of this head. Rejects with `usage` where there is no such review or no such finding. */
export async function findingsToFix(query: FindingQuery): Promise<FixTarget[]> {
  const { id, file, head } = query;
  const found = file === undefined ? await recordedFindings(query) : await printedFindings(file, head);
  const wanted = id === "all" ? found : found.filter((one) => one.id === id);
  if (wanted.length > 0) return wanted.map(targetOf);
  if (found.length === 0) {
    throw new AppError(
      "usage",
      `there is nothing to repair: the review of ${head.slice(0, 12)} found nothing`,
    );
  }
  const listed = found.map((one) => `${one.id} ${one.path}:${one.line} ${one.title}`).join("; ");
  throw new AppError("usage", `there is no finding '${id}' to repair`, {
    remedy: `The findings are: ${listed}`,
  });
}

async function printedFindings(file: string, head: string): Promise<Found[]> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new AppError("usage", `${file} cannot be read: ${errorLine(error)}`);
  });
  const parsed = Printed.safeParse(jsonOf(text));
  if (!parsed.success) {
    throw new AppError("usage", `${file} is not what a review printed`, {
      remedy: "Write it with hunkwise review --output FILE.json.",
    });
  }
  if (parsed.data.head_sha !== head) throw otherHead(parsed.data.head_sha, head);
  return parsed.data.findings;
}

/** Of the newest review on record that was of this head. */
async function recordedFindings({ folder, head }: FindingQuery): Promise<Found[]> {
  if (folder === null) {
    throw new AppError("usage", "reviews leave no record here, as there is no home folder", {
      remedy: "Set HUNKWISE_DATA_DIR, or write a review with --output FILE.json and name it with --from.",
    });
  }
  const paths = (await localRunIds(folder)).map((id) => runPath(folder, id));
  for (const path of paths) {
    // One that is damaged, or gone by now, is no review of this head; hunkwise runs tells of it.
    const { entries } = await readRunFile(path).catch(() => ({ entries: [] }));
    const last = entries.map(({ entry }) => entry).findLast((entry) => entry.kind === "result");
    if (last?.head !== head) continue;
    const { data } = ReviewResult.safeParse(last.result);
    if (data) return data.findings.map(({ finding }) => ({ ...finding, rule: finding.source }));
  }
  throw new AppError("usage", `no review of ${head.slice(0, 12)} is on record`, {
    remedy: "Run hunkwise review first, or write it with --output FILE.json and name that with --from.",
  });
}

const otherHead = (reviewed: string, head: string) =>
  new AppError("usage", `that review was of ${reviewed.slice(0, 12)}, and the head is ${head.slice(0, 12)}`, {
    remedy: "Review the head first, or name the commit that was reviewed with --head.",
  });

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function targetOf({ id, path, side, line, title, body, evidence, rule }: Found): FixTarget {
  const files = [...new Set(evidence.map((one) => one.path).filter((file) => file !== path))];
  return {
    ...{ id, path, side, title, files, symbol: null, source: rule, finding: body, conversation: [] },
    ...{ line, original_line: line },
  };
}
