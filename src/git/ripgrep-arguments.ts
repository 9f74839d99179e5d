import type { SearchQuery } from "./workspace.ts";

/**
 * ripgrep's arguments for a query of a checkout. Whatever a file of the repository says (`.ignore`, `.rgignore`, `.gitignore`)
 * hides nothing; what the query says stands behind `=` or `--`, so it is never an option. `path` is one of the tree.
 */
export function ripgrepArguments(query: SearchQuery, path: string | undefined): string[] {
  return [
    "--no-config",
    "--no-ignore",
    "--hidden",
    "--no-messages",
    "--no-follow",
    // What is larger is read by nobody; a line of 100 MB would be in memory twice.
    "--max-filesize=20M",
    "--no-require-git",
    "--sort=path",
    ...modeFlags(query),
    ...queryFlags(query),
    "--",
    path === undefined ? "./" : `./${path}`,
  ];
}

/** The same for what comes by its standard input. Glob and type choose nothing there, but are refused when they are broken. */
export function streamArguments(query: SearchQuery): string[] {
  // Of a line that matches its number will do.
  const lines = ["--line-number", "--no-filename", "--no-heading", "--max-columns=1"];
  const mode = query.mode === "content" ? modeFlags(query) : lines;
  return ["--no-config", ...mode, ...queryFlags(query), "--", "-"];
}

function queryFlags(query: SearchQuery): string[] {
  const flags = [
    // A pattern of a few characters may unfold into a hundred megabytes, ripgrep's own limit, and take half a minute.
    "--regex-size-limit=10M",
    "--dfa-size-limit=30M",
    // Bytes as they are: a byte order mark must not make ripgrep transcode or shift the first line.
    "--encoding=none",
    // What is binary we say ourselves, as git does: ripgrep would leave off at the first NUL of any text.
    "--text",
    "--color=never",
  ];
  if (query.fixedString) flags.push("--fixed-strings");
  flags.push(query.ignoreCase ? "--ignore-case" : "--case-sensitive");
  if (query.wholeWord) flags.push("--word-regexp");
  if (query.invertMatch) flags.push("--invert-match");
  if (query.fileType !== undefined) flags.push(`--type=${query.fileType}`);
  if (query.filePattern !== undefined) flags.push(`--glob=${query.filePattern}`);
  return [...flags, "--glob=!**/.git", `--regexp=${query.pattern}`];
}

function modeFlags(query: SearchQuery): string[] {
  if (query.mode === "content") return ["--json", `--context=${query.contextLines}`];
  return [query.mode === "count" ? "--count" : "--files-with-matches", "--null", "--with-filename"];
}
