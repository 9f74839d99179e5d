import type { Correction } from "../../../agent/tools/tool.ts";

const segmenter = new Intl.Segmenter("en", { granularity: "sentence" });

/** The sentences and code blocks of a Markdown text, in order; a block belongs to the sentence that announces it. Joined, they are the text. */
export function sentencesOf(text: string): string[] {
  const parts: string[] = [];
  for (const { block, isCode } of blocksOf(text)) {
    const own = isCode ? [block] : Array.from(segmenter.segment(block), ({ segment }) => segment);
    own.forEach((segment, at) => {
      const last = parts.at(-1);
      const isAnnounced = isCode && last?.trimEnd().endsWith(":");
      const isMore =
        segment.trim() === "" || isAnnounced || (at > 0 && last !== undefined && !isWhole(last, segment));
      if (last !== undefined && isMore) parts[parts.length - 1] = last + segment;
      else parts.push(segment);
    });
  }
  return parts;
}

/** A sentence does not end within code, after the number of a list or "e.g.", nor at the end of a line that only wraps. */
function isWhole(sentence: string, next: string): boolean {
  if (sentence.split("`").length % 2 === 0 || !/\p{L}/u.test(sentence)) return false;
  if (/(?<!\p{L})\p{L}\.\p{L}\.\s*$/u.test(sentence)) return false;
  return !/[^\s.!?:;…。！？`)*_|]\n$/.test(sentence) || !/^[\p{L}`(]/u.test(next);
}

function blocksOf(text: string): { block: string; isCode: boolean }[] {
  const blocks: { block: string; isCode: boolean }[] = [];
  let fence = "";
  for (const line of text.split(/(?<=\n)/)) {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    const isCode = fence !== "" || mark !== "";
    const opens = fence === "" && mark !== "";
    const last = blocks.at(-1);
    if (last === undefined || opens || last.isCode !== isCode) blocks.push({ block: line, isCode });
    else last.block += line;
    if (opens) fence = mark;
    else if (mark !== "" && mark.startsWith(fence)) fence = "";
  }
  return blocks;
}

/** The text with its corrections; null if they leave no sentence of it as it was, nor a new one. */
export function corrected(text: string, corrections: readonly Correction[]): string | null {
  const said = new Map(corrections.map(({ sentence, text: now }) => [sentence, now]));
  const parts = sentencesOf(text).map((sentence, at) => {
    const now = said.get(at + 1);
    if (now === undefined) return sentence;
    return now === null ? "" : `${now}${/\s*$/.exec(sentence)?.[0] ?? ""}`;
  });
  const left = parts
    .join("")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim();
  return left === "" ? null : left;
}
