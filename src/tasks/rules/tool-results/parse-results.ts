import { posix } from "node:path";
import { z } from "zod";
import { AppError } from "../../../core/errors.ts";
import { type Severity, worstFirst } from "../../../core/finding.ts";
import { decoded, JsonMeter, parseJson } from "../../../core/text/json.ts";
import { ToolResult } from "../../shapes/tool-result.ts";

/*
 * Results of other tools, as they write them: SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html) and reviewdog's
 * rdjson and rdjsonl (https://github.com/reviewdog/reviewdog/tree/master/proto/rdf). A job that ran the code of a pull request may have
 * written the file, so all of it is hostile.
 */

/** Most bytes of one file: what code scanning accepts has 10 MB compressed. */
export const MOST_BYTES = 20_000_000;
const limits = { depth: 64, elements: 2_000_000, members: 2_000_000 };
const MOST_RESULTS = 100_000;
/** Characters of one message, of a name, and of a path. Longer names and paths make a result unusable. */
const MOST_MESSAGE = 200;
const MOST_NAME = 1_000;
const MOST_PATH = 4_096;

export interface ParseOptions {
  name: string;
  /** Number of the file among those of a review. Default 0. */
  file?: number;
  /** Absolute paths of the work tree in which the tool ran: absolute paths in the file are relative to one of them. */
  roots: readonly string[];
  /** The only files whose results are wanted, and which decide what a path means that can be read in two ways. Left out: all. */
  changed?: ReadonlySet<string> | undefined;
  /** Takes why a result is left out, as the end of a sentence about it: "has no line". Not for what the tool itself suppressed. */
  onLeft?(reason: string): void;
}

/**
 * The results of a file, worst first, with paths relative to the repository. Results without a path or a line, and those that the tool
 * itself suppressed, are left out. Rejects with `usage` for a file that is none of these formats; the message quotes
 * nothing of it, because the name may lead to another file.
 */
export function parseResults(bytes: Buffer, options: ParseOptions): ToolResult[] {
  const { name, onLeft } = options;
  if (bytes.length > MOST_BYTES) throw unusable(name, `it has more than ${MOST_BYTES / 1e6} MB`);
  const meter = new JsonMeter(limits);
  if (!meter.take(bytes)) throw unusable(name, "it is nested too deeply or has too many values");
  const text = bytes.toString("utf8").replace(/^\ufeff/, "");
  const raw = rawResults(text, name);
  if (raw === null) throw unusable(name, "it is neither SARIF 2.1 nor rdjson or rdjsonl");
  const found = raw.map((one, at) =>
    at < MOST_RESULTS ? resultOf(one, options) : "is beyond the first 100,000",
  );
  for (const one of found) if (typeof one === "string") onLeft?.(one);
  return found.filter((one) => typeof one !== "string").toSorted(worstFirst);
}

const unusable = (name: string, why: string) =>
  new AppError("usage", `The results in '${name}' cannot be used: ${why}`, {
    remedy: "Name a SARIF 2.1 file, or an rdjson or rdjsonl file of reviewdog.",
  });

/** A result as a file has it, or why it is none. */
type Raw = RawResult | string;
interface RawResult {
  tool: string;
  rule: string;
  severity: Severity;
  /** A path, or a URI if `base` is given. */
  file: string;
  /** The URI that `file` is relative to, empty for none; null if `file` is a path. */
  base: string | null;
  startLine: number;
  endLine: number;
  message: string;
}

function rawResults(text: string, name: string): Raw[] | null {
  const whole = parseJson(text);
  const sarif = Sarif.safeParse(whole);
  if (sarif.success) return sarif.data.runs.flatMap(sarifResults);
  const { data: rdjson } = Rdjson.safeParse(whole);
  if (rdjson) return (rdjson.diagnostics ?? []).map((one) => rdjsonResult(one, rdjson));
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  // A tool that finds nothing writes no line.
  if (lines.length === 0) return /\.(?:rd)?jsonl$/i.test(name) ? [] : null;
  const each = lines.slice(0, MOST_RESULTS).map((line) => Diagnostic.safeParse(parseJson(line)).data ?? null);
  return each.every((one) => one === null) ? null : each.map((one) => rdjsonResult(one, {}));
}

/* SARIF */

/** What a tool leaves out, or writes in another way, is missing; the rest of its file counts. */
const maybe = <T extends z.ZodType>(shape: T) => shape.optional().catch(undefined);
const Name = z.string().max(MOST_NAME).catch("");
const OptionalName = maybe(z.string().max(MOST_NAME));
const Path = z.string().max(MOST_PATH);
/** Long enough for what is shown of it. */
const Words = z
  .string()
  .transform((text) => text.slice(0, 4 * MOST_MESSAGE))
  .catch("");
