import { familyOf, folderOf, isPython, isScript, type Modules } from "../code/imports.ts";
import { constructors } from "../code/names.ts";
import type { Use } from "../code/source.ts";
import type { CallSite, SymbolLocation } from "./graph.ts";
import { type Meaning, Names, type Value, Values } from "./names.ts";
import { type DefinitionAt, type HeadFacts, type ImportAt, type ReferenceAt, stemOf } from "./store.ts";

/** The least certainty of an edge that is shown. */
export const SHOWN_CERTAINTY = 0.5;

/** How certain a call means its callee, by the kind of evidence. */
const certainties = {
  /** The file itself defines it. */
  own: 1,
  imported: 0.97,
  /** The receiver is a module or a class, or its type is declared. */
  typed: 0.92,
  /** The type is known, but another class may override the method. */
  dispatched: 0.6,
  /** The receiver is unknown, but nothing else has a member of that name. */
  only: 0.65,
  /** Others have one, but the file imports the file of this one. */
  known: 0.5,
} as const;

/** If a name has this many places, some may have been left out (`HeadFacts`). */
const MANY = 2_000;

interface Target {
  /** Keys of the intended definitions. */
  keys: ReadonlySet<string>;
  of: DefinitionAt;
}

type Rated = readonly [ReferenceAt, number];

const keyOf = ({ path, seq }: DefinitionAt): string => `${path}\0${seq}`;

export class Callers {
  readonly #head: HeadFacts;
  readonly #names: Names;
  readonly #values: Values;
  readonly #modules: Modules;

  constructor(head: HeadFacts, modules: Modules) {
    this.#head = head;
    this.#names = new Names(head, modules);
    this.#values = new Values(head, this.#names, modules);
    this.#modules = modules;
  }

  /** The definitions at a place: one, or the overloads of one. */
  definitionsAt({ path, name, line }: SymbolLocation): DefinitionAt[] {
    const all = this.#head.definitionsIn(path).filter((one) => one.name === name && one.kind !== "section");
    const found = all.filter(({ end, docStart }) => docStart <= line && line <= end);
    const headed = found.filter(({ signatureEnd }) => line <= signatureEnd);
    const one = (headed.length > 0 ? headed : found).at(-1);
    if (!one) return [];
    const isSame = (other: DefinitionAt) => other.container === one.container && other.outer === one.outer;
    return all.filter(
      (other) => isSame(other) && (other === one || other.signatureEnd === other.end || isNextTo(other, one)),
    );
  }

  /** Calls of a definition, the most certain first. */
  callsOf(definitions: readonly DefinitionAt[], least = SHOWN_CERTAINTY): CallSite[] {
    const [method] = definitions;
    if (!method) return [];
    // A constructor is called by the name of its class.
    const isConstructor = method.container !== null && constructors.has(method.name);
    const owner = isConstructor ? this.#head.definitionsIn(method.path)[method.outer ?? -1] : undefined;
    const of = owner ?? method;
    const target = { keys: new Set([...definitions, of].map(keyOf)), of };
    const names = this.#callNames(of);
    const calls = this.#references(names, "call", of.path).map(
      (reference): Rated => [reference, this.#certaintyOf(reference, target)],
    );
    // A subclass calls the constructor by a word, not by the name of the class.
    const byWord =
      isScript(of.path) && of.kind === "class"
        ? "constructor"
        : isPython(of.path) && method.name === "__init__"
          ? "__init__"
          : null;
    if (byWord === null) return this.#sitesOf(calls, least);
    const bases = this.#references(new Set([byWord]), "call", of.path).map(
      (reference): Rated => [reference, this.#certaintyOfBase(reference, target)],
    );
    return this.#sitesOf([...calls, ...bases], least);
  }

