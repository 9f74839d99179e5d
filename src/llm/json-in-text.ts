import { type LenientOptions, readAt } from "./lenient-json.ts";

/** Brackets of a text at which a value is looked for. */
const MAX_LOOKS = 100;
/** How often all looks together may read the text: each of them may read to its end. */
const MAX_READINGS = 3;

export interface JsonInText {
  /** Objects and arrays, in order; none lies within another. */
  values: unknown[];
  /** What stands around them, without code fences. */
  prose: string;
}

/** Finds the JSON objects and arrays of objects in a model's answer, mended as `readLenient` says. */
export function jsonIn(text: string, options: LenientOptions): JsonInText {
  const values: unknown[] = [];
  let prose = "";
  let done = 0;
  let left = MAX_READINGS * text.length;
  const starts = /\{|\[(?=\s*\{)/g;
  for (let looks = 0; looks < MAX_LOOKS && left > 0; looks++) {
    const start = starts.exec(text)?.index;
    if (start === undefined) break;
    const { value, end } = readAt(text, start, options);
    left -= end - start;
    if (value !== undefined) {
      values.push(value);
      prose += text.slice(done, start);
      done = end;
      starts.lastIndex = end;
    } else if (WRAPPER.test(text.slice(start, start + 40))) {
      // Of an answer that cannot be read as a whole no part is taken: the rest of it would be lost without a word.
      break;
    }
  }
  return { values, prose: withoutFences(prose + text.slice(done)) };
}

const WRAPPER = /^\{\s*["']?(calls|tool_calls|findings)\b/;

const withoutFences = (text: string) => text.replaceAll(/^```\w*\s*$/gm, "").trim();

/** Names of the tags in which models think aloud. */
const TAG = "(?:think|thinking|thought|reasoning)";
const THOUGHT = new RegExp(`^\\s*<${TAG}>[\\s\\S]*?</${TAG}>`, "i");
const END_OF_THOUGHT = new RegExp(`</${TAG}>`, "i");

/**
 * An answer without the thinking before it. Where the server's template opened the tag itself, the closing one stands
 * alone; within JSON it is text like any other.
 */
export function withoutThinking(text: string): string {
  if (THOUGHT.test(text)) return text.replace(THOUGHT, "").trim();
  if (new RegExp(`^\\s*<${TAG}>`, "i").test(text)) return "";
  const end = END_OF_THOUGHT.exec(text);
  if (!end || /^\s*(?:[{[]|```)/.test(text)) return text.trim();
  return text.slice(end.index + end[0].length).trim();
}