const Line = maybe(
  z.preprocess((value) => (/^\d{1,9}$/.test(String(value)) ? Number(value) : value), z.int().min(1)),
);
const Level = maybe(z.enum(["none", "note", "warning", "error"]));
const MessageText = z.looseObject({
  text: Words.optional(),
  id: OptionalName,
  arguments: z.array(Words).max(20).catch([]).optional(),
});
const Artifact = z.looseObject({
  uri: maybe(Path),
  uriBaseId: OptionalName,
  index: maybe(z.int().min(0)),
});
const Rule = z.looseObject({
  id: Name,
  defaultConfiguration: maybe(z.looseObject({ level: Level })),
  messageStrings: maybe(z.record(z.string(), z.looseObject({ text: Words }))),
  properties: maybe(z.looseObject({ "security-severity": maybe(z.union([z.string(), z.number()])) })),
});
const Driver = z.looseObject({ name: z.string().min(1).max(MOST_NAME), rules: maybe(z.array(Rule)) });
const Extension = z.looseObject({ name: Name, guid: Name, rules: Driver.shape.rules });
const ToolComponent = z.looseObject({ name: Name, guid: Name, index: maybe(z.int()) });
const RuleReference = z.looseObject({
  id: z.string().max(MOST_NAME).optional(),
  index: z.int().optional(),
  toolComponent: maybe(ToolComponent),
});
const PhysicalLocation = z.looseObject({
  artifactLocation: maybe(Artifact),
  region: maybe(z.looseObject({ startLine: Line, endLine: Line })),
});
const Result = z.looseObject({
  ruleId: OptionalName,
  ruleIndex: maybe(z.int()),
  rule: maybe(RuleReference),
  kind: maybe(z.string()),
  level: Level,
  message: maybe(MessageText),
  baselineState: maybe(z.string()),
  suppressions: z
    .array(z.looseObject({ status: maybe(z.string()) }))
    .nullish()
    .catch(undefined),
  locations: maybe(z.array(z.looseObject({ physicalLocation: maybe(PhysicalLocation) }))),
});
const Run = z.looseObject({
  tool: z.looseObject({ driver: Driver, extensions: maybe(z.array(Extension)) }),
  results: z.array(Result.nullable().catch(null)).nullish().catch(undefined),
  artifacts: maybe(z.array(z.looseObject({ location: maybe(Artifact) }))),
  originalUriBaseIds: maybe(z.record(z.string(), Artifact)),
});
const Sarif = z.looseObject({ version: z.string().regex(/^2\.1\./), runs: z.array(Run) });

const levels = { error: "high", warning: "medium", note: "low", none: "low" } as const;

function sarifResults({
  tool: { driver, extensions = [] },
  results,
  artifacts = [],
  originalUriBaseIds = {},
}: z.infer<typeof Run>): Raw[] {
  const components = [...extensions, driver];
  const byId = new Map(components.flatMap(({ rules = [] }) => rules).map((rule) => [rule.id, rule]));
  const byName = new Map(components.flatMap((one) => [one.name, one.guid].map((name) => [name, one])));
  const rulesOf = (of: z.infer<typeof ToolComponent> | undefined) =>
    (of ? (extensions[of.index ?? -1] ?? byName.get(of.guid || of.name)) : driver)?.rules;
  const resultsIn = (result: z.infer<typeof Result>): Raw[] => {
    const indexed = rulesOf(result.rule?.toolComponent)?.[result.rule?.index ?? result.ruleIndex ?? -1];
    const id = result.ruleId ?? result.rule?.id ?? indexed?.id ?? "";
    // "CA1000/1" is a part of the rule "CA1000" (3.52.4).
    const rule = indexed ?? byId.get(id) ?? byId.get(id.replace(/\/[^/]*$/, ""));
    const { artifactLocation: location, region } = result.locations?.[0]?.physicalLocation ?? {};
    const { uri, uriBaseId } =
      location?.uri === undefined ? (artifacts[location?.index ?? -1]?.location ?? {}) : location;
    return [
      {
        tool: driver.name,
        rule: id,
        severity: severityOf(result.level, rule),
        file: uri ?? "",
        base: originalUriBaseIds[uriBaseId ?? ""]?.uri ?? "",
        startLine: region?.startLine ?? 0,
        endLine: region?.endLine ?? region?.startLine ?? 0,
        message: messageOf(result.message, rule),
      },
      ...(result.locations ?? []).slice(1).map(() => "is a further place of another result"),
    ];
  };
  const all = (results ?? []).map((one) => one ?? "cannot be read");
  return all.flatMap((one) => (typeof one === "string" ? [one] : isFailure(one) ? resultsIn(one) : []));
}

const below = (base: string, file: string) =>
  isAbsolute(file) ? file : `${base.endsWith("/") || base === "" ? base : `${base}/`}${file}`;

/** Not what passed, what the tool's user suppressed, or what a baseline says is gone (3.27.9, 3.27.23, 3.27.24). */
function isFailure({ kind = "fail", suppressions, baselineState }: z.infer<typeof Result>): boolean {
  const isSuppressed = (suppressions ?? []).some(({ status = "accepted" }) => status === "accepted");
  return (
    (kind === "fail" || kind === "open" || kind === "review") && !isSuppressed && baselineState !== "absent"
  );
}