  /** Uses of a definition other than calls: as a value, as a type, as a base class. */
  usesOf(definitions: readonly DefinitionAt[], least = SHOWN_CERTAINTY): CallSite[] {
    const [of] = definitions;
    if (!of) return [];
    const target = { keys: new Set(definitions.map(keyOf)), of };
    const names = this.#callNames(of);
    const uses = (["read", "type"] as const).flatMap((role) => this.#references(names, role, of.path));
    return this.#sitesOf(
      uses.map((reference) => [reference, this.#certaintyOf(reference, target)]),
      least,
    );
  }

  /** One site for each line, with the certainty of its most certain reference; the most certain first. */
  #sitesOf(rated: readonly Rated[], least: number): CallSite[] {
    const sites = new Map<string, CallSite>();
    for (const [{ path, line, within }, certainty] of rated) {
      const key = `${path}\0${line}`;
      if (certainty < least || (sites.get(key)?.certainty ?? 0) >= certainty) continue;
      const around = within === null ? undefined : this.#head.definitionsIn(path)[within];
      sites.set(key, {
        path,
        line,
        certainty,
        within: around
          ? { name: around.name, container: around.container, startLine: around.start, endLine: around.end }
          : null,
      });
    }
    return [...sites.values()].sort(
      (a, b) =>
        b.certainty - a.certainty || (a.path < b.path ? -1 : Number(a.path > b.path)) || a.line - b.line,
    );
  }

  /** The definition that a call means, if the code shows it; null if it is unknown or not in the repository. */
  calleeOf(reference: ReferenceAt): { of: DefinitionAt; certainty: number } | null {
    if (reference.receiver !== null) {
      const member = this.#memberOf(this.#values.receiverOf(reference), reference.name);
      return member.kind === "definition" ? { of: member.of, certainty: certainties.typed } : null;
    }
    const meaning = this.#names.meaningAt(reference, reference.name);
    const [of] = meaning.kind === "definitions" ? meaning.found : [];
    if (!of || meaning.kind !== "definitions") return null;
    return { of, certainty: certaintyOf(meaning, reference) };
  }

  #references(names: ReadonlySet<string>, role: Use["role"], path: string): ReferenceAt[] {
    const found = [...names].flatMap((name) => this.#head.referencesTo(name, role));
    if (found.length < MANY) return found;
    // Some places of such a common name were left out. Those in its own file are always included.
    const own = this.#head.referencesIn(path).filter((one) => one.role === role && names.has(one.name));
    return [...found, ...own];
  }

  /** The name of a definition, and those that imports, exports and objects give it. */
  #callNames({ name, path }: DefinitionAt): Set<string> {
    const isMeant = (meaning: Meaning) =>
      meaning.kind === "definitions" && meaning.found.some((one) => one.path === path && one.name === name);
    const found = new Set([name]);
    if (isMeant(this.#names.exportedOf([path], "default"))) found.add("default");
    // The loop also visits the names that it adds.
    for (const known of found)
      for (const alias of this.#head.importedAs(known)) {
        if (familyOf(alias.path) !== familyOf(path)) continue;
        const all = alias.local === "export=" ? this.#importsOfModule(alias.path) : [alias];
        for (const one of all) {
          const local = one.local.slice(one.local.indexOf(".") + 1);
          if (local !== "" && local !== "*" && !found.has(local) && isMeant(this.#importMeaning(one)))
            found.add(local);
        }
      }
    return found;
  }

  #importMeaning({ path, local, reexport }: ImportAt): Meaning {
    if (!reexport) return this.#names.meaningOf(path, local);
    const [object = "", member] = local.split(".");
    if (member === undefined) return this.#names.exportedOf([path], local);
    return this.#names.memberOf(this.#names.meaningOf(path, object), member);
  }

  /** Imports that take a whole module as one value. */
  #importsOfModule(path: string): ImportAt[] {
    return [...importersOf(path, this.#head, this.#modules)].flatMap((from) =>
      this.#head
        .importsIn(from)
        .filter(
          ({ specifier, imported }) =>
            /^(?:\*|default)$/.test(imported) && this.#modules.resolve(from, specifier).includes(path),
        ),
    );
  }

  /** `super(…)`, `super().__init__()`, `Base.__init__(self)`: the constructor that the base class has or inherits, or the base class. */
  #certaintyOfBase(reference: ReferenceAt, { keys }: Target): number {
    const value = this.#values.receiverOf(reference);
    if (value.kind !== "instance" && value.kind !== "definition") return 0;
    const { found } = this.#values.membersOf(value.of, reference.name);
    return [value.of, ...found].some((one) => keys.has(keyOf(one))) ? certainties.typed : 0;
  }

  /** How certain a reference means the target; 0 if it means something else. */
  #certaintyOf(reference: ReferenceAt, target: Target): number {
    if (familyOf(reference.path) !== familyOf(target.of.path)) return 0;
    if (reference.receiver !== null) return this.#certaintyOfMember(reference, target);
    const meaning = this.#names.meaningAt(reference, reference.name);
    if (meaning.kind !== "definitions" || !meaning.found.some((one) => target.keys.has(keyOf(one)))) return 0;
    return certaintyOf(meaning, reference);
  }

  #certaintyOfMember(reference: ReferenceAt, { keys, of }: Target): number {
    const member = this.#memberOf(this.#values.receiverOf(reference), reference.name);
    if (member.kind === "foreign") return 0;
    if (member.kind !== "definition") return this.#guess(reference, of);
    if (keys.has(keyOf(member.of))) return certainties.typed;
    return this.#overrides(of, member.of) ? certainties.dispatched : 0;
  }

