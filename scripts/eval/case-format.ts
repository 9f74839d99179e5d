import { z } from "zod";
import { AppError, errorLine } from "../../src/core/errors.ts";
import { Severity } from "../../src/core/finding.ts";

/** A case, whatever form it was read from, and the formats of a case folder, as in docs/quality.md. Other keys are ignored. */

export const ObjectName = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, "must be a full object name");
export const Line = z.int().min(1);
export const RelativePath = z.string().min(1).refine(staysInside, "must be a path within the repository");

/** Lines that a reviewer needs: at the head, or at the merge base for removed code. */
export const NeededLines = z.object({
  file: RelativePath,
  lines: z.array(Line).min(1),
  at: z.enum(["head", "merge_base"]).default("head"),
  /** What they are to the change, such as a base class or a twin: entries with a kind are also counted by it. */
  kind: z.string().min(1).optional(),
});
export type NeededLines = z.infer<typeof NeededLines>;

/** An issue that a reviewer should find. */
export interface KnownIssue {
  /** Its own lines, unordered; null if the case does not say where it is. */
  place: NeededLines | null;
  /** Other places, at the head, at which it may be reported. */
  alternatives: { file: string; line: number }[];
  /** What is wrong, for the judge. */
  description: string;
  /** By the people who found it; null if they do not say. */
  severity: Severity | null;
  /** Lines beyond its own that decide it. */
  context: NeededLines[];
}

const KnownIssue = z
  .object({
    file: RelativePath,
    line_in_head: Line.optional(),
    line: Line.optional(),
    lines_all: z.array(Line).default([]),
    alt_locations: z.array(z.object({ file: RelativePath, line: Line })).default([]),
    summary: z.string().min(1).optional(),
    description: z.string().min(1).optional(),
    // Cases of before may say it in other words.
    severity: Severity.nullable().catch(null),
    /** A word for the place of the decisive code, or the lines themselves. */
    context: z.union([z.string(), z.array(NeededLines)]).default([]),
  })
  .transform((raw, context): KnownIssue => {
    const lines = [...new Set([raw.line_in_head, raw.line, ...raw.lines_all])].filter(
      (one) => one !== undefined,
    );
    const description = raw.summary ?? raw.description;
    if (lines.length === 0) context.addIssue("needs line_in_head, line or lines_all");
    if (description === undefined) context.addIssue("needs summary or description");
    return {
      place: { file: raw.file, lines, at: "head" },
      alternatives: raw.alt_locations,
      description: description ?? "",
      severity: raw.severity,
      context: typeof raw.context === "string" ? [] : raw.context,
    };
  });

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
  .transform(({ title, body, diff, fetch, repository, base_sha: base, head_sha: head }, context) => {
    const pull = { title, body: body ?? "", repository: fetch ?? repository ?? null };
    if (diff !== undefined && head === undefined)
      return { ...pull, change: { kind: "diff" as const, diff, base: base ?? null } };
    if (diff === undefined && head !== undefined && base !== undefined)
      return { ...pull, change: { kind: "commits" as const, base, head } };
    const isChosen = (diff === undefined) !== (head === undefined);
    context.addIssue(
      isChosen ? "needs base_sha beside head_sha" : "needs either diff or head_sha, and not both",
    );
    return z.NEVER;
  });

/** The change of a case's pull request. */
export type CaseChange =
  /** A patch, made against `base`, or against the prepared repository's branch `main` if that is null. */
  | { kind: "patch"; patch: string; base: string | null }
  | { kind: "commits"; base: string; head: string }
  /** Its commits are `refs/pull/NUMBER/base` and `refs/pull/NUMBER/head` of the clone. */
  | { kind: "pull"; number: number };

/** A pull request with its known issues. */
export interface EvalCase extends KnownFile {
  /** Name of the folder, or of the repository with the number of the pull request. */
  name: string;
  /** Empty if the case has none. */
  title: string;
  body: string;
  /** "owner/name", by which the bare clone is found; null if the case names none. */
  repository: string | null;
  change: CaseChange;
  /** Digest of the whole case: equal digests mean equal cases. */
  digest: string;
}

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

/** Parses `text`, the content of `file`. Throws `config_invalid` with the first error. */
export function parseJson<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  file: string,
): z.output<Schema> {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    throw new AppError("config_invalid", `${file} is not JSON: ${errorLine(error)}`, { cause: error });
  }
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = z.core.toDotPath(issue?.path ?? []);
  throw new AppError("config_invalid", `${file}: ${path === "" ? "" : `${path} `}${issue?.message}`, {
    remedy: "See docs/quality.md for the format of a case.",
  });
}
