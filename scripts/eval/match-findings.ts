import pMap from "p-map";
import type { Finding } from "../../src/core/finding.ts";
import type { AcceptableIssue, KnownIssue } from "./case-format.ts";
import type { DescribedIssue, Judge, JudgedFinding, Verdict } from "./judge.ts";

/** Where a known issue was found: at one of its places, elsewhere, at any place if the case names none, or not at all. */
export const foundAt = ["near", "elsewhere", "unplaced", "missed"] as const;
export type FoundAt = (typeof foundAt)[number];

/** The classification of a finding. Two reports of one problem are one hit and one duplicate. */
export const findingVerdicts = ["hit", "duplicate", "acceptable", "other"] as const;
export type FindingVerdict = (typeof findingVerdicts)[number];

export interface Matching {
  /** In the order of the known issues. */
  known: { found: FoundAt; finding: number | null; confidence: number | null }[];
  /** In the order of the findings. */
  findings: FindingVerdict[];
  /** The judge's verdict on each pair of a known issue and a finding, by their indices. */
  judged: JudgedPair[];
  /** Number of unreadable answers of the judge; such pairs count as different. */
  unjudged: number;
}

export interface JudgedPair extends Verdict {
  known: number;
  finding: number;
}

export interface MatchInput {
  known: readonly KnownIssue[];
  acceptable: readonly AcceptableIssue[];
  findings: readonly (Located & JudgedFinding)[];
  /** Null compares only places. */
  judge: Judge["compare"] | null;
}

interface Match {
  finding: number;
  /** Null if the issue has no place. */
  near: boolean | null;
  confidence: number;
}

/** Concurrent requests to the judge. */
const CONCURRENCY = 4;

/** Matches findings with known issues. With a judge, its verdict decides, regardless of the place; without one, the place decides. */
export async function matchFindings(input: MatchInput): Promise<Matching> {
  const { known, acceptable, findings } = input;
  const asked = createAsking(input);
  const matches = await Promise.all(
    known.map((issue, index) =>
      pMap(
        findings,
        (finding, at) =>
          asked.compare(describedOf(issue), nearOf(issue, finding), finding, { known: index, finding: at }),
        { concurrency: CONCURRENCY },
      ),
    ),
  );
  const best = claim(
    matches.map((row) => row.flatMap((match, finding) => (match ? [{ finding, ...match }] : []))),
  );
  const hits = new Set(best.map((match) => match?.finding));
  const verdicts = await pMap(
    findings,
    async (finding, index): Promise<FindingVerdict> => {
      if (hits.has(index)) return "hit";
      if (matches.some((row) => row[index])) return "duplicate";
      for (const issue of acceptable)
        if (await asked.compare(issue, isNearAcceptable(issue, finding), finding)) return "acceptable";
      return "other";
    },
    { concurrency: CONCURRENCY },
  );
  return { known: best.map(outcome), findings: verdicts, judged: asked.judged, unjudged: asked.unjudged() };
}

const describedOf = ({ place, description }: KnownIssue): DescribedIssue => ({
  ...{ file: place?.file ?? null, line: place?.lines[0] ?? null },
  description,
});

const nearOf = (issue: KnownIssue, finding: Located) =>
  issue.place === null && issue.alternatives.length === 0 ? null : isNear(issue, finding);

function createAsking({ judge }: MatchInput) {
  let unjudged = 0;
  const judged: JudgedPair[] = [];
  return {
    judged,
    unjudged: () => unjudged,
    /** Null if the two differ. The verdict on `pair` is kept. */
    async compare(
      issue: DescribedIssue,
      near: boolean | null,
      finding: JudgedFinding,
      pair?: Pick<JudgedPair, "known" | "finding">,
    ): Promise<Omit<Match, "finding"> | null> {
      if (judge === null) return near ? { near, confidence: 1 } : null;
      const verdict = await judge(issue, finding);
      if (verdict === null) unjudged += 1;
      else if (pair) judged.push({ ...pair, ...verdict });
      return verdict?.match ? { near, confidence: verdict.confidence } : null;
    },
  };
}

/**
 * The finding that counts for each issue: one at its place comes first, then one that counts for no other issue yet. One finding may match
 * several issues.
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
  const { near, finding, confidence } = match;
  return { found: near === null ? "unplaced" : near ? "near" : "elsewhere", finding, confidence };
}

/** Without a judge, an issue without a place cannot be matched. */
function isNearAcceptable({ file, line }: AcceptableIssue, finding: Located): boolean {
  if (file === null || line === null) return false;
  return isNear({ place: null, alternatives: [{ file, line }] }, finding);
}

/** The compared fields of a finding. */
type Located = Pick<Finding, "path" | "line" | "start_line" | "places">;

/** Maximum distance in lines between a known issue and a finding at the same place. */
const NEAR_LINES = 10;

/** Whether one of the finding's places is near the issue or one of its alternatives. */
export function isNear(
  { place, alternatives }: Pick<KnownIssue, "place" | "alternatives">,
  finding: Located,
): boolean {
  const own = place?.lines.map((line) => ({ file: place.file, line })) ?? [];
  const places = [...own, ...alternatives];
  return [finding, ...finding.places].some(({ path, line, start_line }) =>
    places.some((one) => one.file === path && distance(one.line, start_line ?? line, line) <= NEAR_LINES),
  );
}

/** Distance in lines from `line` to a range. */
function distance(line: number, start: number, end: number): number {
  return Math.max(0, start - line, line - end);
}
