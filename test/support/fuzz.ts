import { Script } from "node:vm";
import fc from "fast-check";

const isLong = process.env.HUNKWISE_LONG === "1";
/** For one target; there are five. */
const MILLISECONDS = isLong ? 120_000 : 2_000;
/** The same cases at each run of `npm test`, so that it only judges the change; others at each slow run. */
const SEED = Number(process.env.HUNKWISE_SEED ?? (isLong ? Date.now() % 2 ** 31 : 20_260_725));
/** A case that has not ended by then never will: none is larger than some ten thousand characters. */
const HANG_MS = 10_000;

/**
 * How many times as long as a walk through all of its characters a case may take. What looks at each character a few hundred
 * times stays below; what looks at all of 50,000 characters for each of them does not.
 */
const MAX_WALKS = 3_000;
/** What is shorter is weighed as if it had so many characters: calling anything at all costs something. */
const LEAST_SIZE = 2_000;
/** Looking twice costs time: only cases that took longer are weighed. */
const WEIGHED_MS = 4;
/** Characters that are shown of a value; the seed and the path bring back the whole. */
const SHOWN = 1_000;

/** At most, where no case comes to what is to be looked at. */
const ROUNDS = 8;

/** For the test around `fuzz`, in milliseconds: it ends by itself, but what it found still has to be made smaller. */
export const FUZZ_TIMEOUT_MS = ROUNDS * MILLISECONDS + 6 * HANG_MS;

export interface FuzzTarget<Value, Output> {
  values: fc.Arbitrary<Value>;
  /** What is tried; its time is held against the size of the value. */
  run: (value: Value) => Output;
  /** Fails when the output is not what it should be. */
  check?: (output: Output, value: Value) => void;
  /** Whether an error is one that `run` declares. Without it there is none. */
  mayThrow?: (error: unknown) => boolean;
  /** What some case has to come to, lest all of them be turned away at the door. Without it: some case has to end without an error. */
  reaches?: (output: Output) => boolean;
  /** Characters of a value; without it those of its JSON. */
  sizeOf?: (value: Value) => number;
  /** The part of a target's time that this one gets, where a target consists of several. */
  share?: number;
}

/**
 * Tries values until the time is up: 2 seconds, or 2 minutes in `npm run test:slow`. Fails with the value, made as small as it
 * can be, and the seed (`HUNKWISE_SEED` brings it back) when `run` throws what it does not declare, does not end, or takes out
 * of proportion to the size of its value.
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
    // A round that time ended before its first case counts as failed, without a case to show.
    return { ...details, failed: details.failed && details.counterexample !== null };
  };
  let details = round(0);
  // A machine that has much else to do may have come to a few cases alone.
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

/** Undefined where it threw what it declares. */
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

/** Compares the best of several runs with the best of several walks through a text of that size, one after the other. */
function requireProportion(attempt: () => void, size: number): void {
  const text = "x".repeat(Math.max(size, LEAST_SIZE));
  let one = Number.POSITIVE_INFINITY;
  let reference = 0;
  // Until it was quick enough once: what is out of proportion never is, however often it is tried.
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

/** Where the sum goes, so that no compiler leaves the walk out. */
const walked = { sum: 0 };
/** So many one after the other take long enough to be measured. */
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

/** Runs it where the engine can end it: a loop without an end would hold the whole test run. */
function untilItHangs(attempt: () => void): void {
  stage.attempt = attempt;
  script.runInThisContext({ timeout: HANG_MS });
}

/** In characters; long enough for what grows with the square of its length to be seen. */
const MAX_REPEATED = 50_000;

/**
 * Texts that consist of the given pieces and of what Unicode has besides, in any order, some of them repeated until the text
 * is long: most of what is slow is slow on repetitions.
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
