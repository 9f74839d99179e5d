import type { Definition } from "./source.ts";

/* The types that the text of a file declares. Nothing is inferred from the flow of values. */

/** Characters of a written type that are read, and levels of wrappers in it. */
const MAX_WRITTEN = 200;
const MAX_WRAPPERS = 4;
const MAX_CHARACTERS = 300;
const MAX_SEARCHED = 300;

const builtin =
  /^(?:str|string|int|integer|long|short|byte|bytes|bool|boolean|float|double|char|number|list|dict|set|tuple|frozenset|map|error|List|Map|Set|Array|String|Integer|Number|Promise|Buffer|Path|File|Date|RegExp)$/;
/** Type names that say nothing: type parameters, and general types. */
const vague = /^(?:[A-Z]\d?|Object|Any|AnyObject|Self|Optional|Union|None|Some|Ok|Err|Box|Rc|Arc)$/;
/** Words that may be before or after a variable and are no types. */
export const notTypes =
  /^(?:return|const|let|var|val|new|in|of|as|is|not|and|or|if|else|await|async|yield|throw|case|typeof|delete|import|from|static|final|private|public|protected|readonly|mut|ref|del|with|for|while|func|def|fn|void|unknown|any|auto|go|defer|range)$/;

/** Whether a word looks like the name of a type. */
export const isTypeName = (word: string): boolean =>
  !vague.test(word) && (builtin.test(word) || /^[A-Z][a-z]/.test(word));

interface SearchedLines {
  path: string;
  lines: readonly string[];
  start: number;
  end: number;
}

/** The names that declare the type of a variable or a parameter, as far as the text of a function shows: `Type`, `module.Type`. */
export function wordsDeclaring(name: string, { path, lines, start, end }: SearchedLines): Set<string> {
  const words = new Set<string>();
  const escaped = name.replaceAll("$", "\\$");
  const declares = [
    // `name: Type`, `name: &mut Type`, `name *Type`
    new RegExp(`(?<![\\w$.])${escaped}\\??(?:\\s*:\\s*|\\s+\\*?)(?:&|\\*|mut\\s+)*["']?([\\w$.]+)`),
    // `Type name`, `Type<Other> *name`
    new RegExp(`([\\w$]+)(?:<[^<>]*>)?(?:\\s+|\\s*[*&]+\\s*)${escaped}\\s*(?:[,;)=]|$)`),
    // `name = new Type(`, `name := &Type{`; a function of Go may begin with a capital as well
    new RegExp(
      `(?<![\\w$])${escaped}\\s*:?=\\s*&?(?:new\\s+)?([\\w$.]+)\\s*${/\.(?:go|cs)$/.test(path) ? "\\{" : "[({]"}`,
    ),
  ];
  for (let line = start; line <= Math.min(end, start + MAX_SEARCHED); line++) {
    const text = (lines[line - 1] ?? "").slice(0, MAX_CHARACTERS);
    if (!text.includes(name)) continue;
    for (const pattern of declares) {
      const word = pattern.exec(text)?.[1]?.replace(/^\.+|\.+$/g, "");
      if (word && !notTypes.test(word)) words.add(word);
    }
  }
  return words;
}

const wrappers =
  /^(?:Promise|PromiseLike|Awaited|Awaitable|Readonly|Partial|Required|NonNullable|Optional|Final|ClassVar|Annotated|Result|Option|Box|Rc|Arc)$/;
