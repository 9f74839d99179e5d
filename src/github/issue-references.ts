/** The repository to find issues of. */
export interface ReferenceBase {
  owner: string;
  name: string;
  /** Root of GitHub's pages, without a slash at the end. */
  webUrl: string;
}

/**
 * Parts in which GitHub reads no references: fenced blocks, HTML comments, code spans. The part that begins first contains the others, and
 * an unclosed block or comment continues to the end. A group that did not participate matches an empty string, hence the lookbehind for the
 * fence.
 */
const hidden =
  /^ {0,3}(?:(`{3,})[^`\n]*|(~{3,})[^\n]*)$(?:\n(?! {0,3}(?:\1|\2)(?<=[`~]))[^\n]*)*(?:\n[^\n]*)?|<!--[\s\S]*?(?:-->|(?![\s\S]))|(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n)[\s\S])*?(?<!`)\3(?!`)/gm;

/**
 * Numbers of the issues and pull requests of this repository that a text names: `#12`, `GH-12`, `owner/name#12` or an address. Those after
 * a word that closes issues come first; each occurs once. Quotes, code and HTML comments are ignored.
 * https://docs.github.com/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
 */
export function issueReferences(text: string, { owner, name, webUrl }: ReferenceBase): number[] {
  const page = escaped(`${webUrl}/${owner}/${name}`);
  const reference = new RegExp(
    String.raw`(?<![\w./#&-])(?<closing>(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?[ \t]+)?` +
      String.raw`(?:${page}/(?:issues|pull)/(?<linked>\d{1,9})|(?<repository>[\w.-]{1,100}/[\w.-]{1,100})?#(?<named>\d{1,9})|GH-(?<short>\d{1,9}))\b`,
    "gi",
  );
  const here = `${owner}/${name}`.toLowerCase();
  const found = [...readable(text).matchAll(reference)].flatMap(({ groups = {} }) => {
    const { closing, linked, repository, named, short } = groups;
    if (repository !== undefined && repository.toLowerCase() !== here) return [];
    return [{ closes: closing !== undefined, number: Number(linked ?? named ?? short) }];
  });
  const closing = found.filter(({ closes }) => closes);
  return [...new Set([...closing, ...found].map(({ number }) => number))].filter((number) => number > 0);
}

/** The text without hidden parts, and without quotes, which continue to the next empty line. */
function readable(text: string): string {
  let isQuote = false;
  const lines = text.replaceAll("\r\n", "\n").replace(hidden, " ").split("\n");
  return lines
    .filter((line) => {
      if (line.trim() === "") isQuote = false;
      isQuote ||= /^ {0,3}>/.test(line);
      return !isQuote;
    })
    .join("\n");
}

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
