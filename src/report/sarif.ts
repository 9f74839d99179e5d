import { type CodeLocation, type Finding, ruleNameOf, type Severity, toolOf } from "../core/finding.ts";
import { count } from "../core/text/count.ts";
import { escapeUnseen } from "../core/text/escape-invisible.ts";
import {
  type DroppedFinding,
  type PlacedFinding,
  type ReviewResult,
  unplacedLines,
} from "../tasks/shapes/review-result.ts";
import { anchorOf, linesWords } from "./code-frame.ts";
import { bodyOf, doubtSentence, markSentence, noteOf, proofPart } from "./finding-words.ts";
import { outcomeOf, outcomeSentence } from "./outcome.ts";
import { untrustedBlock, untrustedLine } from "./safe-markdown.ts";

/** Most bytes of the text of one finding. */
const MOST_BYTES = 60_000;

/** SARIF 2.1.0 (OASIS), as GitHub code scanning and editors read it. The names are the standard's. */
const SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

const levels: Record<Severity, string> = {
  critical: "error",
  high: "error",
  medium: "warning",
  low: "note",
};

/** GitHub sorts security alerts by this score (CVSS-like, 0 to 10). */
const securitySeverity: Record<Severity, string> = {
  critical: "9.5",
  high: "8.0",
  medium: "5.5",
  low: "2.0",
};

interface SarifContext {
  version: string;
  /** Tells this analysis apart from others of the same commit; if omitted, whoever uploads the log does. */
  category?: string | undefined;
}

export function toSarif(result: ReviewResult, { version, category }: SarifContext): Record<string, unknown> {
  const rejected = result.dropped.filter(({ verdict }) => verdict === "rejected");
  const matched = [...result.findings.map(({ finding }) => ruleOf(finding)), ...rejected.map(rejectedRule)];
  const rules = [...new Set(matched)].sort();
  return {
    $schema: SCHEMA,
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "hunkwise", version, rules: rules.map((id) => ruleObject(id, result)) } },
        // Code scanning tells analyses of one commit apart by this id; what follows the last slash would name a single run. Only without an
        // id, `upload-sarif` builds one from the workflow, the job and its matrix, which this process does not know.
        ...(category === undefined ? {} : { automationDetails: { id: `hunkwise/${category}/` } }),
        columnKind: "unicodeCodePoints",
        invocations: [invocation(result)],
        originalUriBaseIds: { SRCROOT: { description: { text: "The root of the repository." } } },
        results: [
          ...result.findings.map((placed) => sarifResult(placed, rules)),
          ...rejected.map((one) => suppressedResult(one, rules)),
        ],
        properties: {
          mode: result.mode,
          model: result.model,
          headSha: result.head_tree === null ? result.head_sha : null,
          headTree: result.head_tree,
          mergeBaseSha: result.merge_base_sha,
          hunksTotal: result.coverage.hunks_total,
          hunksServed: result.coverage.hunks_served,
          effort: result.effort,
          dropped: result.dropped,
          predicted: result.predicted,
        },
      },
    ],
  };
}

/** The SARIF text, indented, with a final line break. */
export function renderSarif(result: ReviewResult, context: SarifContext): string {
  return `${escapeUnseen(JSON.stringify(toSarif(result, context), null, 2))}\n`;
}

/** A named rule and an analyzer's rule under their own names. Other findings of a model are grouped by category. */
export const ruleOf = (finding: Finding): string => ruleNameOf(finding) ?? `model/${finding.category}`;

/** A rule in the words of its first finding: an analyzer uses the same words for each. Without a finding, it was only rejected. */
function ruleObject(id: string, { findings, dropped }: ReviewResult) {
  const first = findings.find(({ finding }) => ruleOf(finding) === id)?.finding;
  const title = dropped.find((one) => rejectedRule(one) === id)?.title ?? id;
  const words = first === undefined ? { title, help: `${title}\n\n${rejectedHelp(id)}` } : wordsOf(first);
  const [text, markdown] = [withoutLinks(words.help), untrustedBlock(words.help, MOST_BYTES)];
  return {
    id,
    name: id.replaceAll(/(?:^|[^a-zA-Z0-9]+)([a-zA-Z0-9]?)/g, (_, letter: string) => letter.toUpperCase()),
    shortDescription: { text: withoutLinks(words.title) },
    fullDescription: { text },
    help: { text, markdown },
    ...(first && {
      properties: {
        tags: [first.category],
        ...(first.category === "security" && { "security-severity": securitySeverity[first.severity] }),
      },
    }),
  };
}

const rejectedHelp = (id: string) =>
  `The rule ${id} matched, and the model that judged it says that the code is right.`;

function wordsOf({ rule, title, body, category, source }: Finding) {
  if (rule !== undefined)
    return {
      title: `Rule of this repository: ${rule}`,
      help: `The configuration of the repository defines the rule ${rule}. A language model read the change and reported code that breaks it. Each result says how.`,
    };
  if (source === "model")
    return {
      title: `Reported by the model: ${category}`,
      help: `A language model read the change and reported a problem of the category ${category}. Each result says what fails and how certain that is.`,
    };
  const tool = toolOf(source);
  const by = tool === null ? `the built-in rule ${source}` : `another tool, ${tool}`;
  return { title, help: `${body}\n\nFound by ${by}, without a model.` };
}

