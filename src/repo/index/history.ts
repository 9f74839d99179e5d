import { randomUUID } from "node:crypto";
import { decodeText, splitNul } from "../../core/text/decode.ts";
import { runGit } from "../git/run-git.ts";
import type { RevisionPlace } from "../git/workspace.ts";
import type { GraphCommit } from "./graph.ts";

/** Older commits are seldom needed, and git takes time for each. */
const MAX_COMMITS = 500;
const TIMEOUT_MS = 20_000;
/** Paths of one commit. A commit with more is about none of them in particular. */
const MAX_PATHS = 100;
const MAX_BYTES = 64 * 1024 * 1024;

/** The last commits up to a head, newest first, each with the paths that it changed. Merges have no paths. */
export async function readHistory(
  { gitPath, emptyHome, gitDir }: Omit<RevisionPlace, "shas" | "root">,
  head: string,
  signal?: AbortSignal,
): Promise<GraphCommit[]> {
  // Starts each commit in the output. It is random, so no file can have this name.
  const mark = randomUUID();
  const { stdout } = await runGit({
    git: { gitPath, emptyHome },
    gitDir,
    what: "list commits",
    args: [
      "log",
      "-z",
      "--name-only",
      "--no-renames",
      `--max-count=${MAX_COMMITS}`,
      "--encoding=UTF-8",
      "--no-show-signature",
      "--no-color",
      `--format=tformat:${mark}%x00%H%x00%an%x00%aI%x00%B%x00`,
      head,
      "--",
    ],
    maxBytes: MAX_BYTES,
    timeoutMs: TIMEOUT_MS,
    signal,
  });
  const commits: (GraphCommit & { paths: string[] })[] = [];
  const fields = splitNul(stdout, (field) => decodeText(field).text);
  for (let at = 0; at < fields.length; at++) {
    const field = (fields[at] ?? "").replace(/^\n/, "");
    if (field === mark) {
      const [sha = "", author = "", date = "", message = ""] = fields.slice(at + 1, at + 5);
      commits.push({ sha, author, date, message: message.replace(/\n+$/, ""), paths: [] });
      at += 4;
    } else if (field !== "" && (commits.at(-1)?.paths.length ?? MAX_PATHS) < MAX_PATHS)
      commits.at(-1)?.paths.push(field);
  }
  return commits;
}
