/** What a person can ask for in a comment. */
export interface Command {
  name: "review";
  /** Everything, not only what is new. */
  full: boolean;
  /** Show what would be posted, post nothing. */
  dryRun: boolean;
}

const longest = 200;

/**
 * Reads a command from the first line of a comment: `/review`, or `@slug review` with the App's slug, each with `full` and
 * `--dry-run` after it. Anything else is not a command: text around it, a quote, code, an HTML comment, an unknown word.
 * Four spaces or a tab in front make a line code. Looks at the first 200 characters alone, whatever the comment's length.
 */
export function parseCommand(body: string, appSlug: string | null): Command | null {
  const line = /^[^\r\n]*/.exec(body.slice(0, longest + 1))?.[0] ?? "";
  if (line.length > longest) return null;
  const indent = /^ */.exec(line)?.[0].length ?? 0;
  if (indent > 3) return null;
  const request = afterAddress(line.slice(indent), appSlug);
  if (request === null) return null;
  const [name, ...options] = request.trimEnd().split(/[ \t]+/);
  if (name?.toLowerCase() !== "review") return null;
  const wanted = new Set(options);
  const [full, dryRun] = [wanted.delete("full"), wanted.delete("--dry-run")];
  const understood = wanted.size === 0 && options.length === Number(full) + Number(dryRun);
  return understood ? { name: "review", full, dryRun } : null;
}

/** What stands behind `/` or `@slug `; null when the line speaks to nobody we know. */
function afterAddress(line: string, appSlug: string | null): string | null {
  if (line.startsWith("/")) return line.slice(1);
  if (!appSlug) return null;
  const address = `@${appSlug.toLowerCase()}`;
  if (!line.toLowerCase().startsWith(address)) return null;
  const rest = line.slice(address.length);
  return /^[ \t]/.test(rest) ? rest.trimStart() : null;
}
