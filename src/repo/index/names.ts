import { isType } from "../code/code-file.ts";
import { isTypeName } from "../code/declared-types.ts";
import { familyOf, folderOf, isGo, isPython, isScript, type Modules } from "../code/imports.ts";
import { ownObject } from "../code/names.ts";
import type { DefinitionAt, HeadFacts, ImportAt, ReferenceAt } from "./store.ts";

/** What a name means: definitions, whole modules, or something outside of the repository (`foreign`). */
export type Meaning =
  /** `certainty`: 0 to 1, by the rules of the language. */
  | { kind: "definitions"; found: readonly DefinitionAt[]; certainty: number }
  | { kind: "modules"; paths: readonly string[] }
  | { kind: "foreign" }
  | { kind: "unknown" };

const foreign = { kind: "foreign" } as const;
const unknown = { kind: "unknown" } as const;
const definitions = (found: readonly DefinitionAt[], certainty = 1): Meaning =>
  found.length > 0 ? { kind: "definitions", found, certainty } : unknown;

/** Whether a definition is called by its name alone. */
const isNamed = ({ kind, container }: DefinitionAt) =>
  container === null && kind !== "test" && kind !== "section";

/** A place in a file: the number of the definition around it, null outside of all. */
type Place = Pick<ReferenceAt, "path" | "within">;

const MAX_DEPTH = 8;

/** Finds what names mean in a file, from its definitions, its imports and the rules of its language. */
export class Names {
  readonly #head: HeadFacts;
  readonly #modules: Modules;
  readonly #known = new Map<string, Meaning>();
  readonly #inner = new Map<string, ReadonlyMap<number, Meaning>>();

  constructor(head: HeadFacts, modules: Modules) {
    this.#head = head;
    this.#modules = modules;
  }

  /** What a name means at a place of a file: the innermost definition or import around it counts. */
  meaningAt({ path, within }: Place, name: string): Meaning {
    const inner = this.#innerMeanings(path, name);
    const all = inner.size === 0 ? [] : this.#head.definitionsIn(path);
    for (let at = within; at !== null && inner.size > 0; at = all[at]?.outer ?? null) {
      const meaning = inner.get(at);
      if (meaning) return meaning;
    }
    return this.meaningOf(path, name);
  }

  /** What a name means within the definitions of a file, by their numbers. */
  #innerMeanings(path: string, name: string): ReadonlyMap<number, Meaning> {
    const key = `${path}\0${name}`;
    const known = this.#inner.get(key);
    if (known) return known;
    const found = new Map<number, Meaning>();
    this.#inner.set(key, found);
    for (const one of this.#head.importsIn(path))
      if (one.local === name && one.within !== null) found.set(one.within, this.#imported(path, one, 0));
    const named = this.#head.definitionsIn(path).filter((one) => one.name === name && isNamed(one));
    for (const [outer, own] of Map.groupBy(named, (one) => one.outer))
      if (outer !== null) found.set(outer, definitions(own));
    return found;
  }

  /** What a name means on the top level of a file. */
  meaningOf(path: string, name: string, depth = 0): Meaning {
    const key = `${path}\0${name}`;
    const known = this.#known.get(key);
    if (known) return known;
    if (depth > MAX_DEPTH) return unknown;
    const found = this.#find(path, name, depth);
    this.#known.set(key, found);
    return found;
  }

  #find(path: string, name: string, depth: number): Meaning {
    const imported = this.#head
      .importsIn(path)
      .filter((one) => one.local === name && !one.reexport && one.within === null);
    // `const name = require("…")` is also a variable, but means the module.
    const own = this.ownTop(path, name).filter(
      ({ start, end }) => !imported.some(({ line }) => start <= line && line <= end),
    );
    if (own.length > 0) return definitions(own);
    for (const one of imported) {
      const meaning = this.#imported(path, one, depth);
      if (meaning.kind !== "unknown") return meaning;
    }
    if (imported.length > 0 && isScript(path)) return unknown;
    if (isScript(path)) return foreign;
    if (isPython(path)) return this.#wildcardImport(path, name, depth);
    if (isGo(path)) return this.#inGoPackage(path, name);
    return this.#anywhere(path, name);
  }