const nothing = /^(?:null|undefined|None|nil)$/;
/** Signs and words before the name of a type. */
const beforeName = /^(?:[\s:(&*?"'!]|->|(?:const|mut|dyn|struct|readonly)\s)+/;
const typeName = /^[\p{L}_$][\p{L}\p{N}_$]*(?:(?:\.|::)[\p{L}_$][\p{L}\p{N}_$]*)*/u;

/** The name of a written type: `Store` for `: Promise<Store | null>` and `(*Store, error)`. Null for lists, maps, functions and unions. */
export function typeNameOf(written: string): string | null {
  let rest = written.slice(0, MAX_WRITTEN);
  if (rest.includes("=>")) return null;
  for (let level = 0; level < MAX_WRAPPERS; level++) {
    rest = rest.replace(beforeName, "");
    const name = typeName.exec(rest)?.[0] ?? "";
    rest = rest.slice(name.length).trimStart();
    const isWrapper = wrappers.test(name.split(/\.|::/).at(-1) ?? "") && /^[<[]/.test(rest);
    if (name === "" || (!isWrapper && !nothing.test(name))) return isAlone(rest) ? name || null : null;
    rest = rest.slice(1);
  }
  return null;
}

/** Whether nothing after the name of a type makes another one of it. */
const isAlone = (rest: string) => !/^(?:\[\s*\]|\|(?!\s*(?:null|undefined|None)\b))/.test(rest);

const MAX_HEAD_LINES = 40;
const MAX_HEAD = 2_000;
const introducing = ["class", "interface", "struct", "record", "object", "enum", "trait"];
const names = /[\p{L}_$][\p{L}\p{N}_$]*(?:(?:\.|::)[\p{L}_$][\p{L}\p{N}_$]*)*/gu;
const notBases =
  /^(?:extends|implements|with|public|protected|private|virtual|class|struct|interface|type|object|end|Generic|Protocol)$/;
const embedded = /^\s*\*?([\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)?)\s*(?:[`/].*)?$/u;
const MAX_BASES = 20;

/** The types that a type extends, implements or embeds, by the names in its own text. */
export function basesOf(type: Definition, { path, lines }: Pick<SearchedLines, "path" | "lines">): string[] {
  const { name, kind, start, end, signatureEnd } = type;
  if (kind !== "class" && kind !== "interface" && kind !== "type") return [];
  if (path.endsWith(".go")) {
    const text = lines.slice(start - 1, Math.min(end, start + MAX_SEARCHED)).join("\n");
    const body = kind === "type" ? "" : text.slice(text.indexOf("{") + 1, text.lastIndexOf("}"));
    const fields = body.split(/[\n;]/).map((line) => embedded.exec(line.slice(0, MAX_CHARACTERS))?.[1]);
    return fields.filter((one) => one !== undefined).slice(0, MAX_BASES);
  }
  if (kind === "type") return [];
  const head = lines
    .slice(start - 1, Math.min(signatureEnd, start - 1 + MAX_HEAD_LINES))
    .join(" ")
    .slice(0, MAX_HEAD);
  const at = introducing
    .map((word) => ({ at: head.indexOf(`${word} ${name}`), length: word.length + 1 + name.length }))
    .find((one) => one.at >= 0);
  const rest = at ? head.slice(at.at + at.length) : (/\bextends\b.*/.exec(head)?.[0] ?? "");
  const bare = withoutArguments(rest, /\.pyi?$/.test(path) ? "[" : "<(").split(/\bwhere\b|\{/)[0] ?? "";
  // `metaclass=Name` is an argument.
  const words = bare.replace(/[\w.]+\s*=[^,)]*/g, "").match(names) ?? [];
  return words.filter((word) => !notBases.test(word)).slice(0, MAX_BASES);
}

/** A text without what is between some brackets. In Ruby, `<` is followed by a blank and opens nothing. */
function withoutArguments(text: string, openers: string): string {
  let [bare, depth] = ["", 0];
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] as string;
    const isOpen = openers.includes(sign) && !(sign === "<" && text[at + 1] === " ");
    if (isOpen) depth += 1;
    else if (depth > 0 && closers[sign] !== undefined && openers.includes(closers[sign])) depth -= 1;
    else if (depth === 0) bare += sign;
  }
  return bare;
}

const closers: Readonly<Record<string, string>> = { ">": "<", ")": "(", "]": "[" };

const assigned =
  /^\s*(?:self|this)\.([#\p{L}_$][\p{L}\p{N}_$]*)\s*(?::([^=]{1,200}))?=(?![=>])\s*(?:await\s+)?(?:new\s+)?([\w$.]+(?=\s*[({]))?/u;
const inParameters =
  /(?:^|[(,])\s*(?:(?:public|private|protected|override|readonly)\s+){1,4}([\p{L}_$][\p{L}\p{N}_$]*)\??\s*:\s*([^,=)]{1,200})/gu;

/** A field that its class does not list: an assignment or a parameter of the constructor declares it. */
interface UnlistedField {
  name: string;
  container: string;
  line: number;
  /** As {@link Definition.type}; of an assigned value, the class or the function that it names. */
  type: string | null;
}

/** The fields that only methods declare, once each: `self.name = …`, `constructor(readonly name: Type)`. */
export function unlistedFields(
  definitions: readonly Definition[],
  lines: readonly string[],
): UnlistedField[] {
  const listed = new Set(definitions.map(({ name, container }) => `${container}.${name}`));
  const fields = new Map<string, UnlistedField>();
  for (const method of definitions)
    for (const field of fieldsIn(method, lines)) {
      const key = `${field.container}.${field.name}`;
      const known = fields.get(key);
      if (known) known.type ??= field.type;
      else if (!listed.has(key)) fields.set(key, field);
    }
  return [...fields.values()];
}

function fieldsIn({ name, kind, container, start, end, signatureEnd }: Definition, lines: readonly string[]) {
  const fields: UnlistedField[] = [];
  if (kind !== "method" || container === null) return fields;
  for (let line = start; line <= Math.min(end, start + MAX_SEARCHED); line++) {
    const text = (lines[line - 1] ?? "").slice(0, MAX_CHARACTERS);
    if (name === "constructor" && line <= signatureEnd)
      for (const [, field = "", type = ""] of text.matchAll(inParameters))
        fields.push({ name: field, container, line, type: typeNameOf(type) });
    const [, field, type, value] = assigned.exec(text) ?? [];
    if (field !== undefined)
      fields.push({
        name: field,
        container,
        line,
        type: type === undefined ? (value ?? null) : typeNameOf(type),
      });
  }
  return fields;
}
