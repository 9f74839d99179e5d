import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { programPath } from "../../src/config/process-env.ts";
import { AppError } from "../../src/core/errors.ts";
import { requireGit, runGit } from "../../src/repo/git/run-git.ts";
import type { EvalCase } from "./case-format.ts";

/** A repository in which `main` is the base of the case's pull request and `pull` is its head. */
export interface CaseRepository extends AsyncDisposable {
  repo: string;
  base: string;
  head: string;
}

/**
 * The repository of a case: the prepared one in `repos`/NAME, or one that borrows the objects of `repos`/owner+name, or, for a patch
 * without a base, one that contains only the patch. Nothing in `repos` changes.
 *
 * Rejects with `repository_unavailable` and the searched places.
 */
export async function openCaseRepository(one: EvalCase, repos: string | null): Promise<CaseRepository> {
  const prepared = repos === null ? null : gitFolder(join(resolve(repos), one.name));
  const source = prepared ?? cloneOf(one, repos);
  const folder = await mkdtemp(join(tmpdir(), "hunkwise-eval-"));
  const dispose = () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  const opened = (repo: string) => ({ repo, base: "main", head: "pull", [Symbol.asyncDispose]: dispose });
  try {
    const git = await createGit(folder);
    if (prepared !== null && one.change.kind !== "patch") {
      await requirePrepared(one, prepared, git);
      return opened(prepared);
    }
    const gitDir = join(folder, "case.git");
    await build(one, { git, gitDir, source });
    return opened(gitDir);
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Refuses a repository whose branches differ from the commits of the case. A case that names none trusts the repository. */
async function requirePrepared({ name, change }: EvalCase, gitDir: string, git: RunGit): Promise<void> {
  const tips = [await tipOf("main", gitDir, git), await tipOf("pull", gitDir, git)];
  const wanted = change.kind === "commits" ? [change.base, change.head] : tips;
  if (wanted.every((sha, index) => sha === tips[index])) return;
  throw new AppError(
    "repository_unavailable",
    `${gitDir} was prepared for other commits than those of the case ${name}`,
    {
      remedy: "Make it anew, with the branches main at the base and pull at the head.",
    },
  );
}

/** The git directory at a place, under one of its usual names. */
function gitFolder(place: string): string | null {
  const places = [join(place, ".git"), place, join(place, "repo")];
  return places.find((one) => existsSync(join(one, "objects")) && existsSync(join(one, "HEAD"))) ?? null;
}

function cloneOf({ name, change, repository }: EvalCase, repos: string | null): string | null {
  if (change.kind === "patch" && change.base === null) return null;
  const clone = repository?.replace("/", "+");
  const found = repos === null || clone === undefined ? null : gitFolder(join(resolve(repos), clone));
  if (found !== null) return found;
  const places = [name, ...(clone === undefined ? [] : [clone])].map((one) => join(repos ?? "REPOS", one));
  throw new AppError("repository_unavailable", `no repository for the case ${name}`, {
    remedy: `Name with --repos a folder that holds ${places.join(" or ")}.`,
  });
}

type RunGit = (gitDir: string, args: readonly string[], input?: string) => Promise<string>;

/** git as in reviews: no configuration of this machine, no hooks, no network. */
async function createGit(folder: string): Promise<RunGit> {
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  const emptyHome = join(folder, "home");
  await mkdir(emptyHome);
  const config = [
    ["user.name", "Author"],
    ["user.email", "author@example.com"],
  ] as const;
  return async (gitDir, args, input) => {
    const git = { gitPath, emptyHome };
    const indexFile = join(folder, "index");
    const { stdout } = await runGit({ git, gitDir, indexFile, config, what: args[0] ?? "", args, input });
    return stdout.toString("utf8").trim();
  };
}

interface Place {
  git: RunGit;
  gitDir: string;
  /** The repository whose objects are borrowed. */
  source: string | null;
}

async function build(one: EvalCase, place: Place): Promise<void> {
  const { git, gitDir, source } = place;
  await git(gitDir, ["init", "--quiet", "--bare", "--initial-branch=main"]);
  if (source !== null)
    await writeFile(join(gitDir, "objects", "info", "alternates"), `${join(source, "objects")}\n`);
  const { base, head } = await commitsOf(one, place);
  await git(gitDir, ["update-ref", "refs/heads/main", base]);
  await git(gitDir, ["update-ref", "refs/heads/pull", head]);
}

async function commitsOf(one: EvalCase, place: Place): Promise<{ base: string; head: string }> {
  const { change } = one;
  switch (change.kind) {
    case "commits":
      for (const sha of [change.base, change.head]) await requireCommit(sha, one, place);
      return change;
    case "pull":
      return pullCommits(change.number, one, place);
    case "patch": {
      const { git, gitDir, source } = place;
      const prepared = async () => (source === null ? null : await tipOf("main", source, git));
      const empty = async () => commit(place, await git(gitDir, ["mktree"], ""), []);
      const base = change.base ?? (await prepared()) ?? (await empty());
      return { base, head: await applied(one.name, change.patch, base, place) };
    }
  }
}

/** The two commits of a pull request, which a clone only has if somebody stored them. */
async function pullCommits(number: number, { name, repository }: EvalCase, { git, source, gitDir }: Place) {
  const clone = source ?? gitDir;
  const [baseRef, headRef] = [`refs/pull/${number}/base`, `refs/pull/${number}/head`];
  const read = (ref: string) => git(clone, ["rev-parse", "--verify", `${ref}^{commit}`]);
  try {
    return { base: await read(baseRef), head: await read(headRef) };
  } catch (error) {
    const ask = `gh api repos/${repository}/pulls/${number} --jq .base.sha,.head.sha`;
    const store = `git -C ${clone} fetch origin BASE:${baseRef} HEAD:${headRef}`;
    throw new AppError("repository_unavailable", `${clone} has no ${baseRef} or no ${headRef}`, {
      remedy: `The case ${name} names only its pull request. "${ask}" names its two commits; store them with "${store}".`,
      cause: error,
    });
  }
}

/** Benchmarks also name commits that were pushed over, which a clone does not bring. */
async function requireCommit(sha: string, { name }: EvalCase, { git, gitDir, source }: Place): Promise<void> {
  await git(gitDir, ["rev-parse", "--verify", `${sha}^{commit}`]).catch((error: unknown) => {
    throw new AppError("repository_unavailable", `${source} lacks the commit ${sha} of the case ${name}`, {
      remedy: `Fetch it: git -C ${source} fetch origin ${sha}`,
      cause: error,
    });
  });
}

async function tipOf(branch: string, gitDir: string, git: RunGit): Promise<string> {
  try {
    return await git(gitDir, ["rev-parse", "--verify", `refs/heads/${branch}^{commit}`]);
  } catch (error) {
    throw new AppError("repository_unavailable", `${gitDir} has no branch ${branch}`, { cause: error });
  }
}

async function applied(name: string, patch: string, base: string, place: Place): Promise<string> {
  const { git, gitDir } = place;
  await git(gitDir, ["read-tree", base]);
  try {
    await git(gitDir, ["apply", "--cached", "--whitespace=nowarn", "-"], patch);
  } catch (error) {
    throw new AppError("config_invalid", `the diff of the case ${name} does not apply`, {
      remedy: "Name with base_sha the commit that it was made against, or give a diff of new files.",
      cause: error,
    });
  }
  return commit(place, await git(gitDir, ["write-tree"]), [base]);
}

/** The message is neutral: the reviewer gets the case's title and body. */
const commit = ({ git, gitDir }: Place, tree: string, parents: readonly string[]) =>
  git(gitDir, ["commit-tree", ...parents.flatMap((sha) => ["-p", sha]), tree], "Change\n");
