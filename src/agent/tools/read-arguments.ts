import { z } from "zod";
import { cutSentence } from "../../core/text/cut.ts";
import { isObject, readLenient } from "../llm/lenient-json.ts";
import { type AnyTool, ToolError } from "./tool.ts";

type Arguments = Record<string, unknown>;

/** The part of JSON Schema that zod makes of a tool's input. */
interface Schema {
  type?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
}

/** The parts of a tool that decide how its arguments are read. */
export type Taking = Pick<AnyTool, "name" | "input"> & Partial<Pick<AnyTool, "kind">>;

const schemas = new WeakMap<z.ZodType, Schema>();

/** The schema of a tool's arguments, as a caller writes them. */
export function inputSchema({ input }: Pick<AnyTool, "input">): Schema {
  const known = schemas.get(input) ?? (z.toJSONSchema(input, { io: "input" }) as Schema);
  schemas.set(input, known);
  return known;
}

/** Other names of an argument, each with its real one. An alias counts only if the tool has the real name and not the alias. */
const aliases = [
  ["path", "file_path"],
  ["file_path", "path"],
  ["file", "file_path"],
  ["file", "path"],
  ["path1", "file_path1"],
  ["path2", "file_path2"],
  ["path", "directory"],
  ["line_number", "line"],
] as const;
/** What some models call the body of a report. Beside a body, they are further text that no tool knows. */
const bodies = new Set(["description", "message"]);

/** Words of other scales and of diffs, for each of ours. A word that is in none of these lists is asked for. */
const synonyms: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  severity: {
    critical: "blocker blocking p0",
    high: "major severe error p1",
    medium: "moderate warning p2",
    low: "minor trivial info note nit p3",
  },
  category: {
    correctness: "bug logic logic-error functional",
    security: "vulnerability",
    concurrency: "race race-condition",
    "error-handling": "error exception",
    performance: "perf",
    resource: "leak",
    api: "compatibility breaking-change",
    data: "data-loss",
    test: "tests testing",
    maintainability: "style readability",
    docs: "documentation",
  },
  side: {
    RIGHT: "+ new added",
    LEFT: "- old removed",
  },
};

/** What is looked up, where a part means something else, and a work note, which fits into two. */
const neverCut = new Set(["quote", "path", "content"]);

const fold = (word: string) =>
  word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s_]+/g, "-");

/** Our word for one of another list; undefined if there is none. */
function synonymOf(property: string, word: string): string | undefined {
  const ours = Object.entries(synonyms[property] ?? {});
  return ours.find(([, others]) => others.split(" ").includes(fold(word)))?.[0];
}

/**
 * Arguments as models write them, in the form of the tool's schema, as far as no guess is needed: numbers, booleans and JSON as text, one item
 * for a list, other names and other case. A tool that changes files takes only its own form. A report ignores unknown keys and cuts long
 * prose, because it must not get lost.
 * @returns the arguments, and one sentence on each thing that was left out
 * @throws ToolError if two names of one argument have different values
 */
export function readArguments(tool: Taking, given: Arguments): { input: Arguments; notes: string[] } {
  const notes: string[] = [];
  if (tool.kind === "change") return { input: withoutNulls(given), notes };
  const schema = inputSchema(tool);
  const reader: Reader = { isReport: tool.kind === "report", notes };
  return { input: readObject(unwrapped(given, schema), schema, reader), notes };
}

interface Reader {
  isReport: boolean;
  notes: string[];
}

const withoutNulls = (given: Arguments): Arguments =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));

/** Some models put all arguments into one, under a name that no tool has. */
function unwrapped(given: Arguments, { properties = {} }: Schema): Arguments {
  const [[name, inner] = ["", null], ...others] = Object.entries(given);
  if (others.length > 0 || !/^(?:arguments|args|parameters|params|input|finding)$/.test(name)) return given;
  const value = typeof inner === "string" ? readLenient(inner) : inner;
  return name in properties || !isObject(value) ? given : value;
}

function readObject(given: Arguments, { properties = {} }: Schema, reader: Reader): Arguments {
  const read: Arguments = {};
  const unknown: string[] = [];
  for (const [key, value] of Object.entries(withoutNulls(given))) {
    const name = nameOf(key, given, properties, reader);
    const property = name === undefined ? undefined : properties[name];
    if (name === undefined || property === undefined) {
      unknown.push(key);
      // The tool's own check refuses it.
      if (!reader.isReport) Object.defineProperty(read, key, { value, enumerable: true });
      continue;
    }
    const inner = readValue(value, property, name, reader);
    if (inner === undefined) continue;
    if (name in read && String(read[name]) !== String(inner))
      throw new ToolError(`${name} is given twice, with different values; give \`${name}\` alone, once`);
    read[name] = inner;
  }
  if (reader.isReport && unknown.length > 0)
    reader.notes.push(`Ignored, because the tool does not know it: ${unknown.join(", ").slice(0, 200)}.`);
  return read;
}

