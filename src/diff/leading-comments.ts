/** How a kind of file writes comments, and which lines may stand among those at its beginning. */
interface CommentStyle {
  /** What begins a comment that ends with its line. */
  lines: readonly string[];
  /** What begins and what ends a comment of several lines. */
  blocks: readonly (readonly [string, string])[];
  /** Lines that are neither comment nor code. */
  neutral: RegExp;
}

const markup = ["<!--", "-->"] as const;
const slashStar = ["/*", "*/"] as const;
const plain = /^(?:---|%YAML.*|['"]use \w+['"];?|@charset .*)$/;

const anyLanguage: CommentStyle = {
  lines: ["//", "#", "--", ";", "%"],
  blocks: [slashStar, markup, ["(*", "*)"], ["{-", "-}"], ["{#", "#}"], ["<%--", "--%>"], ["--[[", "]]"]],
  neutral: plain,
};
/** A sharp begins a heading there. */
const prose: CommentStyle = { lines: [], blocks: [markup], neutral: /^(?:---|<![a-z][^>]*>)$/i };
/** A sharp begins a directive there, or selects an element. */
const noSharp: CommentStyle = {
  lines: ["//"],
  blocks: [slashStar],
  neutral: /^(?:#(?!include)|['"]use |@charset )/,
};
const python: CommentStyle = { ...anyLanguage, blocks: ['"""', "'''"].map((quotes) => [quotes, quotes]) };
const basic: CommentStyle = { ...anyLanguage, lines: ["'"] };
const vim: CommentStyle = { ...anyLanguage, lines: ['"'] };

const styles = new Map<string, CommentStyle>([
  ...["md", "mdx", "markdown", "html", "htm", "xhtml", "xml", "svg", "vue", "svelte"].map(
    (ending) => [ending, prose] as const,
  ),
  ...["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "m", "mm", "cs", "css", "scss", "less"].map(
    (ending) => [ending, noSharp] as const,
  ),
  ...["py", "pyi"].map((ending) => [ending, python] as const),
  ["vb", basic],
  ["vim", vim],
]);

/** What may stand in front of a file's first comment on the same line. */
const opening = /^\ufeff?(?:#!.*|<\?(?:php|hh)\b|<\?xml[^>]*\?>)?\s*/;

/**
 * The comments with which a file begins, line by line and without the signs around them: those in front of its first line of
 * code. So a template for the header of other files, which some program holds as a text, is none.
 */
export function leadingComments(text: string, path: string, maxLines: number): string[] {
  const style = styles.get(path.slice(path.lastIndexOf(".") + 1).toLowerCase()) ?? anyLanguage;
  const comments: string[] = [];
  let closing: string | null = null;
  for (const line of text.replace(opening, "").split("\n", maxLines)) {
    const read = readLine(line.trim(), style, closing);
    comments.push(...read.comments.map(withoutFrame));
    if (read.isCode) break;
    closing = read.closing;
  }
  return comments;
}

interface ReadLine {
  comments: string[];
  /** What ends the comment that goes on behind this line; null when none does. */
  closing: string | null;
  isCode: boolean;
}

function readLine(line: string, style: CommentStyle, open: string | null): ReadLine {
  const comments: string[] = [];
  let closing = open;
  for (let rest = line; rest !== ""; ) {
    if (closing !== null) {
      const end = rest.indexOf(closing);
      comments.push(end < 0 ? rest : rest.slice(0, end));
      if (end < 0) break;
      rest = rest.slice(end + closing.length).trim();
      closing = null;
      continue;
    }
    const block = style.blocks.find(([begin]) => rest.startsWith(begin));
    const sign = style.lines.find((begin) => rest.startsWith(begin));
    if (block) {
      rest = rest.slice(block[0].length);
      closing = block[1];
    } else {
      if (sign !== undefined) comments.push(rest.slice(sign.length));
      return { comments, closing, isCode: sign === undefined && !style.neutral.test(rest) };
    }
  }
  return { comments, closing, isCode: false };
}

/** Comments are framed with stars, sharps and dashes. */
function withoutFrame(comment: string): string {
  return comment.replace(/^[\s*/#!;%=-]+/, "").replace(/[\s*/#=-]+$/, "");
}
