import { familyOf, folderOf, isGo, isPython, isScript, type Modules } from "./modules.ts";
import type { DefinitionAt, Head, ImportAt } from "./store.ts";
import { type Parts, parseType, type Step } from "./type-expression.ts";

/**
 * What a name means: definitions, whole modules, or something that is no part of the repository. `certainty` says how sure
 * that is by the rules of the language.
 */
export type Meaning =
  | { kind: "definitions"; found: readonly DefinitionAt[]; certainty: number }
  | { kind: "modules"; paths: readonly string[] }
  | { kind: "foreign" }
  | { kind: "unknown" };

const foreign = { kind: "foreign" } as const;
const unknown = { kind: "unknown" } as const;
const definitions = (found: readonly DefinitionAt[], certainty = 1): Meaning =>
  found.length > 0 ? { kind: "definitions", found, certainty } : unknown;

/** Files that one name is followed through. */
const MAX_DEPTH = 8;

/** Finds what names mean in a file, by its own definitions, its imports and the rules of its language. */
export class Names {
  readonly #head: Head;
  readonly #modules: Modules;
  readonly #known = new Map<string, Meaning>();

  constructor(head: Head, modules: Modules) {
    this.#head = head;
    this.#modules = modules;
  }

  /** What a file calls so on its top level. */
  meaningOf(path: string, name: string, depth = 0): Meaning {
    const key = `${path}\0${name}`;
    const known = this.#known.get(key);
    if (known) return known;
    const found = depth > MAX_DEPTH ? unknown : this.#find(path, name, depth);
    if (depth <= MAX_DEPTH) this.#known.set(key, found);
    return found;
  }

