import { z } from "zod";
import { Finding, isCertain, severities } from "../finding.ts";
import { byteLength } from "../text/cut.ts";

/** A marker's data as JSON for an HTML comment: no `--`, angle bracket or line end, and no `@`, because other bots read commands in the source. */
export function markerData(data: unknown): string {
  return JSON.stringify(data).replace(
    /[<>@-]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Length of the hash of a file's first name (18 bits) and of the hash of a content after it (72 bits), in base64url. */
export const PATH_CHARACTERS = 3;
export const HASH_CHARACTERS = PATH_CHARACTERS + 12;

/**
 * What earlier reviews have read, by content. `change`: a hash for each run of added and removed lines, without context and position, after a
 * hash of the file's first name; equal ones occur as often as they were read. `file`: one hash for each file that was all read, beyond 2,000
 * runs. Hyphens after a file's name, which no content has: an earlier finding in it must still be looked at.
 */
export const Reviewed = z.strictObject({
  unit: z.enum(["change", "file"]),
  hashes: z.array(z.string().regex(/^[\w-]{15}$/)),
});
export type Reviewed = z.infer<typeof Reviewed>;

/** As a marker stores them: one string of all hashes, with a dot for the hyphen, which a marker would escape. */
const StoredHashes = z
  .string()
  .regex(/^(?:[\w.]{15})*$/)
  .transform((hashes) => {
    const count = hashes.length / HASH_CHARACTERS;
    const at = (index: number) => hashes.slice(index * HASH_CHARACTERS, (index + 1) * HASH_CHARACTERS);
    return Array.from({ length: count }, (_, index) => at(index).replaceAll(".", "-"));
  });
const StoredReviewed = z.strictObject({ unit: Reviewed.shape.unit, hashes: StoredHashes });

/** The input of {@link StoredHashes}. */
const storedHashes = (hashes: readonly string[]) => hashes.join("").replaceAll("-", ".");

/** The hashes of both lists, each as often as in the list that has more of it: equal content counts. */
export function mergedHashes(...lists: readonly (readonly string[])[]): string[] {
  const most = new Map<string, number>();
  for (const hashes of lists)
    for (const [hash, { length }] of Map.groupBy(hashes, (one) => one))
      most.set(hash, Math.max(most.get(hash) ?? 0, length));
  return [...most].flatMap(([hash, count]) => Array<string>(count).fill(hash));
}

/** A finding without its own comment: only this state remembers it. */
export const CarriedFinding = z.strictObject({
  finding: Finding,
  /**
   * `listed` in the summary; `annotated` in the last head's check run; `unpublished`: found by a canceled review and not verified;
   * `dismissed` by its number.
   */
  standing: z.enum(["listed", "annotated", "unpublished", "dismissed"]),
  /** Why it has no comment on its line; empty for an unpublished one. */
  reason: z.string(),
  /** By which people dismiss it; omitted for an unpublished one. */
  number: z.int().min(1).optional(),
  by: z.string().optional(),
});
export type CarriedFinding = z.infer<typeof CarriedFinding>;

/** Reports of the model that the last reviews could not place, and the hashes of the changes that they are about. */
const UnplacedReports = z.strictObject({
  /** The newest last. `by`: login of the person who dismissed it. */
  reports: z.array(z.strictObject({ number: z.int().min(1), text: z.string(), by: z.string().optional() })),
  /** They count as read once all reports are dismissed. */
  hashes: Reviewed.shape.hashes,
});
export type UnplacedReports = z.infer<typeof UnplacedReports>;

/** Who paused event-driven reviews of a pull request, when (ISO 8601), and whether on a page and not in a comment. */
export const Pause = z.strictObject({ by: z.string(), at: z.string(), on: z.literal("page").optional() });
export type Pause = z.infer<typeof Pause>;

/** A dismissal by a person with write access. It holds even if others write, react or unresolve later, while a reply or reaction exists. */
export const Decision = z.strictObject({
  /** The comment that opens the thread. */
  comment: z.int(),
  how: z.enum(["reaction", "reply", "resolved"]),
  by: z.string(),
  /** Id of the thread's newest comment at that time. */
  after: z.int(),
});
export type Decision = z.infer<typeof Decision>;

/** What the sticky summary remembers between reviews; it survives a lost database. */
export const LedgerState = z.strictObject({
  /** Null before the first review. */
  reviewed: Reviewed.nullable(),
  /** Ids of findings that got a comment: if the comment is gone, a person deleted it. */
  posted: z.array(z.string()),
  carried: z.array(CarriedFinding),
  /** The newest last. */
  decided: z.array(Decision),
  unplaced: UnplacedReports,
  /** The next number of a finding or report without a thread: each is given once for a pull request. */
  next: z.int().min(1),
  summary: z.string(),
  paused: Pause.nullable(),
});
export type LedgerState = z.infer<typeof LedgerState>;

export const emptyState: LedgerState = {
  reviewed: null,
  posted: [],
  carried: [],
  decided: [],
  unplaced: { reports: [], hashes: [] },
  next: 1,
  summary: "",
  paused: null,
};

/** A state as a marker stores it. */
export const StoredState = LedgerState.extend({
  reviewed: StoredReviewed.nullable(),
  unplaced: UnplacedReports.extend({ hashes: StoredHashes }),
});

/** A finding without what a test says about it: that was at an older head, and would take the room of what must not be forgotten. */
const remembered = ({ finding: { proof, ...finding }, ...one }: CarriedFinding): CarriedFinding => ({
  finding,
  ...one,
});

/** The input of {@link StoredState}. */
export const storedState = ({ reviewed, ...rest }: LedgerState) => ({
  reviewed: reviewed && { ...reviewed, hashes: storedHashes(reviewed.hashes) },
  ...rest,
  unplaced: { ...rest.unplaced, hashes: storedHashes(rest.unplaced.hashes) },
  carried: rest.carried.map(remembered),
});

/** UTF-8 bytes of a state in a marker, without the rest of the marker. */
export const stateBytes = (state: LedgerState): number => byteLength(markerData(storedState(state)));

/** Characters of the last review's summary; the next review shows it if it has none of its own. */
const mostSummaryCharacters = 2_000;
/** Ids of deleted comments are kept at least while there are no more than these. */
const mostPosted = 500;

/**
 * The state in at most `maxBytes`, which should be thousands. Drops in this order: the end of the summary, posted ids beyond 500, all hashes
 * of what was read, carried findings (first their long texts, then their code; mildest first, certain ones and those of named rules last),
 * more posted ids, decisions. Code whose findings are forgotten must be read again.
 */
export function fitState(given: LedgerState, maxBytes: number): LedgerState {
  const state = { ...given, unplaced: fitReports(given.unplaced, maxBytes / 8) };
  const fits = (one: LedgerState) => stateBytes(one) <= maxBytes;
  const { posted, carried } = state;
  const withSummary = (characters: number) => ({ ...state, summary: beginning(state.summary, characters) });
  const wanted = Math.min(state.summary.length, mostSummaryCharacters);
  const short = withSummary(largest(wanted, (characters) => fits(withSummary(characters))));

  const withPosted = (one: LedgerState, count: number) => ({ ...one, posted: newest(posted, count) });
  const count = largest(posted.length, (some) => fits(withPosted(short, some)));
  const known = withPosted(short, Math.max(count, Math.min(mostPosted, posted.length)));
  if (fits(known)) return known;
  if (state.reviewed !== null)
    return fitState({ ...state, reviewed: null, unplaced: { ...state.unplaced, hashes: [] } }, maxBytes);

  const withDecided = (count: number) => ({
    ...known,
    posted: [],
    carried: [],
    decided: newest(known.decided, count),
  });
  const decisions = largest(known.decided.length, (some) => fits(withDecided(some)));
  const bare = { ...withDecided(decisions), posted: known.posted };
  const least = withPosted(
    bare,
    largest(known.posted.length, (some) => fits(withPosted(bare, some))),
  );
  let room = maxBytes - stateBytes(least);
  const kept = new Map<CarriedFinding, CarriedFinding>();
  for (const one of carried.toSorted((a, b) => importance(a) - importance(b))) {
    const fitting = [one, shortened(one), withoutCode(one)].find((form) => sizeOf(form) <= room);
    if (fitting === undefined) continue;
    room -= sizeOf(fitting);
    kept.set(one, fitting);
  }
  return { ...least, carried: carried.flatMap((one) => kept.get(one) ?? []) };
}

/** The newest reports that fit. Without one of them, their changes never count as read: a person can no longer dismiss it. */
function fitReports({ reports, hashes }: UnplacedReports, maxBytes: number): UnplacedReports {
  const count = largest(reports.length, (some) => byteLength(markerData(newest(reports, some))) <= maxBytes);
  return count === reports.length ? { reports, hashes } : { reports: newest(reports, count), hashes: [] };
}

const sizeOf = (one: CarriedFinding) => byteLength(markerData(remembered(one))) + 1;

/** Characters of a text for people. */
const mostBodyCharacters = 500;
const mostEvidence = 5;

/** An author controls the length of quoted lines; long ones must not push a finding out. */
const shortened = ({ finding, ...rest }: CarriedFinding): CarriedFinding => ({
  ...rest,
  finding: {
    ...finding,
    body: beginning(finding.body, mostBodyCharacters),
    suggestion: null,
    verification_note: null,
    // The paths decide when to check the finding again.
    evidence: finding.evidence.slice(0, mostEvidence).map((one) => ({ ...one, note: "" })),
    places: [],
  },
});

/** Without its code it is checked again as soon as its file changes. */
function withoutCode(one: CarriedFinding): CarriedFinding {
  const short = shortened(one);
  return { ...short, finding: { ...short.finding, quote: "" } };
}

/** Lower is more important. A breach of a named rule may block, and many others must not push it out. */
const importance = ({ finding }: CarriedFinding) =>
  (isCertain(finding) || finding.rule !== undefined ? 0 : severities.length) +
  severities.indexOf(finding.severity);

/** The largest of 0 to `most` for which `fits` holds, by bisection; 0 if it holds for none. */
function largest(most: number, fits: (value: number) => boolean): number {
  let [low, high] = [0, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Never ends in the middle of a character. */
const beginning = (text: string, characters: number) =>
  characters >= text.length ? text : text.slice(0, characters).replace(/[\uD800-\uDBFF]$/, "");

const newest = <T>(all: readonly T[], count: number) => all.slice(all.length - Math.min(count, all.length));
