import type { createColors } from "picocolors";

export type Colors = ReturnType<typeof createColors>;

/** Markdown as GitHub shows it, in a terminal: hidden comments removed, details folded, prose wrapped, code kept. */
export interface MarkdownOptions {
  colors: Colors;
  width: number;
  /** The lines a `suggestion` block replaces. */
  replaced?: string[];
}

/** Expands tabs to four columns, and replaces characters that would move the cursor or change colours. */
export const printable = (text: string) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
  text.replaceAll("\t", "    ").replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, "\ufffd");

/** A block of lines that is wrapped or kept. */
type Block = { kind: "prose"; text: string } | { kind: "code"; language: string; lines: string[] };

const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hex, name) => {
    if (decimal) return String.fromCodePoint(Number(decimal));
    if (hex) return String.fromCodePoint(Number.parseInt(hex, 16));
    return entities[String(name).toLowerCase()] ?? whole;
  });
}

/** GitHub hides HTML comments, even unclosed ones. Fences come first: their content is shown. */
function splitBlocks(markdown: string): Block[] {
  const blocks: Block[] = [];
  let prose: string[] = [];
  const flush = () => {
    if (prose.length > 0) blocks.push({ kind: "prose", text: prose.join("\n") });
    prose = [];
  };
  const lines = markdown.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const fence = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/.exec(lines[at] ?? "");
    if (!fence) {
      prose.push(lines[at] ?? "");
      continue;
    }
    flush();
    const code: string[] = [];
    const [, marks = "", language = ""] = fence;
    const closes = (line: string) => line.trim().startsWith(marks) && /^[`~]+$/.test(line.trim());
    while (++at < lines.length && !closes(lines[at] ?? "")) code.push(lines[at] ?? "");
    blocks.push({ kind: "code", language, lines: code });
  }
  flush();
  return blocks;
}

/** Folds the innermost details first, until none is left: a folded part shows only its summary. */
function foldDetails(markdown: string): string {
  const innermost = /<details[^>]*>((?:(?!<details)[\s\S])*?)<\/details>/i;
  let text = markdown;
  while (innermost.test(text)) {
    text = text.replace(innermost, (_, inside: string) => {
      const summary = /<summary>([\s\S]*?)<\/summary>/i.exec(inside)?.[1] ?? "Details";
      return `▸ ${summary.replace(/<[^>]+>/g, "").trim()}`;
    });
  }
  return text;
}

/** Code is removed first: links and bold text may contain it, and its content has no Markdown meaning. */
function inline(text: string, colors: Colors): string {
  const codes: string[] = [];
  const marked = text.replace(/`+[^`]*`+/g, (code) => {
    codes.push(colors.cyan(code.replace(/^`+ ?| ?`+$/g, colors.isColorSupported ? "" : "`")));
    return `\u0001${codes.length - 1}\u0001`;
  });
  const plain = marked
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/<br\s*\/?>/gi, " ")
    .replace(/<\/?[a-z][^>]*>/gi, "")
    .replace(/\*\*(.+?)\*\*/g, (_, bold: string) => colors.bold(bold))
    .replace(/(?<![\w*\\])[_*](\S(?:[^*_]*\S)?)[_*](?![\w*])/g, (_, slanted: string) =>
      colors.italic(slanted),
    )
    .replace(/\\([!-/:-@[-`{-~])/g, "$1");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it marks code that was put aside
  return decodeEntities(plain).replace(/\u0001(\d+)\u0001/g, (_, at) => codes[Number(at)] ?? "");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character begins a colour
const escapes = /\u001b\[[\d;]*m/g;
export const visibleLength = (text: string) => [...text.replace(escapes, "")].length;

/** Breaks at spaces and collapses runs of them; lines after the first are indented like the text of a list item. */
export function wrap(text: string, width: number, indent = ""): string[] {
  const lines: string[] = [];
  const start = /^ */.exec(text)?.[0] ?? "";
  let line = "";
  for (const word of text.split(/ +/).filter(Boolean)) {
    if (line !== "" && visibleLength(line) + 1 + visibleLength(word) > width) {
      lines.push(line);
      line = indent + word;
    } else line = line === "" ? start + word : `${line} ${word}`;
  }
  return [...lines, line];
}

function proseLine(source: string, { colors, width }: MarkdownOptions): string[] {
  const heading = /^#{1,6}\s+(.*)$/.exec(source);
  if (heading) return wrap(colors.bold(inline(heading[1] ?? "", colors)), width);
  const item = /^(\s*)[-*+]\s+(.*)$/.exec(source);
  if (item) {
    const indent = item[1] ?? "";
    return wrap(`${indent}• ${inline(item[2] ?? "", colors)}`, width, `${indent}  `);
  }
  const quote = /^>\s?(.*)$/.exec(source);
  if (quote) {
    return wrap(inline(quote[1] ?? "", colors), width - 2).map((line) => `${colors.dim("▎")} ${line}`);
  }
  if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(source)) return [colors.dim("─".repeat(Math.min(width, 40)))];
  if (/^\s*\|/.test(source)) return /^[\s|:-]+$/.test(source) ? [] : [inline(source, colors)];
  return wrap(inline(source.trimEnd(), colors), width);
}

function codeLines(block: Extract<Block, { kind: "code" }>, { colors, replaced }: MarkdownOptions): string[] {
  if (block.language !== "suggestion") return block.lines.map((line) => `  ${colors.dim(line)}`);
  return [
    colors.bold("Suggested change"),
    ...(replaced ?? []).map((line) => colors.red(`- ${printable(line)}`)),
    ...block.lines.map((line) => colors.green(`+ ${line}`)),
  ];
}

/** Removes empty lines at both ends and repeated empty lines. */
function tidy(lines: string[]): string[] {
  const kept = lines.filter((line, index) => line.trim() !== "" || (lines[index - 1] ?? "").trim() !== "");
  while (kept[0]?.trim() === "") kept.shift();
  while (kept.at(-1)?.trim() === "") kept.pop();
  return kept;
}

export function printMarkdown(markdown: string, options: MarkdownOptions): string[] {
  // Fenced code may contain comments and tags, so it is removed before they are processed.
  const fences: Block[] = [];
  const marked = splitBlocks(printable(markdown.replaceAll("\r\n", "\n"))).map((block) => {
    if (block.kind === "prose") return block.text;
    fences.push(block);
    return `\u0000${fences.length - 1}\u0000`;
  });
  const shown = foldDetails(marked.join("\n").replace(/<!--[\s\S]*?(-->|$)/g, ""));
  const lines = shown.split("\n").flatMap((line) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: NUL marks a fence that was put aside
    const fence = /^\u0000(\d+)\u0000$/.exec(line);
    const block = fence ? fences[Number(fence[1])] : undefined;
    return block?.kind === "code" ? codeLines(block, options) : proseLine(line, options);
  });
  return tidy(lines);
}
