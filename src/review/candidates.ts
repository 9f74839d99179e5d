import { sharedAnalyzers } from "../analyzers/all-analyzers.ts";
import { analyzeChange } from "../analyzers/analyze-change.ts";
import type { AnalyzedFile, Candidate } from "../analyzers/analyzer.ts";
import { errorLine } from "../errors.ts";
import { type Finding, holdsSecret } from "../finding.ts";
import type { Workspace } from "../git/workspace.ts";
import { splitLines } from "../text/cut.ts";
import type { ChangedFile, DiffSource } from "../tools/tool.ts";
import { createIdentities } from "./fingerprint.ts";
import type { ProgressEvent } from "./progress.ts";

/** A rule states no confidence of its own; docs/analyzers.md has the precision measured over all rules. */
const RULE_CONFIDENCE = 0.9;

/** Files analyzed at a time: their whole texts are held in memory. */
const BATCH = 16;

/** What the analyzers say about the reviewable files, as they state it and as findings. One that throws is reported. */
export async function findCandidates(
  files: readonly ChangedFile[],
  deps: {
    workspace: Workspace;
    diffs: DiffSource;
    progress(event: ProgressEvent): void;
    signal: AbortSignal;
  },
): Promise<{ candidates: Candidate[]; findings: Finding[] }> {
  const analyzers = sharedAnalyzers();
  const identify = createIdentities();
  const crash = (name: string, path: string, error: unknown) =>
    deps.progress({ type: "crash", where: `${name} on ${path}`, error: errorLine(error) });
  const candidates: Candidate[] = [];
  const findings: Finding[] = [];
  const present = files.filter((file) => file.reviewable && file.change.type !== "deleted");
  for (let at = 0; at < present.length; at += BATCH) {
    const batch = await analyzedFiles(present.slice(at, at + BATCH), deps.workspace, deps.diffs);
    const found = await analyzeChange(batch, deps.signal, crash, analyzers);
    candidates.push(...found);
    findings.push(...findingsOf(found, batch, identify));
  }
  return { candidates, findings };
}

async function analyzedFiles(
  files: readonly ChangedFile[],
  workspace: Workspace,
  diffs: DiffSource,
): Promise<AnalyzedFile[]> {
  return Promise.all(
    files.map(async ({ change }) => {
      const [blob, diff] = await Promise.all([workspace.readBlob(change.newOid), diffs.fileDiff(change, 3)]);
      const added = diff.hunks.flatMap((hunk) =>
        hunk.lines.flatMap((line) => (line.kind === "added" ? [line.newLine] : [])),
      );
      return { path: change.path, text: blob.text, addedLines: new Set(added), diff };
    }),
  );
}

function findingsOf(
  candidates: readonly Candidate[],
  files: readonly AnalyzedFile[],
  identify: ReturnType<typeof createIdentities>,
): Finding[] {
  const texts = new Map(files.map((file) => [file.path, splitLines(file.text)]));
  return candidates.map(({ startLine, ...candidate }) => {
    const quote = (texts.get(candidate.path) ?? [])
      .slice((startLine ?? candidate.line) - 1, candidate.line)
      .join("\n");
    const anchored = { ...candidate, side: "RIGHT" as const, start_line: startLine, quote };
    return {
      ...anchored,
      id: identify(anchored),
      quote: holdsSecret(candidate) ? "" : quote,
      confidence: RULE_CONFIDENCE,
      evidence: [],
      verification: "unverified" as const,
    };
  });
}
