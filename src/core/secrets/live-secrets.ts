import {
  exactSpellings,
  mightBeWords,
  type Needle,
  NeedleIndex,
  needlesOf,
  plainSpellings,
  readingsOf,
} from "./needle-index.ts";
import { type TextRange, withoutRanges } from "./ranges.ts";

interface LiveSecret {
  needles: readonly Needle[];
  /** Spellings of a secret that is too short for the index. */
  exact: readonly string[];
  plain: readonly string[];
}

/** Registered values, which must not appear in any log line or public text. */
const keptSecrets = new Map<string, LiveSecret>();
const passingSecrets = new Map<string, LiveSecret>();
const index = new NeedleIndex();
let exactTexts: readonly string[] = [];
let plainTexts: readonly string[] = [];

/** Tokens live an hour and are many: the oldest are dropped, and are still recognized by their form. */
const mostPassing = 100;
const SHORTEST_SECRET = 8;

/**
 * From now on, removes a value from all text that leaves this process. `keep` is for secrets of the environment; tokens expire. A value with
 * 12 letters and digits is found in any case, in JSON, URLs and HTML, as base64, hex or numbers, backwards, and with other characters
 * inserted; one of 24 characters also in parts of 16; a shorter one only in those spellings exactly. Values under 8 characters, or of ordinary
 * words, are not replaced: that would reveal them.
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
  index.remove(passingSecrets.get(value)?.needles ?? []);
  passingSecrets.delete(value);
}

/** Whether the text contains a registered value, in any spelling. Linear in its length. */
export function holdsLiveSecret(text: string): boolean {
  if (exactTexts.some((exact) => text.includes(exact))) return true;
  return !index.isEmpty && readingsOf(text).some((reading) => index.rangesIn(reading, true).length > 0);
}

/** Positions of registered values, in any spelling. Linear in the text's length. */
export function liveSecretsIn(text: string): TextRange[] {
  const ranges = index.isEmpty ? [] : readingsOf(text).flatMap((reading) => index.rangesIn(reading));
  return [...ranges, ...exactTexts.flatMap((exact) => placesOf(exact, text))];
}

export function withoutLiveSecrets(text: string): string {
  return withoutRanges(text, liveSecretsIn(text));
}

/**
 * Whether the text contains a registered value as it is or in JSON, or one line of a key. Some hundred times faster than a search for every
 * spelling.
 */
export function holdsPlainSecret(text: string): boolean {
  return plainTexts.some((plain) => text.includes(plain));
}

function placesOf(wanted: string, text: string): TextRange[] {
  const found: TextRange[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length))
    found.push({ start: at, end: at + wanted.length });
  return found;
}
