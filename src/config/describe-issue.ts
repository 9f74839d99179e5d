import { distance } from "fastest-levenshtein";
import { z } from "zod";

type Issue = z.core.$ZodIssue;

/** The keys that the schema does not know, when that is what the issue is about. */
export function unknownKeys(issue: Issue): string[] | undefined {
  return issue.code === "unrecognized_keys" ? issue.keys : undefined;
}

/** What is wrong with the value at `path`, in words for whoever wrote a file of that schema. */
export function describeIssue(
  issue: Issue,
  path: readonly PropertyKey[],
  value: unknown,
  schema: z.ZodType,
): string {
  if (issue.code === "unrecognized_keys") return unknownKey(path, schema);
  if (value === undefined) return "is missing";
  const wanted = wantedBy(issue);
  return wanted ? `must be ${wanted}, not ${shown(value)}` : issue.message;
}

/** What is wrong with a place that names private paths: where it stands, or else its shape. */
export function describePlace(regular: boolean): string {
  return regular
    ? "must be a list of texts, one line each; what can be read of it is kept private"
    : "is out of place; what it lists is kept private, but belongs to paths.private, which stands once";
}

function wantedBy(issue: Issue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return typeNames[issue.expected] ?? issue.expected;
    case "invalid_value":
      return oneOf(issue.values);
    case "invalid_union":
      return oneOf(
        issue.errors.flat().flatMap((inner) => (inner.code === "invalid_value" ? inner.values : [])),
      );
    case "too_big":
      return `${issue.inclusive ? "at most" : "less than"} ${issue.maximum}${unit(issue.origin)}`;
    case "too_small":
      return `${issue.inclusive ? "at least" : "more than"} ${issue.minimum}${unit(issue.origin)}`;
    default:
      return undefined;
  }
}

const typeNames: Record<string, string> = {
  boolean: "true or false",
  array: "a list",
  object: "a group of keys",
  string: "text",
  number: "a number",
  int: "a whole number",
};
const unit = (origin: string) => (origin === "string" ? " characters" : "");
const oneOf = (values: readonly unknown[]) => (values.length > 0 ? `one of ${values.join(", ")}` : undefined);

/** The value, short and on one line: it stands in a notice on GitHub. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** Longer ones are no typing error of a key. */
const MAX_KEY = 40;

function unknownKey(path: readonly PropertyKey[], schema: z.ZodType): string {
  const known = keysAt(path.slice(0, -1), schema);
  const key = String(path.at(-1));
  const nearest = known
    .map((candidate) => ({ candidate, edits: distance(key.slice(0, MAX_KEY).toLowerCase(), candidate) }))
    .toSorted((a, b) => a.edits - b.edits)[0];
  const close = nearest && nearest.edits <= Math.max(1, Math.floor(key.length / 3));
  return close
    ? `is not known; did you mean ${nearest.candidate}?`
    : `is not known; known are ${known.join(", ")}`;
}

const made = new WeakMap<z.ZodType, unknown>();
/** Made once, as it takes longer than to check a file. */
function inputSchema(type: z.ZodType): unknown {
  const schema = made.get(type) ?? z.toJSONSchema(type, { io: "input" });
  made.set(type, schema);
  return schema;
}

/** The keys that the schema knows below `path`. */
function keysAt(path: readonly PropertyKey[], type: z.ZodType): string[] {
  let schema: unknown = inputSchema(type);
  for (const part of path) {
    const { properties, items } = schema as { properties?: Record<string, unknown>; items?: unknown };
    schema = typeof part === "number" ? items : properties?.[String(part)];
  }
  return Object.keys((schema as { properties?: object } | undefined)?.properties ?? {});
}
