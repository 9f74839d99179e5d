import { isRun, type Place } from "./code-file.ts";

/** What the code says of an object: the names of its type, and whether they leave no doubt. */
export interface ReceiverType {
  names: ReadonlySet<string>;
  isCertain: boolean;
}

/** Lines of a definition that are searched for what declares a variable. */
const MAX_SEARCHED = 300;
const MAX_CHARACTERS = 300;

const builtin =
  /^(?:str|string|int|integer|long|short|byte|bytes|bool|boolean|float|double|char|number|list|dict|set|tuple|frozenset|map|error|List|Map|Set|Array|String|Integer|Number|Promise|Buffer|Path|File|Date|RegExp)$/;
/** Names of types that say nothing: parameters of generics, and what everything is. */
const vague = /^(?:[A-Z]\d?|Object|Any|AnyObject|Self|Optional|Union|None|Some|Ok|Err|Box|Rc|Arc)$/;
const notTypes =
  /^(?:return|const|let|var|val|new|in|of|as|is|not|and|or|if|else|await|async|yield|throw|case|typeof|delete|import|from|static|final|private|public|protected|readonly|mut|ref|del|with|for|while|func|def|fn|void|unknown|any|auto|go|defer|range)$/;

/** The words that declare a variable's type, as far as the text of a function tells. */
export function receiverType(receiver: string, { file, definition }: Place): ReceiverType {
  const names = new Set<string>();
  const name = /([\p{L}_$][\p{L}\p{N}_$]*)\)?$/u.exec(receiver)?.[1];
  if (name === undefined || receiver.endsWith(")") || !isRun(definition)) return { names, isCertain: false };
  const isOfOwn = receiver !== name;
  const escaped = name.replaceAll("$", "\\$");
  const declares = [
    // `name: Type`, `name: &mut Type`, `name *Type`
    new RegExp(`(?<![\\w$.])${escaped}\\??(?:\\s*:\\s*|\\s+\\*?)(?:&|\\*|mut\\s+)*["']?([\\w$.]+)`),
    // `Type name`, `Type<Other> *name`
    new RegExp(`([\\w$]+)(?:<[^<>]*>)?(?:\\s+|\\s*[*&]+\\s*)${escaped}\\s*(?:[,;)=]|$)`),
    // `name = new Type(`, `name := &Type{`; a function of Go may begin with a capital as well
    new RegExp(
      `(?<![\\w$])${escaped}\\s*:?=\\s*&?(?:new\\s+)?([\\w$.]+)\\s*${/\.(?:go|cs)$/.test(file.path) ? "\\{" : "[({]"}`,
    ),
  ];
  const last = Math.min(definition.end, definition.start + MAX_SEARCHED);
  // What belongs to the object itself is declared elsewhere.
  for (let line = definition.start; line <= last && !isOfOwn; line++) {
    const text = (file.lines[line - 1] ?? "").slice(0, MAX_CHARACTERS);
    if (!text.includes(name)) continue;
    for (const pattern of declares) {
      const word = pattern.exec(text)?.[1]?.split(".").at(-1);
      if (word && !notTypes.test(word)) names.add(word);
    }
  }
  return { names, isCertain: [...names].some(isTypeName) };
}

/** A word that is a type's by the look of it. */
const isTypeName = (word: string) => !vague.test(word) && (builtin.test(word) || /^[A-Z][a-z]/.test(word));