  /** Definitions of a name on the top level of a file, or of a namespace in it. */
  ownTop(path: string, name: string): DefinitionAt[] {
    const all = this.#head.definitionsIn(path);
    const isTop = ({ outer }: DefinitionAt) => outer === null || all[outer]?.kind === "module";
    return all.filter((one) => one.name === name && isNamed(one) && isTop(one));
  }

  #imported(path: string, one: ImportAt, depth: number): Meaning {
    const targets = this.#modules.resolve(path, one.specifier);
    if (targets.length === 0) return foreign;
    if (one.imported !== "*") return this.exportedOf(targets, one.imported, depth + 1);
    if (isScript(path)) return this.#module(targets, depth + 1);
    if (isPython(path) || isGo(path)) return { kind: "modules", paths: targets };
    // In other languages the specifier ends with the name, which is usually defined in that file.
    const found = targets.flatMap((target) => this.ownTop(target, one.local));
    return found.length > 0 ? definitions(found, 0.95) : { kind: "modules", paths: targets };
  }

  /** A module, or the value of a CommonJS module that is one value. */
  #module(targets: readonly string[], depth: number): Meaning {
    const [target = ""] = targets;
    const value = this.#explicitExport(target, "export=", depth);
    return value.kind === "unknown" ? { kind: "modules", paths: targets } : value;
  }

  /** What modules export under a name. */
  exportedOf(paths: readonly string[], name: string, depth = 0): Meaning {
    if (depth > MAX_DEPTH) return unknown;
    const found = paths.map((path) => this.#exported(path, name, depth));
    const all = found.flatMap((one) => (one.kind === "definitions" ? one.found : []));
    if (all.length > 0) return definitions(all);
    return found.find(({ kind }) => kind !== "unknown") ?? unknown;
  }

  #exported(path: string, name: string, depth: number): Meaning {
    const given = this.#explicitExport(path, name, depth);
    if (given.kind !== "unknown") return given;
    const own = this.ownTop(path, name);
    if (own.length > 0) return definitions(own);
    const spread = this.#spreadMember(path, "*", name, depth);
    if (spread.kind === "definitions") return spread;
    if (isPython(path)) return this.#pythonExport(path, name, depth);
    if (!isScript(path) || name === "export=") return unknown;
    const whole = this.#explicitExport(path, "export=", depth);
    // A module that is one value: the value is its default export, and its members are the named exports.
    return name === "default" || whole.kind === "unknown" ? whole : this.memberOf(whole, name, depth + 1);
  }

  /** An explicit export of a file, or a member of one of its objects (`object.name`). */
  #explicitExport(path: string, local: string, depth: number): Meaning {
    if (depth > MAX_DEPTH) return unknown;
    for (const one of this.#head.importsIn(path)) {
      if (!one.reexport || one.local !== local || local === "*") continue;
      return one.specifier === ""
        ? this.meaningOf(path, one.imported, depth + 1)
        : this.#imported(path, one, depth);
    }
    return unknown;
  }

  /** A name that a module or an object has because another one is spread into it (`export *`, `...other`). */
  #spreadMember(path: string, local: string, name: string, depth: number): Meaning {
    for (const one of this.#head.importsIn(path)) {
      if (!one.reexport || one.local !== local) continue;
      const whole: Meaning =
        one.specifier === ""
          ? this.meaningOf(path, one.imported, depth + 1)
          : { kind: "modules", paths: this.#modules.resolve(path, one.specifier) };
      const meaning = this.memberOf(whole, name, depth + 1);
      if (meaning.kind === "definitions" || meaning.kind === "modules") return meaning;
    }
    return unknown;
  }

  /** A member of a module, or of an object literal that consists of names. */
  memberOf(whole: Meaning, name: string, depth = 0): Meaning {
    if (depth > MAX_DEPTH) return unknown;
    if (whole.kind === "modules") return this.exportedOf(whole.paths, name, depth + 1);
    if (whole.kind !== "definitions") return whole;
    const object = whole.found.find(({ kind }) => kind === "constant" || kind === "variable");
    if (!object) return unknown;
    const given = this.#explicitExport(object.path, `${object.name}.${name}`, depth);
    return given.kind === "unknown"
      ? this.#spreadMember(object.path, `${object.name}.*`, name, depth)
      : given;
  }

  /** Python: a module also exports what it imports, and a package its submodules. */
  #pythonExport(path: string, name: string, depth: number): Meaning {
    const meaning = this.meaningOf(path, name, depth + 1);
    if (meaning.kind !== "unknown" && meaning.kind !== "foreign") return meaning;
    if (!/(?:^|\/)__init__\.pyi?$/.test(path)) return meaning;
    const below = this.#modules.resolve(path, `.${name}`);
    return below.length > 0 ? { kind: "modules", paths: below } : meaning;
  }

  #wildcardImport(path: string, name: string, depth: number): Meaning {
    for (const { specifier, local } of this.#head.importsIn(path)) {
      if (local !== "*") continue;
      const meaning = this.exportedOf(this.#modules.resolve(path, specifier), name, depth + 1);
      if (meaning.kind === "definitions") return meaning;
    }
    return foreign;
  }

  /** Go: the files of a folder are one package. */
  #inGoPackage(path: string, name: string): Meaning {
    const files = this.#modules.filesIn(folderOf(path)).filter(isGo);
    const found = files.flatMap((one) => this.ownTop(one, name));
    return found.length > 0 ? definitions(found) : foreign;
  }

  /** Languages in which files see each other without imports: the definition in the same folder, or the only one. */
  #anywhere(path: string, name: string): Meaning {
    const found = this.#head
      .named(name)
      .filter(
        (one) => one.container === null && familyOf(one.path) === familyOf(path) && one.kind !== "test",
      );
    const near = found.filter((one) => folderOf(one.path) === folderOf(path));
    if (near.length > 0) return definitions(near, 0.9 / Math.sqrt(near.length));
    return found.length > 0 ? definitions(found, 0.8 / found.length) : unknown;
  }
}

