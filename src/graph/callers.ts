import type { FactRole } from "./facts.ts";
import type { CallSite, SymbolPlace } from "./graph.ts";
import { familyOf, folderOf, isPython, isScript, type Modules } from "./modules.ts";
import type { Meaning, Names, Value, Values } from "./names.ts";
import { type DefinitionAt, type Head, type ImportAt, type ReferenceAt, stemOf } from "./store.ts";

/** What calls are understood with. */
interface CallGround {
  head: Head;
  names: Names;
  values: Values;
  modules: Modules;
}

const keyOf = ({ path, seq }: { path: string; seq: number }): string => `${path}\0${seq}`;

/** Classes below one that are gone through. */
const MAX_HEIRS = 200;

/** Under which names things are called. */
class CallNames {
  readonly #ground: CallGround;

  constructor(ground: CallGround) {
    this.#ground = ground;
  }

  /** Its own name, and those that imports, exports and objects give it on the way. */
  of(name: string, { path }: DefinitionAt): Set<string> {
    const { names, head } = this.#ground;
    const isMeant = (meaning: Meaning) =>
      meaning.kind === "definitions" && meaning.found.some((one) => one.path === path && one.name === name);
    const found = new Set([name]);
    if (isMeant(names.exportedOf([path], "default"))) found.add("default");
    // What is added meanwhile is gone through as well.
    for (const known of found)
      for (const alias of head.importedAs(known)) {
        if (familyOf(alias.path) !== familyOf(path)) continue;
        const all = alias.local === "export=" ? this.#importersOf(alias.path) : [alias];
        for (const one of all) {
          const local = one.local.slice(one.local.indexOf(".") + 1);
          if (local !== "" && local !== "*" && !found.has(local) && isMeant(this.#meaningOf(one)))
            found.add(local);
        }
      }
    return found;
  }

  #meaningOf({ path, local, again }: ImportAt & { path: string }): Meaning {
    const { names } = this.#ground;
    if (!again) return names.meaningOf(path, local);
    const [object = "", member] = local.split(".");
    if (member === undefined) return names.exportedOf([path], local);
    return names.memberOf(names.meaningOf(path, object), member);
  }

  /** Files that take a module as the one value that it is, with the name that they give it. */
  #importersOf(path: string): (ImportAt & { path: string })[] {
    const { head, modules } = this.#ground;
    const stems = new Set([stemOf(path), stemOf(folderOf(path))]);
    const files = new Set(
      [...stems]
        .filter(Boolean)
        .flatMap((stem) => head.importsNaming(stem))
        .filter((one) => modules.resolve(one.path, one.specifier).includes(path))
        .map((one) => one.path),
    );
    return [...files].flatMap((from) =>
      head
        .importsIn(from)
        .filter(
          ({ specifier, imported }) =>
            /^(?:\*|default)$/.test(imported) && modules.resolve(from, specifier).includes(path),
        )
        .map((one) => ({ ...one, path: from })),
    );
  }

  /** Names of a class, and of those below it that are set up by the same method. */
  heirs(owner: DefinitionAt, method: DefinitionAt): Set<string> {
    const found = new Set<string>();
    const open = [owner];
    const seen = new Set([keyOf(owner)]);
    for (let one = open.pop(); one && seen.size < MAX_HEIRS; one = open.pop()) {
      for (const name of this.of(one.name, one)) {
        found.add(name);
        for (const below of this.#classesBelow(name)) {
          if (seen.has(keyOf(below))) continue;
          seen.add(keyOf(below));
          const [own] = this.#ground.values.membersOf(below, method.name).found;
          if (own && keyOf(own) === keyOf(method)) open.push(below);
        }
      }
    }
    return found;
  }

  /** Classes in whose heads a name stands. */
  #classesBelow(name: string): DefinitionAt[] {
    const { head } = this.#ground;
    return head.referencesTo(name, "read").flatMap(({ path, line, within }) => {
      const around = within === null ? undefined : head.definitionAt(path, within);
      return around?.kind === "class" && line <= around.signatureEnd ? [around] : [];
    });
  }
}