  #memberOf(object: Value, name: string): Value {
    if (name === "constructor" && object.kind === "instance") return { kind: "definition", of: object.of };
    return this.#values.memberOf(object, name);
  }

  /** Whether a method implements or overrides a method of a supertype. */
  #overrides(method: DefinitionAt, other: DefinitionAt): boolean {
    if (method.container === null || other.container === null || method.name !== other.name) return false;
    const owner = this.#head
      .definitionsIn(method.path)
      .find((one) => one.name === method.container && one.end >= method.end);
    return (owner ? this.#values.supersOf(owner) : []).some(
      (parent) =>
        parent !== null &&
        this.#values.membersOf(parent, method.name).found.some((one) => keyOf(one) === keyOf(other)),
    );
  }

  /** The receiver is unknown: the fewer members have the name, the likelier it is this one. */
  #guess({ path, name }: ReferenceAt, of: DefinitionAt): number {
    if (of.container === null || commonMembers.has(name)) return 0;
    const members = this.#head
      .named(name)
      .filter((one) => one.container !== null && familyOf(one.path) === familyOf(of.path));
    const owners = new Set(members.map((one) => `${one.path}\0${one.container}`));
    if (owners.size === 1) return certainties.only;
    return owners.size <= 3 && this.#imports(path, of.path)
      ? certainties.known
      : certainties.only / (owners.size + 1);
  }

  #imports(path: string, other: string): boolean {
    return this.#head
      .importsIn(path)
      .some(({ specifier }) => specifier !== "" && this.#modules.resolve(path, specifier).includes(other));
  }
}

/** How certain a plain name means its definition: the file itself has it, or it is imported or found by a rule of the language. */
const certaintyOf = ({ found, certainty }: Meaning & { kind: "definitions" }, { path }: ReferenceAt) =>
  found.some((one) => one.path === path) ? certainties.own : certainties.imported * certainty;

/** Overloads are next to their implementation. */
const isNextTo = (a: DefinitionAt, b: DefinitionAt) =>
  Math.abs(a.start - b.end) <= 2 || Math.abs(b.start - a.end) <= 2;

/** Files that import a file. */
export function importersOf(path: string, head: HeadFacts, modules: Modules): Set<string> {
  const stems = new Set([stemOf(path), stemOf(folderOf(path))]);
  const imports = [...stems].filter(Boolean).flatMap((stem) => head.importsNaming(stem));
  const found = imports.filter((one) => modules.resolve(one.path, one.specifier).includes(path));
  return new Set(found.map((one) => one.path));
}

/** Members of the languages' own libraries. If the receiver is unknown, such a name says nothing. */
const commonMembers = new Set(
  `
add all any append apply at bind call capitalize catch clear close concat connect constructor copy count create decode delete
destroy dispatch emit encode end endsWith endswith entries error every exec exists extend fill filter finally find findIndex
first flat flatMap flush forEach format from get getItem handle has hasOwnProperty includes indexOf index info init insert
isEmpty items iterator join keys kill last length listen load lock log lower lstrip map match message min max name next next of off on
once open parse pause pipe pop post process push put query read readline readlines receive reduce release remove render replace
replaceAll request reset resolve reject resume reverse rstrip run save search seek send set setdefault shift size slice some
sort splice split start startsWith startswith status stop strip sub substring sum test text then title toJSON toLowerCase
toString toUpperCase trim type union unlock unshift unwrap update upper value valueOf values wait warn write debug string
String Error Close Read Write Len Less Swap Add Done Wait Lock Unlock Get Set String Next Scan Print Printf Println
`
    .split(/\s+/)
    .filter(Boolean),
);
