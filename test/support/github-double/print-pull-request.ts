import { createColors } from "picocolors";
import { findLine } from "./commentable.ts";
import { currentPlace, pullDiff } from "./current-line.ts";
import type { CheckRun, IssueComment, Pull, Reaction, Review, ReviewComment } from "./model.ts";
import { fullName, headOf } from "./model.ts";
import { type Colors, printable, printMarkdown, visibleLength } from "./print-markdown.ts";

export interface PrintOptions {
  /** Default false. */
  color?: boolean;
  /** Columns. Default 100. */
  width?: number;
}

interface Page {
  colors: Colors;
  width: number;
}

const emoji: Record<string, string> = {
  "+1": "👍",
  "-1": "👎",
  eyes: "👀",
  confused: "😕",
  heart: "❤️",
  hooray: "🎉",
};
const verbs: Record<Review["state"], string> = {
  PENDING: "is writing a review",
  COMMENTED: "reviewed",
  APPROVED: "approved these changes",
  CHANGES_REQUESTED: "requested changes",
  DISMISSED: "reviewed (dismissed)",
};

/** Draws lines in a box with a title in its upper edge. */
function box(title: string, lines: string[], { colors, width }: Page): string[] {
  const edge = (text: string) => colors.dim(text);
  const rest = Math.max(1, width - visibleLength(title) - 4);
  return [
    `${edge("╭─")} ${title} ${edge("─".repeat(rest))}`,
    ...lines.map((line) => (line === "" ? edge("│") : `${edge("│")} ${line}`)),
    edge(`╰${"─".repeat(width - 1)}`),
  ];
}

const inner = (page: Page): Page => ({ ...page, width: page.width - 2 });

function reactionsLine(reactions: Reaction[]): string[] {
  const counts = new Map<string, number>();
  for (const { content } of reactions) counts.set(content, (counts.get(content) ?? 0) + 1);
  const shown = [...counts].map(([content, count]) => `${emoji[content] ?? content} ${count}`);
  return shown.length > 0 ? ["", shown.join("  ")] : [];
}

/** The commented lines and up to three lines before them, as GitHub shows them above a thread. */
function codeFrame(comment: ReviewComment, { colors, width }: Page): string[] {
  const { anchor } = comment;
  if (!anchor) return [];
  const [header = "", ...rows] = anchor.diffHunk.split("\n");
  const counts = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(header);
  let [left, right] = [Number(counts?.[1]), Number(counts?.[2])];
  const numbered = rows.map((text) => {
    const sign = text.charAt(0);
    const numbers = [sign === "+" ? "" : String(left++), sign === "-" ? "" : String(right++)];
    return { text, gutter: numbers.map((one) => one.padStart(5)).join("") };
  });
  const selected = anchor.startLine === null ? 1 : Math.max(1, anchor.line - anchor.startLine + 1);
  const paint = { "+": colors.green, "-": colors.red } as Record<string, Colors["green"]>;
  return numbered.slice(-(selected + 3)).map(({ text, gutter }) => {
    const characters = [...printable(text.replace(/\r$/, ""))];
    const room = width - 13;
    const fits =
      characters.length > room ? `${characters.slice(0, room - 1).join("")}…` : characters.join("");
    const code = fits.length > 0 ? `${fits.charAt(0)} ${fits.slice(1)}` : "";
    return `${colors.dim(gutter)}  ${(paint[text.charAt(0)] ?? String)(code)}`;
  });
}

/** The text that a suggestion would replace. */
async function replacedLines(comment: ReviewComment): Promise<string[]> {
  const { anchor, path, pull, commitId } = comment;
  const file = (await pullDiff(pull, commitId)).find((one) => one.path === path);
  if (!anchor || !file) return [];
  const end = findLine(file, anchor.side, anchor.line);
  const rows = file.hunks[end?.hunk ?? -1]?.rows ?? [];
  const from = anchor.startLine ?? anchor.line;
  return rows
    .filter((row) => (row[anchor.side] ?? 0) >= from && (row[anchor.side] ?? 0) <= anchor.line)
    .map((row) => row.text.slice(1));
}

async function commentLines(comment: ReviewComment, page: Page): Promise<string[]> {
  const { colors } = page;
  const replaced = await replacedLines(comment);
  return [
    colors.bold(comment.author.login),
    ...printMarkdown(comment.body, { ...page, replaced }),
    ...reactionsLine(comment.reactions),
  ];
}