/** GitHub's scale of `security-severity` goes before the level. */
function severityOf(level: z.infer<typeof Level>, rule: z.infer<typeof Rule> | undefined): Severity {
  const score = Number(rule?.properties?.["security-severity"] ?? Number.NaN);
  if (score >= 9) return "critical";
  if (score >= 7) return "high";
  if (score >= 4) return "medium";
  if (score > 0) return "low";
  return levels[level ?? rule?.defaultConfiguration?.level ?? "warning"];
}

function messageOf(
  message: z.infer<typeof MessageText> | undefined,
  rule: z.infer<typeof Rule> | undefined,
): string {
  const text = message?.text ?? rule?.messageStrings?.[message?.id ?? ""]?.text ?? "";
  return text.slice(0, MOST_MESSAGE);
}

/* rdjson */

const RdSeverity = maybe(z.enum(["UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"]));
const Source = maybe(z.looseObject({ name: Name }));
const Place = maybe(z.looseObject({ line: Line }));
const Diagnostic = z.looseObject({
  message: Words,
  location: z.looseObject({ path: Path, range: maybe(z.looseObject({ start: Place, end: Place })) }),
  severity: RdSeverity,
  source: Source,
  code: maybe(z.looseObject({ value: Name })),
});
const diagnostics = z.array(Diagnostic.nullable().catch(null)).nullish();
// Writers leave out an empty list.
const Rdjson = z
  .looseObject({ diagnostics, severity: RdSeverity, source: Source })
  .refine((all) => Object.keys(all).every((key) => "diagnostics" in all || /^s(?:everity|ource)$/.test(key)));

const rdLevels = { ERROR: "high", WARNING: "medium", INFO: "low", UNKNOWN_SEVERITY: "medium" } as const;

function rdjsonResult(
  one: z.infer<typeof Diagnostic> | null,
  whole: Pick<z.infer<typeof Rdjson>, "severity" | "source">,
): Raw {
  if (one === null) return "cannot be read";
  const { message, location, severity, source, code } = one;
  const startLine = location.range?.start?.line ?? 0;
  return {
    tool: source?.name || whole.source?.name || "",
    rule: code?.value ?? "",
    severity: rdLevels[severity ?? whole.severity ?? "UNKNOWN_SEVERITY"],
    file: location.path.toWellFormed(),
    base: null,
    startLine,
    endLine: location.range?.end?.line ?? startLine,
    message,
  };
}

/** Names in few letters: they are shown without a model's judgment. */
const named = (text: string, most: number) =>
  text
    .slice(0, 10 * most)
    .replaceAll(/[^\w.:/@-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, most);

/** reviewdog needs no name of a tool. */
const UNNAMED = "unknown-tool";

function resultOf(raw: Raw, { roots, changed, file = 0 }: ParseOptions): ToolResult | string {
  if (typeof raw === "string") return raw;
  if (raw.file === "") return "names no file";
  const names = namesOf(raw);
  // A backslash may separate folders on the tool's machine.
  const slashed = names.map((name) => name.replaceAll("\\", "/"));
  const paths = [...names, ...slashed].map((name) => inside(name, roots));
  const path = paths.find((one) => one !== null && changed?.has(one)) ?? paths[names.length] ?? null;
  if (path === null) return "names a file outside of the repository";
  if (changed?.has(path) === false) return "names no changed file";
  if (raw.startLine === 0) return "has no line";
  const found = ToolResult.safeParse({
    file,
    tool: named(raw.tool.toLowerCase(), 40).replaceAll(/[/:]/g, "-") || UNNAMED,
    rule: named(raw.rule, 60) || "result",
    severity: raw.severity,
    path,
    line: raw.startLine,
    endLine: Math.max(raw.startLine, raw.endLine),
    message: raw.message.toWellFormed().slice(0, MOST_MESSAGE).replaceAll(/\s+/g, " ").trim(),
  });
  return found.success ? found.data : "cannot be read";
}

/** A path relative to the repository; null for one outside of it. */
function inside(name: string, roots: readonly string[]): string | null {
  const root = roots.find((one) => name.startsWith(`${one.replace(/\/+$/, "")}/`));
  const path = posix.normalize(root === undefined ? name : name.slice(root.replace(/\/+$/, "").length + 1));
  return /^(?:\/|\.{1,2}$|\.\.\/)|\0/.test(path) ? null : path;
}

const isAbsolute = (file: string) => /^(?:[a-z][a-z0-9+.-]*:|\/)/i.test(file);

/** What a result may name, the likeliest first; nothing for an address. Many tools write paths in URIs without encoding them. */
function namesOf({ file, base }: RawResult): string[] {
  if (base === null) return [file];
  const written = below(base, file).replace(/^file:(?:\/\/(?:localhost)?)?(?=\/)/i, "");
  if (/^[a-z][a-z0-9+.-]+:/i.test(written)) return [];
  const plain = decoded(written);
  return plain === null
    ? [written, written.replaceAll(/(?:%[0-9a-f]{2})+/gi, (all) => decoded(all) ?? all)]
    : [plain, written];
}
