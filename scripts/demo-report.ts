import { plainLine, plainLines, type Style, wrap } from "../src/report/terminal-style.ts";
import { fullName, headOf, type Pull, type ReviewComment } from "../test/support/github-double/model.ts";

/** A pull request as a person reads it: the conversation, each comment below its code, and the checks at the end. */
export function printPull(pull: Pull, style: Style): string {
  const { bold, dim } = style;
  const checks = pull.repository.checkRuns.filter((run) => run.headSha === headOf(pull));
  const opened = `${pull.author.login} opened ${fullName(pull.repository)}#${pull.number}`;
  const sections = [
    [bold(plainLine(pull.title)), dim(opened), ...proseLines(pull.body ?? "", style)],
    ...[...pull.comments, ...pull.reviews]
      .filter(({ body }) => body !== "")
      .map(({ author, body }) => [bold(author.login), ...proseLines(body, style)]),
    ...pull.reviewComments.map((comment) => commentLines(comment, style)),
    ...checks.map(({ name, conclusion, output }) => [
      `${bold(name)} ${conclusion}: ${output.title}`,
      ...proseLines(output.summary ?? "", style),
    ]),
  ];
  return sections.map((lines) => lines.join("\n")).join(`\n${dim("─".repeat(style.width))}\n`);
}

function commentLines({ anchor, author, path, body }: ReviewComment, style: Style): string[] {
  const line = anchor && (anchor.startLine === null ? anchor.line : `${anchor.startLine}-${anchor.line}`);
  const code = anchor?.diffHunk.split("\n").slice(1).slice(-4) ?? [];
  const paint = { "+": style.added, "-": style.removed } as Record<string, (text: string) => string>;
  return [
    style.path(`${path}:${line ?? "the file"}`),
    ...code.map((text) => (paint[text.charAt(0)] ?? String)(plainLine(text))),
    "",
    style.bold(author.login),
    ...proseLines(body, style),
  ];
}

/** Markdown without what GitHub hides or folds away, and without the addresses of links. */
function proseLines(markdown: string, style: Style): string[] {
  const shown = markdown
    .replace(/<!--[\s\S]*?(-->|$)/g, "")
    .replace(/<details>\s*<summary>(.*?)<\/summary>[\s\S]*?<\/details>/g, "▸ $1")
    .replace(/<\/?(details|summary|sub|sup|br|b)\b[^>]*>/g, "")
    .replace(/\[([^\]]*)\]\(https?:[^)]*\)/g, "$1")
    .replace(/\n{3,}/g, "\n\n");
  return wrap(plainLines(shown.trim()).join("\n"), style.width);
}

/** A fault planted in `fixtures/demo`, and the lines at head where a comment about it belongs. */
interface PlantedFault {
  path: string;
  /** Any of these is correct: a comment may be on the statement or on the call within it. */
  lines: number[];
  what: string;
}

/** The six faults that `fixtures/demo/README.md` lists with their sources. */
export const planted: readonly PlantedFault[] = [
  { path: "web/src/stats.ts", lines: [10], what: "numbers sorted as text" },
  { path: "web/src/notify.ts", lines: [10, 11], what: "forEach does not wait for an async callback" },
  {
    path: "web/src/notify.ts",
    lines: [17, 18, 19, 20, 21, 22, 23, 24, 25],
    what: "the retry loop drops the last error",
  },
  { path: "web/test/stats.test.ts", lines: [15], what: "it.only keeps the other tests from running" },
  { path: "jobs/collect.py", lines: [4], what: "a mutable default argument" },
  { path: "agent/upload.go", lines: [26], what: "the body is closed before the error is looked at" },
];

export interface DemoEnd {
  /** Number of planted faults that were found. */
  found: number;
  planted: number;
  withModel: boolean;
  /** The check run's output. */
  check: { title: string; summary: string };
}

/** Advice on faults that the demo's review did not find, as complete lines. */
export function adviceOn({ found, planted, withModel, check }: DemoEnd): string[] {
  if (found === planted) return [];
  if (!withModel)
    return [
      "No rule finds the other fault; a model can. Set OPENAI_API_KEY or ANTHROPIC_API_KEY and run this again.",
    ];
  const isUnread = check.title === "The review failed" || check.summary.includes("no requests to a model");
  if (!isUnread)
    return ["This model missed the others. Set HUNKWISE_MODEL to another one and run this again."];
  return [
    "No model answered. 'npm run -s hunkwise -- doctor' checks it and says what is wrong.",
    "Without OPENAI_API_KEY, ANTHROPIC_API_KEY and OPENAI_BASE_URL the demo uses only the analyzers, which find five of the six faults.",
  ];
}
