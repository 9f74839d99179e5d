import type { Candidate } from "../analyzers/analyzer.ts";
import { createPathMatcher } from "../diff/path-matcher.ts";
import { renderHunks, shownBytes } from "../diff/render.ts";
import type { Commit, Shas } from "../git/workspace.ts";
import type { Message } from "../llm/model.ts";
import { byteLength, cutAtLine } from "../text/cut.ts";
import { wrapUntrusted } from "../text/fence.ts";
import { changeLetters } from "../tools/changed-files.ts";
import { showPath } from "../tools/show.ts";
import type { ChangedFile, CoverageSink, DiffSource } from "../tools/tool.ts";
import { systemPrompt } from "./prompts/prompts.ts";
import type { ReviewInput } from "./review-input.ts";

export interface ContextParts {
  input: ReviewInput;
  shas: Shas;
  files: readonly ChangedFile[];
  commits: readonly Commit[];
  candidates: readonly Candidate[];
  diffs: DiffSource;
  coverage: CoverageSink;
  /** Bytes the diff may take in the first message. */
  diffBytes: number;
}

const MAX_BODY_BYTES = 12_000;
const MAX_COMMITS_BYTES = 6_000;
const MAX_OVERVIEW_BYTES = 24_000;
const MAX_CANDIDATES = 60;

/**
 * The conversation's beginning. What is the same for every review stands first, so that a provider's prompt cache holds it;
 * the diff stands last. Files whose whole diff fits the budget are shown and count as served; the rest is named.
 */
export async function firstMessages(parts: ContextParts): Promise<Message[]> {
  const diff = await diffSection(parts);
  const sections = [
    task(parts),
    settings(parts),
    pullText(parts.input),
    commitsSection(parts.commits),
    overview(parts.files),
    candidatesSection(parts.candidates),
    diff,
  ];
  return [
    { role: "system", content: systemPrompt },
    { role: "user", content: sections.filter((section) => section !== "").join("\n\n") },
  ];
}

function task({ input, shas }: ContextParts): string {
  const into = wrapless(input.targetBranch);
  return `Review the change that is to be merged into ${into}: everything between merge base ${shas.mergeBase.slice(0, 12)} and head ${shas.head.slice(0, 12)}.`;
}

/** A branch name within a sentence: it may hold anything but white space and control characters. */
const wrapless = (name: string) => `\`${name.replaceAll("`", "'")}\``;

function settings({ input, files }: ContextParts): string {
  const { config } = input;
  const lines = [
    config.language ? `Write findings and summary in ${config.language}.` : "",
    config.minimum_severity === "low"
      ? ""
      : `Report findings of severity ${config.minimum_severity} and above only.`,
    ...config.instructions.flatMap((one) => instruction(one, files)),
  ].filter((line) => line !== "");
  return lines.length > 0 ? `# What the repository's maintainers ask for\n${lines.join("\n")}` : "";
}

function instruction(one: { path: string; text: string }, files: readonly ChangedFile[]): string[] {
  const matches = createPathMatcher([one.path]);
  const concerned = files.some((file) => file.reviewable && matches(file.change.path).matched);
  return concerned ? [`For files matching ${one.path}:\n${one.text}`] : [];
}

function pullText({ pull }: ReviewInput): string {
  if (!pull) return "";
  const text = `${pull.title}\n\n${cut(pull.body, MAX_BODY_BYTES)}`;
  return `# Pull request ${pull.number}\n${wrapUntrusted("title and description", text)}`;
}

function commitsSection(commits: readonly Commit[]): string {
  if (commits.length === 0) return "";
  const text = commits.map((commit) => `${commit.sha.slice(0, 12)} ${commit.message.trim()}`).join("\n");
  return `# Commits, newest first\n${wrapUntrusted("commit messages", cut(text, MAX_COMMITS_BYTES))}`;
}

function overview(files: readonly ChangedFile[]): string {
  const text = cutAtLine(files.map(overviewLine).join("\n"), MAX_OVERVIEW_BYTES);
  const more = text.omittedLines > 0 ? `\n${text.omittedLines} more files: see changed_files.` : "";
  return `# Changed files (${files.length})\n${wrapUntrusted("changed files", text.text)}${more}`;
}

function overviewLine({ change, totalHunks, skipReason }: ChangedFile): string {
  const from = change.oldPath ? ` (was ${showPath(change.oldPath)})` : "";
  const size = `+${change.additions ?? "?"} -${change.deletions ?? "?"}`;
  const state = skipReason
    ? `not reviewed: ${skipReason}`
    : `${totalHunks} hunk${totalHunks === 1 ? "" : "s"}`;
  return `${changeLetters[change.type]} ${showPath(change.path)}${from}  ${size}  ${state}`;
}

function candidatesSection(candidates: readonly Candidate[]): string {
  if (candidates.length === 0) return "";
  const lines = candidates
    .slice(0, MAX_CANDIDATES)
    .map((one) => `${showPath(one.path)}:${one.line} ${one.title} (${one.source})`);
  const intro =
    "Rules matched these lines. They are evidence, not findings: confirm each against the code and report it with report_finding, or drop it.";
  return `# Analyzer candidates\n${intro}\n${wrapUntrusted("analyzer candidates", lines.join("\n"))}`;
}

async function diffSection({ files, diffs, coverage, diffBytes }: ContextParts): Promise<string> {
  const shown: string[] = [];
  const left: string[] = [];
  let room = diffBytes;
  for (const file of files.filter((one) => one.reviewable)) {
    const text = await fileSection(file, diffs, room);
    if (text === null) {
      left.push(file.change.path);
      continue;
    }
    room -= shownBytes(text) + 1;
    shown.push(text);
    for (let hunk = 1; hunk <= file.totalHunks; hunk++) coverage.serve(file.change.path, hunk);
  }
  const explained =
    "Each line has its number: context and added (+) lines that of the new file, removed (-) lines that of the old one.";
  const diff = shown.length > 0 ? `${explained}\n${wrapUntrusted("diff", shown.join("\n"))}` : "";
  const rest =
    left.length > 0
      ? `Not shown here, to be read with diff_file: ${left.length} of ${left.length + shown.length} files.`
      : "";
  return ["# Diff", diff, rest].filter((part) => part !== "").join("\n");
}

/** The file's whole diff, or null when it takes more than `room`. */
async function fileSection(file: ChangedFile, diffs: DiffSource, room: number): Promise<string | null> {
  const { change } = file;
  // A changed line takes at least two bytes: no need to read a diff that cannot fit.
  if (((change.additions ?? 0) + (change.deletions ?? 0)) * 2 > room) return null;
  const diff = await diffs.fileDiff(change, 3);
  const text = `## ${showPath(change.path)}\n${renderHunks(diff.hunks)}`;
  return byteLength(text) > room || shownBytes(text) > room ? null : text;
}

function cut(text: string, maxBytes: number): string {
  const { text: kept, omittedLines } = cutAtLine(text, maxBytes);
  return omittedLines > 0 ? `${kept}\n[${omittedLines} more lines]` : kept;
}
