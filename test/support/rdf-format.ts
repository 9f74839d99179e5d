/**
 * The Reviewdog Diagnostic Format as JSON Schema, written by hand after proto/rdf/reviewdog.proto of github.com/reviewdog/reviewdog (commit
 * 6c307503, 2026-08-21). Stricter than the published schema, which accepts any property: names outside of the format are refused, and so are
 * positions before the first. The names are the format's.
 */
const strict = (properties: Record<string, unknown>, required: string[]) => ({
  type: "object",
  additionalProperties: false,
  properties,
  required,
});
const text = { type: "string" };
/** `int32`, starting at 1. */
const count = { type: "integer", minimum: 1, maximum: 2 ** 31 - 1 };
const severity = { enum: ["UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"] };
const position = strict({ line: count, column: count }, []);
const range = strict({ start: position, end: position }, ["start"]);
const location = strict({ path: text, range }, ["path"]);
const source = strict({ name: text, url: text }, ["name"]);

/** A line of `rdjsonl`. */
export const rdDiagnostic = strict(
  {
    message: text,
    location,
    severity,
    source,
    code: strict({ value: text, url: text }, ["value"]),
    suggestions: { type: "array", items: strict({ range, text }, ["range", "text"]) },
    original_output: text,
    related_locations: { type: "array", items: strict({ message: text, location }, ["location"]) },
  },
  ["message", "location"],
);

/** The whole of `rdjson`. */
export const rdResult = strict({ diagnostics: { type: "array", items: rdDiagnostic }, source, severity }, [
  "diagnostics",
]);

export interface RdSuggestion {
  range: { start: { line: number; column?: number }; end: { line: number; column?: number } };
  text: string;
}

const endOf = (line: string) => /\r?\n$|$/.exec(line)?.[0] ?? "";

/** Lines with their line ends. */
const wholeLines = (file: string) => file.match(/[^\n]*\n|[^\n]+$/g) ?? [];

/**
 * The file after a suggestion as the format defines it: without columns, a range covers its lines up to the end of the last one, without
 * its line end. An empty text deletes the lines, as every reporter of reviewdog posts it.
 */
export function appliedByFormat(
  file: string,
  { range: { start, end }, text: inserted }: RdSuggestion,
): string {
  if (start.column !== undefined || end.column !== undefined) throw new Error("columns are not read here");
  const lines = wholeLines(file);
  const last = lines[end.line - 1] ?? "";
  const put = inserted === "" ? "" : inserted + endOf(last);
  return [...lines.slice(0, start.line - 1), put, ...lines.slice(end.line)].join("");
}

/**
 * The file after reviewdog posted the suggestion and somebody committed it: reviewdog writes the text and a line feed into a block, GitHub
 * replaces the lines of the comment by those of the block and keeps the file's line ends. Reviewdog refuses a suggestion whose lines are not
 * those of the comment (service/github/github.go, `buildSingleSuggestion`).
 */
export function appliedByGitHub(
  file: string,
  comment: RdSuggestion["range"],
  { range, text: inserted }: RdSuggestion,
): string {
  if (comment.start.line !== range.start.line || comment.end.line !== range.end.line)
    throw new Error("GitHub comment range and suggestion line range must be same");
  const block = inserted === "" ? "" : `${inserted}\n`;
  const lines = wholeLines(file);
  const end = lines.some((line) => line.endsWith("\r\n")) ? "\r\n" : "\n";
  const put = wholeLines(block).map((line) => line.replace(/\r?\n$/, "") + end);
  // The end of the file stays as it is.
  if (range.end.line === lines.length && put.length > 0)
    put.push((put.pop() ?? "").replace(/\r?\n$/, endOf(lines.at(-1) ?? "")));
  return [...lines.slice(0, range.start.line - 1), ...put, ...lines.slice(range.end.line)].join("");
}
