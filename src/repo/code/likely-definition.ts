/** Words before a defined name in the supported languages, as a part of a regular expression. */
export const definers =
  "def|defp|defmacro|func|fun|fn|function|class|struct|interface|trait|enum|union|type|typedef|typealias|const|let|var|val|macro_rules!|module|mod|namespace|object|record|protocol|actor|impl|extension|sub|#[ \\t]*define";

/** A defining word and the text allowed between it and the name: types, and the receiver of a Go method. */
const definingHead = new RegExp(`(?:^|[^\\w])(?:${definers})(?:\\s*\\([^()]*\\)\\s*|[^\\w=({][^=({]*)$`);
const refersBefore =
  /\b(?:return|await|throw|yield|new|if|while|else|case|in|not|and|or|import|from|extends|implements)\b/;
/** The text allowed before the name of a C function, a method or an assignment: types and modifiers, a class in C++. */
const plainHead = /^[^()=.+"'`/%|?!;-]*(?:::|->)?$/;
const LONGEST_HEAD = 400;

/** From this score on, a line almost certainly defines the word. */
export const SURE = 3;

/** How much a line looks like a definition of the word: 3 after a word such as `def`, 2 like a method or an assignment, 1 maybe a call, else 0. */
export function definesLikely(text: string, word: string): number {
  const line = text.slice(0, LONGEST_HEAD);
  let likely = 0;
  for (let at = line.indexOf(word); at >= 0; at = line.indexOf(word, at + 1)) {
    likely = Math.max(likely, likelyBetween(line.slice(0, at), line.slice(at + word.length)));
  }
  return likely;
}

function likelyBetween(before: string, after: string): number {
  if (refersBefore.test(before)) return 0;
  if (definingHead.test(before)) return 3;
  // `exports.name = `, `Type.prototype.name = `.
  if (/[.:]$/.test(before) && /^\s*=[^=]/.test(after)) return 2;
  if (!plainHead.test(before) || !/^\s*(?:[(=:<{[;,]|$)/.test(after)) return 0;
  const mayBeCall = /^\s*\(/.test(after) && before.trim() === "";
  return mayBeCall && !/[{(,]\s*$/.test(after) ? 1 : 2;
}

const assigns =
  /^["'`]?\s*\]?\s*(?:\[[^\]]{0,80}\]\s*)?(?:(?:[-+*/%&|^]|\*\*|\/\/|<<|>>>?|\?\?|\|\||&&)?=(?![=>~])|:=)/;
const steps = /^\s*(?:\+\+|--)/;
/** After a key: a value, which a type does not look like. */
const value =
  /^["'`]?\s*:(?![:=])\s*(?:["'`\d[{(!-]|(?:true|false|null|nil|None|new|await|function|async)\b|[a-z_$][\w$]*[.(])/;
const beforeKey = /(?:^|[{,])\s*["'`]?$/;
/** `context.set("name", value)`, `setattr(object, "name", value)`, `context.WithValue(parent, name, value)`. */
const stores =
  /(?:\b(?:set|put|store|assign)\w*\((?:[^"'`,()]{0,80},)?\s*["'`]|\bWithValue\([^,()]{0,80},\s*)$/i;
const comment = /^\s*(?:\/\/|\/\*|\*\s|#(?!\s*define|\[)|--\s|<!--|;;)/;

/** Whether a line seems to give the word a value: an assignment, a key, a stored entry. Only parsing confirms it. */
export function writesLikely(text: string, word: string): boolean {
  const line = text.slice(0, LONGEST_HEAD);
  if (comment.test(line)) return false;
  for (let at = line.indexOf(word); at >= 0; at = line.indexOf(word, at + 1)) {
    const [before, after] = [line.slice(0, at), line.slice(at + word.length)];
    if (/[\p{L}\p{N}_$]$/u.test(before) || /^[\p{L}\p{N}_$]/u.test(after)) continue;
    if (assigns.test(after) || steps.test(after) || /(?:\+\+|--)$/.test(before)) return true;
    if (stores.test(before) || (beforeKey.test(before) && value.test(after))) return true;
  }
  return false;
}