function invocation(result: ReviewResult) {
  const sentence = outcomeSentence(result);
  // Offline no hunk is read, which the sentence says.
  const unserved = result.mode === "model" ? result.coverage.unserved : [];
  const notes = [
    ...(sentence ? [`${sentence}.`] : []),
    ...unserved.map(({ path, hunks }) => `Not read: ${path}, ${count(hunks, "hunk")}.`),
    ...result.coverage.files_skipped.map(({ path, reason }) => `Skipped: ${path}: ${reason}`),
    ...unplacedLines(result),
    ...result.warnings,
  ];
  return {
    executionSuccessful: outcomeOf(result) !== "partial",
    toolExecutionNotifications: notes.map((text) => ({
      level: "warning",
      message: { text: withoutLinks(text) },
    })),
  };
}

function sarifResult({ finding, placement }: PlacedFinding, rules: readonly string[]) {
  const ruleId = ruleOf(finding);
  const removed = finding.side === "LEFT" ? removedNote(finding) : "";
  const note = [doubtSentence(finding), markSentence(finding), removed]
    .filter((part) => part !== "")
    .map((part) => `${part}\n\n`)
    .join("");
  return {
    ruleId,
    ruleIndex: rules.indexOf(ruleId),
    level: levels[finding.severity],
    message: {
      text: withoutLinks(`${finding.title}\n\n${note}${bodyOf(finding)}`),
      markdown: `**${untrustedLine(finding.title)}**\n\n${untrustedBlock(`${note}${bodyOf(finding)}`, MOST_BYTES)}`,
    },
    locations: [locationOf(finding)],
    ...(finding.places.length > 0 && {
      relatedLocations: finding.places.map((place) => ({
        ...locationOf(place),
        message: { text: sameProblem(place) },
      })),
    }),
    partialFingerprints: { "hunkwise/v1": finding.id },
    properties: {
      severity: finding.severity,
      category: finding.category,
      confidence: finding.confidence,
      verification: finding.verification,
      verificationNote: noteOf(finding),
      placement: placement.kind,
      ...proofPart(finding),
    },
    ...fixesOf(finding),
  };
}

const rejectedRule = ({ rule }: DroppedFinding) => rule ?? "model/rejected";

/** A rule match that the model rejected, with its reason (SARIF 2.1.0, 3.27.23 and 3.35). */
function suppressedResult(one: DroppedFinding, rules: readonly string[]) {
  const ruleId = rejectedRule(one);
  return {
    ruleId,
    ruleIndex: rules.indexOf(ruleId),
    level: "note",
    message: { text: withoutLinks(one.title) },
    locations: [locationOf({ path: one.path, side: "RIGHT", line: one.line, start_line: null })],
    partialFingerprints: { "hunkwise/v1": one.id },
    suppressions: [{ kind: "external", status: "accepted", justification: withoutLinks(one.reason) }],
  };
}

/** Even plain text may contain links in Markdown's syntax (SARIF 2.1.0, 3.11.6). */
const withoutLinks = (text: string) => text.replace(/\](?=\()/g, "] ");

/** SARIF describes one version of a file; a removed line has no place in the version at head. */
function locationOf(place: Omit<CodeLocation, "quote">) {
  const { first: startLine, last: endLine } = anchorOf(place);
  const region = place.side === "LEFT" ? {} : { region: { startLine, endLine } };
  return {
    physicalLocation: { artifactLocation: { uri: uriOf(place.path), uriBaseId: "SRCROOT" }, ...region },
  };
}

export const sameProblem = (place: Omit<CodeLocation, "quote">): string =>
  place.side === "LEFT" ? `The same problem. ${removedNote(place)}` : "The same problem.";

/** The place of a removed line, which no format for one version of a file can express. */
export function removedNote(place: Omit<CodeLocation, "quote">): string {
  const { first, last } = anchorOf(place);
  return `This is about ${linesWords(first, last)} of the merge base, which the change removes.`;
}

function fixesOf(finding: Finding) {
  if (finding.suggestion === null || finding.side === "LEFT") return {};
  const { first: startLine, last: endLine } = anchorOf(finding);
  // A region without columns ends before its last line break; deleting whole lines must include that line break.
  const deletedRegion =
    finding.suggestion === ""
      ? { startLine, startColumn: 1, endLine: endLine + 1, endColumn: 1 }
      : { startLine, endLine };
  const insertedContent = { text: finding.suggestion };
  return {
    fixes: [
      {
        description: { text: withoutLinks(finding.title) },
        artifactChanges: [
          {
            artifactLocation: { uri: uriOf(finding.path), uriBaseId: "SRCROOT" },
            replacements: [{ deletedRegion, insertedContent }],
          },
        ],
      },
    ],
  };
}

/** A path as a relative URI reference. A colon is encoded too, so the first segment never reads as a scheme. */
function uriOf(path: string): string {
  return path.toWellFormed().split("/").map(encodeURIComponent).join("/");
}
