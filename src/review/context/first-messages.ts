import { mildestMinimum } from "../../config/repo-config.ts";
import { type FileDiff, renderHunks, shownBytes } from "../../diff/file-diff.ts";
import { createPathMatcher } from "../../diff/paths.ts";
import type { Message } from "../../llm/model.ts";
import { byteLength, cutAtLine, cutLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { count, headingOf, showPath } from "../../tools/show.ts";
import type { ChangedFile, DiffSource } from "../../tools/tool.ts";
import { ruleMatchLine } from "../find/rule-matches.ts";
import { countReviewed, headingNote, newHunks } from "../followup/known-change.ts";
import { appliedRules, rulesSection } from "../named-rules.ts";
import { systemPrompt } from "../prompts/prompts.ts";
import type { EarlierCommit } from "../review-run.ts";
import { type CodeContext, codeContext } from "./code-context.ts";
import { guidelinesSection } from "./guidelines.ts";
import { listedFiles, overviewSection, unitSection } from "./overview.ts";
import type { ContextParts, MessageParts, ShownCandidates } from "./parts.ts";
import { annotationsSection, pullSections } from "./pull-request.ts";

const likelyIntro =
  "Rules matched these lines. They are evidence, not findings. Check each against the code and answer it: report it with report_finding and its id in `candidates`, or name it in `rejected` of finish_review with one sentence that says why the code is right. The review cannot end before each has an answer.";

const certainIntro =
  "These are reported already and are published whatever you say of them. Do not report them again.";

/** Maximum certain findings that are listed; the model does not depend on them. */
const MAX_CERTAIN = 60;

/** The analyzers' matches in the files of a unit. */
function candidatesSection({ certain, likely }: ShownCandidates): string {
  const reported = certain
    .slice(0, MAX_CERTAIN)
    .map(({ path, line, title, source }) => `${showPath(path)}:${line} ${title} (${source})`);
  const parts = [
    ...listed(likelyIntro, "rule matches", likely.map(ruleMatchLine)),
    ...listed(certainIntro, "reported by analyzers", reported),
  ];
  return parts.length === 0 ? "" : ["# Rule matches", ...parts].join("\n");
}

const listed = (intro: string, name: string, lines: readonly string[]) =>
  lines.length === 0 ? [] : [intro, wrapUntrusted(name, lines.join("\n"))];

/** The files that are shown, and the number of the others. */
interface ShownFiles {
  files: readonly ShownFile[];
  left: number;
}

interface ShownFile {
  /** The file's name and what it is. */
  heading: string;
  /** Its new hunks. */
  diff: FileDiff;
}

const explained =
  "Each line has its number: context and added (+) lines that of the new file, removed (-) lines that of the old one. Changed functions are shown to their borders as far as there is room, so a hunk may be wider than git's.";

/** Takes the files whose new hunks all fit the budget, and counts these as served, as well as those that the lists above tell in a line. */
async function shownFiles(parts: MessageParts): Promise<ShownFiles> {
  const { files, diffs, coverage, known } = parts;
  const taken: ShownFile[] = [];
  let left = 0;
  let room = parts.diffBytes;
  const listed = listedFiles(parts);
  for (const file of files.filter((one) => one.reviewable)) {
    if (file.reading !== "hunks") {
      if (file.reading === "line" && listed.has(file)) coverage?.serve(file.change.path, 1);
      else left += 1;
      continue;
    }
    const read = known?.known(file.change.path) ?? none;
    const one = await shownFile(file, read, diffs, room);
    if (one === null) {
      left += 1;
      continue;
    }
    room -= shownBytes(fileText(one)) + 1;
    taken.push(one);
    for (let hunk = 1; hunk <= file.totalHunks; hunk++)
      if (!read.has(hunk)) coverage?.serve(file.change.path, hunk);
  }
  return { files: taken, left };
}

/** The diffs with more lines around the changes. Of the files that are not shown, only the number is given. */
function diffSection({ files, left }: ShownFiles, widen: CodeContext["widen"]): string {
  const texts = files.map(({ heading, diff }) => fileText({ heading, diff: widen(diff) }));
  const diff = texts.length > 0 ? `${explained}\n${wrapUntrusted("diff", texts.join("\n"))}` : "";
  const rest =
    left > 0 ? `Not shown here, to be read with diff_file: ${left} of ${left + texts.length} files.` : "";
  return ["# Diff", diff, rest].filter((part) => part !== "").join("\n");
}

const fileText = ({ heading, diff }: ShownFile): string => `${heading}\n${renderHunks(diff.hunks)}`;

const none: ReadonlySet<number> = new Set();

/** The new part of the file's diff; null if it takes more than `room`. */
async function shownFile(
  { change, diffBytes }: ChangedFile,
  read: ReadonlySet<number>,
  diffs: DiffSource,
  room: number,
): Promise<ShownFile | null> {
  // A changed line takes at least two bytes, so a diff that cannot fit is not read.
  const leastBytes = read.size > 0 ? diffBytes : ((change.additions ?? 0) + (change.deletions ?? 0)) * 2;
  if (leastBytes > room) return null;
  const diff = await diffs.fileDiff(change, 3);
  const { hunks, note } = newHunks(diff, read);
  const shown = {
    heading: `${headingOf(diff)}${headingNote(note)}`,
    diff: { ...diff, hunks },
  };
  const text = fileText(shown);
  return byteLength(text) > room || shownBytes(text) > room ? null : shown;
}

/** Maximum commits of one file: older ones rarely explain the code. */
const OF_A_FILE = 3;
const MAX_COMMITS = 12;
const MAX_LINE_BYTES = 160;
/** Maximum paths named for a commit. */
const MAX_PATHS = 3;
/** A commit that changed more files is not about any of them. */
const MAX_CHANGED = 30;

/**
 * The last commits before the pull request that changed the files of this unit, as many as fit; empty if the graph has none. Merge commits
 * are left out.
 */
function earlierCommitsSection(
  { graph, files }: Pick<ContextParts, "graph" | "files">,
  maxBytes: number,
): string {
  // Withheld files are not reviewable.
  const read = files.filter(({ reviewable }) => reviewable);
  const paths = read.map(({ change }) => change.oldPath ?? change.path);
  const commits = lastOf(paths, graph?.commits ?? []);
  if (commits.length === 0) return "";
  const wanted = new Set(paths);
  const lines = commits.map((commit) => lineOf(commit, wanted));
  const intro =
    "They may say why the code was as it was, newest first; get_commit_messages has the change's own.";
  const section = (shown: readonly string[]) =>
    `# Earlier commits on these files\n${intro}\n${wrapUntrusted("commit messages", shown.join("\n"))}`;
  let left = lines.length;
  while (left > 0 && shownBytes(section(lines.slice(0, left))) > maxBytes) left--;
  return left > 0 ? section(lines.slice(0, left)) : "";
}

/** The last few commits of each path, without duplicates, in their order. */
function lastOf(paths: readonly string[], all: readonly EarlierCommit[]): EarlierCommit[] {
  const left = new Map(paths.map((path) => [path, OF_A_FILE]));
  const taken = all.filter((commit) => {
    if (commit.paths.length > MAX_CHANGED) return false;
    const own = commit.paths.filter((path) => (left.get(path) ?? 0) > 0);
    for (const path of own) left.set(path, (left.get(path) ?? 0) - 1);
    return own.length > 0;
  });
  return taken.slice(0, MAX_COMMITS);
}

function lineOf({ sha, date, message, paths }: EarlierCommit, wanted: ReadonlySet<string>): string {
  const [subject = ""] = message.split("\n");
  const own = paths.filter((path) => wanted.has(path));
  const more = own.length > MAX_PATHS ? ", …" : "";
  const where = wanted.size > 1 ? ` (${own.slice(0, MAX_PATHS).map(showPath).join(", ")}${more})` : "";
  return `${sha.slice(0, 12)} ${date.slice(0, 10)} ${cutLine(subject.trim(), MAX_LINE_BYTES)}${where}`;
}

const MAX_SUMMARY_BYTES = 4_000;

function taskSection(parts: MessageParts): string {
  const { input, shas } = parts;
  const into = wrapless(input.targetBranch);
  const task = `Review the change that is to be merged into ${into}: everything between merge base ${shas.mergeBase.slice(0, 12)} and ${shas.headTree === undefined ? `head ${shas.head.slice(0, 12)}` : "the uncommitted state of the files"}.`;
  return [task, laterRound(parts)].filter((text) => text !== "").join("\n\n");
}

/** The instructions for a review that follows others. */
function laterRound({ known, allFiles, input }: MessageParts): string {
  if (!known) return "";
  const hunks = allFiles.reduce((sum, { reviewable, totalHunks }) => sum + (reviewable ? totalHunks : 0), 0);
  const summary = cutAtLine(input.history?.summary ?? "", MAX_SUMMARY_BYTES).text;
  return [
    "# A later round",
    `Earlier reviews have read ${countReviewed(allFiles, known)} of the ${count(hunks, "hunk")} of this change; they are unchanged and need not be read again. Review what is new, together with what it touches: what it calls, who relies on it, and what it makes wrong or newly reachable in the rest of the change, which the tools still show. A fault that lies in hunks read before is raised only when it is critical.`,
    summary === ""
      ? "The summary at the end is to be one of the change as a whole, not of this round."
      : `The summary at the end is to be one of the change as a whole, not of this round. The last review summed it up so:\n${wrapUntrusted("summary of the last review", summary)}`,
  ].join("\n");
}

/** A branch name within a sentence: it may contain anything but white space and control characters. */
const wrapless = (name: string) => `\`${name.replaceAll("`", "'")}\``;

/** Language, severity and path instructions from the configuration of the base. */
function settingsSection({ input, allFiles }: ContextParts): string {
  const { config } = input;
  const minimum = mildestMinimum(config);
  const lines = [
    config.language ? `Write findings and summary in ${config.language}.` : "",
    // Otherwise verification sets the severity, and a finding that seems mild may turn out to be worse.
    minimum === "low" || config.effort !== "low"
      ? ""
      : `Report findings of severity ${minimum} and above only.`,
    ...config.instructions.flatMap((one) => instruction(one, allFiles)),
  ].filter((line) => line !== "");
  return lines.length > 0 ? `# What the repository's maintainers ask for\n${lines.join("\n")}` : "";
}

/** They are not text of the change: only who may start a review can write them. */
const guidanceSection = ({ input: { config } }: ContextParts): string =>
  config.guidance === undefined
    ? ""
    : `# What whoever started this review asks for\n${config.guidance.trim()}`;

function instruction(one: { path: string; text: string }, files: readonly ChangedFile[]): string[] {
  const matches = createPathMatcher([one.path]);
  const concerned = files.some((file) => file.reviewable && matches(file.change.path).matched);
  return concerned ? [`For files matching ${one.path}:\n${one.text}`] : [];
}

export type { MessageParts } from "./parts.ts";

/**
 * The first messages of a conversation. The parts that are the same for every review come first, then the parts that are the same for every
 * unit of this change, then the unit, and the focus of one loop at the very end, so that the provider can cache the longest prefix.
 */
export async function firstMessages(parts: MessageParts): Promise<Message[]> {
  const { input, files, candidates, commits } = parts;
  const shown = await shownFiles(parts);
  const code = await codeContext(
    parts,
    shown.files.map(({ diff }) => diff),
  );
  const diff = diffSection(shown, code.widen);
  // The earlier commits get only the room that the code leaves, so the total does not grow.
  const used = shownBytes(code.text) + shownBytes(diff) - shownBytes(diffSection(shown, (one) => one));
  const earlier = earlierCommitsSection(parts, parts.contextBytes - used);
  const sections = [
    taskSection(parts),
    settingsSection(parts),
    rulesSection(appliedRules(input.config, parts.allFiles)),
    guidanceSection(parts),
    await guidelinesSection(parts),
    ...pullSections(input, commits),
    overviewSection(parts),
    unitSection(parts),
    candidatesSection(candidates),
    annotationsSection(input, files),
    earlier,
    code.text,
    diff,
  ];
  return [
    { role: "system", content: systemPrompt },
    { role: "user", content: sections.filter((section) => section !== "").join("\n\n") },
  ];
}
