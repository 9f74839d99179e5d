import type { PostedFinding } from "../../../core/ledger/entry.ts";
import { cutLine } from "../../../core/text/cut.ts";
import { wrapUntrusted } from "../../../core/text/fence.ts";
import type { ChangedFile } from "../../../repo/diff-source.ts";
import type { Commit } from "../../../repo/git/workspace.ts";
import { showPath } from "../../../repo/show.ts";
import { cutText as cut, unixLines } from "../../loop/run-loop.ts";
import type { FailedCheck, LinkedIssue, PullText, ReviewInput } from "../../shapes/review-input.ts";

const MAX_BODY_BYTES = 12_000;
const MAX_COMMITS_BYTES = 6_000;
const MAX_ISSUE_BYTES = 4_000;
const MAX_ISSUES_BYTES = 12_000;
const MAX_CHECK_BYTES = 2_000;
const MAX_CHECKS_BYTES = 8_000;
const MAX_ANNOTATIONS = 40;
const MAX_EARLIER_BYTES = 8_000;
const MAX_REPLY_BYTES = 600;
const MAX_LINE_BYTES = 400;

/** Texts of people and machines about the change; the same for all units of one pull request. */
export function pullSections({ pull }: ReviewInput, commits: readonly Commit[]): string[] {
  return [
    ...(pull
      ? [
          `# Pull request ${pull.number}\n${wrapUntrusted("title and description", `${unixLines(pull.title)}\n\n${cut(pull.body, MAX_BODY_BYTES)}`)}`,
          issuesSection(pull.issues),
          checksSection(pull.checks),
        ]
      : []),
    commitsSection(commits, pull),
    ...(pull ? [earlierSection(pull.earlier)] : []),
  ];
}

function issuesSection(issues: readonly LinkedIssue[]): string {
  if (issues.length === 0) return "";
  const texts = issues.map(
    ({ number, title, body }) => `#${number} ${oneLine(title)}\n${cut(body, MAX_ISSUE_BYTES)}`,
  );
  const intro = "Issues that the description names: what the change should solve.";
  return `# Linked issues\n${intro}\n${wrapUntrusted("linked issues", cut(texts.join("\n\n"), MAX_ISSUES_BYTES))}`;
}

function checksSection(checks: readonly FailedCheck[]): string {
  if (checks.length === 0) return "";
  const texts = checks.map(({ name, conclusion, summary }) =>
    `${oneLine(name)}: ${oneLine(conclusion)}\n${cut(summary, MAX_CHECK_BYTES)}`.trimEnd(),
  );
  const intro =
    "Checks of the head that did not succeed. They show where to look; do not report again what they report themselves.";
  return `# Failed checks\n${intro}\n${wrapUntrusted("failed checks", cut(texts.join("\n\n"), MAX_CHECKS_BYTES))}`;
}

export function annotationsSection({ pull }: ReviewInput, files: readonly ChangedFile[]): string {
  const paths = new Set(files.map(({ change }) => change.path));
  const lines = (pull?.checks ?? []).flatMap(({ name, annotations }) =>
    annotations
      .filter(({ path }) => paths.has(path))
      .map(
        (one) =>
          `${showPath(one.path)}:${one.start_line} ${oneLine(one.level)}: ${oneLine(one.message)} (${oneLine(name)})`,
      ),
  );
  if (lines.length === 0) return "";
  const shown = lines.slice(0, MAX_ANNOTATIONS);
  const rest = lines.length > shown.length ? [`${lines.length - shown.length} more annotations`] : [];
  return `# What failed checks report in these files\n${wrapUntrusted("check annotations", [...shown, ...rest].join("\n"))}`;
}

function commitsSection(commits: readonly Commit[], pull: Pick<PullText, "title" | "body"> | null): string {
  const described = pull ? wordsOf(`${pull.title}\n${pull.body}`) : "";
  // The message of a single commit is often the description of the pull request, or a part of it.
  const informative = commits.filter(({ message }) => !described.includes(wordsOf(message)));
  if (informative.length === 0) return "";
  const text = informative
    .map((commit) => `${commit.sha.slice(0, 12)} ${unixLines(commit.message).trim()}`)
    .join("\n");
  return `# Commits, newest first\n${wrapUntrusted("commit messages", cut(text, MAX_COMMITS_BYTES))}`;
}

const fates: Record<PostedFinding["state"], string> = {
  open: "still open",
  fixed: "fixed",
  dismissed: "dismissed by a person",
  outdated: "its code has changed since",
};

/** Findings that must not be repeated come first, because there is little room. */
const states: readonly PostedFinding["state"][] = ["open", "dismissed", "outdated", "fixed"];

function earlierSection(earlier: readonly PostedFinding[]): string {
  // Of a deleted comment, only its existence is known.
  const named = earlier
    .filter(({ path }) => path !== "")
    .toSorted((a, b) => states.indexOf(a.state) - states.indexOf(b.state));
  if (named.length === 0) return "";
  const texts = named.map(({ path, side, line, title, state, replies }) => {
    const place = `${showPath(path)}${line === null ? "" : `:${line}${side === "LEFT" ? " (removed)" : ""}`}`;
    const answers = replies.map(
      (reply) => `  reply: ${cut(reply, MAX_REPLY_BYTES).replaceAll("\n", "\n  ")}`,
    );
    return [`${place} ${oneLine(title)} [${fates[state]}]`, ...answers].join("\n");
  });
  const intro =
    "Do not report again what is still open or what a person dismissed, not even in other words. Report what is outdated or fixed again only if the code has the fault now.";
  return `# What earlier reviews of this pull request found\n${intro}\n${wrapUntrusted("earlier findings", cut(texts.join("\n"), MAX_EARLIER_BYTES))}`;
}

/** A text without its white space and the number that GitHub adds to a title. */
const wordsOf = (text: string) =>
  text
    .trim()
    .replace(/ \(#\d+\)(?=\n|$)/, "")
    .replace(/\s+/g, " ")
    .trim();

const oneLine = (text: string) => cutLine(text.replace(/\s+/g, " ").trim(), MAX_LINE_BYTES);
