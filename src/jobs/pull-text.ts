import type { RepoConfig } from "../config/repo-config.ts";
import { createPrivacy } from "../diff/filter.ts";
import { AppError, errorLine } from "../errors.ts";
import { issueReferences, type ReferenceBase } from "../github/issue-references.ts";
import type * as github from "../github/pull-request-api.ts";
import type { FailedCheck, LinkedIssue, PullText } from "../review/review-input.ts";
import { shorten } from "./shorten.ts";

const mostIssues = 5;
/** Characters. */
const longest = { issue: 4_000, check: 2_000, annotation: 1_000, name: 300 };

export interface PullTextSource {
  api: Pick<github.Surroundings, "issue" | "failedChecks">;
  pull: github.PullRequest;
  repository: Omit<ReferenceBase, "webUrl">;
  webUrl: string;
  config: RepoConfig;
  /** Told what is left out because GitHub could not be asked for it. */
  warn(notice: string): void;
}

/**
 * What people and programs wrote about a pull request, but our own findings and the answers to them: asked for all at once,
 * cut, and left out where it cannot be had. Never rejects.
 */
export async function pullTextOf(source: PullTextSource): Promise<Omit<PullText, "earlier">> {
  const { pull, warn } = source;
  const { number, title, body, author } = pull;
  const [issues, checks] = await Promise.all([
    linkedIssues(source),
    orNothing(failedChecks(source), "The checks of its head", warn),
  ]);
  return { ...{ number, title, body, author }, ...{ issues, checks } };
}

async function orNothing<T>(asked: Promise<T[]>, what: string, warn: (notice: string) => void): Promise<T[]> {
  try {
    return await asked;
  } catch (error) {
    // A job that ends says so itself.
    if (!(error instanceof AppError && error.code === "aborted"))
      warn(`${what} could not be read: ${errorLine(error)}`);
    return [];
  }
}

async function asList<T>(asked: Promise<T | undefined>): Promise<T[]> {
  const one = await asked;
  return one === undefined ? [] : [one];
}

async function linkedIssues(source: PullTextSource): Promise<LinkedIssue[]> {
  const { api, pull, repository, webUrl, warn } = source;
  const named = issueReferences(`${pull.title}\n\n${pull.body}`, { ...repository, webUrl });
  const wanted = named.filter((number) => number !== pull.number).slice(0, mostIssues);
  const found = await Promise.all(
    wanted.map((number) => orNothing(asList(api.issue(number)), `Issue ${number}`, warn)),
  );
  return found.flat().map(({ number, title, body }) => ({
    ...{ number, title: shorten(title, longest.name) },
    body: shorten(body, longest.issue),
  }));
}

async function failedChecks({ api, pull, config }: PullTextSource): Promise<FailedCheck[]> {
  const isPrivate = createPrivacy(config.paths.private);
  const failed = await api.failedChecks(pull.headSha);
  return failed.map(({ name, conclusion, title, summary, annotations }) => ({
    name: shorten(name, longest.name),
    conclusion,
    summary: shorten([title, summary].filter((part) => part.trim() !== "").join("\n\n"), longest.check),
    annotations: annotations
      .filter(({ path }) => !isPrivate(path))
      .map(({ path, startLine, endLine, level, message }) => ({
        ...{ path, level, message: shorten(message, longest.annotation) },
        ...{ start_line: startLine, end_line: endLine },
      })),
  }));
}
