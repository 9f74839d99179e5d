import { z } from "zod";
import type { CommittedFix } from "../jobs/commands/commit-fix.ts";
import { triedWords } from "../reporters/tried-out.ts";
import type { Refusal } from "../review/fix/check-edits.ts";
import { FixResult, type FixTarget, Repair, TriedOut } from "../review/fix/fix-input.ts";

/**
 * What `fix --format json` prints. The shape is a contract: fields are added in a minor version at most, never renamed or removed
 * within a major one.
 */
export const FixJson = z.strictObject({
  head_sha: z.string(),
  /** `patch`: there is one. `none`: nothing was repaired. `refused`: the repair does what a fix may not do. */
  outcome: z.enum(["patch", "none", "refused"]),
  /** For `git apply`. */
  patch: z.string().nullable(),
  /** What the edits do, as a model says it. */
  summary: z.string(),
  findings: z.array(
    Repair.omit({ check: true }).extend({
      path: z.string(),
      title: z.string(),
      second_look: Repair.shape.check,
    }),
  ),
  tried_out: TriedOut,
  /** Why it is refused. */
  refusals: z.array(z.strictObject({ path: z.string().nullable(), reason: z.string() })),
  /** What the model tried to change and was kept from. */
  kept_from: FixResult.shape.refused,
  ...FixResult.pick({ model: true, stop_reason: true, usage: true }).shape,
});
export type FixJson = z.infer<typeof FixJson>;

/** A repair with what may become of it. */
export interface JudgedFix {
  fix: FixResult;
  targets: readonly FixTarget[];
  head: string;
  made: CommittedFix;
  /** Null where there is none to be applied. */
  patch: string | null;
}

const outcomes = { none: "none", refused: "refused", committed: "patch" } as const;

export function toFixJson({ fix, targets, head, made, patch }: JudgedFix): FixJson {
  const { summary, tried_out, refused: kept_from, model, stop_reason, usage } = fix;
  const refusals = made.kind === "refused" ? made.refusals : [];
  const findings = fix.repairs.map(({ check: second_look, ...repair }) => {
    const { path, title } = targetOf(targets, repair.id);
    return { ...repair, path, title, second_look };
  });
  return {
    ...{ head_sha: head, outcome: outcomes[made.kind], patch, summary, findings, tried_out },
    ...{
      refusals: refusals.map(({ path, reason }) => ({ path, reason })),
      kept_from,
      model,
      stop_reason,
      usage,
    },
  };
}

/** The same in lines for whoever watches, but for the patch. Untrusted text. */
export function fixLines({ fix, targets, made }: JudgedFix): string[] {
  return [
    ...fix.repairs.map((repair) => repairLine(repair, targets)),
    ...(fix.edits.length > 0 ? [triedWords(fix.tried_out, (text) => `'${text}'`)] : []),
    ...fix.refused.map((one) => `kept from ${one.path}: ${one.reason}`),
    ...(made.kind === "refused" ? made.refusals.map(refusalLine) : []),
    ...(made.kind === "none" ? [whyNone(fix)] : []),
  ];
}

function repairLine({ id, repaired, note, check }: Repair, targets: readonly FixTarget[]): string {
  const how = repaired ? "repaired" : "not repaired";
  const { path, line, title } = targetOf(targets, id);
  const place = line === null ? path : `${path}:${line}`;
  const looked = check === null ? "" : ` (second look: ${check.state}: ${check.reason})`;
  return `${how}: ${place} ${title}: ${note || "the model stopped without a result"}${looked}`;
}

const refusalLine = ({ path, reason }: Refusal) => `refused: ${path === null ? "" : `${path}: `}${reason}`;

function whyNone({ edits, rounds }: FixResult): string {
  if (edits.length === 0) return "Nothing was repaired.";
  const again = rounds > 1 ? ", also after another try" : "";
  return `Nothing is to be applied: a second look finds the fault still there${again}.`;
}

const targetOf = (targets: readonly FixTarget[], id: string) =>
  targets.find((target) => target.id === id) ?? { path: "", line: null, title: id };
