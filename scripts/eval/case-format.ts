import { z } from "zod";

/** The formats of a case folder, as in docs/quality.md. Other keys are allowed and ignored. */

const ObjectName = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, "must be a full object name");
const Line = z.int().min(1);
const RelativePath = z.string().min(1).refine(staysInside, "must be a path within the repository");

/** Lines that a reviewer needs: at the head, or at the merge base for removed code. */
export const NeededLines = z.object({
  file: RelativePath,
  lines: z.array(Line).min(1),
  at: z.enum(["head", "merge_base"]).default("head"),
});
export type NeededLines = z.infer<typeof NeededLines>;

/** An issue that a reviewer should find. */
const KnownIssue = z
  .object({
    file: RelativePath,
    line_in_head: Line.optional(),
    line: Line.optional(),
    lines_all: z.array(Line).default([]),
    alt_locations: z.array(z.object({ file: RelativePath, line: Line })).default([]),
    summary: z.string().min(1).optional(),
    description: z.string().min(1).optional(),
    /** A word for the place of the decisive code, or the lines themselves. */
    context: z.union([z.string(), z.array(NeededLines)]).default([]),
  })
  .transform((raw, context) => {
    const lines = [...new Set([raw.line_in_head, raw.line, ...raw.lines_all])].filter(
      (one) => one !== undefined,
    );
    const description = raw.summary ?? raw.description;
    if (lines.length === 0) context.addIssue("needs line_in_head, line or lines_all");
    if (description === undefined) context.addIssue("needs summary or description");
    return {
      file: raw.file,
      /** At the head, unordered. */
      lines,
      alternatives: raw.alt_locations,
      description: description ?? "",
      context: typeof raw.context === "string" ? [] : raw.context,
    };
  });
export type KnownIssue = z.infer<typeof KnownIssue>;

/** An issue that counts neither for nor against a review: correct, but not the subject of the case. */
const AcceptableIssue = z
  .union([
    z.string().min(1),
    z.object({
      file: RelativePath.optional(),
      line: Line.optional(),
      summary: z.string().min(1).optional(),
      description: z.string().min(1).optional(),
    }),
  ])
  .transform((raw, context) => {
    if (typeof raw === "string") return { file: null, line: null, description: raw };
    const description = raw.summary ?? raw.description;
    if (description === undefined) context.addIssue("needs summary or description");
    return { file: raw.file ?? null, line: raw.line ?? null, description: description ?? "" };
  });
export type AcceptableIssue = z.infer<typeof AcceptableIssue>;

/** `known.json`: separate from the case, so that someone who must not know it can review the case. */
export const KnownFile = z.object({
  known: z.array(KnownIssue),
  acceptable: z.array(AcceptableIssue).default([]),
});
export type KnownFile = z.infer<typeof KnownFile>;

/** `case.json`: the pull request. */
export const CaseFile = z
  .object({
    title: z.string(),
    body: z.string().nullish(),
    /** The patch itself, or the name of a patch file beside this file. */
    diff: z.string().min(1).optional(),
    /** "owner/name" of the repository's bare clone. */
    fetch: RepositoryName().optional(),
    repository: RepositoryName().optional(),
    base_sha: ObjectName.optional(),
    head_sha: ObjectName.optional(),
  })
  .refine(({ diff, head_sha }) => (diff === undefined) !== (head_sha === undefined), {
    error: "needs either diff or head_sha, and not both",
  })
  .refine(({ head_sha, base_sha }) => head_sha === undefined || base_sha !== undefined, {
    error: "needs base_sha beside head_sha",
  });
export type CaseFile = z.infer<typeof CaseFile>;

/** Additional needed lines from a separate file, by the name of the case. */
export const NeededFile = z.record(z.string(), z.array(NeededLines));
export type NeededFile = z.infer<typeof NeededFile>;

/** Whether the code at a place, which a first message may show as a caller, really uses the changed definition of this name. */
export const JudgedCaller = z.object({
  file: RelativePath,
  line: Line,
  name: z.string().min(1),
  uses: z.boolean(),
});
export type JudgedCaller = z.infer<typeof JudgedCaller>;

/** Callers judged by a person, by the name of the case. */
export const CallersFile = z.record(z.string(), z.array(JudgedCaller));
export type CallersFile = z.infer<typeof CallersFile>;

function RepositoryName() {
  return z.string().regex(/^[\w-][\w.-]*\/[\w-][\w.-]*$/, "must be owner/name");
}

function staysInside(path: string): boolean {
  return !path.startsWith("/") && !path.split("/").includes("..");
}
