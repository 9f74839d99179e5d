import { type Evidence, type Finding, holdsSecret } from "../../core/finding.ts";
import { agentPart, codeHash } from "../../core/ledger/entry.ts";
import { checkedPart, testIn } from "../../core/ledger/folds.ts";
import { formatMarker, stripMarkers } from "../../core/ledger/marker.ts";
import { count } from "../../core/text/count.ts";
import { byteLength } from "../../core/text/cut.ts";
import { fence } from "../../core/text/fence.ts";
import type { PublicText } from "../../core/text/inert-text.ts";
import { anchorOf, linesWords } from "../../report/code-frame.ts";
import {
  bodyOf,
  doubtOf,
  markOf,
  noteBesideEvidence,
  noteOf,
  notShownSentence,
  originWords,
  passingOf,
} from "../../report/finding-words.ts";
import { promptBlock, quoteOf } from "../../report/prompt.ts";
import { markLine, testFold } from "../../report/proof-markdown.ts";
import { untrustedBlock, untrustedCode, untrustedLine, whyNotPosted } from "../../report/safe-markdown.ts";
import {
  details,
  findingLink,
  fitting,
  type LinkBase,
  otherPlaces,
  placeLink,
  severityBadge,
} from "./markdown-parts.ts";
import { mostBodyBytes, publicText } from "./public-text.ts";

/** The largest part of a comment for each section; the rest is for the text. */
const evidenceShare = 1 / 4;
const suggestionShare = 1 / 3;
const placesShare = 1 / 8;
const noteShare = 1 / 12;
/** Of the room that is left, if there is a test too. */
const bodyShare = 1 / 2;
const mostAgentBytes = 15_000;
const mostNoteBytes = 1_000;
const mostEvidence = 12;

/** The place of a finding: on its line, on its file, or in the summary, with the reason why it is not on its line. */
export type Spot = { kind: "line" } | { kind: "file" | "list"; reason: string };

export interface CommentContext extends LinkBase {
  trigger: string;
  /** Whether a fold below each comment has the finding as a prompt for a coding agent. */
  agentPrompt?: boolean;
}

/** The comment of a finding on its line or file, with its marker. */
export function renderComment(finding: Finding, spot: Spot, context: CommentContext): PublicText {
  const marker = markerOf(finding, context);
  const text = renderFinding(finding, spot, context, mostBodyBytes - byteLength(marker) - 2);
  const left = mostBodyBytes - bytesOf([text, marker]);
  const prompt = context.agentPrompt
    ? agentBlock(finding, spot, Math.min(left, mostAgentBytes), testIn(text) !== null)
    : "";
  return publicText([text, prompt, marker].filter((part) => part !== "").join("\n\n"));
}

/** In a fold of its own at the end, which later reviews do not read as part of the finding. Empty if there is too little room. */
function agentBlock(finding: Finding, spot: Spot, maxBytes: number, isTestShown: boolean): string {
  const quoted = quoteOf(finding);
  const { missing } = suggestionBlock(finding, spot, mostBodyBytes * suggestionShare);
  const inert = {
    ...quoted,
    title: stripMarkers(quoted.title),
    explanation: stripMarkers(quoted.explanation),
    code: quoted.code && stripMarkers(quoted.code),
    suggestion: missing === "" ? quoted.suggestion : null,
    test: isTestShown ? quoted.test : null,
  };
  const prompt = promptBlock(inert, maxBytes - byteLength(details(agentPart, "")));
  return prompt === "" ? "" : details(agentPart, prompt);
}

/** A marker contains complete names and paths or none: shortened ones would match nothing. */
const mostMarked = { files: 5, characters: 200 };

/** The marker that later reviews recognize the finding by. */
function markerOf(finding: Finding, { headSha, trigger }: CommentContext): string {
  const { id, severity, category, symbol, quote, source, rule, path, evidence } = finding;
  const isShort = (name: string) => name.length <= mostMarked.characters;
  const others = evidence.map((one) => one.path).filter((file) => file !== path && isShort(file));
  return formatMarker({
    kind: "finding",
    id,
    severity,
    category,
    source,
    head: headSha,
    trigger,
    ...(rule !== undefined && { rule }),
    symbol: symbol !== null && isShort(symbol) ? symbol : null,
    // A secret is not quoted, and its hash would help to guess it.
    code: quote === "" || holdsSecret(finding) ? null : codeHash(quote),
    files: [...new Set(others)].slice(0, mostMarked.files),
  });
}

