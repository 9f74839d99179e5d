import { createHash } from "node:crypto";
import { z } from "zod";
import { AppError } from "../../src/core/errors.ts";
import { Severity } from "../../src/core/finding.ts";
import {
  type AcceptableIssue,
  type CaseChange,
  type EvalCase,
  type KnownIssue,
  Line,
  ObjectName,
  parseJson,
  RelativePath,
} from "./case-format.ts";

/**
 * Public benchmarks in the form in which they are published:
 *
 * - Code Review Bench of Martian, `offline/golden_comments/*.json` (https://github.com/withmartian/code-review-benchmark, MIT)
 * - AACR-Bench, `dataset/positive_samples.json` (https://github.com/alibaba/aacr-bench, Apache-2.0)
 *
 * Neither publishes descriptions of its pull requests, and the second no titles: a reviewer gets none.
 */

const PullUrl = z
  .string()
  .transform((url) => /^https:\/\/github\.com\/([\w.-]+)\/([\w.-]+)\/pull\/(\d+)\/?$/.exec(url))
  .transform((found, context) => {
    const [, owner, name, number] = found ?? [];
    if (owner !== undefined && name !== undefined && number !== undefined)
      return { repository: `${owner}/${name}`, name: `${name}-${number}`, number: Number(number) };
    context.addIssue("must be the address of a pull request: https://github.com/OWNER/NAME/pull/NUMBER");
    return z.NEVER;
  });

/** What the two forms have in common, read. */
interface Entry extends Pick<EvalCase, "title" | "known" | "acceptable"> {
  pull: z.infer<typeof PullUrl>;
  change: CaseChange;
}

/**
 * Categories outside of the benchmark's profile "core", the default of its dashboard since August 2026: a finding that names such a
 * comment counts neither way. Older versions have no categories.
 */
const outsideCore: ReadonlySet<string> = new Set(["style", "speculative"]);

const GoldenComment = z.object({
  comment: z.string().trim().min(1),
  severity: z.string().toLowerCase().pipe(Severity),
  category: z.string().nullish(),
});

const MartianEntry = z
  .object({ pr_title: z.string(), url: PullUrl, comments: z.array(GoldenComment) })
  .transform(({ pr_title, url, comments }): Entry => {
    const isCore = ({ category }: z.infer<typeof GoldenComment>) => !outsideCore.has(category ?? "");
    return {
      ...{ pull: url, title: pr_title, change: { kind: "pull", number: url.number } },
      known: comments.filter(isCore).map(({ comment, severity }) => issue(comment, { severity })),
      acceptable: comments.filter((one) => !isCore(one)).map(({ comment }) => remark(comment)),
    };
  });

/** Far more than any published range has. */
const MAX_LINES = 1_000;

const ReviewComment = z
  .object({
    note: z.string().trim().min(1),
    path: RelativePath,
    /** The side of the diff on which the lines are. */
    side: z.enum(["left", "right"]),
    from_line: Line,
    to_line: Line,
  })
  .transform(({ note, path, side, from_line, to_line }, context): KnownIssue => {
    // One published range ends before it begins.
    const [first, last] = [Math.min(from_line, to_line), Math.max(from_line, to_line)];
    const count = last - first + 1;
    if (count > MAX_LINES) context.addIssue(`has ${count} lines, and ${MAX_LINES} are the most`);
    const lines = Array.from({ length: Math.min(count, MAX_LINES) }, (_, index) => first + index);
    return issue(note, { place: { file: path, lines, at: side === "left" ? "merge_base" : "head" } });
  });

/** `source_commit` is the tip of the target branch, `target_commit` the commit under review: named from the diff's point of view. */
const AacrEntry = z
  .object({
    githubPrUrl: PullUrl,
    source_commit: ObjectName,
    target_commit: ObjectName,
    comments: z.array(ReviewComment),
  })
  .transform(
    ({ githubPrUrl, source_commit, target_commit, comments }): Entry => ({
      ...{ pull: githubPrUrl, title: "", known: comments, acceptable: [] },
      change: { kind: "commits", base: source_commit, head: target_commit },
    }),
  );

const issue = (description: string, more: Partial<KnownIssue>): KnownIssue => ({
  ...{ place: null, alternatives: [], severity: null, context: [] },
  ...more,
  description,
});

const remark = (description: string): AcceptableIssue => ({ file: null, line: null, description });

/** The forms by the key that only their entries have. */
const forms = { url: z.array(MartianEntry), githubPrUrl: z.array(AacrEntry) };

/**
 * The cases in a published file of a benchmark. Throws `config_invalid` with the file's name and the first fault, also for a file of
 * neither form.
 */
export function casesOfBenchmark(text: string, file: string): EvalCase[] {
  const raw = parseJson(z.unknown(), text, file);
  const first: unknown = Array.isArray(raw) ? raw[0] : null;
  const key = (["githubPrUrl", "url"] as const).find(
    (one) => typeof first === "object" && first !== null && one in first,
  );
  if (key === undefined)
    throw new AppError("config_invalid", `${file} has the form of no benchmark that can be read`, {
      remedy:
        "Name golden_comments/*.json of Martian's Code Review Bench, positive_samples.json of AACR-Bench, or a folder with a folder for each case.",
    });
  return parseJson(forms[key], text, file).map(({ pull, title, change, known, acceptable }) => ({
    ...{ name: pull.name, title, body: "", repository: pull.repository, change, known, acceptable },
    digest: digestOf([pull, title, change, known, acceptable]),
  }));
}

const digestOf = (value: unknown) =>
  createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
