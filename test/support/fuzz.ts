import { Script } from "node:vm";
import fc from "fast-check";

const isLong = process.env.HUNKWISE_LONG === "1";
/** For each of the five targets. */
const MILLISECONDS = isLong ? 120_000 : 2_000;
/** `npm test` always runs the same cases, so that it judges only the change; each slow run uses other cases. */
const SEED = Number(process.env.HUNKWISE_SEED ?? (isLong ? Date.now() % 2 ** 31 : 20_260_725));
/** A case that takes longer never ends: no case is larger than about ten thousand characters. */
const HANG_MS = 10_000;

/**
 * The time limit of a case, as a multiple of one walk through all its characters. Code that looks at each character a few hundred times
 * stays below it; code that looks at all of 50,000 characters for each of them does not.
 */
const MAX_WALKS = 3_000;
/** Shorter values count as this many characters, because every call has a fixed cost. */
const LEAST_SIZE = 2_000;
/** Measuring again costs time, so only slower cases are measured again. */
const WEIGHED_MS = 4;
/** Characters of a value in a failure message; the seed and the path reproduce the whole value. */
const SHOWN = 1_000;

/** Maximum number of rounds if no case reaches the interesting code. */
const ROUNDS = 8;

/** Time-out of the test around `fuzz`, in milliseconds: fuzzing ends by itself, but shrinking a failing case takes more time. */
export const FUZZ_TIMEOUT_MS = ROUNDS * MILLISECONDS + 6 * HANG_MS;

export interface FuzzTarget<Value, Output> {
  values: fc.Arbitrary<Value>;
  /** The code under test; its time is compared with the size of the value. */
  run: (value: Value) => Output;
  /** Fails if the output is wrong. */
  check?: (output: Output, value: Value) => void;
  /** Whether `run` declares this error. Without it, `run` must not throw. */
  mayThrow?: (error: unknown) => boolean;
  /**
   * True for an output that at least one case must reach, so that not every case is rejected early. Without it, at least one case must end
   * without an error.
   */
  reaches?: (output: Output) => boolean;
  /** Size of a value in characters; default: the length of its JSON. */
  sizeOf?: (value: Value) => number;
  /** The share of the target's time for this part, if a target has several parts. */
  share?: number;
}

/**
 * Tries values until the time is up: 2 seconds, or 2 minutes in `npm run test:slow`. Fails if `run` throws an undeclared error, does not
 * end, or takes too long for the size of its value; the failure shows the shrunk value and the seed (`HUNKWISE_SEED` reproduces it).
 */
export function fuzz<Value, Output>(target: FuzzTarget<Value, Output>): void {
  const { reaches = () => true } = target;
  let reached = 0;
  const property = fc.property(target.values, (value) => {
    const ended = tryOne(target, value);
    if (ended && reaches(ended.output)) reached += 1;
  });
  let tried = 0;
  const round = (number: number) => {
    const details = fc.check(property, {
      seed: SEED + number,
      numRuns: Number.POSITIVE_INFINITY,
      interruptAfterTimeLimit: MILLISECONDS * (target.share ?? 1),
    });
    tried += details.numRuns;
    // A round that ran out of time before its first case counts as failed, but has no case to show.
    return { ...details, failed: details.failed && details.counterexample !== null };
  };
  let details = round(0);
  // A busy machine may have completed only a few cases.
  for (let number = 1; !details.failed && reached === 0 && number < ROUNDS; number++) details = round(number);
  const { failed, errorInstance, seed, counterexamplePath, counterexample } = details;
  if (!failed && reached === 0) throw new Error(`none of ${tried} cases came to what was to be looked at`);
  if (!failed) return;
  const shown = JSON.stringify(counterexample?.[0]) ?? "nothing";
  const cut = shown.length > SHOWN ? `${shown.slice(0, SHOWN)}... (${shown.length} characters)` : shown;
  throw new Error(`HUNKWISE_SEED=${seed}, path ${counterexamplePath}: ${errorInstance}\n${cut}`, {
    cause: errorInstance,
  });
}

/** Undefined if it threw a declared error. */
function tryOne<Value, Output>(
  target: FuzzTarget<Value, Output>,
  value: Value,
): { output: Output } | undefined {
  const { run, check = () => {}, mayThrow = () => false, sizeOf = jsonLength } = target;
  let ended: { output: Output } | undefined;
  const attempt = () => {
    try {
      ended = { output: run(value) };
    } catch (error) {
      if (!mayThrow(error)) throw error;
    }
  };
  const milliseconds = millisecondsOf(() => untilItHangs(attempt));
  if (milliseconds > WEIGHED_MS) requireProportion(attempt, sizeOf(value));
  if (ended) check(ended.output, value);
  return ended;
}

const jsonLength = (value: unknown) => JSON.stringify(value)?.length ?? 0;

/** Compares the best time of several runs with the best time of several walks through a text of this size, in turn. */
function requireProportion(attempt: () => void, size: number): void {
  const text = "x".repeat(Math.max(size, LEAST_SIZE));
  let one = Number.POSITIVE_INFINITY;
  let reference = 0;
  // Stops at the first fast round: code with the wrong complexity is slow in every round.
  for (let round = 0; round < 5 && one > MAX_WALKS * reference; round++) {
    one = Math.min(
      one,
      millisecondsOf(() => untilItHangs(attempt)),
    );
    reference = Math.max(reference, millisecondsOf(() => walk(text)) / WALKS);
  }
  const walks = one / reference;
  if (walks <= MAX_WALKS) return;
  throw new Error(`takes as long as ${Math.round(walks)} walks through its ${size} characters`);
}

/** Keeps the sum, so that the compiler does not remove the walk. */
const walked = { sum: 0 };
/** Enough consecutive walks to be measurable. */
const WALKS = 20;

function walk(text: string): void {
  for (let round = 0; round < WALKS; round++) {
    for (let at = 0; at < text.length; at++) walked.sum += text.charCodeAt(at);
  }
}

function millisecondsOf(action: () => void): number {
  const start = performance.now();
  action();
  return performance.now() - start;
}

const stage: { attempt: () => void } = { attempt: () => {} };
const STAGE = Symbol.for("hunkwise.fuzz");
Object.assign(globalThis, { [STAGE]: stage });
const script = new Script(`globalThis[Symbol.for("${STAGE.description}")].attempt()`);

/** Runs the case where the engine can stop it: an endless loop would block the whole test run. */
function untilItHangs(attempt: () => void): void {
  stage.attempt = attempt;
  script.runInThisContext({ timeout: HANG_MS });
}

/** In characters; long enough to expose quadratic time. */
const MAX_REPEATED = 50_000;

/**
 * Texts of the given pieces and of other Unicode text, in any order, some of them repeated until the text is long: most slow code is slow
 * on repetitions.
 */
export function textOf(pieces: readonly string[]): fc.Arbitrary<string> {
  const piece = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...pieces) },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
    { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
  );
  const some = (maxLength: number) => fc.array(piece, { maxLength }).map((parts) => parts.join(""));
  const repetition = fc
    .tuple(some(4), fc.integer({ min: 1, max: MAX_REPEATED }))
    .map(([unit, length]) => unit.repeat(Math.ceil(length / Math.max(1, unit.length))).slice(0, length));
  return fc.oneof(
    { weight: 8, arbitrary: some(40) },
    { weight: 1, arbitrary: fc.tuple(some(6), repetition, some(6)).map((parts) => parts.join("")) },
    { weight: 1, arbitrary: fc.tuple(repetition, some(3), repetition).map((parts) => parts.join("")) },
  );
}
