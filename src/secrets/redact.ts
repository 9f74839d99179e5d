import { setImmediate } from "node:timers/promises";
import { secretFormsIn } from "./forms.ts";
import { liveSecretsIn } from "./live-secrets.ts";
import { isPlaceholder } from "./randomness.ts";
import { type Range, valuesIn, withoutRanges } from "./ranges.ts";
import { isMadeUpAddress, lintSecrets } from "./secretlint.ts";

/** `text` without any secret that is registered or shows by its form. For lines, and as the last look at what leaves. */
export function withoutSecrets(text: string): string {
  return withoutRanges(text, knownSecretsIn(text));
}

function knownSecretsIn(text: string): Range[] {
  return [...liveSecretsIn(text), ...secretFormsIn(text)];
}

/** How much is looked at in one go: some milliseconds. What is longer than an overlap may be missed where pieces meet. */
const pieces = { size: 64 * 1024, overlap: 8 * 1024 };
const lintedPieces = { size: 16 * 1024, overlap: 2 * 1024 };

/** The same with what secretlint finds too. Other work gets its turn between pieces of the text, so that any length may be given. */
export async function redactText(text: string): Promise<string> {
  return withoutRanges(text, await secretsIn(text));
}

/** The same, with each line where it was: of a key in lines each is taken out by itself. */
export async function redactLines(text: string): Promise<string> {
  return withoutRanges(text, valuesIn(text, await secretsIn(text)));
}

/** Where both scanners find a secret in a text of any length, in no order. Ranges may overlap. */
export async function secretsIn(text: string): Promise<Range[]> {
  const ranges: Range[] = [];
  for await (const { piece, at } of eachPiece(text, pieces)) ranges.push(...moved(knownSecretsIn(piece), at));
  for await (const { piece, at } of eachPiece(text, lintedPieces))
    ranges.push(...moved(await lintedIn(piece), at));
  return ranges;
}

async function* eachPiece(text: string, { size, overlap }: typeof pieces) {
  for (let at = 0; at === 0 || at + overlap < text.length; at += size - overlap) {
    if (at > 0) await setImmediate();
    yield { piece: text.slice(at, at + size), at };
  }
}

function moved(ranges: readonly Range[], by: number): Range[] {
  return ranges.map(({ start, end }) => ({ start: start + by, end: end + by }));
}

/** A cloud's key file is found as a whole; of that, the key alone is secret, and that has a form of its own. */
async function lintedIn(text: string): Promise<Range[]> {
  const matches = await lintSecrets(text, "txt");
  return matches.filter(({ rule, start, end }) => {
    const found = text.slice(start, end);
    return rule !== "gcp" && !isMadeUpAddress(found) && !isPlaceholder(found);
  });
}

/**
 * A structure with every string in it redacted. What stands below a key of `kept` in one string or in a list of them stays: paths,
 * hashes and names that mean something only as they are.
 */
export async function redactStrings<Value>(value: Value, kept: ReadonlySet<string>): Promise<Value> {
  return (await redacted(value, kept)) as Value;
}

async function redacted(value: unknown, kept: ReadonlySet<string>): Promise<unknown> {
  if (typeof value === "string") return redactText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) items.push(await redacted(item, kept));
    return items;
  }
  const entries: [string, unknown][] = [];
  for (const [key, inner] of Object.entries(value)) {
    const stays = kept.has(key) && isText(inner);
    entries.push([key, stays ? inner : await redacted(inner, kept)]);
  }
  return Object.fromEntries(entries);
}

function isText(value: unknown): boolean {
  return (
    typeof value === "string" || (Array.isArray(value) && value.every((item) => typeof item === "string"))
  );
}
