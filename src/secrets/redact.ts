import { setImmediate } from "node:timers/promises";
import { secretFormsIn } from "./forms.ts";
import { liveSecretsIn } from "./live-secrets.ts";
import { isPlaceholder } from "./randomness.ts";
import { type TextRange, valuesIn, withoutRanges } from "./ranges.ts";
import { isMadeUpAddress, lintSecrets } from "./secretlint.ts";

/** `text` without any secret that is registered or recognisable by its form. For lines, and as the last check before text leaves. */
export function withoutSecrets(text: string): string {
  return withoutRanges(text, knownSecretsIn(text));
}

function knownSecretsIn(text: string): TextRange[] {
  return [...liveSecretsIn(text), ...secretFormsIn(text)];
}

/** Size of one search step: some milliseconds. A secret that is longer than the overlap may be missed between two pieces. */
const pieces = { size: 64 * 1024, overlap: 8 * 1024 };
const lintedPieces = { size: 16 * 1024, overlap: 2 * 1024 };

/**
 * Like `withoutSecrets`, and also removes what secretlint finds. Yields to other work between pieces of the text, so the text can have any
 * length.
 */
export async function redactText(text: string): Promise<string> {
  return withoutRanges(text, await secretsIn(text));
}

/** Like `redactText`, with all lines in place: each line of a multi-line key is replaced by itself. */
export async function redactLines(text: string): Promise<string> {
  return withoutRanges(text, valuesIn(text, await secretsIn(text)));
}

/** Secrets that either scanner finds in a text of any length, in no order. Ranges may overlap. */
export async function secretsIn(text: string): Promise<TextRange[]> {
  const ranges: TextRange[] = [];
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

function moved(ranges: readonly TextRange[], by: number): TextRange[] {
  return ranges.map(({ start, end }) => ({ start: start + by, end: end + by }));
}

/** secretlint reports a cloud's key file as a whole; only the key in it is secret, and that has a form of its own. */
async function lintedIn(text: string): Promise<TextRange[]> {
  const matches = await lintSecrets(text, "txt");
  return matches.filter(({ rule, start, end }) => {
    const found = text.slice(start, end);
    return rule !== "gcp" && !isMadeUpAddress(found) && !isPlaceholder(found);
  });
}

/**
 * A structure with every string in it redacted. Strings and lists of strings below a key in `kept` stay unchanged: paths, hashes and names,
 * which are only meaningful as they are.
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
