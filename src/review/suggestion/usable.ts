import { escapeInvisible } from "../../text/escape-invisible.ts";
import { isProse } from "./lexis.ts";
import { isTelling } from "./neighbours.ts";
import { isPlaceholder } from "./placeholder.ts";

/** Why lines cannot be meant as code, whatever the file. Null when they can. */
export function unusable(path: string, lines: readonly string[], anchored: readonly string[]): string | null {
  if (repeatsItself(lines)) return "it says the same again and again";
  if (hidesCharacters(lines, anchored)) return "it holds characters that nobody can see";
  const has = new Set(anchored.map((line) => line.trim()));
  const isNew = (line: string) => !has.has(line.trim());
  if (!isProse(path) && lines.some((line) => isNew(line) && isPlaceholder(line)))
    return "it leaves code out and says so";
  if (lines.some((line) => isNew(line) && /^(?:<{7}|>{7}|={7}|\|{7})(?: |$)/.test(line)))
    return "it holds merge markers";
  if (lines.some((line) => isNew(line) && /^\s*(?:__END__|__DATA__|__halt_compiler\(\);?)\s*$/.test(line)))
    return "it would end the file's code";
  const isFence = (line: string) => /^\s*(?:`{3,}|~{3,})/.test(line);
  return !isProse(path) && lines.some((line) => isNew(line) && isFence(line))
    ? "a Markdown fence is in it"
    : null;
}

/** The same line many times in a row, as models write when they do not find an end; what says little may stand more often. */
function repeatsItself(lines: readonly string[]): boolean {
  let run = 1;
  for (const [at, line] of lines.entries()) {
    run = at > 0 && line === lines[at - 1] ? run + 1 : 1;
    if (/\S/.test(line) && run >= (isTelling(line) ? 4 : 8)) return true;
  }
  return false;
}

const emojiParts = /(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?)(?:\uFE0F|\u200D)/gu;

/** Characters that print as nothing, but for those that emoji are made of, and that the anchored lines do not have. */
function hidesCharacters(lines: readonly string[], anchored: readonly string[]): boolean {
  const known = new Set(anchored.join(""));
  const text = lines.join("").replace(emojiParts, "");
  return [...new Set(text)].some((one) => !known.has(one) && escapeInvisible(one) !== one);
}
