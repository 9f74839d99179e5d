import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { createPrivacy } from "../diff/filter.ts";
import { Finding } from "../finding.ts";
import type { Ledger, LedgerEntry } from "../ledger/entry.ts";
import type { Reviewed } from "../ledger/reviewed.ts";
import type { CarriedFinding, LedgerState } from "../ledger/state.ts";
import type { ReviewTask } from "../queue/job.ts";
import { lookAgain, markOf } from "../review/followup/content-hash.ts";
import type { History, PriorFinding } from "../review/review-input.ts";
import { shorten } from "./shorten.ts";

/*
 * What a review is told of the ones before it. None of it may speak of private files: a model reads it.
 */

type UnitEntry = Extract<TrajectoryEntry, { kind: "unit" }>;

/** More comments than these on one pull request are read by nobody; of them, the latest are compared with. */
const most = { earlier: 2_000, replies: 5, files: 5 };
/** Characters. */
const longest = { title: 300, text: 4_000, reply: 500 };

/** The findings that earlier reviews posted, but those in private files. Their texts are cut. */
export function earlierFindings(
  { entries }: Pick<Ledger, "entries">,
  privatePaths: readonly string[],
): PriorFinding[] {
  const isPrivate = createPrivacy(privatePaths);
  // Of a deleted comment nobody knows where it stood.
  const shown = entries.filter(({ path }) => path === "" || !isPrivate(path));
  return shown.slice(-most.earlier).map((entry) => earlierFinding(entry, isPrivate));
}

function earlierFinding(entry: LedgerEntry, isPrivate: (path: string) => boolean): PriorFinding {
  const { comment, id, path, side, line, severity, category, symbol, code, source, state } = entry;
  return {
    ...{ comment, id, path, side, line, severity, category, symbol, code, source, state },
    start_line: entry.startLine,
    original_line: entry.originalLine,
    files: entry.files.filter((file) => !isPrivate(file)).slice(0, most.files),
    title: shorten(entry.title, longest.title),
    text: shorten(entry.text, longest.text),
    replies: entry.replies.slice(-most.replies).map((reply) => shorten(reply, longest.reply)),
  };
}

export interface HistorySource extends Pick<History, "key"> {
  state: LedgerState;
  /** `new` goes on from what was read; the others read everything again. */
  mode: ReviewTask["mode"];
  /** What this job noted at earlier attempts, at times about another head: a push had its review called off. */
  recorded: readonly TrajectoryEntry[];
  /** The head that is to be reviewed. Its own units are no history: their loops are played again from the record. */
  head: string;
  privatePaths: readonly string[];
}

/** What is remembered, together with what this very job finished on heads before a push called it off. */
export function historyOf({ key, state, mode, recorded, head, privatePaths }: HistorySource): History {
  const isPrivate = createPrivacy(privatePaths);
  const before = mode === "new" ? state.reviewed : null;
  // What was read by whole files cannot be joined with the changes of a unit, and is read again rather than lost.
  const units = before?.unit === "file" ? [] : finishedUnits(recorded, head);
  const known = new Set(state.carried.map(({ finding }) => faultOf(finding)));
  const unpublished = new Map(
    units
      .flatMap(({ findings }) => findings)
      .flatMap((finding) => Finding.safeParse(finding).data ?? [])
      .filter((finding) => !known.has(faultOf(finding)))
      .map((finding) => [faultOf(finding), { finding, standing: "unpublished", reason: "" } as const]),
  );
  const carried: CarriedFinding[] = [...state.carried, ...unpublished.values()];
  return {
    key,
    reviewed: joined(before, units),
    carried: carried.filter(({ finding }) => !isPrivate(finding.path)),
    summary: state.summary || summaryOf(units),
  };
}

/** Loops that ran beside each other gave one id to two faults: the code of both is the same, and nothing else has to be. */
const faultOf = ({ id, path, line, title }: Finding) => JSON.stringify([id, path, line, title]);

const summaryOf = (units: readonly UnitEntry[]) =>
  units
    .map(({ summary = "" }) => summary)
    .filter((summary) => summary !== "")
    .join("\n\n");

/** Those of other heads. A loop that was played again noted its unit again. */
function finishedUnits(recorded: readonly TrajectoryEntry[], head: string): UnitEntry[] {
  const units = recorded.filter((entry) => entry.kind === "unit").filter((unit) => unit.head !== head);
  return [...new Map(units.map((unit) => [`${unit.head} ${unit.loop}`, unit])).values()];
}

/**
 * A hash stands as often as its content was read in one change: in the parts of one head its counts add up, and what
 * another head or an earlier review has read is the same content once more. The review that was called off has read what may
 * settle earlier findings, and has not looked at them. What was there beside a part and not read is missed when it goes.
 */
function joined(before: Reviewed | null, units: readonly UnitEntry[]): Reviewed | null {
  if (units.length === 0) return before;
  const most = new Map<string, number>();
  const heads = Map.groupBy(units, (unit) => unit.head);
  const read = [...heads.values()].map((parts) => parts.flatMap(({ hashes }) => hashes));
  const beside = units.map((unit) => unit.beside ?? []);
  for (const hashes of [before?.hashes ?? [], ...read, ...beside]) {
    for (const [hash, { length }] of Map.groupBy(hashes, (one) => one)) {
      most.set(hash, Math.max(most.get(hash) ?? 0, length));
    }
  }
  const due = new Set(units.flatMap(({ hashes }) => hashes.map((hash) => lookAgain(markOf(hash)))));
  const hashes = [...most].flatMap(([hash, count]) => Array<string>(count).fill(hash));
  return { unit: "change", hashes: [...hashes, ...due] };
}
