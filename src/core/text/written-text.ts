import { cutBytes } from "./cut.ts";

/** Limit for reading a comment; GitHub accepts 65,536 characters. */
const MAX_BYTES = 65_536;
const MAX_DEPTH = 20;

interface Fence {
  character: string;
  length: number;
  /** Column at which the content of its list item begins; a line further left ends the item, and the fence with it. */
  within: number;
}

/**
 * What a person wrote in a comment: without quotes, code and HTML comments. A line without `>` is the writer's own, even in the middle of a
 * quote. An unclosed block hides the rest. Reads the first 64 kB, in linear time. https://spec.commonmark.org/0.31.2/
 */
export function writtenText(body: string): string {
  const reader = new MarkdownReader();
  for (const line of cutBytes(body, MAX_BYTES).split(/\r\n|\r|\n/)) reader.read(line);
  return reader.end();
}

/** Reads a comment line by line; the block, comment or span that begins first contains the others. */
class MarkdownReader {
  readonly #out: string[] = [];
  /** Lines of the current paragraph: a code span may begin on one and end on another. */
  #paragraph: string[] = [];
  #fence: Fence | undefined;
  #inComment = false;
  /** Columns at which the contents of the enclosing list items begin, outermost first. */
  readonly #items: number[] = [];

  read(line: string): void {
    if (this.#fence && this.#leaves(this.#fence, line)) this.#fence = undefined;
    if (this.#inComment) this.#readComment(line);
    else if (this.#fence) this.#readCode(this.#fence, line);
    else if (line.trim() === "") this.#hide(line);
    else this.#readBlock(line);
  }

  end(): string {
    this.#endParagraph();
    return this.#out
      .join("\n")
      .replace(/^(?:[ \t]*\n)+/, "")
      .trimEnd();
  }

  #readBlock(line: string): void {
    const indent = columnsBefore(line);
    const isGoingOn = this.#paragraph.length > 0;
    while (indent < this.#innermost() && !isGoingOn) this.#items.pop();
    if (indent - this.#itemAt(indent) >= 4) {
      if (isGoingOn) this.#paragraph.push(line);
      return;
    }
    const { content, column, isCode } = this.#enterItems(line, indent);
    const [, marks] = /^(`{3,}(?=[^`]*$)|~{3,})/.exec(content) ?? [];
    if (isCode || content.startsWith(">")) this.#hide(line);
    else if (marks !== undefined) this.#openFence(line, marks, column);
    else {
      if (column > indent || content.startsWith("<!--")) this.#endParagraph();
      if (this.#inComment) this.#readComment(line);
      else this.#paragraph.push(line);
      // A comment that begins a line may continue after empty lines.
      if (content.startsWith("<!--")) this.#endParagraph();
    }
  }

  #openFence(line: string, marks: string, column: number): void {
    this.#hide(line);
    if (this.#inComment) return;
    this.#fence = { character: marks.charAt(0), length: marks.length, within: this.#itemAt(column) };
  }

  /** Removes list markers from a line. Each begins an item, and any block may follow. */
  #enterItems(line: string, indent: number): { content: string; column: number; isCode: boolean } {
    let content = line.trimStart();
    let column = indent;
    for (;;) {
      const [marker] = /^(?:[-*+]|\d{1,9}[.)])(?=[ \t]+[^ \t])/.exec(content) ?? [];
      if (marker === undefined || this.#items.length >= MAX_DEPTH) return { content, column, isCode: false };
      while (column < this.#innermost()) this.#items.pop();
      const after = content.slice(marker.length);
      const gap = columnsBefore(after, column + marker.length);
      const isCode = gap > 4;
      column += marker.length + (isCode ? 1 : gap);
      content = after.trimStart();
      this.#items.push(column);
      if (isCode) return { content, column, isCode };
    }
  }

  #innermost = () => this.#items.at(-1) ?? 0;
  #itemAt = (column: number) => this.#items.findLast((one) => one <= column) ?? 0;

  #leaves({ within }: Fence, line: string): boolean {
    return line.trim() !== "" && columnsBefore(line) < within;
  }

  #readCode({ character, length, within }: Fence, line: string): void {
    const text = line.trim();
    const isEnd = text.length >= length && text === character.repeat(text.length);
    if (isEnd && columnsBefore(line) - within < 4) this.#fence = undefined;
  }

  #readComment(line: string): void {
    const end = line.indexOf("-->");
    if (end < 0) return;
    this.#inComment = false;
    const rest = line.slice(end + 3);
    if (rest.trim() !== "") this.#paragraph.push(rest);
  }

  /** Leaves a line out, which ends the paragraph. If the paragraph leaves a comment open, the comment contains the line as well. */
  #hide(line: string): void {
    this.#endParagraph();
    if (this.#inComment) this.#readComment(line);
    else this.#out.push("");
  }

  #endParagraph(): void {
    if (this.#paragraph.length === 0) return;
    const { text, isOpen } = withoutHidden(this.#paragraph.join("\n"));
    this.#out.push(text);
    this.#paragraph = [];
    this.#inComment = isOpen;
  }
}

/** Width of the white space at the start of a text in this column; a tab advances to the next multiple of four. */
function columnsBefore(text: string, start = 0): number {
  let column = start;
  for (const sign of text) {
    if (sign === " ") column += 1;
    else if (sign === "\t") column += 4 - (column % 4);
    else break;
  }
  return column - start;
}

/** A paragraph without code spans and HTML comments; `isOpen` if it ends within a comment. */
function withoutHidden(paragraph: string): { text: string; isOpen: boolean } {
  const runs = backtickRuns(paragraph);
  const special = /\\[\s\S]|`+|<!--/g;
  let text = "";
  let from = 0;
  for (let found = special.exec(paragraph); found !== null; found = special.exec(paragraph)) {
    const [sign] = found;
    if (sign.startsWith("\\")) continue;
    const isComment = sign === "<!--";
    // `<!-->` is a whole comment.
    const end = isComment
      ? endOf(paragraph.indexOf("-->", found.index + 2), 3)
      : endOf(runs.next(sign.length, found.index), sign.length);
    if (end === undefined && !isComment) continue;
    text += paragraph.slice(from, found.index) + (isComment ? "" : " ");
    if (end === undefined) return { text, isOpen: true };
    from = end;
    special.lastIndex = end;
  }
  return { text: text + paragraph.slice(from), isOpen: false };
}

const endOf = (start: number, length: number) => (start < 0 ? undefined : start + length);

/** Finds the next run of exactly `length` backticks after a position; positions must be passed in ascending order. */
function backtickRuns(text: string): { next(length: number, after: number): number } {
  const places = new Map<number, number[]>();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    const known = places.get(run.length);
    if (known) known.push(index);
    else places.set(run.length, [index]);
  }
  const seen = new Map<number, number>();
  return {
    next(length, after) {
      const known = places.get(length) ?? [];
      let at = seen.get(length) ?? 0;
      while (at < known.length && (known[at] ?? 0) <= after) at += 1;
      seen.set(length, at);
      return known[at] ?? -1;
    },
  };
}
