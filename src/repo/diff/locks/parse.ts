import { constructFromEvents, FAILSAFE_SCHEMA, parseEvents, YAMLException } from "js-yaml";
import { parse as parseToml, TomlError } from "smol-toml";
import { z } from "zod";

/** A text that is not understood whole. The message says why, without any of the text. */
export class NotRead extends Error {}

/** @throws NotRead @param what it has that is not known, or that no tool writes */
export function refuse(what: string): never {
  throw new NotRead(`it has ${what}`);
}

const maxDepth = 100;
const hidden = /[[\p{Cc}\u2028-\u202e\u2066-\u2069\ufeff]--[\t\n]]/v;

/** The text with line feeds alone. Texts with a byte order mark or with characters that editors do not show are refused. */
export function plainText(text: string): string {
  const plain = text.replaceAll("\r\n", "\n");
  return hidden.test(plain) ? refuse("hidden characters") : plain;
}

const token = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}[\]]/g;

/** The value of a JSON text in which no object has a key twice: tools use the first one or the last. */
export function json(text: string): unknown {
  const value = attempt(() => JSON.parse(text), SyntaxError, "a fault in its JSON");
  const open: Set<unknown>[] = [];
  for (const [found, colon] of text.matchAll(token)) {
    if (found === "{" || found === "[") open.push(new Set());
    else if (found === "}" || found === "]") open.pop();
    else if (colon !== undefined) {
      const written = found.slice(0, -colon.length);
      const key: unknown = written.includes("\\") ? JSON.parse(written) : written.slice(1, -1);
      if (open.at(-1)?.has(key) === true) refuse("a key twice in one object");
      open.at(-1)?.add(key);
    }
    if (open.length > maxDepth) refuse("too many levels");
  }
  return value;
}

const stringOrComma = /"[^"\\]*(?:\\.[^"\\]*)*(?:"|$)|,(?=\s*[\]}])/g;

/** JSON with commas at the end of lists and objects, as Bun writes it. */
export const jsonWithCommas = (text: string): unknown =>
  json(text.replace(stringOrComma, (found) => (found === "," ? "" : found)));

/** The value of a YAML text without anchors, aliases, merged keys and tags. All scalars are strings. */
export const yaml = (text: string): unknown =>
  attempt(() => documentOf(text), YAMLException, "a fault in its YAML");

function documentOf(text: string): unknown {
  const events = parseEvents(text, { maxDepth });
  const isPlain = events.every(
    (event) =>
      ("anchorStart" in event ? event.anchorStart : -1) < 0 &&
      ("tagStart" in event ? event.tagStart : -1) < 0,
  );
  const documents = constructFromEvents(events, { source: text, schema: FAILSAFE_SCHEMA, maxAliases: 0 });
  return isPlain && documents.length === 1 ? documents[0] : refuse("anchors, tags or several documents");
}

export const toml = (text: string): unknown =>
  attempt(() => parseToml(text, { maxDepth }), TomlError, "a fault in its TOML");

function attempt<T>(parse: () => T, failure: new (...args: never[]) => Error, fault: string): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof failure) refuse(fault);
    throw error;
  }
}

/** `value`, if it has this shape and nothing else. */
export function shaped<T>(schema: z.ZodType<T>, value: unknown): T {
  const { success, data } = schema.safeParse(value);
  return success ? data : refuse("a part of an unknown form");
}

/** An object with these fields and no others. `ignored` has the names, separated by spaces, of fields that may have any value. */
export const closed = <S extends z.ZodRawShape>(shape: S, ignored = "") =>
  z.strictObject({
    ...(fields(ignored, z.unknown().optional()) as Record<never, never>),
    ...shape,
  });

/** An object with any keys except for one that zod leaves out without a word. */
export const dict = <T extends z.ZodType>(value: T) =>
  z.custom<object>(isDict).pipe(z.record(z.string(), value));

const isDict = (one: unknown): one is object =>
  typeof one === "object" && one !== null && !Array.isArray(one) && !Object.hasOwn(one, "__proto__");

export const Text = z.string();
/** There is one or two for each package, and zod takes ten times as long for a record. */
export const Texts = z
  .custom<Record<string, string>>(
    (one) => isDict(one) && Object.values(one).every((value) => typeof value === "string"),
  )
  .default({});
/** A name or a version, of any tool. */
export const Word = Text.regex(/^[\w@./+!~-]{1,300}$/);
export const listOf = <T extends z.ZodType>(one: T) => z.array(one).default([]);

type Words<S extends string> = S extends `${infer Head} ${infer Tail}` ? Head | Words<Tail> : S;

/** Fields for a shape, by their names with spaces between. */
export const fields = <S extends string, T extends z.ZodType>(names: S, type: T) =>
  Object.fromEntries(names.split(" ").map((name) => [name, type])) as Record<Words<S>, T>;

/** Fields with text that may be left out. */
export const maybe = <S extends string>(names: S) => fields(names, Text.optional());

/** @throws NotRead if one of the keys occurs twice */
export function once(keys: readonly string[]): void {
  if (new Set(keys).size < keys.length) refuse("a package twice");
}