  #find(path: string, name: string, depth: number): Meaning {
    const imported = this.#head.importsIn(path).filter((one) => one.local === name && !one.again);
    // `const name = require("…")` is a variable as well, and means what it was given.
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
    if (isPython(path)) return this.#fromWildcards(path, name, depth);
    if (isGo(path)) return this.#ofPackage(path, name);
    return this.#anywhere(path, name);
  }

  /** Definitions on the top level of a file, or of a namespace in it. */
  ownTop(path: string, name: string): DefinitionAt[] {
    const all = this.#head.definitionsIn(path);
    const isTop = ({ outer, container }: DefinitionAt) =>
      container === null && (outer === null || all[outer]?.kind === "module");
    return all.filter(
      (one) => one.name === name && one.kind !== "test" && one.kind !== "section" && isTop(one),
    );
  }

  #imported(path: string, one: ImportAt, depth: number): Meaning {
    const targets = this.#modules.resolve(path, one.specifier);
    if (targets.length === 0) return foreign;
    if (one.imported !== "*") return this.exportedOf(targets, one.imported, depth + 1);
    if (isScript(path)) return this.#module(targets, depth + 1);
    if (isPython(path) || isGo(path)) return { kind: "modules", paths: targets };
    // In other languages a name is imported by its path, and most often it is one of that file's.
    const found = targets.flatMap((target) => this.ownTop(target, one.local));
    return found.length > 0 ? definitions(found, 0.95) : { kind: "modules", paths: targets };
  }

  /** A module, or the one value that a module of CommonJS is. */
  #module(targets: readonly string[], depth: number): Meaning {
    const [target = ""] = targets;
    const value = this.#givenAs(target, "export=", depth);
    return value.kind === "unknown" ? { kind: "modules", paths: targets } : value;
  }

  /** What modules give under a name. */
  exportedOf(paths: readonly string[], name: string, depth = 0): Meaning {
    if (depth > MAX_DEPTH) return unknown;
    const found = paths.map((path) => this.#exported(path, name, depth));
    const all = found.flatMap((one) => (one.kind === "definitions" ? one.found : []));
    if (all.length > 0) return definitions(all);
    return found.find(({ kind }) => kind !== "unknown") ?? unknown;
  }

  #exported(path: string, name: string, depth: number): Meaning {
    const given = this.#givenAs(path, name, depth);
    if (given.kind !== "unknown") return given;
    const own = this.ownTop(path, name);
    if (own.length > 0) return definitions(own);
    const spread = this.#spread(path, "*", name, depth);
    if (spread.kind === "definitions") return spread;
    if (isPython(path)) return this.#ofModule(path, name, depth);
    if (!isScript(path) || name === "export=") return unknown;
    const whole = this.#givenAs(path, "export=", depth);
    // A module that is one value: its default to those who import it, and what it holds by its names.
    return name === "default" || whole.kind === "unknown" ? whole : this.memberOf(whole, name, depth + 1);
  }

  /** What a file exports under a name by saying so. `object.name` is what an object of it holds. */
  #givenAs(path: string, local: string, depth: number): Meaning {
    if (depth > MAX_DEPTH) return unknown;
    for (const one of this.#head.importsIn(path)) {
      if (!one.again || one.local !== local || local === "*") continue;
      return one.specifier === ""
        ? this.meaningOf(path, one.imported, depth + 1)
        : this.#imported(path, one, depth);
    }
    return unknown;
  }

  /** What stands in a module or an object because all of another one was put there. */
  #spread(path: string, local: string, name: string, depth: number): Meaning {
    for (const one of this.#head.importsIn(path)) {
      if (!one.again || one.local !== local) continue;
      const whole: Meaning =
        one.specifier === ""
          ? this.meaningOf(path, one.imported, depth + 1)
          : { kind: "modules", paths: this.#modules.resolve(path, one.specifier) };
      const meaning = this.memberOf(whole, name, depth + 1);
      if (meaning.kind === "definitions" || meaning.kind === "modules") return meaning;
    }
    return unknown;
  }

  /** What a module, or an object that is made of other names, holds under a name. */
  memberOf(whole: Meaning, name: string, depth = 0): Meaning {
    if (depth > MAX_DEPTH) return unknown;
    if (whole.kind === "modules") return this.exportedOf(whole.paths, name, depth + 1);
    if (whole.kind !== "definitions") return whole;
    const object = whole.found.find(({ kind }) => kind === "constant" || kind === "variable");
    if (!object) return unknown;
    const given = this.#givenAs(object.path, `${object.name}.${name}`, depth);
    return given.kind === "unknown" ? this.#spread(object.path, `${object.name}.*`, name, depth) : given;
  }

  /** Python: what a module imports it gives as well, and the modules of a folder are names of it. */
  #ofModule(path: string, name: string, depth: number): Meaning {
    const meaning = this.meaningOf(path, name, depth + 1);
    if (meaning.kind !== "unknown" && meaning.kind !== "foreign") return meaning;
    if (!/(?:^|\/)__init__\.pyi?$/.test(path)) return meaning;
    const below = this.#modules.resolve(path, `.${name}`);
    return below.length > 0 ? { kind: "modules", paths: below } : meaning;
  }

  #fromWildcards(path: string, name: string, depth: number): Meaning {
    for (const { specifier, local } of this.#head.importsIn(path)) {
      if (local !== "*") continue;
      const meaning = this.exportedOf(this.#modules.resolve(path, specifier), name, depth + 1);
      if (meaning.kind === "definitions") return meaning;
    }
    return foreign;
  }

  /** Go: the files of a folder are one package. */
  #ofPackage(path: string, name: string): Meaning {
    const files = this.#modules.filesIn(folderOf(path)).filter(isGo);
    const found = files.flatMap((one) => this.ownTop(one, name));
    return found.length > 0 ? definitions(found) : foreign;
  }

  /** Languages whose names need no import from what stands near: the only one, or the one in the same folder. */
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

/** What an expression stands for, as far as it can be followed. */
export type Value =
  /** An object of a class, an interface or a type. */
  | { kind: "instance"; of: DefinitionAt }
  /** The class, function, method, field or constant itself. */
  | { kind: "definition"; of: DefinitionAt }
  | { kind: "modules"; paths: readonly string[] }
  | { kind: "collection"; of: Value }
  /** A method of a collection, by what it answers. */
  | { kind: "answers"; value: Value }
  /** No part of the repository. */
  | { kind: "foreign" }
  | { kind: "unknown" };

/** Steps and definitions that one expression is followed through. */
const MAX_STEPS = 10;

/** A type and a constant may have one name: where a value is asked for the constant is meant. */
function valueIn(found: readonly DefinitionAt[]): Value {
  const of = found.find(({ kind }) => kind !== "interface" && kind !== "type") ?? found[0];
  return of ? { kind: "definition", of } : unknown;
}

