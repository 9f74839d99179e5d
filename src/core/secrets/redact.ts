import { setImmediate } from "node:timers/promises";
import { LRUCache } from "lru-cache";
import { type FoundSecret, secretFormsIn } from "./forms.ts";
import { liveSecretsIn } from "./live-secrets.ts";
import { type TextRange, valuesIn, withoutRanges } from "./ranges.ts";

/** `text` without any secret that is registered or recognizable by its form. For lines, and as the last check before text leaves. */
export function withoutSecrets(text: string): string {
  return withoutRanges(text, knownSecretsIn(text));
}

function knownSecretsIn(text: string): TextRange[] {
  return [...liveSecretsIn(text), ...secretFormsIn(text)];
}

/** Size of one search step: some milliseconds. A secret that is longer than the overlap may be missed between two pieces. */
const pieces = { size: 64 * 1024, overlap: 8 * 1024 };

/** Like `withoutSecrets`, for a text of any length: yields to other work between pieces of it. */
export async function redactText(text: string): Promise<string> {
  return withoutRanges(text, await secretsIn(text));
}

/** Like `redactText`, with all lines in place: each line of a multi-line key is replaced by itself. */
export async function redactLines(text: string): Promise<string> {
  return withoutRanges(text, valuesIn(text, await secretsIn(text)));
}

/** Registered secrets and those with a form, in a text of any length and in no order. Ranges may overlap. */
export async function secretsIn(text: string): Promise<TextRange[]> {
  const ranges: TextRange[] = [...(await formsInWhole(text))];
  for await (const { piece, at } of eachPiece(text)) ranges.push(...moved(liveSecretsIn(piece), at));
  return ranges;
}

/** Texts of this many characters in all: the files of a review are searched for findings, and again for masks. */
const recent = new LRUCache<string, readonly FoundSecret[]>({ maxSize: 8_000_000 });

/** Like `secretFormsIn`, for a text of any length. The same secret may be found twice. */
export async function formsInWhole(text: string): Promise<readonly FoundSecret[]> {
  const known = recent.get(text);
  if (known !== undefined) return known;
  const found: FoundSecret[] = [];
  for await (const { piece, at } of eachPiece(text)) found.push(...moved(secretFormsIn(piece), at));
  recent.set(text, found, { size: text.length + 1 });
  return found;
}

async function* eachPiece(text: string) {
  const { size, overlap } = pieces;
  for (let at = 0; at === 0 || at + overlap < text.length; at += size - overlap) {
    if (at > 0) await setImmediate();
    yield { piece: text.slice(at, at + size), at };
  }
}

const moved = <Range extends TextRange>(ranges: readonly Range[], by: number): Range[] =>
  ranges.map((range) => ({ ...range, start: range.start + by, end: range.end + by }));

/** Strings and lists of strings below a key in `kept` stay unchanged: paths, hashes and names, which only have a meaning as they are. */
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
