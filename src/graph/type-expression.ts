/**
 * The type of a value without running a compiler, as a short text that a query evaluates (`Values`):
 *
 *     :Name        an instance of Name (`:ns::Name` for a name in a namespace)
 *     =name        the definition itself: a class, a function, a module, a constant
 *     ^Name        an instance of the class that Name extends
 *     ?            unknown
 *     X.member     a member of it
 *     X()          what a call of it returns
 *     X[]          an element of it
 *     X@           a collection of it
 *
 * Names are those of the file that the expression comes from.
 */
export type TypeExpression = string;

export type Step = { kind: "member"; name: string } | { kind: "call" | "element" | "collection" };

export interface Parts {
  base: "instance" | "value" | "parent" | "unknown";
  name: string;
  steps: Step[];
}

const bases = { ":": "instance", "=": "value", "^": "parent", "?": "unknown" } as const;
const word = "[\\p{L}_$#][\\p{L}\\p{N}_$]*";
const head = new RegExp(`^([:=^?])(${word}(?:::${word})*)?`, "u");
const step = new RegExp(`\\.(${word})|\\(\\)|\\[\\]|@`, "uy");

/** Parses an expression. An invalid one is unknown. */
export function parseTypeExpression(text: TypeExpression): Parts {
  const found = head.exec(text);
  if (!found) return { base: "unknown", name: "", steps: [] };
  const steps: Step[] = [];
  step.lastIndex = found[0].length;
  while (step.lastIndex < text.length) {
    const next = step.exec(text);
    if (!next) return { base: "unknown", name: "", steps: [] };
    if (next[1] !== undefined) steps.push({ kind: "member", name: next[1] });
    else steps.push({ kind: next[0] === "()" ? "call" : next[0] === "[]" ? "element" : "collection" });
  }
  return { base: bases[found[1] as keyof typeof bases], name: found[2] ?? "", steps };
}

/** Adds a step. What is unknown stays unknown. */
export const appendStep = (type: TypeExpression, next: string): TypeExpression =>
  type === "?" ? "?" : type + next;

const wrappers =
  /^(?:Promise|PromiseLike|Awaited|Readonly|Partial|Required|NonNullable|Optional|Final|ClassVar|Annotated|Awaitable|Box|Rc|Arc)$/;
const collections =
  /^(?:Array|ReadonlyArray|Set|ReadonlySet|Iterable|AsyncIterable|Iterator|Generator|AsyncGenerator|IterableIterator|List|list|Sequence|Tuple|tuple|FrozenSet|frozenset|set|deque|Deque|Collection)$/;
const maps = /^(?:Map|ReadonlyMap|WeakMap|Record|Dict|dict|Mapping|MutableMapping|defaultdict|OrderedDict)$/;
const nothing =
  /^(?:null|undefined|None|void|never|unknown|any|object|false|true|string|number|boolean|bigint|symbol|str|int|float|bool|bytes|Any)$/;

/**
 * An annotation of TypeScript or Python as a type expression. `null` is ignored in a union; a union of several other types is
 * unknown.
 */
export function typeOfAnnotation(text: string): TypeExpression {
  const bare = text
    .replace(/^\s*(?::|->)\s*/, "")
    .replace(/^["']|["']$/g, "")
    .replace(/^(?:readonly|asserts \w+ is|[\w$]+ is|typeof|unique|abstract new|keyof)\s+/, "")
    .trim();
  if (bare.length > 300) return "?";
  // The class itself, not an instance.
  const itself = /^(?:(?:\w+\.)?[Tt]ype\[\s*["']?([\w.]+)["']?\s*\])$/.exec(bare)?.[1];
  if (itself !== undefined) return `=${itself.replaceAll(".", "::")}`;
  const parts = splitTop(bare, "|").filter(
    (one) => one !== "" && !/^(?:null|undefined|None|false)$/.test(one),
  );
  if (parts.length !== 1) return "?";
  const [one = ""] = splitTop(parts[0] ?? "", "&");
  return typeOfPart(one.trim());
}

function typeOfPart(text: string): TypeExpression {
  if (nothing.test(text)) return ":builtin";
  if (/^\(.*\)$/.test(text) && !text.includes("=>")) return typeOfAnnotation(text.slice(1, -1));
  if (text.endsWith("[]")) return appendStep(typeOfAnnotation(text.slice(0, -2)), "@");
  const generic = /^([\p{L}_$][\p{L}\p{N}_$.]*)\s*(?:<([\s\S]*)>|\[([\s\S]*)\])?$/u.exec(text);
  const name = generic?.[1];
  if (name === undefined) return "?";
  const inner = generic?.[2] ?? generic?.[3];
  const last = name.slice(name.lastIndexOf(".") + 1);
  if (inner !== undefined) {
    const arguments_ = splitTop(inner, ",");
    if (wrappers.test(last)) return typeOfAnnotation(arguments_[0] ?? "");
    if (collections.test(last)) return appendStep(typeOfAnnotation(arguments_[0] ?? ""), "@");
    if (maps.test(last)) return appendStep(typeOfAnnotation(arguments_[1] ?? ""), "@");
  }
  return `:${name.replaceAll(".", "::")}`;
}

/** Splits a text at the separators outside of brackets. */
export function splitTop(text: string, separator: string): string[] {
  const parts: string[] = [];
  let [depth, from] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string;
    if ("([{<".includes(character)) depth += 1;
    else if (")]}".includes(character) || (character === ">" && text[at - 1] !== "=")) depth -= 1;
    else if (character === separator && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  return [...parts, text.slice(from).trim()];
}
