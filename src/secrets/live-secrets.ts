import { type Needle, NeedleIndex, readingsOf } from "./needle-index.ts";
import { type Range, withoutRanges } from "./ranges.ts";
import { exactSpellings, mightBeWords, needlesOf, plainSpellings } from "./spellings.ts";

interface LiveSecret {
  needles: readonly Needle[];
  /** Of one that is too short for the index. */
  exact: readonly string[];
  plain: readonly string[];
}

/** Registered values that must not appear in any log line or public text, whoever writes it. */
const keptSecrets = new Map<string, LiveSecret>();
const passingSecrets = new Map<string, LiveSecret>();
const index = new NeedleIndex();
let exactTexts: readonly string[] = [];
let plainTexts: readonly string[] = [];

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
  const all = [...keptSecrets.values(), ...passingSecrets.values()];
  exactTexts = [...new Set(all.flatMap(({ exact }) => exact))];
  plainTexts = [...new Set(all.flatMap(({ plain }) => plain))];
}

function watched(value: string): LiveSecret {
  const needles = needlesOf(value);
  for (const needle of needles) index.add(needle);
  const exact = needles.length > 0 ? [] : exactSpellings(value);
  return { needles, exact, plain: plainSpellings(value) };
}

function forget(value: string): void {
  for (const needle of passingSecrets.get(value)?.needles ?? []) index.remove(needle);
  passingSecrets.delete(value);
}

/** Whether a registered value stands in the text, in any spelling. Linear in its length. */
export function holdsLiveSecret(text: string): boolean {
  if (exactTexts.some((exact) => text.includes(exact))) return true;
  return !index.isEmpty && readingsOf(text).some((reading) => index.rangesIn(reading, true).length > 0);
}

/** Where registered values stand, in any spelling. Linear in the text's length. */
export function liveSecretsIn(text: string): Range[] {
  const ranges = index.isEmpty ? [] : readingsOf(text).flatMap((reading) => index.rangesIn(reading));
  return [...ranges, ...exactTexts.flatMap((exact) => placesOf(exact, text))];
}

/** `text` without any registered value. */
export function withoutLiveSecrets(text: string): string {
  return withoutRanges(text, liveSecretsIn(text));
}

/**
 * Whether a registered value stands in the text as it is or as JSON writes it; of a key in lines, one of them is enough. Some
 * hundred times as fast as a look for every spelling: for what is long and asked all the time.
 */
export function holdsPlainSecret(text: string): boolean {
  return plainTexts.some((plain) => text.includes(plain));
}

function placesOf(wanted: string, text: string): Range[] {
  const found: Range[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length))
    found.push({ start: at, end: at + wanted.length });
  return found;
}
