/** The subset of GraphQL that our queries use: operations, fields, aliases, arguments, inline fragments. */

export type Value =
  | { kind: "variable"; name: string }
  | { kind: "list"; items: Value[] }
  | { kind: "object"; fields: Record<string, Value> }
  | { kind: "literal"; value: string | number | boolean | null };

export interface Field {
  /** The key in the answer: the alias or the name. */
  key: string;
  name: string;
  args: Record<string, Value>;
  selection: Field[];
}

export interface Document {
  operation: "query" | "mutation";
  selection: Field[];
}

export class GraphqlSyntaxError extends Error {}

const token =
  /\s*(?:#[^\n]*\n\s*)*(\.\.\.|[A-Za-z_]\w*|-?\d+(?:\.\d+)?|"(?:[^"\\\n]|\\.)*"|[!$():=@[\]{}|,&])/y;

class Parser {
  readonly #tokens: string[];
  #at = 0;

  constructor(source: string) {
    this.#tokens = tokensOf(source.trim());
  }

  document(): Document {
    let operation: Document["operation"] = "query";
    if (this.#peek() !== "{") {
      const word = this.#next();
      if (word !== "query" && word !== "mutation") throw new GraphqlSyntaxError(`Unexpected ${word}`);
      operation = word;
      while (this.#peek() !== "{") this.#skipHead();
    }
    const selection = this.#selection();
    if (this.#peek() !== undefined) throw new GraphqlSyntaxError(`Unexpected ${this.#peek()}`);
    return { operation, selection };
  }

  #peek = () => this.#tokens[this.#at];

  #next(expected?: string): string {
    const found = this.#tokens[this.#at++];
    if (found === undefined) throw new GraphqlSyntaxError("Unexpected end of document");
    if (expected !== undefined && found !== expected) {
      throw new GraphqlSyntaxError(`Expected ${expected}, found ${found}`);
    }
    return found;
  }

  /** Skips the operation's name and the types of its variables, which the double does not need. */
  #skipHead(): void {
    if (this.#next() !== "(") return;
    while (this.#next() !== ")");
  }

  #selection(): Field[] {
    this.#next("{");
    const fields: Field[] = [];
    while (this.#peek() !== "}") {
      if (this.#peek() === ",") this.#next();
      else if (this.#peek() === "...") fields.push(...this.#inlineFragment());
      else fields.push(this.#field());
    }
    this.#next("}");
    return fields;
  }

  #inlineFragment(): Field[] {
    this.#next("...");
    this.#next("on");
    this.#next();
    return this.#selection();
  }

  #field(): Field {
    const first = this.#next();
    const aliased = this.#peek() === ":";
    if (aliased) this.#next();
    const name = aliased ? this.#next() : first;
    const args = this.#peek() === "(" ? this.#arguments() : {};
    const selection = this.#peek() === "{" ? this.#selection() : [];
    return { key: first, name, args, selection };
  }

  #arguments(): Record<string, Value> {
    this.#next("(");
    return this.#pairs(")");
  }

  #pairs(end: string): Record<string, Value> {
    const pairs: Record<string, Value> = {};
    while (this.#peek() !== end) {
      if (this.#peek() === ",") this.#next();
      else {
        const name = this.#next();
        this.#next(":");
        pairs[name] = this.#value();
      }
    }
    this.#next(end);
    return pairs;
  }

  #value(): Value {
    const word = this.#next();
    if (word === "$") return { kind: "variable", name: this.#next() };
    if (word === "{") return { kind: "object", fields: this.#pairs("}") };
    if (word !== "[") return { kind: "literal", value: literal(word) };
    const items: Value[] = [];
    while (this.#peek() !== "]") {
      if (this.#peek() === ",") this.#next();
      else items.push(this.#value());
    }
    this.#next("]");
    return { kind: "list", items };
  }
}

function tokensOf(source: string): string[] {
  const tokens: string[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < source.length) {
    const at = token.lastIndex;
    const found = token.exec(source)?.[1];
    if (found === undefined) throw new GraphqlSyntaxError(`Cannot read ${source.slice(at, at + 20)}`);
    tokens.push(found);
  }
  return tokens;
}

/** Strings, numbers, true, false, null; an enum's value is its name. */
function literal(word: string): string | number | boolean | null {
  return /^["\d-]|^(true|false|null)$/.test(word)
    ? (JSON.parse(word) as string | number | boolean | null)
    : word;
}

export const parseGraphql = (source: string): Document => new Parser(source).document();