const types: readonly string[] = ["class", "interface", "type", "extension"];
const ofElements = /^(?:find|findLast|at|pop|shift|get|next|popleft|setdefault)$/;
const ofCollections =
  /^(?:filter|slice|toSorted|sort|toReversed|reverse|concat|values|copy|union|difference|items|splice|with)$/;

/** Follows type expressions through the files of the head. */
export class Values {
  readonly #head: Head;
  readonly #names: Names;
  readonly #modules: Modules;
  readonly #known = new Map<string, Value>();

  constructor(head: Head, names: Names, modules: Modules) {
    this.#head = head;
    this.#names = names;
    this.#modules = modules;
  }

  /** What an expression of a file stands for. */
  valueOf(path: string, expression: string, depth = 0): Value {
    const key = `${path}\0${expression}`;
    const known = this.#known.get(key);
    if (known) return known;
    if (depth > MAX_STEPS) return unknown;
    // What leads back to itself is unknown.
    this.#known.set(key, unknown);
    const parts = parseType(expression);
    let value = this.#baseOf(path, parts);
    for (const step of parts.steps) value = this.#follow(value, step, depth + 1);
    this.#known.set(key, value);
    return value;
  }

  #baseOf(path: string, { base, name }: Parts): Value {
    if (base === "unknown" || name === "") return unknown;
    if (name === "builtin") return foreign;
    if (base === "parent") return this.#parentOf(path, name);
    const meaning = this.#meaningOf(path, name);
    if (meaning.kind !== "definitions")
      return base === "instance" && meaning.kind === "modules" ? unknown : meaning;
    if (base === "value") return valueIn(meaning.found);
    const type = meaning.found.find(({ kind }) => types.includes(kind));
    return type ? { kind: "instance", of: type } : unknown;
  }

  /** A name with `::` lies in what stands in front of it. */
  #meaningOf(path: string, name: string): Meaning {
    const [head = "", ...rest] = name.split("::");
    // A parameter of a type stands for anything.
    const isParameter = rest.length === 0 && /^(?:[A-Z]\d?|T[A-Z][a-z]\w*)$/.test(head);
    if (isParameter && this.#names.ownTop(path, head).length === 0) return { kind: "unknown" };
    let meaning = this.#names.meaningOf(path, head);
    if (meaning.kind === "foreign" || meaning.kind === "unknown") {
      // A class within a function or a test.
      const inner = this.#head
        .definitionsIn(path)
        .filter((one) => one.name === head && types.includes(one.kind));
      if (inner.length > 0) meaning = { kind: "definitions", found: inner, certainty: 1 };
    }
    for (const next of rest) {
      if (meaning.kind === "modules") meaning = this.#names.exportedOf(meaning.paths, next);
      else if (meaning.kind === "definitions") {
        const found = meaning.found.flatMap((one) => this.membersOf(one, next).found);
        meaning = found.length > 0 ? { kind: "definitions", found, certainty: 1 } : { kind: "unknown" };
      } else return meaning;
    }
    return meaning;
  }

  #parentOf(path: string, name: string): Value {
    const own = this.#meaningOf(path, name);
    const [of] = own.kind === "definitions" ? own.found : [];
    const [parent] = of?.supers ?? [];
    return of && parent ? this.valueOf(of.path, `:${parent}`) : unknown;
  }

  #follow(value: Value, step: Step, depth: number): Value {
    if (value.kind === "unknown" || value.kind === "foreign") return value;
    switch (step.kind) {
      case "collection":
        return { kind: "collection", of: value };
      case "element":
        return this.#elementOf(value, depth);
      case "call":
        return this.#answerOf(value, depth);
      case "member":
        return this.memberOf(value, step.name, depth);
    }
  }

  #elementOf(value: Value, depth: number): Value {
    const isNamed = value.kind === "instance" && value.of.kind === "type";
    const own = value.kind === "definition" || isNamed ? this.#heldBy(value.of, depth) : value;
    return own.kind === "collection" ? own.of : own.kind === "foreign" ? foreign : unknown;
  }

  #answerOf(value: Value, depth: number): Value {
    if (value.kind === "answers") return value.value;
    if (value.kind !== "definition") return unknown;
    const { of } = value;
    if (types.includes(of.kind)) return { kind: "instance", of };
    const held = this.#heldBy(of, depth);
    if (of.kind === "function" || of.kind === "method") return held;
    return held.kind === "definition" ? this.#answerOf(held, depth + 1) : unknown;
  }

  /** What a constant or a field holds, and what a function answers. */
  #heldBy(of: DefinitionAt, depth: number): Value {
    return of.type === null ? unknown : this.valueOf(of.path, of.type, depth + 1);
  }

  /** A member of a value; methods and fields are answered as definitions. */
  memberOf(value: Value, name: string, depth = 0): Value {
    switch (value.kind) {
      case "collection":
        if (ofElements.test(name)) return { kind: "answers", value: value.of };
        return ofCollections.test(name) ? { kind: "answers", value } : foreign;
      case "modules": {
        const meaning = this.#names.exportedOf(value.paths, name);
        return meaning.kind === "definitions" ? valueIn(meaning.found) : meaning;
      }
      case "instance":
      case "definition":
        return this.#memberOfDefinition(value, name, depth);
      default:
        return value.kind === "foreign" ? foreign : unknown;
    }
  }

  #memberOfDefinition(value: Value & { of: DefinitionAt }, name: string, depth: number): Value {
    const { found, isOpen } = this.membersOf(value.of, name);
    const [of] = found;
    if (of) return { kind: "definition", of };
    if (depth > MAX_STEPS) return unknown;
    // Go: what is embedded is a field of its own name as well.
    const embedded = isGo(value.of.path) && value.of.supers.find((one) => one.split("::").at(-1) === name);
    if (embedded) return this.valueOf(value.of.path, `:${embedded}`, depth + 1);
    const held = this.#namedIn(value, name);
    if (held.kind !== "unknown") return held;
    if (value.kind === "definition" && !types.includes(value.of.kind)) {
      const held = this.#heldBy(value.of, depth);
      return held.kind === "unknown" ? unknown : this.memberOf(held, name, depth + 1);
    }
    if (value.of.kind === "type" && value.of.type !== null)
      return this.memberOf(this.#heldBy(value.of, depth), name, depth + 1);
    return isOpen ? unknown : foreign;
  }

  /** What an object holds that is written as a list of names. */
  #namedIn({ kind, of }: Value & { of: DefinitionAt }, name: string): Value {
    if (kind !== "definition") return unknown;
    const meaning = this.#names.memberOf({ kind: "definitions", found: [of], certainty: 1 }, name);
    return meaning.kind === "definitions" ? valueIn(meaning.found) : meaning;
  }

  /** Members of a name, its own first, else those that it inherits. `isOpen`: there may be others that nobody sees. */
  membersOf(
    owner: DefinitionAt,
    name: string,
    seen = new Set<string>(),
  ): { found: DefinitionAt[]; isOpen: boolean } {
    const key = `${owner.path}\0${owner.seq}`;
    if (seen.has(key) || seen.size > 20) return { found: [], isOpen: true };
    seen.add(key);
    const own = this.#ownMembers(owner, name);
    if (own.length > 0) return { found: own, isOpen: false };
    let isOpen = false;
    for (const parent of owner.supers) {
      const value = this.valueOf(owner.path, `:${parent}`);
      if (value.kind !== "instance") {
        isOpen = true;
        continue;
      }
      const inherited = this.membersOf(value.of, name, seen);
      if (inherited.found.length > 0) return inherited;
      isOpen ||= inherited.isOpen;
    }
    return { found: [], isOpen };
  }

  #ownMembers(owner: DefinitionAt, name: string): DefinitionAt[] {
    const isMember = (one: DefinitionAt) => one.name === name && one.container === owner.name;
    const paths = isGo(owner.path) ? this.#modules.filesIn(folderOf(owner.path)).filter(isGo) : [owner.path];
    const all = paths.flatMap((path) => this.#head.definitionsIn(path).filter(isMember));
    const inside = all.filter(
      ({ path, start, end }) => path === owner.path && start >= owner.start && end <= owner.end,
    );
    // What stands beside a constant belongs to a type of the same name.
    if (inside.length > 0 || owner.kind === "constant") return inside;
    const inModule = this.#head
      .definitionsIn(owner.path)
      .filter((one) => owner.kind === "module" && one.outer === owner.seq && one.name === name);
    return inModule.length > 0 ? inModule : all;
  }
}
