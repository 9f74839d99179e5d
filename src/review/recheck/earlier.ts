import type { Finding } from "../../finding.ts";
import { codeHash } from "../../ledger/entry.ts";
import type { Candidates } from "../candidates.ts";
import type { EarlierFacts } from "../compare/certain-pairs.ts";
import { compareFindings, readFacts } from "../compare/compare-findings.ts";
import type { EarlierFinding } from "../review-input.ts";
import type { ReviewRun } from "../review-run.ts";
import { bringOver, type Carried } from "./carried.ts";
import type { CheckedChange } from "./needs-check.ts";

/** What of a run earlier findings are compared with. */
export interface LaterChange extends CheckedChange {
  input: Pick<ReviewRun["input"], "pull" | "history">;
  deps: CheckedChange["deps"] & { isPrivate(path: string): boolean };
  candidates: Candidates;
}

/** What earlier reviews of a pull request left, as this one finds it. */
export interface Earlier {
  /** Posted as comments. */
  entries: readonly EarlierFinding[];
  carried: readonly Carried[];
  /** Found by a review that was called off; they are findings of this one. */
  unpublished: readonly Finding[];
  facts: EarlierFacts;
  /** Carried findings as if they had been posted, for comparing. */
  asPosted: ReadonlyMap<EarlierFinding, Carried>;
}

/** Reads what earlier reviews left; nothing for a change that has none. Of private files nothing is read. */
export async function readEarlier(run: LaterChange): Promise<Earlier> {
  const { pull, history } = run.input;
  const entries = (pull?.earlier ?? []).filter(({ path }) => !run.deps.isPrivate(path));
  const { unpublished, carried } = await bringOver(run, history?.carried ?? []);
  const asPosted = new Map(carried.map((one) => [postedLike(one), one]));
  return {
    ...{ entries, carried, unpublished, asPosted },
    facts: await readFacts(run, [...entries, ...asPosted.keys()]),
  };
}

function postedLike({ finding, stands }: Carried): EarlierFinding {
  const { id, path, side, line, start_line, quote, severity, category, symbol, source, title, body } =
    finding;
  return {
    ...{ id, path, side, severity, category, symbol, source, title },
    comment: null,
    line: stands ? line : null,
    start_line: stands ? start_line : null,
    original_line: line,
    code: quote === "" ? null : codeHash(quote),
    files: [],
    text: body,
    state: stands ? "open" : "outdated",
    replies: [],
  };
}

/** What this run's findings say again. */
export interface Repeats {
  /** Of comments, each finding with the one that tells of it; no comment stands twice. */
  posted: ReadonlyMap<Finding, EarlierFinding>;
  /** Of carried findings that stand: these go on in their stead. */
  carried: ReadonlyMap<Finding, Carried>;
  /** Further restatements of what a person dismissed: the first of them stands for all. */
  restated: ReadonlySet<Finding>;
  /** Carried findings whose code is gone: what was found now takes their place. */
  replaced: ReadonlySet<Carried>;
}

/** @param run null where no model can be asked */
export async function findRepeats(
  run: ReviewRun | null,
  findings: readonly Finding[],
  { entries, asPosted, facts }: Earlier,
): Promise<Repeats> {
  const all = await compareFindings(run, findings, [...entries, ...asPosted.keys()], facts);
  const posted = new Map<Finding, EarlierFinding>();
  const carried = new Map<Finding, Carried>();
  const replaced = new Set<Carried>();
  const restated = new Set<Finding>();
  const told = new Set<EarlierFinding>();
  for (const [finding, earlier] of all) {
    const kept = asPosted.get(earlier);
    if (told.has(earlier)) restated.add(finding);
    else if (kept?.stands) carried.set(finding, kept);
    else if (kept) replaced.add(kept);
    else posted.set(finding, earlier);
    told.add(earlier);
  }
  return { posted, carried, restated, replaced };
}
