/** The first line of a comment on a finding: badge, title, and where the finding is when that is elsewhere. */
const firstLine = /^\*\*\S+ (?:Critical|High|Medium|Low): (.+?)\*\*(?: in \[.*)?$/u;

/** The title in a comment of ours on a finding, as it was before it was rendered; empty where none can be made out. */
export function commentTitle(body: string): string {
  const title = firstLine.exec(body.split("\n", 1)[0]?.trimEnd() ?? "")?.[1] ?? "";
  // What rendering puts in: escapes, and a sign that does not show and keeps `@` and `#` from being links.
  return title.replaceAll("\u200b", "").replace(/\\([!-/:-@[-`{-~])/g, "$1");
}

/** What `commentText` gives without the line of the title. */
export function textBelowTitle(text: string): string {
  const [first = "", ...rest] = text.split("\n");
  return firstLine.test(first.trimEnd()) ? rest.join("\n").trim() : text;
}

/** Begins the last part of a comment on a finding: it is folded away, and of no use to who reads what the finding is. */
const checkedPart = "<details><summary>How this was checked</summary>";

/** What a comment of ours on a finding says: without its marker, and without how it was checked. */
export function commentText(body: string): string {
  const said = body.trimEnd().replace(/(?:^|\n)<!-- hunkwise:[^\n]*$/, "");
  const checked = said.lastIndexOf(checkedPart);
  // Rendering puts the sign behind `@` and `#`, and who reads the text for what it says would take it for a part of it.
  return (checked < 0 ? said : said.slice(0, checked)).replaceAll("\u200b", "").trim();
}
