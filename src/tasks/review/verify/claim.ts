import type { Message } from "../../../agent/llm/model.ts";
import { findDefinition } from "../../../agent/tools/find-definition.ts";
import type { Finding } from "../../../core/finding.ts";
import { byteLength, cutAtLine } from "../../../core/text/cut.ts";
import { wrapUntrusted } from "../../../core/text/fence.ts";
import { isRun, isType, readWantedName, type WantedName } from "../../../repo/code/code-file.ts";
import { isCommonName } from "../../../repo/code/names.ts";
import {
  divideHunk,
  type Hunk,
  renderHunk,
  renderHunks,
  renderLine,
  shorten,
  shownBytes,
} from "../../../repo/diff/file-diff.ts";
import { showPath } from "../../../repo/show.ts";
import type { AnchorFile } from "../../anchor/anchor.ts";
import { definitionOf, definitionsIn } from "../../anchor/symbols.ts";
import type { PlaceRun, ReviewRun } from "../../loop/review-run.ts";
import { openingMessages, roomFor } from "../../loop/run-loop.ts";
import { verifyPrompt } from "../../prompts/prompts.ts";
import { ruleOfClaim } from "../../rules/named-rules.ts";
import { joined } from "../context/lookup.ts";
import { sentencesOf } from "./sentences.ts";

const MAX_QUOTE_BYTES = 4_000;
const MAX_HUNKS_BYTES = 16_000;
/** For each claim. */
const MAX_CLAIM_HUNKS_BYTES = 4_000;
const MAX_CLAIM_CODE_BYTES = 4_000;
const MAX_CODE_BYTES = 14_000;
const MAX_LIST_BYTES = 6_000;
const MAX_BODY_BYTES = 8_000;
const MAX_PURPOSE_BYTES = 2_000;
const MAX_CODE_LINES = 40;
const NEAR_LINES = 3;
const SHORT_SHARE = 0.04;

/**
 * The first messages of a verification: what the change says of itself, its hunks near the claims, the code that the claims name, and the claims,
 * each with the sentences of its text. The rest of the review is left out: the few places that decide are a fraction of it.
 */
export async function claimMessages(run: ReviewRun, findings: readonly Finding[]): Promise<Message[]> {
  const { verify } = run.deps.models;
  const listBytes = roomFor(verify, MAX_LIST_BYTES, SHORT_SHARE);
  const search = definitionSearch(run);
  const ranges = (await Promise.all(findings.map((one) => rangesOf(run, one, search)))).flat();
  const hunks: string[] = [];
  for (const path of new Set([...findings, ...ranges].map((one) => one.path))) {
    const own = findings.filter((one) => one.path === path);
    const named = ranges.filter((one) => one.path === path && own.length === 0);
    const spots = [...own, ...named.map(({ end }) => ({ path, side: "RIGHT" as const, line: end }))];
    const room = own.length > 0 ? MAX_CLAIM_HUNKS_BYTES * own.length : MAX_CLAIM_HUNKS_BYTES / 2;
    hunks.push(await changeAround(run, spots, room));
  }
  const diff = hunks.join("\n");
  const room = Math.min(MAX_CODE_BYTES, MAX_CLAIM_CODE_BYTES * (1 + findings.length / 2));
  return openingMessages(verifyPrompt, [
    task(run),
    ...purpose(run),
    ...hunks,
    await claimedCode(run, ranges, diff, roomFor(verify, room, 2 * SHORT_SHARE)),
    `# ${findings.length === 1 ? "The claim" : `The ${findings.length} claims`}`,
    ...findings.map((finding, at) => claimSection(run, finding, { number: at + 1, diff, listBytes })),
  ]);
}

function task({ input, deps }: ReviewRun): string {
  const { mergeBase, head } = deps.workspace.shas;
  return `Check claims about the change from merge base ${mergeBase.slice(0, 12)} to head ${head.slice(0, 12)}, to be merged into \`${input.targetBranch.replaceAll("`", "'")}\`.`;
}

