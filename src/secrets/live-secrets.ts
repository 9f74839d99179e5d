import { type Needle, NeedleIndex, type Range } from "./needle-index.ts";
import { readingsOf } from "./reading.ts";
import { exactSpellings, mightBeWords, needlesOf } from "./spellings.ts";

const censored = "[secret]";

interface LiveSecret {
  needles: readonly Needle[];
  /** Of one that is too short for the index. */
  exact: readonly string[];
}

/** Registered values that must not appear in any log line or public text, whoever writes it. */
const keptSecrets = new Map<string, LiveSecret>();
const passingSecrets = new Map<string, LiveSecret>();
const index = new NeedleIndex();
/** Of all short secrets, the longest first: one may hold another. */
let exactTexts: string[] = [];

/** Tokens live an hour and are many: the oldest are forgotten, and their form gives them away still. */
const mostPassing = 100;
const SHORTEST_SECRET = 8;

/**
 * Has a value taken out wherever text leaves this process from now on. `keep` is for those of the environment; tokens pass.
 *
 * One of 12 letters and digits or more is found in any case, as it is, as JSON, URLs and HTML write it, as base64 (also within a longer
 * text), hex or numbers, backwards, and with anything but letters and digits put between; one of 24 characters or more in parts
 * of 16 as well. A shorter one is found as it stands in those spellings. Values under 8 characters, and those that might
 * be ordinary words, are left alone: to replace them would eat text, and show what they are.
 */
export function registerSecret(value: string, options: { keep: boolean } = { keep: false }): void {
  if (value.length < SHORTEST_SECRET || mightBeWords(value)) return;
  const secrets = options.keep ? keptSecrets : passingSecrets;
  const known = secrets.get(value);
  secrets.delete(value);
  secrets.set(value, known ?? watched(value));
  const [oldest] = passingSecrets.keys();
  if (passingSecrets.size > mostPassing && oldest !== undefined) forget(oldest);
  exactTexts = allExactTexts();
}

function watched(value: string): LiveSecret {
  const needles = needlesOf(value);
  for (const needle of needles) index.add(needle);
  return { needles, exact: needles.length > 0 ? [] : exactSpellings(value) };
}

function forget(value: string): void {
  for (const needle of passingSecrets.get(value)?.needles ?? []) index.remove(needle);
  passingSecrets.delete(value);
}

function allExactTexts(): string[] {
  const texts = [...keptSecrets.values(), ...passingSecrets.values()].flatMap(({ exact }) => exact);
  return [...new Set(texts)].sort((one, other) => other.length - one.length);
}

/** Whether a registered value stands in the text, in any spelling. Linear in its length. */
export function holdsLiveSecret(text: string): boolean {
  if (exactTexts.some((exact) => text.includes(exact))) return true;
  return !index.isEmpty && readingsOf(text).some((reading) => index.rangesIn(reading, true).length > 0);
}

/** `text` without any registered value. Linear in its length. */
export function withoutLiveSecrets(text: string): string {
  const ranges = index.isEmpty ? [] : readingsOf(text).flatMap((reading) => index.rangesIn(reading));
  let clean = ranges.length === 0 ? text : withoutRanges(text, ranges);
  for (const exact of exactTexts) clean = clean.replaceAll(exact, censored);
  return clean;
}

/** What overlaps or follows without a gap becomes one. */
function withoutRanges(text: string, ranges: Range[]): string {
  const pieces: string[] = [];
  let kept = 0;
  for (const { start, end } of ranges.toSorted((one, other) => one.start - other.start)) {
    if (start > kept || pieces.length === 0) pieces.push(text.slice(kept, start), censored);
    kept = Math.max(kept, end);
  }
  pieces.push(text.slice(kept));
  return pieces.join("");
}
