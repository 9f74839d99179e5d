import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EvalCase } from "../../scripts/eval/case-format.ts";
import type { CaseResult } from "../../scripts/eval/case-result.ts";
import { loadCases } from "../../scripts/eval/load-cases.ts";
import type { Finding } from "../../src/core/finding.ts";

/** A patch of one new file with these lines. */
export function patchOfNew(path: string, lines: readonly string[]): string {
  const added = lines.map((line) => `+${line}\n`).join("");
  return `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,${lines.length} @@\n${added}`;
}

/** Writes `case.json` and `known.json` of a case; what is no string is written as JSON. */
export function writeCase(folder: string, name: string, files: Record<string, unknown>): void {
  mkdirSync(join(folder, name), { recursive: true });
  for (const [file, content] of Object.entries(files))
    writeFileSync(join(folder, name, file), typeof content === "string" ? content : JSON.stringify(content));
}

export const emptyDiscount = {
  file: "price.py",
  line: 2,
  description: "Divides by the number of items, which is zero for an empty cart.",
};

/** A case that is a patch of one new file, with one known issue on its second line. */
export function writePriceCase(folder: string, name: string, more: Record<string, unknown> = {}): void {
  writeCase(folder, name, {
    "case.json": {
      title: "Average the prices",
      diff: patchOfNew("price.py", ["def average(items):", "    return sum(items) / len(items)"]),
    },
    "known.json": { known: [emptyDiscount] },
    ...more,
  });
}

export async function loadOne(folder: string, name: string): Promise<EvalCase> {
  const [one] = await loadCases(folder, [name]);
  if (!one) throw new Error(`no case ${name}`);
  return one;
}

export function finding(more: Partial<Finding> = {}): Finding {
  return {
    id: "0123456789abcdef",
    path: "price.py",
    side: "RIGHT",
    line: 2,
    start_line: null,
    quote: "",
    severity: "high",
    category: "correctness",
    title: "Fails for an empty cart",
    body: "len(items) is zero then.",
    suggestion: null,
    confidence: 0.8,
    reached: true,
    evidence: [],
    source: "model",
    verification: "confirmed",
    verification_note: null,
    places: [],
    symbol: null,
    ...more,
  };
}

const noUsage = { requests: 0, prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0, cost_usd: 0 };

/** A finding as a result keeps it. */
export function scoredFinding(
  more: Partial<CaseResult["findings"][number]> = {},
): CaseResult["findings"][number] {
  const { path, side, line, start_line, severity, category, title, body } = finding();
  const { confidence, verification, source } = finding();
  return {
    ...{ path, side, line, start_line, severity, category, title, body, confidence, verification, source },
    ...{ verdict: "other", judgement: null, channel: "line" },
    ...more,
  };
}

/** A result with known issues and findings that count as named. */
export function caseResult(
  found: readonly CaseResult["known"][number]["found"][],
  verdicts: readonly CaseResult["findings"][number]["verdict"][],
  more: Partial<CaseResult> = {},
): CaseResult {
  return {
    case: "sample",
    digest: "0".repeat(16),
    settings: { model: "a", effort: null, judge: "b" },
    known: found.map((one) => ({
      ...{ file: "price.py", line: 2, description: "", severity: null },
      ...{ found: one, finding: null, confidence: null },
    })),
    findings: verdicts.map((verdict) => scoredFinding({ verdict })),
    judged: [],
    dropped: 0,
    stop_reason: "finished",
    coverage: { hunks_total: 1, hunks_served: 1 },
    usage: noUsage,
    judge_usage: noUsage,
    unjudged: 0,
    duration_ms: 1_000,
    ...more,
  };
}
