import { mapFew } from "../../src/map-few.ts";
import type { AcceptableIssue, KnownIssue } from "./case-format.ts";
import type { DescribedIssue, Judge, JudgedFinding } from "./judge.ts";
import { isNear, type Located } from "./near.ts";

/** Where a known issue was found: on its place or another one of the case, or not at all. */
export const foundAt = ["near", "elsewhere", "missed"] as const;
export type FoundAt = (typeof foundAt)[number];

/** What a finding counts as. One problem told twice is one hit; the second telling is a duplicate. */
export const findingVerdicts = ["hit", "duplicate", "acceptable", "other"] as const;
export type FindingVerdict = (typeof findingVerdicts)[number];

export interface Matching {
  /** As the known issues stand. */
  known: { found: FoundAt; finding: number | null; confidence: number | null }[];
  /** As the findings stand. */
  findings: FindingVerdict[];
  /** Pairs of which the judge said nothing that could be read; they count as different. */
  unjudged: number;
}

export interface MatchInput {
  known: readonly KnownIssue[];
  acceptable: readonly AcceptableIssue[];
  findings: readonly (Located & JudgedFinding)[];
  /** Null compares places alone. */
  judge: Judge["judge"] | null;
}

interface Match {
  finding: number;
  near: boolean;
  confidence: number;
}

/** Questions to the judge at a time. */
const CONCURRENCY = 4;

/**
 * Tells which findings name which known issues. With a judge its word decides, wherever the finding stands; without one the place
 * does.
 */
export async function matchFindings(input: MatchInput): Promise<Matching> {
  const { known, acceptable, findings } = input;
  const asked = createAsking(input);
  const matches = await Promise.all(
    known.map(async (issue) => {
      const described = { file: issue.file, line: issue.lines[0] ?? null, description: issue.description };
      return await mapFew(findings, CONCURRENCY, (finding) =>
        asked.compare(described, isNear(issue, finding), finding),
      );
    }),
  );
  const best = claim(
    matches.map((row) => row.flatMap((match, finding) => (match ? [{ finding, ...match }] : []))),
  );
  const hits = new Set(best.map((match) => match?.finding));
  const verdicts = await mapFew(findings, CONCURRENCY, async (finding, index): Promise<FindingVerdict> => {
    if (hits.has(index)) return "hit";
    if (matches.some((row) => row[index])) return "duplicate";
    for (const issue of acceptable)
      if (await asked.compare(issue, isNearAcceptable(issue, finding), finding)) return "acceptable";
    return "other";
  });
  return { known: best.map(outcome), findings: verdicts, unjudged: asked.unjudged() };
}

function createAsking({ judge }: MatchInput) {
  let unjudged = 0;
  return {
    unjudged: () => unjudged,
    /** Null: two different things. */
    async compare(
      issue: DescribedIssue,
      near: boolean,
      finding: JudgedFinding,
    ): Promise<Omit<Match, "finding"> | null> {
      if (judge === null) return near ? { near, confidence: 1 } : null;
      const verdict = await judge(issue, finding);
      if (verdict === null) unjudged += 1;
      return verdict?.match ? { near, confidence: verdict.confidence } : null;
    },
  };
}

/**
 * The finding that counts for each issue: on its place before others, then one that counts for no other issue yet. One finding may
 * name several issues.
 */
function claim(matches: readonly Match[][]): (Match | null)[] {
  const claimed = new Set<number>();
  return matches.map((candidates) => {
    const [best] = candidates.toSorted(
      (a, b) =>
        Number(b.near) - Number(a.near) ||
        Number(claimed.has(a.finding)) - Number(claimed.has(b.finding)) ||
        b.confidence - a.confidence ||
        a.finding - b.finding,
    );
    if (best) claimed.add(best.finding);
    return best ?? null;
  });
}

function outcome(match: Match | null): Matching["known"][number] {
  if (match === null) return { found: "missed", finding: null, confidence: null };
  return { found: match.near ? "near" : "elsewhere", finding: match.finding, confidence: match.confidence };
}

/** Without a judge, what names no place cannot be recognised. */
function isNearAcceptable({ file, line }: AcceptableIssue, finding: Located): boolean {
  if (file === null || line === null) return false;
  return isNear({ file, lines: [line], alternatives: [] }, finding);
}