async function thread(first: ReviewComment, page: Page): Promise<string[]> {
  const { colors } = page;
  const { anchor, path } = first;
  const range = anchor && (anchor.startLine === null ? anchor.line : `${anchor.startLine}-${anchor.line}`);
  const place = anchor ? `${path}:${range}${anchor.side === "LEFT" ? " (removed)" : ""}` : `${path} (file)`;
  const outdated = anchor && !(await currentPlace(first)) ? colors.yellow(" Outdated") : "";
  if (first.resolvedBy) return [`${colors.green("✓")} ${colors.dim(`${place} resolved`)}`];
  const replies = first.pull.reviewComments.filter((one) => one.inReplyTo === first);
  const frame = codeFrame(first, inner(page));
  const texts = await Promise.all([first, ...replies].map((one) => commentLines(one, inner(page))));
  const body = texts.flatMap((lines, index) => (index === 0 ? lines : ["", ...lines]));
  const rule = colors.dim("─".repeat(page.width - 2));
  return box(colors.cyan(place) + outdated, frame.length > 0 ? [...frame, rule, ...body] : body, page);
}

async function review(one: Review, page: Page): Promise<string[]> {
  const { colors } = page;
  const threads = one.pull.reviewComments.filter((comment) => comment.review === one && !comment.inReplyTo);
  const isReply = threads.length === 0 && one.body === "" && one.state === "COMMENTED";
  if (isReply) return [];
  const shown = await Promise.all(threads.map((first) => thread(first, { ...page, width: page.width - 2 })));
  return [
    `${colors.bold(one.author.login)} ${verbs[one.state]} ${colors.dim(one.commitId.slice(0, 7))}`,
    ...indented(printMarkdown(one.body, { ...page, width: page.width - 2 })),
    ...indented(shown.flatMap((lines) => ["", ...lines])),
  ];
}

const isReview = (item: Review | IssueComment): item is Review => "commitId" in item;
const indented = (lines: string[]) => lines.map((line) => (line === "" ? "" : `  ${line}`));

function conversation(comment: IssueComment, page: Page): string[] {
  const title = `${page.colors.bold(comment.author.login)} commented`;
  return box(title, [...printMarkdown(comment.body, inner(page)), ...reactionsLine(comment.reactions)], page);
}

function checkRun(run: CheckRun, page: Page): string[] {
  const { colors } = page;
  const marks: Record<string, string> = { success: colors.green("✓"), failure: colors.red("✗") };
  const mark =
    marks[run.conclusion ?? ""] ?? (run.status === "completed" ? colors.dim("◼") : colors.yellow("●"));
  const outcome = run.conclusion ?? run.status.replace("_", " ");
  const title = run.output.title ? `: ${run.output.title}` : "";
  return [
    `${mark} ${colors.bold(run.name)} ${colors.dim(outcome)}${title}`,
    ...indented(printMarkdown(run.output.summary ?? "", { ...page, width: page.width - 2 })),
  ];
}

async function header(pull: Pull, { colors }: Page): Promise<string[]> {
  const state = pull.draft && pull.state === "open" ? "draft" : pull.merged ? "merged" : pull.state;
  const paint = state === "open" ? colors.green : colors.magenta;
  const from =
    pull.headRepository === pull.repository ? "" : `${pull.headRepository?.owner.login ?? "unknown"}:`;
  const files = (await pullDiff(pull)).length;
  const changed = `${files} file${files === 1 ? "" : "s"} changed`;
  return [
    `${colors.bold(printable(pull.title))} ${colors.dim(`#${pull.number}`)}`,
    `${paint(state)} · ${fullName(pull.repository)} · ${pull.author.login} wants to merge ${from}${pull.headRef} into ${pull.baseRef} · ${changed}`,
  ];
}

/** The pull request as a person sees it: comments in order, below their code, with checks at the end. */
export async function printPullRequest(pull: Pull, options: PrintOptions = {}): Promise<string> {
  const page: Page = { colors: createColors(options.color ?? false), width: options.width ?? 100 };
  const items = [...pull.comments, ...pull.reviews].sort((a, b) => a.id - b.id);
  const shown = await Promise.all(
    items.map((item) => (isReview(item) ? review(item, page) : conversation(item, page))),
  );
  const checks = pull.repository.checkRuns.filter((run) => run.headSha === headOf(pull));
  const sections = [
    await header(pull, page),
    pull.body ? box(page.colors.bold(pull.author.login), printMarkdown(pull.body, inner(page)), page) : [],
    ...shown,
    checks.flatMap((run) => checkRun(run, page)),
  ];
  const rule = page.colors.dim("─".repeat(page.width));
  const text = sections.filter((lines) => lines.length > 0).map((lines) => lines.join("\n"));
  return `${rule}\n${text.join("\n\n")}\n${rule}\n`;
}
