import { splitNul } from "../text/decode.ts";
import { type Git, requireObjectNames } from "./git-environment.ts";
import { decodeName, nameBytes } from "./names.ts";
import { runGit } from "./run-git.ts";

export interface CommitDiff {
  git: Git;
  gitDir: string;
  /** Full object names. */
  from: string;
  to: string;
  contextLines: number;
  maxBytes: number;
  /** The one file that is asked for, by its key; left out, all of them. */
  path?: string;
  signal?: AbortSignal | undefined;
}

/** What takes one commit to another, as a patch that `git apply` takes; renames are a file that goes and one that comes. */
export async function commitDiff({ from, to, contextLines, path, ...rest }: CommitDiff): Promise<string> {
  requireObjectNames(from, to);
  const options = [
    "-r",
    "-p",
    "--full-index",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
  ];
  const args = [
    "diff-tree",
    ...options,
    `-U${Math.trunc(contextLines)}`,
    from,
    to,
    "--",
    ...(path === undefined ? [] : [nameBytes(path).toString("utf8")]),
  ];
  return (await runGit({ ...rest, what: "compare commits", args })).stdout.toString("utf8");
}

/** The paths in which two commits differ; of a rename both. */
export async function changedPaths({
  from,
  to,
  ...rest
}: Pick<CommitDiff, "git" | "gitDir" | "from" | "to" | "signal">): Promise<string[]> {
  requireObjectNames(from, to);
  const args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to, "--"];
  return splitNul((await runGit({ ...rest, what: "compare commits", args })).stdout, decodeName);
}
