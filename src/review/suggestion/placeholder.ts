const comment = /^\s*(?:\/\/+|#+|--+|;+|%+|\/\*+|<!--|\{\/\*|"""|\*)\s*(.*?)\s*(?:\*\/\}?|-->|""")?\s*$/;
/** Nobody says at length that something is left out. */
const longest = 120;
const dots = /^(?:\.{3}|\u2026)|(?:\.{3}|\u2026)$/;
/** Words with which models say that they leave code out. */
const omission =
  /\b(?:rest of|remaining|existing|unchanged|previous|same as (?:before|above)|other|original|omitted|as before|keep|your|more|continue[sd]?)\b/i;
const announced =
  /^\(?(?:the )?(?:rest of (?:the|your) (?:code|function|method|class|file|implementation|logic|body|script|component|imports?|tests?)|remaining (?:code|methods|fields|cases|lines)|existing code|unchanged|code (?:remains )?unchanged|(?:code )?omitted|same as (?:before|above)|your (?:code|logic|implementation) here|no changes? (?:here|below|above))/i;

/** Whether a line stands in the place of code that the suggestion leaves out, as `// ... existing code ...` does. */
export function isPlaceholder(line: string): boolean {
  const text = line.trim();
  if (text.length > longest) return false;
  if (/^(?:\.{3,}|\u2026|\[\.{3}\]|\{\s*\.{3}\s*\}|<snip>|\[snip\])[,;]?$/i.test(text)) return true;
  const said = comment.exec(line)?.[1];
  if (said === undefined) return false;
  if (/^(?:\.{3,}|\u2026)$/.test(said) || announced.test(said)) return true;
  return dots.test(said) && (omission.test(said) || /^(?:\.{3}|\u2026).*(?:\.{3}|\u2026)$/.test(said));
}