/** Places that were found, one a line, each as sure as the surest of its calls. */
class Sites {
  readonly #least: number;
  readonly #head: Head;
  readonly #sites = new Map<string, CallSite>();

  constructor(least: number, head: Head) {
    this.#least = least;
    this.#head = head;
  }

  add(references: readonly ReferenceAt[], certaintyOf: (reference: ReferenceAt) => number): void {
    for (const reference of references) {
      const certainty = certaintyOf(reference);
      const key = `${reference.path}\0${reference.line}`;
      if (certainty >= this.#least && (this.#sites.get(key)?.certainty ?? 0) < certainty)
        this.#sites.set(key, this.#siteOf(reference, certainty));
    }
  }

  /** Surest first. */
  all(): CallSite[] {
    return [...this.#sites.values()].sort(
      (a, b) =>
        b.certainty - a.certainty || (a.path < b.path ? -1 : Number(a.path > b.path)) || a.line - b.line,
    );
  }

  #siteOf({ path, line, within }: ReferenceAt, certainty: number): CallSite {
    const around = within === null ? undefined : this.#head.definitionsIn(path)[within];
    return {
      ...{ path, line, certainty },
      within: around
        ? { name: around.name, container: around.container, startLine: around.start, endLine: around.end }
        : null,
    };
  }
}

/** Members that the languages' own libraries have: of a receiver that nobody knows they say nothing. */
const names = `
add all any append apply at bind call capitalize catch clear close concat connect constructor copy count create decode delete
destroy dispatch emit encode end endsWith endswith entries error every exec exists extend fill filter finally find findIndex
first flat flatMap flush forEach format from get getItem handle has hasOwnProperty includes indexOf index info init insert
isEmpty items iterator join keys kill last length listen load lock log lower lstrip map match message min max name next next of off on
once open parse pause pipe pop post process push put query read readline readlines receive reduce release remove render replace
replaceAll request reset resolve reject resume reverse rstrip run save search seek send set setdefault shift size slice some
sort splice split start startsWith startswith status stop strip sub substring sum test text then title toJSON toLowerCase
toString toUpperCase trim type union unlock unshift unwrap update upper value valueOf values wait warn write debug string
String Error Close Read Write Len Less Swap Add Done Wait Lock Unlock Get Set String Next Scan Print Printf Println
`;
const common = new Set(names.split(/\s+/).filter(Boolean));

const isCommonMember = (name: string): boolean => common.has(name);

/** How sure a call is of its callee, by what the code says. */
const certainties = {
  /** The file itself defines it. */
  own: 1,
  imported: 0.97,
  /** The receiver's type is known. */
  typed: 0.92,
  /** The type is known, but what runs may be another class's. */
  dispatched: 0.6,
  /** Nobody knows the receiver, but nothing else has a member of that name. */
  only: 0.65,
  /** Nor that, but the file imports the one that has it. */
  known: 0.5,
} as const;

/** What makes an object is called by the name of its class. */
const constructors: ReadonlySet<string> = new Set([
  "constructor",
  "__init__",
  "__new__",
  "initialize",
  "__construct",
]);

/** Places of a name from which on some may have been left out. */
const MANY = 2_000;

/** What makes an object in Python calls this of its class. */
const setUp = "__init__";

/** Finds out which calls mean which definition. */
export class Callers {
  readonly #head: Head;
  readonly #names: Names;
  readonly #values: Values;
  readonly #modules: Modules;
  readonly #callNames: CallNames;

  constructor({ head, names, values, modules }: CallGround) {
    this.#head = head;
    this.#names = names;
    this.#values = values;
    this.#modules = modules;
    this.#callNames = new CallNames({ head, names, values, modules });
  }

