import { z } from "zod";
import { Finding, isCertain, severities } from "../finding.ts";
import { byteLength } from "../text/cut.ts";

/**
 * Data of a marker as JSON within an HTML comment: neither `--` nor an angle bracket can occur in it, nor an end of line. Nor does
 * `@`, for other bots read what they are told in a comment's source.
 */
export function markerData(data: unknown): string {
  return JSON.stringify(data).replace(
    /[<>@-]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** How long the hash of a file's first name is, and that of a content behind it: 18 and 72 bits, written in base64url. */
export const PATH_CHARACTERS = 3;
export const HASH_CHARACTERS = PATH_CHARACTERS + 12;

/**
 * What earlier reviews of a pull request have read, by content. `change`: a hash for each run of added and removed lines, without
 * context and position, behind one of the file's first name; equal ones stand as often as they were read. `file`: one for each
 * file whose changes were all read, where a change has more than 2,000 runs. Hyphens behind a file's name, which no content
 * has: a look at an earlier finding in it is still due.
 */
export const Reviewed = z.strictObject({
  unit: z.enum(["change", "file"]),
  hashes: z.array(z.string().regex(/^[\w-]{15}$/)),
});
export type Reviewed = z.infer<typeof Reviewed>;

/** As it stands in a marker: one string of all hashes, with a dot for the hyphen, which a marker has to escape. */
const StoredReviewed = z
  .strictObject({ unit: Reviewed.shape.unit, hashes: z.string().regex(/^(?:[\w.]{15})*$/) })
  .transform(({ unit, hashes }): Reviewed => {
    const count = hashes.length / HASH_CHARACTERS;
    const at = (index: number) => hashes.slice(index * HASH_CHARACTERS, (index + 1) * HASH_CHARACTERS);
    return { unit, hashes: Array.from({ length: count }, (_, index) => at(index).replaceAll(".", "-")) };
  });

/** The input of {@link StoredReviewed}. */
const storedReviewed = ({ unit, hashes }: Reviewed) => ({
  unit,
  hashes: hashes.join("").replaceAll("-", "."),
});

/** A finding without a comment of its own: nothing but this state remembers it. */
export const CarriedFinding = z.strictObject({
  finding: Finding,
  /**
   * `listed`: stands in the summary. `annotated`: stood in an annotation of the last head's check run. `unpublished`: a review
   * of an older head found it and was called off; no second look was given to it.
   */
  standing: z.enum(["listed", "annotated", "unpublished"]),
  /** Why it has no comment on its line; empty for an unpublished one. */
  reason: z.string(),
});
export type CarriedFinding = z.infer<typeof CarriedFinding>;

/** Who had event-driven reviews of a pull request paused, and when (ISO 8601). */
export const Pause = z.strictObject({ by: z.string(), at: z.string() });
export type Pause = z.infer<typeof Pause>;

/**
 * A dismissal of somebody who might decide when it was read. It holds for what they did, whoever writes, reacts or unresolves after
 * them; a reply or a reaction has to be there still.
 */
export const Decision = z.strictObject({
  /** The comment that opens the thread. */
  comment: z.int(),
  how: z.enum(["reaction", "reply", "resolved"]),
  by: z.string(),
  /** Id of the thread's newest comment at that time. */
  after: z.int(),
});
export type Decision = z.infer<typeof Decision>;

/** What the sticky summary remembers from one review to the next; it outlives a lost database. */
export const LedgerState = z.strictObject({
  /** Null: nothing was read yet. */
  reviewed: Reviewed.nullable(),
  /** Ids of findings that were given a comment: one whose comment is gone was deleted by a person. */
  posted: z.array(z.string()),
  carried: z.array(CarriedFinding),
  /** The newest last. */
  decided: z.array(Decision),
  /** What the last review said of the change as a whole. */
  summary: z.string(),
  paused: Pause.nullable(),
});
export type LedgerState = z.infer<typeof LedgerState>;

export const emptyState: LedgerState = {
  reviewed: null,
  posted: [],
  carried: [],
  decided: [],
  summary: "",
  paused: null,
};

/** A state as it stands in a marker. */
export const StoredState = LedgerState.extend({ reviewed: StoredReviewed.nullable() });

/** The same of the version before. */
export const StateWithoutDecisions = StoredState.omit({ decided: true }).transform((state) => ({
  ...state,
  decided: emptyState.decided,
}));

/** The input of {@link StoredState}. */
export const storedState = ({ reviewed, ...rest }: LedgerState) => ({
  reviewed: reviewed && storedReviewed(reviewed),
  ...rest,
});

/** UTF-8 bytes that a state takes in a marker; what else stands there comes on top. */
export const stateBytes = (state: LedgerState): number => byteLength(markerData(storedState(state)));

/** Of the last review's summary; the next one shows it where it has nothing new to say. */
const mostSummaryCharacters = 2_000;
/** Ids of deleted comments are remembered at least as long as there are no more than these. */
const mostPosted = 500;

/**
 * The state in at most `maxBytes` of a marker (of which there should be thousands). Given up in this order: the end of the
 * summary, the oldest of more than 500 posted ids, the hashes of what was read, carried findings (the mildest first; what is certain
 * last), more posted ids, decisions. Hashes go as a whole, and before any carried finding does: what is not remembered has to be read
 * again, or it would be lost. A carried finding gives up its long texts, and then its code, before it is given up itself.
 */
export function fitState(state: LedgerState, maxBytes: number): LedgerState {
  const fits = (one: LedgerState) => stateBytes(one) <= maxBytes;
  const { posted, carried } = state;
  const withSummary = (characters: number) => ({ ...state, summary: beginning(state.summary, characters) });
  const wanted = Math.min(state.summary.length, mostSummaryCharacters);
  const short = withSummary(largest(wanted, (characters) => fits(withSummary(characters))));

  const withPosted = (one: LedgerState, count: number) => ({ ...one, posted: newest(posted, count) });
  const count = largest(posted.length, (some) => fits(withPosted(short, some)));
  const known = withPosted(short, Math.max(count, Math.min(mostPosted, posted.length)));
  if (fits(known)) return known;
  if (state.reviewed !== null) return fitState({ ...state, reviewed: null }, maxBytes);

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

const sizeOf = (one: CarriedFinding) => byteLength(markerData(one)) + 1;

/** Of a text that only people read. */
const mostBodyCharacters = 500;
const mostEvidence = 5;

/** An author chooses how long the lines are that a finding quotes: it shall not be forgotten for them. */
const shortened = ({ finding, ...rest }: CarriedFinding): CarriedFinding => ({
  ...rest,
  finding: {
    ...finding,
    ...{ body: beginning(finding.body, mostBodyCharacters), suggestion: null, verification_note: null },
    // Which files they are says when to look again.
    evidence: finding.evidence.slice(0, mostEvidence).map((one) => ({ ...one, note: "" })),
    places: [],
  },
});

/** Without its code it is looked at anew as soon as its file changes. */
function withoutCode(one: CarriedFinding): CarriedFinding {
  const short = shortened(one);
  return { ...short, finding: { ...short.finding, quote: "" } };
}

/** Lower is more important. */
const importance = ({ finding }: CarriedFinding) =>
  (isCertain(finding) ? 0 : severities.length) + severities.indexOf(finding.severity);

/** The largest of 0 to `most` for which `fits` holds, which then holds for every smaller one; 0 where it holds for none. */
function largest(most: number, fits: (value: number) => boolean): number {
  let [low, high] = [0, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Never ends inside a character. */
const beginning = (text: string, characters: number) =>
  characters >= text.length ? text : text.slice(0, characters).replace(/[\uD800-\uDBFF]$/, "");

const newest = <T>(all: readonly T[], count: number) => all.slice(all.length - Math.min(count, all.length));