/** What an expression is, as far as names and declared types say. */
export type Value =
  /** An object of a class, an interface or a type. */
  | { kind: "instance"; of: DefinitionAt }
  /** The class, function, method, field or constant itself. */
  | { kind: "definition"; of: DefinitionAt }
  | { kind: "modules"; paths: readonly string[] }
  /** Not part of the repository. */
  | { kind: "foreign" }
  | { kind: "unknown" };

const MAX_STEPS = 10;
const MAX_SUPERS = 20;

/** If a type and a constant have the same name, the constant is the value. */
function valueIn(meaning: Meaning): Value {
  if (meaning.kind !== "definitions") return meaning;
  const { found } = meaning;
  const of = found.find(({ kind }) => kind !== "interface" && kind !== "type") ?? found[0];
  return of ? { kind: "definition", of } : unknown;
}

/** A literal: a string, a list or a number. */
const literal = /^(?:[rbfuRBFU]{0,2}["'`]|[[{\d])/;
const root =
  /^[(*&\s]{0,9}(?:await\s+)?[(*&]{0,9}(?:(?:require|import)\(\s*["'`]([^"'`\n]{1,500})["'`]\s*\)|(?:new\s+)?([\p{L}_$][\p{L}\p{N}_$]*))/u;
const step = /\s*(?:[!?]?\.|::|->|\\)\s*([#\p{L}_$][\p{L}\p{N}_$]*)|\s*[({]|[)!]/uy;
const base = /^(?:super|base|parent)$/;

/** Follows the objects before names through names and declared types. */
export class Values {
  readonly #head: HeadFacts;
  readonly #names: Names;
  readonly #modules: Modules;
  readonly #known = new Map<string, Value>();
  readonly #knownTypes = new Map<string, Value>();

  constructor(head: HeadFacts, names: Names, modules: Modules) {
    this.#head = head;
    this.#names = names;
    this.#modules = modules;
  }

  /** What the object is whose member a reference names. */
  receiverOf({ path, receiver, variable, within }: ReferenceAt): Value {
    const key = `${path}\0${within}\0${variable}\0${receiver}`;
    const known = this.#known.get(key);
    if (known) return known;
    const value = this.#read({ path, within }, receiver ?? "", variable);
    this.#known.set(key, value);
    return value;
  }

  #read(place: Place, receiver: string, variable: string | null): Value {
    if (literal.test(receiver)) return foreign;
    const [head = "", specifier, name = ""] = root.exec(receiver) ?? [];
    if (head === "") return unknown;
    let value =
      specifier === undefined ? this.#rootOf(place, name, variable) : this.#module(place, specifier);
    // `super()` and `cls()` are objects of the class that the words mean.
    let isWord = base.test(name) || name === "cls";
    for (let at = head.length; at < receiver.length; ) {
      step.lastIndex = at;
      const next = step.exec(receiver);
      if (!next) return unknown;
      at = step.lastIndex;
      const sign = next[0].trim();
      if (next[1] !== undefined) value = this.memberOf(value, next[1]);
      else if (sign === "(" || sign === "{") {
        at = afterBracket(receiver, at);
        if (!isWord) value = this.#resultOf(value);
      }
      isWord = false;
    }
    return value;
  }

  #module({ path }: Place, specifier: string): Value {
    const paths = this.#modules.resolve(path, specifier);
    return paths.length === 0 ? foreign : { kind: "modules", paths };
  }

  #rootOf(place: Place, name: string, variable: string | null): Value {
    if (variable !== null) return this.#typed(place, variable);
    const value = valueIn(this.#names.meaningAt(place, name));
    const isKnown = value.kind === "definition" || value.kind === "modules";
    const owner = !isKnown && (ownObject.test(name) || base.test(name)) ? this.#ownerAt(place) : undefined;
    if (!owner) return value;
    const [parent] = owner.supers;
    if (!base.test(name)) return { kind: "instance", of: owner };
    return parent === undefined ? unknown : this.#typed(placeOf(owner), parent);
  }

  /** The class around a place. A method of Go, or of a block that extends a type, names it. */
  #ownerAt({ path, within }: Place): DefinitionAt | undefined {
    const all = this.#head.definitionsIn(path);
    for (let at = within; at !== null; at = all[at]?.outer ?? null) {
      const one = all[at];
      if (!one) return undefined;
      if (one.kind === "class" || one.kind === "interface") return one;
      const container = one.container;
      const owner = all.find((other) => other.name === container && isType(other));
      if (container !== null && owner) return owner;
    }
    return undefined;
  }

  /** An object of the type, or the result of the function, with a name. */
  #typed(place: Place, written: string, depth = 0): Value {
    if (written === "" || depth > MAX_STEPS) return unknown;
    const key = `${place.path}\0${place.within}\0${written}`;
    const known = this.#knownTypes.get(key);
    if (known) return known;
    // A cycle ends here.
    this.#knownTypes.set(key, unknown);
    const value = this.#evaluate(place, written, depth);
    this.#knownTypes.set(key, value);
    return value;
  }

  #evaluate(place: Place, written: string, depth: number): Value {
    const [head = "", ...rest] = written.split(/\.|::/);
    let value = this.#rootOf(place, head, null);
    for (const name of rest) value = this.memberOf(value, name, depth + 1);
    if (value.kind === "definition") return this.#resultOf(value, depth + 1);
    if (value.kind === "instance") return value;
    // A word that is not imported and looks like no type may be anything.
    const isTyped = rest.length === 0 ? isTypeName(head) : this.#isImported(place.path, head);
    return value.kind === "foreign" && isTyped ? foreign : unknown;
  }

  #isImported(path: string, name: string): boolean {
    return this.#head.importsIn(path).some(({ local }) => local === name);
  }

  /** What a call returns: an object of a class. */
  #resultOf(value: Value, depth = 0): Value {
    if (value.kind === "foreign") return foreign;
    if (value.kind !== "definition") return unknown;
    const { of } = value;
    if (isType(of)) return { kind: "instance", of };
    return of.kind === "function" || of.kind === "method" ? this.#contentOf(of, depth) : unknown;
  }

  /** The value of a constant or a field, and what a function returns, by the declared type. */
  #contentOf(of: DefinitionAt, depth: number): Value {
    return of.type === null ? unknown : this.#typed(placeOf(of), of.type, depth + 1);
  }

  /** A member of a value. Methods and fields are definitions. */
  memberOf(value: Value, name: string, depth = 0): Value {
    if (value.kind === "modules") return valueIn(this.#names.exportedOf(value.paths, name));
    if (value.kind !== "instance" && value.kind !== "definition") return value;
    const { of } = value;
    const { found, isOpen } = this.membersOf(of, name);
    const [own] = found;
    if (own) return { kind: "definition", of: own };
    if (depth > MAX_STEPS) return unknown;
    // Go: an embedded type is also a field of that name.
    const embedded = isGo(of.path) && of.supers.find((one) => one.split(".").at(-1) === name);
    if (embedded) return this.#typed(placeOf(of), embedded, depth + 1);
    if (value.kind === "definition" && !isType(of)) return this.#memberOfConstant(of, name, depth);
    if (of.kind === "type" && of.type !== null)
      return this.memberOf(this.#contentOf(of, depth), name, depth + 1);
    return isOpen ? unknown : foreign;
  }

  /** A member of an object literal that consists of names, or of an object of the declared type. */
  #memberOfConstant(of: DefinitionAt, name: string, depth: number): Value {
    const held = this.#names.memberOf({ kind: "definitions", found: [of], certainty: 1 }, name);
    if (held.kind !== "unknown") return valueIn(held);
    const content = of.kind === "function" || of.kind === "method" ? unknown : this.#contentOf(of, depth);
    return content.kind === "unknown" ? unknown : this.memberOf(content, name, depth + 1);
  }

  /** Members of a name: its own, else the inherited ones. `isOpen`: a supertype is unknown, so there may be others. */
  membersOf(
    owner: DefinitionAt,
    name: string,
    seen = new Set<string>(),
  ): { found: DefinitionAt[]; isOpen: boolean } {
    const key = `${owner.path}\0${owner.seq}`;
    if (seen.has(key) || seen.size > MAX_SUPERS) return { found: [], isOpen: true };
    seen.add(key);
    const own = this.#ownMembers(owner, name);
    if (own.length > 0) return { found: own, isOpen: false };
    let isOpen = false;
    for (const parent of this.supersOf(owner)) {
      if (parent === null) {
        isOpen = true;
        continue;
      }
      const inherited = this.membersOf(parent, name, seen);
      if (inherited.found.length > 0) return inherited;
      isOpen ||= inherited.isOpen;
    }
    return { found: [], isOpen };
  }

  /** The types that a type extends, implements or embeds; null for one that is not in the repository. */
  supersOf(owner: DefinitionAt): (DefinitionAt | null)[] {
    return owner.supers.map((one) => {
      const value = this.#typed(placeOf(owner), one);
      return value.kind === "instance" ? value.of : null;
    });
  }

  #ownMembers(owner: DefinitionAt, name: string): DefinitionAt[] {
    const isMember = (one: DefinitionAt) => one.name === name && one.container === owner.name;
    const paths = isGo(owner.path) ? this.#modules.filesIn(folderOf(owner.path)).filter(isGo) : [owner.path];
    const all = paths.flatMap((path) => this.#head.definitionsIn(path).filter(isMember));
    const inside = all.filter(
      ({ path, start, end }) => path === owner.path && start >= owner.start && end <= owner.end,
    );
    // Members outside of a constant belong to a type of the same name.
    if (inside.length > 0 || owner.kind === "constant") return inside;
    const inModule = this.#head
      .definitionsIn(owner.path)
      .filter((one) => owner.kind === "module" && one.outer === owner.seq && one.name === name);
    return inModule.length > 0 ? inModule : all;
  }
}

/** The place at which the names in the head of a definition mean something. */
const placeOf = ({ path, outer }: DefinitionAt): Place => ({ path, within: outer });

/** The index after the bracket that closes the one before an index. */
function afterBracket(text: string, from: number): number {
  let depth = 1;
  for (let at = from; at < text.length; at++) {
    if ("([{".includes(text[at] as string)) depth += 1;
    else if (")]}".includes(text[at] as string)) depth -= 1;
    if (depth === 0) return at + 1;
  }
  return text.length;
}
