import type { SearchQuery } from "./workspace.ts";

/**
 * ripgrep's arguments for a query. Whatever a file of the repository says (`.ignore`, `.rgignore`, `.gitignore`) hides
 * nothing; what the query says stands behind `=` or `--`, so it is never an option. `path` is one of the tree.
 */
export function ripgrepArguments(query: SearchQuery, path: string | undefined): string[] {
  const flags = [
    "--no-config",
    "--no-ignore",
    "--hidden",
    "--no-messages",
    "--no-follow",
    // What is larger is read by nobody; a line of 100 MB would be in memory twice.
    "--max-filesize=20M",
    // A pattern of a few characters may unfold into a hundred megabytes, ripgrep's own limit, and take half a minute.
    "--regex-size-limit=10M",
    "--dfa-size-limit=30M",
    "--no-require-git",
    // Bytes as they are: a byte order mark must not make ripgrep transcode or shift the first line.
    "--encoding=none",
    "--color=never",
    "--sort=path",
    ...modeFlags(query),
  ];
  if (query.fixedString) flags.push("--fixed-strings");
  flags.push(query.ignoreCase ? "--ignore-case" : "--case-sensitive");
  if (query.wholeWord) flags.push("--word-regexp");
  if (query.invertMatch) flags.push("--invert-match");
  if (query.fileType !== undefined) flags.push(`--type=${query.fileType}`);
  if (query.filePattern !== undefined) flags.push(`--glob=${query.filePattern}`);
  return [
    ...flags,
    "--glob=!**/.git",
    `--regexp=${query.pattern}`,
    "--",
    path === undefined ? "./" : `./${path}`,
  ];
}

function modeFlags(query: SearchQuery): string[] {
  if (query.mode === "content") return ["--json", `--context=${query.contextLines}`];
  return [query.mode === "count" ? "--count" : "--files-with-matches", "--null", "--with-filename"];
}
