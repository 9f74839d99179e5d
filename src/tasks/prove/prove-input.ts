import { z } from "zod";
import { TestEnd } from "../../agent/record/test-end.ts";
import type { EffectiveConfig } from "../../config/repo-config.ts";
import { atLeast, bySeverity, type Finding, isCertain, Proof, wholeProof } from "../../core/finding.ts";
import { PostedFinding } from "../../core/ledger/entry.ts";
import { defineTask, NamedFindings } from "../define-task.ts";
import { WorkInput } from "../shapes/review-input.ts";
import { type ReviewResult, WorkResult } from "../shapes/review-result.ts";

export const ProveTarget = PostedFinding.pick({
  id: true,
  severity: true,
  title: true,
  path: true,
  side: true,
  line: true,
  start_line: true,
  symbol: true,
}).extend({
  /** What the finding says, with the input on which the code goes wrong. Untrusted text. */
  text: z.string(),
  /** Replacement of exactly the lines of the finding; null if there is none. */
  suggestion: z.string().nullable(),
});
export type ProveTarget = z.infer<typeof ProveTarget>;

export const ProveInput = WorkInput.extend({ targets: z.array(ProveTarget).min(1) });
export type ProveInput = z.infer<typeof ProveInput>;

/** A run of a test that an earlier attempt recorded; `key` says on which files it ran, and which. */
export const RecordedTest = z.strictObject({ key: z.string(), end: TestEnd });
export type RecordedTest = z.infer<typeof RecordedTest>;

export const ProveResult = WorkResult.extend({
  /** One for each target, in their order. */
  proofs: z.array(z.strictObject({ id: z.string(), proof: Proof })),
});
export type ProveResult = z.infer<typeof ProveResult>;

/** Kinds of faults that running code can show. */
const shown = new Set<Finding["category"]>([
  "security",
  "correctness",
  "concurrency",
  "error-handling",
  "resource",
  "api",
  "data",
]);

const mostProved = 4;

/** The findings of a review that get a test, the worst first. Repeats are not posted again, and get none. */
export function targetsOf(
  { findings, ledger }: Pick<ReviewResult, "findings" | "ledger">,
  { prove }: Pick<EffectiveConfig, "prove">,
): ProveTarget[] {
  const known = new Set([...(ledger?.repeats ?? []), ...(ledger?.carried ?? [])].map((one) => one.finding));
  return bySeverity(findings)
    .map(({ finding }) => finding)
    .filter((one) => isWorthProof(one) && atLeast(one.severity, prove.severity) && !known.has(one.id))
    .slice(0, mostProved)
    .map(targetOf);
}

function targetOf(finding: Finding): ProveTarget {
  const { id, severity, title, body, verification_note, path, side, line, start_line, symbol, suggestion } =
    finding;
  const text = [body, verification_note ?? ""].filter((part) => part !== "").join("\n\n");
  return { id, severity, title, text, path, side, line, start_line, symbol, suggestion };
}

/** Whether running code can show a finding. Certain ones need no proof, and no test of a model must weaken them. */
const isWorthProof = (finding: Pick<Finding, "source" | "category" | "verification">): boolean =>
  !isCertain(finding) && finding.verification !== "not_judged" && shown.has(finding.category);

export const proveTask = defineTask({
  name: "prove",
  input: ProveInput,
  result: ProveResult,
  most: { turns: 30, tokens: 800_000, milliseconds: 30 * 60_000 },
  async redact(result, clean) {
    const cleaned = await clean(result);
    const proofs = cleaned.proofs.map((one, index) => ({
      ...one,
      proof: wholeProof(one.proof, result.proofs[index]?.proof),
    }));
    return { ...cleaned, proofs };
  },
  asked: NamedFindings,
  /** Of `/prove`; a review's proofs are with its findings. */
  summary: ({ proofs, stop_reason, usage }) => ({ proofs, stop_reason, usage }),
});