/** The first line of a comment on a finding, as `commentTitle` reads it. */
export const titleLine = ({ severity, title }: Pick<Finding, "severity" | "title">): string =>
  `**${severityBadge(severity)}: ${untrustedLine(title)}**`;

/** A finding in full and without a marker, in at most `maxBytes`, which should be 5,000 or more. */
export function renderFinding(finding: Finding, spot: Spot, base: LinkBase, maxBytes: number): string {
  const title = titleLine(finding);
  const head = spot.kind === "line" ? title : `${title} in ${findingLink(finding, base)}`;
  const why = spot.kind === "line" ? [] : [`_Not on its line: ${untrustedLine(spot.reason)}._`];
  const { text: suggestion, missing } = suggestionBlock(finding, spot, maxBytes * suggestionShare);
  const noteBytes = Math.min(mostNoteBytes, maxBytes * noteShare);
  const checked = checkedBlock(finding, base, missing, maxBytes * evidenceShare, noteBytes);
  const before = [head, ruleLine(finding), doubtLine(finding, noteBytes), markLine(finding, noteBytes)];
  const after = [otherPlaces(finding, base, maxBytes * placesShare), suggestion, ...why, checked];
  const room = maxBytes - bytesOf([...before, ...after]);
  const hasTest = markOf(finding) !== null || passingOf(finding) !== null;
  const body = untrustedBlock(bodyOf(finding), hasTest ? room * bodyShare : room);
  // A test has the room that everything else leaves.
  const test = testFold(finding, room - byteLength(body) - 2);
  return [...before, body, ...after, test].filter((part) => part !== "").join("\n\n");
}

const ruleLine = ({ rule }: Finding) =>
  rule === undefined ? "" : `Rule of this repository: ${untrustedCode(rule)}`;

function doubtLine(finding: Finding, maxBytes: number): string {
  const doubt = doubtOf(finding);
  if (doubt === null) return "";
  const open = untrustedLine(noteOf(finding) ?? "", maxBytes);
  return `⚠️ **${doubt}**${open === "" ? "" : ` ${open}`}`;
}

/** Including the empty lines between and around the parts. */
const bytesOf = (parts: readonly string[]) => parts.reduce((sum, part) => sum + byteLength(part) + 2, 2);

/**
 * GitHub's button to commit it exists only on the line of the head's version. A click commits exactly what was checked and is shown.
 * `missing`: why the proposed lines are omitted; empty if they are shown or there are none.
 */
function suggestionBlock(finding: Finding, spot: Spot, maxBytes: number): Record<"text" | "missing", string> {
  const { suggestion, side } = finding;
  if (suggestion === null || side !== "RIGHT") return { text: "", missing: "" };
  if (byteLength(suggestion) > maxBytes) return { text: "", missing: "it is too long to be shown here" };
  const missing = whyNotPosted(suggestion, finding.quote);
  if (missing !== "") return { text: "", missing };
  // The last line may be empty.
  const lines = suggestion === "" ? "" : `${suggestion}\n`;
  if (spot.kind === "line") return { text: fence(lines, "suggestion"), missing: "" };
  const { first, last } = anchorOf(finding);
  return { text: `Replace ${linesWords(first, last)} with:\n\n${fence(lines)}`, missing: "" };
}

function checkedBlock(
  finding: Finding,
  base: LinkBase,
  missing: string,
  maxBytes: number,
  noteBytes: number,
): string {
  const note = untrustedLine(noteBesideEvidence(finding) ?? "", noteBytes);
  const evidence = finding.evidence.slice(0, mostEvidence).map((one) => evidenceLine(one, base));
  const proof = notShownSentence(finding);
  const shown = fitting(evidence, maxBytes - 1_000);
  const rest = finding.evidence.length - shown.length;
  const lines = [
    ...(note === "" ? [] : [`- ${note}`]),
    ...shown,
    ...(rest > 0 ? [`- and ${count(rest, "more place")}`] : []),
    ...(missing === "" ? [] : [`- The proposed replacement is left out: ${missing}.`]),
    ...(proof === "" ? [] : [`- ${untrustedLine(proof, noteBytes)}`]),
    `- ${untrustedLine(originWords(finding))}`,
  ];
  return details(checkedPart, lines.join("\n"));
}

function evidenceLine({ path, start_line, end_line, note }: Evidence, base: LinkBase): string {
  const text = untrustedLine(note);
  const place = placeLink(base, base.headSha, path, start_line, Math.max(start_line, end_line));
  return `- ${place}${text === "" ? "" : `: ${text}`}`;
}
