/** The first line of a comment on a finding: badge, title, and where the finding is when that is elsewhere. */
const firstLine = /^\*\*\S+ (?:Critical|High|Medium|Low): (.+?)\*\*(?: in \[.*)?$/u;

/** The title in a comment of ours on a finding, as it was before it was rendered; empty where none can be made out. */
export function commentTitle(body: string): string {
  const title = firstLine.exec(body.split("\n", 1)[0]?.trimEnd() ?? "")?.[1] ?? "";
  // What rendering puts in: escapes, and a sign that does not show and keeps `@` and `#` from being links.
  return title.replaceAll("\u200b", "").replace(/\\([!-/:-@[-`{-~])/g, "$1");
}
