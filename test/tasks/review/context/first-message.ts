import type { PostedFinding } from "../../../../src/core/ledger/entry.ts";
import { createPrivacy } from "../../../../src/repo/diff/filter.ts";
import type { ChangedFile } from "../../../../src/repo/diff-source.ts";
import { createDiffSource } from "../../../../src/repo/diff-source.ts";
import { firstMessages, type MessageParts } from "../../../../src/tasks/review/context/first-messages.ts";
import type { RuleMatches } from "../../../../src/tasks/rules/rule-matches.ts";
import type { PullText } from "../../../../src/tasks/shapes/review-input.ts";
import { openRepository } from "../../../agent/tools/context.ts";
import { postedFinding } from "../../../pull/ledger/posted-finding.ts";
import { type Content, GitRepo } from "../../../support/git-repo.ts";
import { reviewInput } from "../../../support/review-input.ts";

type Files = Record<string, Content | null>;

export interface MessageOptions {
  config?: unknown;
  pull?: Partial<PullText>;
  private?: string[];
  matches?: RuleMatches;
  /** The files of the unit; all by default. */
  unit?: (file: ChangedFile) => boolean;
  over?: Partial<MessageParts>;
}

/** The first message of a review of the change from one set of files to another. */
export async function firstMessageOf(
  before: Files,
  after: Files,
  options: MessageOptions = {},
): Promise<string> {
  using repo = GitRepo.create();
  repo.commit("Begin", before);
  repo.branch("topic");
  repo.commit("Change it", after);
  return await firstMessageIn(repo, options);
}

/** The first message of a review of a change in one file, between two texts that `source` makes. */
export const changeMessage = <Part>(
  path: string,
  source: (part: Part) => string,
  [before, after]: readonly [Part, Part],
  others: Files = {},
  options: MessageOptions = {},
): Promise<string> =>
  firstMessageOf({ [path]: source(before), ...others }, { [path]: source(after) }, options);

/** The same as {@link firstMessageOf} of a repository with branches `main` and `topic`. */
export async function firstMessageIn(repo: GitRepo, options: MessageOptions = {}): Promise<string> {
  await using opened = await openRepository(repo);
  const { workspace } = opened;
  const hidden = options.private ?? [];
  const diffs = createDiffSource(workspace, { ignore: [], private: hidden });
  const allFiles = await diffs.files();
  const [, message] = await firstMessages({
    input: reviewInput({ config: options.config, pull: options.pull ? pullText(options.pull) : null }),
    shas: workspace.shas,
    allFiles,
    known: null,
    graph: null,
    files: allFiles.filter(options.unit ?? (() => true)),
    commits: await workspace.commits(20),
    matches: options.matches ?? { certain: [], likely: [] },
    workspace,
    diffs,
    coverage: { serve: () => {} },
    isPrivate: createPrivacy(hidden),
    signal: new AbortController().signal,
    now: () => 0,
    diffBytes: 100_000,
    contextBytes: 40_000,
    ...options.over,
  });
  return message?.content ?? "";
}

export const pullText = (over: Partial<PullText>): PullText => ({
  number: 7,
  title: "A change",
  body: "",
  author: "ada",
  issues: [],
  checks: [],
  earlier: [],
  ...over,
});

export const earlierFinding = (over: Partial<PostedFinding>): PostedFinding =>
  postedFinding({
    comment: 1,
    id: "f".repeat(12),
    line: 1,
    original_line: 1,
    severity: "medium",
    title: "A leak",
    text: "It leaks.",
    ...over,
  });

/** What stands around the diff: the part of the message with the code. */
export function codeAround(message: string): string {
  const start = message.indexOf("\n# Code around the change\n");
  return start < 0 ? "" : message.slice(start, message.indexOf("\n# Diff\n", start));
}

/** The diff of a file, with the lines around its changes. */
export function diffOf(message: string, path: string): string {
  const files = message.slice(message.indexOf("\n# Diff\n")).split(/\n(?=## )/);
  return files.find((file) => (file.split("\n")[0] ?? "").startsWith(`## ${path}`)) ?? "";
}

/** The piece of code under the first heading that holds all of the words. */
export function pieceOf(message: string, ...words: string[]): string {
  const pieces = codeAround(message).split(/\n(?=###? )/);
  return pieces.find((piece) => words.every((word) => (piece.split("\n")[0] ?? "").includes(word))) ?? "";
}

/** Lines `prefix 1` to `prefix count`, each with its end. */
export const manyLines = (prefix: string, count: number): string =>
  Array.from({ length: count }, (_, at) => `${prefix} ${at + 1}\n`).join("");