function nameOf(
  sent: string,
  given: Arguments,
  properties: Record<string, Schema>,
  { isReport }: Reader,
): string | undefined {
  // Markdown's escape.
  const key = sent.replaceAll("\\_", "_");
  const known = (name: string) => Object.hasOwn(properties, name);
  if (known(key)) return key;
  if (bodies.has(key) && known("body") && !("body" in given)) return "body";
  const alias = aliases.find(([other, name]) => other === key && known(name))?.[1];
  if (alias !== undefined || !isReport) return alias;
  const plain = (name: string) => name.replaceAll(/[^a-zA-Z0-9]/g, "").toLowerCase();
  return Object.keys(properties).find((name) => plain(name) === plain(key));
}

/** Undefined for a value that counts as left out. What cannot be read is returned as it is, and the tool's own check refuses it. */
function readValue(value: unknown, schema: Schema, name: string, reader: Reader): unknown {
  switch (schema.type) {
    case "integer":
    case "number":
      return readNumber(value, schema.type);
    case "boolean":
      return typeof value === "string" && /^\s*(?:true|false)\s*$/i.test(value) ? /true/i.test(value) : value;
    case "array":
      return readList(value, schema.items ?? {}, name, reader);
    case "object": {
      const inner = typeof value === "string" ? readLenient(value) : value;
      return isObject(inner) && schema.properties ? readObject(inner, schema, reader) : value;
    }
    default:
      return readText(value, schema, name, reader);
  }
}

/** "12", "L12", "0.9" and "90%". */
function readNumber(value: unknown, type: "integer" | "number"): unknown {
  if (typeof value !== "string") return value;
  const text = value.trim();
  if (type === "integer")
    return /^L?\d{1,15}(?:\.0+)?$/i.test(text) ? Number.parseInt(text.replace(/^L/i, ""), 10) : value;
  if (/^-?\d{1,15}(?:\.\d{1,15})?$/.test(text)) return Number(text);
  return /^\d{1,3}(?:\.\d+)?\s*%$/.test(text) ? Number.parseFloat(text) / 100 : value;
}

function readList(value: unknown, items: Schema, name: string, reader: Reader): unknown {
  if (typeof value === "string" && value.trim() === "") return undefined;
  const parsed = typeof value === "string" && /^\s*[[{]/.test(value) ? (readLenient(value) ?? value) : value;
  const isOne = isObject(parsed) || (typeof parsed === "string" && items.type === "string");
  const list = isOne ? [parsed] : parsed;
  return Array.isArray(list) ? list.map((one: unknown) => readValue(one, items, name, reader)) : value;
}

function readText(value: unknown, schema: Schema, name: string, { isReport, notes }: Reader): unknown {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") return value;
  if (schema.enum && !schema.enum.includes(value)) {
    const same = schema.enum.find((word) => typeof word === "string" && fold(word) === fold(value));
    const ours = synonymOf(name, value);
    return same ?? (schema.enum.includes(ours) ? ours : value);
  }
  const { maxLength = Number.POSITIVE_INFINITY } = schema;
  if (!isReport || value.length <= maxLength || neverCut.has(name)) return value;
  const why = `because it is longer than ${maxLength} characters.`;
  // A part of a replacement would delete code.
  if (name === "suggestion") notes.push(`The suggestion was left out, ${why}`);
  else notes.push(`${name} was cut, ${why}`);
  return name === "suggestion" ? undefined : cutSentence(value, maxLength);
}

/** A whole number that {@link withinLimits} clamps. One that must not be replaced by another is declared with `min` and `max` instead. */
export function wholeNumber(minimum: number, maximum?: number) {
  return z.int().meta(maximum === undefined ? { minimum } : { minimum, maximum });
}

/** Arguments with every number within its limits, and the changes. A value below the minimum counts as omitted if there is no default. */
export function withinLimits(tool: AnyTool, parsed: unknown): { input: unknown; changes: string[] } {
  const input: Record<string, unknown> = { ...(parsed as object) };
  const changes: string[] = [];
  for (const [name, schema] of Object.entries(inputSchema(tool).properties ?? {})) {
    const value = input[name];
    const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema;
    if (schema.type !== "integer" || typeof value !== "number") continue;
    if (value > maximum) {
      input[name] = maximum;
      changes.push(`${name} ${value} is more than ${maximum}: ${maximum} was taken.`);
    } else if (value < minimum) {
      const hasDefault = tool.input instanceof z.ZodObject && tool.input.shape[name] instanceof z.ZodDefault;
      if (hasDefault) input[name] = minimum;
      else delete input[name];
      const instead = hasDefault ? `${minimum} was taken` : "it counts as left out";
      changes.push(`${name} ${value} is less than ${minimum}: ${instead}.`);
    }
  }
  return { input, changes };
}
