/** A sentence as the word rules read it. */
export interface Sentence {
  /** In small letters, without emphasis, addresses and punctuation around it, white space made even. */
  text: string;
  /** Ends in a question mark. */
  isQuestion: boolean;
}

/** Longer ones are no remark on a finding: of these it is told only whether they ask. */
const MAX_CHARACTERS = 1_000;

const blockStart = /^\s*(?:[-+#|•]|\d{1,3}[.)]\s)/;

/** The sentences of a text without code and quotes; `lines` says whether the end of a line ends a sentence, or may wrap it. */
export function sentencesOf(written: string, lines: "end" | "wrap"): Sentence[] {
  const paragraphs: string[] = [];
  let isOpen = false;
  for (const line of plain(written).split("\n")) {
    if (isOpen && lines === "wrap" && line.trim() !== "" && !blockStart.test(line))
      paragraphs[paragraphs.length - 1] += ` ${line}`;
    else paragraphs.push(line);
    isOpen = line.trim() !== "";
  }
  return paragraphs.flatMap((paragraph) => paragraph.split(/(?<=[.!?…])(?=\s)/)).flatMap(sentence);
}

/** Addresses of pages may hold question marks and words, which are not the writer's. */
const plain = (text: string) =>
  text
    .replace(/\bhttps?:\/\/\S*[^\s.,;:!?)]/gi, "link")
    // Operators of code that nobody marked as such.
    .replace(/ \?\? (?=\S)| \? (?=[^?\n]{1,80} : )/g, " ")
    .replace(/[’‘`´]/g, "'")
    .replace(/[*_~"“”„«»]/g, "")
    .toLowerCase();

function sentence(raw: string): Sentence[] {
  const words = raw.trim();
  const isQuestion = /\?[\s)!.?]{0,20}$/.test(words.slice(-20));
  if (words.length > MAX_CHARACTERS) return [{ text: "", isQuestion }];
  const text = words
    .replace(/\s+/g, " ")
    .replace(/^[^\p{L}\p{N}@]+/u, "")
    // Looked for where a run begins alone: from each of its signs, it would be gone through once more.
    .replace(/(?<![^\p{L}\p{N}])[^\p{L}\p{N}]+$/u, "")
    .replace(/^(?:@[\w-]+(?:\[bot\])?[ ,:]*)+/, "");
  return text === "" && !isQuestion ? [] : [{ text, isQuestion }];
}