  /** The definitions that a place names: one, or the signatures of one. */
  at({ path, name, line }: SymbolPlace): DefinitionAt[] {
    const all = this.#head.definitionsIn(path).filter((one) => one.name === name && one.kind !== "section");
    const found = all.filter(({ end, docStart }) => docStart <= line && line <= end);
    const headed = found.filter(({ signatureEnd }) => line <= signatureEnd);
    const one = (headed.length > 0 ? headed : found).at(-1);
    if (!one) return [];
    const isSame = (other: DefinitionAt) => other.container === one.container && other.outer === one.outer;
    return all.filter(
      (other) => isSame(other) && (other === one || other.signatureEnd === other.end || isTwin(other, one)),
    );
  }

  /** Calls of a definition, surest first. */
  of(wanted: readonly DefinitionAt[], least: number): CallSite[] {
    const [one] = wanted;
    if (!one) return [];
    const target = this.#targetOf(one);
    const targets = new Set([...wanted, ...target.more].map(keyOf));
    const names = this.#callNames.of(target.name, one);
    const sites = new Sites(least, this.#head);
    sites.add(this.#named(names, "call", one), (each) =>
      this.certaintyOf(each, { targets, one: target.one }),
    );
    // To set up the class above is to call it in JavaScript. In Python it is to call the method that is named there.
    if (isScript(one.path) && target.one.kind === "class")
      sites.add(this.#named(names, "super", one), (each) =>
        this.certaintyOf(each, { targets, one: target.one }),
      );
    if (isPython(one.path) && one.name === setUp)
      sites.add(this.#named(this.#callNames.heirs(target.one, one), "super", one), (each) =>
        this.#ofSetUp(each, one),
      );
    return sites.all();
  }

  /** Where a definition is used and not called: as a value, as a type, as what a class extends. */
  usesOf(wanted: readonly DefinitionAt[], least: number): CallSite[] {
    const [one] = wanted;
    if (!one) return [];
    const targets = new Set(wanted.map(keyOf));
    const names = this.#callNames.of(one.name, one);
    const sites = new Sites(least, this.#head);
    for (const role of ["read", "type"] as const)
      sites.add(this.#named(names, role, one), (each) => this.certaintyOf(each, { targets, one }));
    return sites.all();
  }

  #named(names: ReadonlySet<string>, role: FactRole, { path }: DefinitionAt): ReferenceAt[] {
    const found = [...names].flatMap((name) => this.#head.referencesTo(name, role));
    if (found.length < MANY) return found;
    // Of a name that stands everywhere not every place is looked at: those in its own file are.
    const own = this.#head.referencesIn(path).filter((one) => one.role === role && names.has(one.name));
    return [...found, ...own];
  }

  #targetOf(one: DefinitionAt): { name: string; one: DefinitionAt; more: readonly DefinitionAt[] } {
    if (one.container === null || !constructors.has(one.name)) return { name: one.name, one, more: [] };
    const owner = this.#head.definitionsIn(one.path)[one.outer ?? -1];
    return owner ? { name: owner.name, one: owner, more: [owner] } : { name: one.name, one, more: [] };
  }

  /** `super().__init__()`, `Base.__init__(self)`: under the name of the class whose method that is, or that inherits it. */
  #ofSetUp(reference: ReferenceAt, one: DefinitionAt): number {
    const meant = this.meantBy(reference);
    if (meant?.of.kind !== "class") return 0;
    const { found } = this.#values.membersOf(meant.of, setUp);
    return found.some((each) => keyOf(each) === keyOf(one)) ? certainties.typed : 0;
  }

  /** How sure it is that a reference means one of the targets; 0 where it means something else. */
  certaintyOf(reference: ReferenceAt, wanted: { targets: ReadonlySet<string>; one: DefinitionAt }): number {
    const { path, name, via, hint } = reference;
    const { targets, one } = wanted;
    if (familyOf(path) !== familyOf(one.path)) return 0;
    if (via === "own") {
      const own = this.#head.definitionsIn(path)[Number(hint)];
      return own && targets.has(keyOf(own)) ? certainties.own : 0;
    }
    if (via === "member") return this.#ofMember(reference, wanted);
    const meaning = this.#names.meaningOf(path, name);
    if (meaning.kind !== "definitions" || !meaning.found.some((found) => targets.has(keyOf(found)))) return 0;
    return certainties.imported * meaning.certainty;
  }

  /** What a call means, where the code says so; null where it is nothing of the repository, or nobody knows. */
  meantBy({ path, name, via, hint }: ReferenceAt): { of: DefinitionAt; certainty: number } | null {
    if (via === "own") {
      const of = this.#head.definitionAt(path, Number(hint));
      return of ? { of, certainty: certainties.own } : null;
    }
    if (via === "member") {
      const object = this.#values.valueOf(path, hint ?? "?");
      if (object.kind === "unknown" || object.kind === "foreign") return null;
      const member = this.#memberOf(object, name);
      return member.kind === "definition" ? { of: member.of, certainty: certainties.typed } : null;
    }
    const meaning = this.#names.meaningOf(path, name);
    const [of] = meaning.kind === "definitions" ? meaning.found : [];
    if (!of || meaning.kind !== "definitions") return null;
    return { of, certainty: certainties.imported * meaning.certainty };
  }

  #ofMember(
    reference: ReferenceAt,
    { targets, one }: { targets: ReadonlySet<string>; one: DefinitionAt },
  ): number {
    const { path, name, hint } = reference;
    const object = this.#values.valueOf(path, hint ?? "?");
    if (object.kind === "foreign") return 0;
    const member = object.kind === "unknown" ? object : this.#memberOf(object, name);
    if (member.kind === "foreign") return 0;
    if (member.kind !== "definition") return this.#guessed(reference, one);
    if (targets.has(keyOf(member.of))) return certainties.typed;
    return this.#overrides(one, member.of) ? certainties.dispatched : 0;
  }