/** What the change says of itself: whether something is on purpose is otherwise the first question. */
function purpose({ input: { pull }, change, deps }: ReviewRun): string[] {
  const room = roomFor(deps.models.verify, MAX_PURPOSE_BYTES, SHORT_SHARE);
  const cut = (text: string, maxBytes: number) => cutAtLine(text.replaceAll("\r\n", "\n"), maxBytes).text;
  const subjects = change.commits
    .map(({ message }) => firstLine(message))
    .filter((subject) => subject !== "");
  return [
    ...(pull
      ? [
          `# What the change says about itself\n${wrapUntrusted("title and description", cut(`${pull.title}\n\n${pull.body}`.trim(), room))}`,
        ]
      : []),
    ...(subjects.length > 0
      ? [`# Its commits\n${wrapUntrusted("commit subjects", cut(subjects.join("\n"), room / 2))}`]
      : []),
  ];
}

interface ClaimParts {
  number: number;
  /** What is shown of the change. */
  diff: string;
  listBytes: number;
}

function claimSection(run: ReviewRun, finding: Finding, { number, diff, listBytes }: ClaimParts): string {
  const { title, category, path, side, line, start_line, quote } = finding;
  const lines = start_line === null ? `line ${line}` : `lines ${start_line} to ${line}`;
  const where = side === "RIGHT" ? "at head" : "of the merge base, removed by the change";
  const isShown = quote.split("\n").every((text) => diff.includes(text.trim()));
  const code = isShown
    ? firstLine(quote)
    : cutAtLine(quote, roomFor(run.deps.models.verify, MAX_QUOTE_BYTES, SHORT_SHARE)).text;
  return [
    `## Claim ${number}`,
    wrapUntrusted("claim", `${title} (${category})`),
    ruleOfClaim(run.change.rules, finding.rule),
    wrapUntrusted("code", `Place: ${showPath(path)}, ${lines} ${where}:\n${code}`),
    `The sentences of its text:\n${wrapUntrusted("text", numbered(finding.body))}`,
    places(finding, listBytes),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

/** The further lines of a sentence are indented, so that no text can forge a number. */
const numbered = (body: string) =>
  cutAtLine(
    sentencesOf(body)
      .map((sentence, at) => `${at + 1}. ${sentence.trim().replaceAll(/\s*[\n\r\u2028\u2029]/g, "\n   ")}`)
      .join("\n"),
    MAX_BODY_BYTES,
  ).text;

type Spot = Pick<Finding, "path" | "side" | "line">;

/** The hunks of a file that are nearest to one of the lines, or parts of long ones, as many as fit, in file order. */
export async function changeAround(
  run: PlaceRun,
  spots: readonly Spot[],
  maxBytes = MAX_HUNKS_BYTES,
): Promise<string> {
  const { change, deps } = run;
  const file = change.files.find((one) => one.change.path === spots[0]?.path);
  if (!file?.reviewable) return "";
  const { hunks } = await deps.diffs.fileDiff(file.change, 3);
  let room = roomFor(deps.models.verify, Math.min(maxBytes, 2 * MAX_HUNKS_BYTES), 0.15);
  const parts = hunks.flatMap((hunk) =>
    divideHunk(hunk, room / 2, (line) => shownBytes(renderLine(line)) + 1),
  );
  const near = new Set<Hunk>();
  const distance = (part: Hunk) => Math.min(...spots.map((spot) => distanceTo(part, spot)));
  for (const part of parts.toSorted((a, b) => distance(a) - distance(b))) {
    room -= shownBytes(renderHunk(part));
    if (room < 0) break;
    near.add(part);
  }
  if (near.size === 0) return "";
  const some = near.size < parts.length ? ` (${near.size} of ${parts.length} parts)` : "";
  const diff = renderHunks(parts.filter((part) => near.has(part)));
  const text = wrapUntrusted("diff", `## ${showPath(file.change.path)}\n${diff}`);
  return `# What the change does there${some}\n${text}`;
}

/** Lines between a hunk and a line; 0 inside of the hunk. */
function distanceTo(hunk: Hunk, { side, line }: Spot): number {
  const [start, lines] = side === "RIGHT" ? [hunk.newStart, hunk.newLines] : [hunk.oldStart, hunk.oldLines];
  return Math.max(0, start - line, line - (start + lines - 1));
}

/** A file that a model may see. Either path of a renamed file withholds the lines of both. */
export async function publicFile(
  { change: { anchorFile }, deps: { isPrivate } }: PlaceRun,
  path: string,
): Promise<AnchorFile | undefined> {
  const file = isPrivate(path) ? undefined : await anchorFile(path);
  return file?.paths.some(isPrivate) ? undefined : file;
}

/** Lines of a file at head that a claim is about or names. */
interface Range {
  path: string;
  start: number;
  end: number;
}

/** "src/a.ts:12", "src/a.ts:12-20", "line 12" or "lines 12 to 20"; the latter are of the claim's own file. */
const LINES = /(?:([\w@+./-]{1,200}):|\blines? )(\d{1,7})(?:(?: to |-)(\d{1,7}))?/g;
/** Most places and most names that are looked up for one claim. */
const MAX_NAMED = 20;
/** Most names that are searched in the whole repository for one claim; a name with more definitions says nothing. */
const MAX_SEARCHED = 4;
const MAX_SEARCH_MS = 4_000;
const MAX_OF_A_NAME = 2;
/** A name in code, such as `total(items)` or `Cart.total`. */
const NAMES = /`((?:[\w$]{1,60}(?:\.|::|#|->)){0,4}[A-Za-z_$][\w$]{2,60})\b[^`]{0,200}`/g;

/** What a claim is about and what it names, the most important first: its definition, its evidence, the lines and the names in its text. */
async function rangesOf(
  run: ReviewRun,
  { path, side, line, evidence, title, body }: Finding,
  search: DefinitionSearch,
): Promise<Range[]> {
  const lines = (await publicFile(run, path))?.lines.RIGHT ?? null;
  const own = side === "RIGHT" ? await definitionOf(path, lines, line) : null;
  const tree = await run.deps.workspace.tree("head");
  const spots = [...body.matchAll(LINES)].slice(0, MAX_NAMED);
  const paths = pathsNamed(
    new Set(spots.flatMap(([, where = path]) => (tree.has(where) ? [] : [where]))),
    tree,
  );
  const named = [
    ...evidence.map((one) => ({ path: one.path, start: one.start_line, end: one.end_line })),
    ...spots.map(([, where = path, first = "", last = first]) => ({
      path: paths.get(where) ?? where,
      start: Math.max(1, Number(first) - NEAR_LINES),
      end: Number(last) + NEAR_LINES,
    })),
  ];
  const called = [...`${title}\n${body}`.matchAll(NAMES)].slice(0, MAX_NAMED).map(([, name = ""]) => name);
  const names = new Map(
    called.flatMap((name) => {
      const wanted = readWantedName(name);
      return wanted === null || isCommonName(wanted.word) ? [] : [[wanted.word, wanted]];
    }),
  );
  const changed = run.change.files.map(({ change }) => change.path);
  const near = [path, ...named.map((one) => one.path), ...changed];
  const defined = await definitionsOf(run, near, names, search);
  return [...(own ? [{ path, ...cutAround(own, line) }] : []), ...named, ...defined];
}

/** The only paths with these names, with or without their extensions, as in "Parser:12". */
function pathsNamed(names: ReadonlySet<string>, tree: ReadonlyMap<string, unknown>): Map<string, string> {
  const found = new Map<string, string[]>();
  for (const path of names.size === 0 ? [] : tree.keys()) {
    const base = path.slice(path.lastIndexOf("/") + 1);
    for (const name of new Set([base, base.replace(/\.\w+$/, "")]))
      if (names.has(name)) found.set(name, [...(found.get(name) ?? []), path].slice(0, 2));
  }
  return new Map([...found].flatMap(([name, [path, other]]) => (path && !other ? [[name, path]] : [])));
}

/** A long definition is shown near a line. */
function cutAround({ start, end }: { start: number; end: number }, line: number) {
  const half = MAX_CODE_LINES / 2;
  if (end - start < MAX_CODE_LINES) return { start, end };
  return { start: Math.max(start, line - half), end: Math.min(end, line + half) };
}

/** The definitions of these names, each in the first of these files that has it; of a few others, the one that the repository has. */
async function definitionsOf(
  run: ReviewRun,
  paths: readonly string[],
  names: Map<string, WantedName>,
  search: DefinitionSearch,
): Promise<Range[]> {
  const found: Range[] = [];
  for (const path of [...new Set(paths)].slice(0, MAX_NAMED)) {
    if (names.size === 0) break;
    const lines = (await publicFile(run, path))?.lines.RIGHT;
    for (const one of lines ? await definitionsIn(path, lines) : []) {
      const { name, start, end } = one;
      if ((isRun(one) || isType(one) || isOwnName(name)) && names.delete(name))
        found.push({ path, start, end });
    }
  }
  const inTime = AbortSignal.any([run.deps.signal, AbortSignal.timeout(MAX_SEARCH_MS)]);
  const searched = [...names.values()].filter(({ word, container }) => container !== null || isOwnName(word));
  for (const wanted of searched.slice(0, MAX_SEARCHED)) found.push(...(await search(wanted, inTime)));
  return found;
}

type DefinitionSearch = (wanted: WantedName, signal: AbortSignal) => Promise<readonly Range[]>;

/** Finds the few definitions of a name in the repository, once for all claims of a conversation. */
function definitionSearch({ deps: { workspace, diffs, isPrivate } }: ReviewRun): DefinitionSearch {
  const context = { workspace, diffs, isPrivate, targetBranch: "", coverage: { serve() {} } };
  const known = new Map<string, Promise<readonly Range[]>>();
  const search: DefinitionSearch = async (wanted, signal) => {
    const query = { wanted, ref: "head", first: null, line: null } as const;
    // What is not found in time is not shown: the second look may read it.
    const { found } = await findDefinition(query, context, signal).catch(() => ({ found: [] }));
    const best = found.filter((one) => one.isBest);
    if (best.length > MAX_OF_A_NAME) return [];
    return best.map(({ entry, start, end }) => ({ path: entry.path, start, end }));
  };
  return (wanted, signal) => {
    const key = `${wanted.container ?? ""}.${wanted.word}`;
    const found = known.get(key) ?? search(wanted, signal);
    known.set(key, found);
    return found;
  };
}

/** Whether a name is no plain word: `path` and `args` are defined everywhere. */
const isOwnName = (name: string) => /[A-Z_\d]/.test(name);

/** The code of these lines as far as there is room, without those that are shown already. */
async function claimedCode(
  run: ReviewRun,
  ranges: readonly Range[],
  shown: string,
  maxBytes: number,
): Promise<string> {
  let room = maxBytes;
  const taken: (Range & { lines: readonly string[] })[] = [];
  for (const range of ranges) {
    const lines = (await publicFile(run, range.path))?.lines.RIGHT;
    if (!lines) continue;
    const end = Math.min(range.end, range.start + MAX_CODE_LINES - 1, lines.length);
    const own = lines.slice(range.start - 1, end);
    const isKnown = taken.some(
      ({ path, start, end: last }) => path === range.path && start <= range.start && end <= last,
    );
    if (isKnown || own.every((text) => shown.includes(text.trim()))) continue;
    room -= own.reduce((sum, text) => sum + byteLength(shorten(text)) + 6, 0);
    if (room < 0) break;
    taken.push({ ...range, end, lines });
  }
  if (taken.length === 0) return "";
  const blocks = [...Map.groupBy(taken, ({ path }) => path)].flatMap(([path, ofFile]) =>
    joined(ofFile, Number.POSITIVE_INFINITY).map(({ start, end }) => {
      const code = ofFile[0]?.lines.slice(start - 1, end) ?? [];
      return `### ${showPath(path)}:${start}-${end}\n${code.map((text, at) => `${start + at}|${shorten(text)}`).join("\n")}`;
    }),
  );
  return `# Code that is named below\n${wrapUntrusted("code", blocks.join("\n"))}`;
}

function places({ places: also }: Finding, maxBytes: number): string {
  if (also.length === 0) return "";
  const lines = also.map(({ path, line, quote }) => `${showPath(path)}:${line} ${firstLine(quote)}`);
  return `Other places that the claim names:\n${wrapUntrusted("code", cutAtLine(lines.join("\n"), maxBytes).text)}`;
}

const firstLine = (text: string) => text.trim().split("\n", 1)[0] ?? "";