  #memberOf(object: Value, name: string): Value {
    const member = this.#values.memberOf(object, name);
    if (name !== "constructor" || object.kind !== "instance") return member;
    return { kind: "definition", of: object.of };
  }

  /** Whether a method does in its class what another one does in an interface or a class above. */
  #overrides(one: DefinitionAt, other: DefinitionAt): boolean {
    if (one.container === null || other.container === null || one.name !== other.name) return false;
    const owner = this.#head
      .definitionsIn(one.path)
      .find((each) => each.name === one.container && each.end >= one.end);
    const parents = owner?.supers ?? [];
    return parents.some((parent) => {
      const value = this.#values.valueOf(one.path, `:${parent}`);
      if (value.kind !== "instance") return false;
      const { found } = this.#values.membersOf(value.of, one.name);
      return found.some((each) => keyOf(each) === keyOf(other));
    });
  }

  /** Nobody knows what the receiver is: only a name that nothing else has tells something. */
  #guessed({ path, name }: ReferenceAt, one: DefinitionAt): number {
    if (one.container === null || isCommonMember(name)) return 0;
    const members = this.#head
      .named(name)
      .filter((each) => each.container !== null && familyOf(each.path) === familyOf(one.path));
    const owners = new Set(members.map((each) => `${each.path}\0${each.container}`));
    if (owners.size === 1) return certainties.only;
    return owners.size <= 3 && this.#imports(path, one.path)
      ? certainties.known
      : certainties.only / (owners.size + 1);
  }

  #imports(path: string, other: string): boolean {
    return this.#head
      .importsIn(path)
      .some(({ specifier }) => specifier !== "" && this.#modules.resolve(path, specifier).includes(other));
  }
}

/** Overloads stand directly beside what they are signatures of. */
const isTwin = (a: DefinitionAt, b: DefinitionAt) =>
  Math.abs(a.start - b.end) <= 2 || Math.abs(b.start - a.end) <= 2;
