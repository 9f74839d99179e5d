import { familyOf, folderOf, isGo, isPython, isScript, type Modules } from "../code/imports.ts";
import type { DefinitionAt, HeadFacts, ImportAt } from "./store.ts";
import { type Parts, parseTypeExpression, type Step } from "./type-expression.ts";

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

/** Files through which a name is followed. */
const MAX_DEPTH = 8;

/** Finds what names mean in a file, from its definitions, its imports and the rules of its language. */
export class Names {
  readonly #head: HeadFacts;
  readonly #modules: Modules;
  readonly #known = new Map<string, Meaning>();

  constructor(head: HeadFacts, modules: Modules) {
    this.#head = head;
    this.#modules = modules;
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
    const imported = this.#head.importsIn(path).filter((one) => one.local === name && !one.reexport);
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

/** The value of an expression, as far as it can be followed. */
export type Value =
  /** An object of a class, an interface or a type. */
  | { kind: "instance"; of: DefinitionAt }
  /** The class, function, method, field or constant itself. */
  | { kind: "definition"; of: DefinitionAt }
  | { kind: "modules"; paths: readonly string[] }
  | { kind: "collection"; of: Value }
  /** A method of a collection, by its result. */
  | { kind: "method"; returns: Value }
  /** Not part of the repository. */
  | { kind: "foreign" }
  | { kind: "unknown" };

/** Steps and definitions through which an expression is followed. */
const MAX_STEPS = 10;

/** If a type and a constant have the same name, the constant is the value. */
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
  readonly #head: HeadFacts;
  readonly #names: Names;
  readonly #modules: Modules;
  readonly #known = new Map<string, Value>();

  constructor(head: HeadFacts, names: Names, modules: Modules) {
    this.#head = head;
    this.#names = names;
    this.#modules = modules;
  }

  /** What a type expression of a file evaluates to. */
  valueOf(path: string, expression: string, depth = 0): Value {
    const key = `${path}\0${expression}`;
    const known = this.#known.get(key);
    if (known) return known;
    if (depth > MAX_STEPS) return unknown;
    // A cycle ends here.
    this.#known.set(key, unknown);
    const parts = parseTypeExpression(expression);
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

  /** `a::b` is the member b of a. */
  #meaningOf(path: string, name: string): Meaning {
    const [head = "", ...rest] = name.split("::");
    // A type parameter can be anything.
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
        return this.#returnOf(value, depth);
      case "member":
        return this.memberOf(value, step.name, depth);
    }
  }

  #elementOf(value: Value, depth: number): Value {
    const isNamed = value.kind === "instance" && value.of.kind === "type";
    const own = value.kind === "definition" || isNamed ? this.#contentOf(value.of, depth) : value;
    return own.kind === "collection" ? own.of : own.kind === "foreign" ? foreign : unknown;
  }

  #returnOf(value: Value, depth: number): Value {
    if (value.kind === "method") return value.returns;
    if (value.kind !== "definition") return unknown;
    const { of } = value;
    if (types.includes(of.kind)) return { kind: "instance", of };
    const held = this.#contentOf(of, depth);
    if (of.kind === "function" || of.kind === "method") return held;
    return held.kind === "definition" ? this.#returnOf(held, depth + 1) : unknown;
  }

  /** The value of a constant or a field, and what a function returns. */
  #contentOf(of: DefinitionAt, depth: number): Value {
    return of.type === null ? unknown : this.valueOf(of.path, of.type, depth + 1);
  }

  /** A member of a value. Methods and fields are definitions. */
  memberOf(value: Value, name: string, depth = 0): Value {
    switch (value.kind) {
      case "collection":
        if (ofElements.test(name)) return { kind: "method", returns: value.of };
        return ofCollections.test(name) ? { kind: "method", returns: value } : foreign;
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
    // Go: an embedded type is also a field of that name.
    const embedded = isGo(value.of.path) && value.of.supers.find((one) => one.split("::").at(-1) === name);
    if (embedded) return this.valueOf(value.of.path, `:${embedded}`, depth + 1);
    const held = this.#literalMember(value, name);
    if (held.kind !== "unknown") return held;
    if (value.kind === "definition" && !types.includes(value.of.kind)) {
      const held = this.#contentOf(value.of, depth);
      return held.kind === "unknown" ? unknown : this.memberOf(held, name, depth + 1);
    }
    if (value.of.kind === "type" && value.of.type !== null)
      return this.memberOf(this.#contentOf(value.of, depth), name, depth + 1);
    return isOpen ? unknown : foreign;
  }

  /** A member of an object literal that consists of names. */
  #literalMember({ kind, of }: Value & { of: DefinitionAt }, name: string): Value {
    if (kind !== "definition") return unknown;
    const meaning = this.#names.memberOf({ kind: "definitions", found: [of], certainty: 1 }, name);
    return meaning.kind === "definitions" ? valueIn(meaning.found) : meaning;
  }

  /** Members of a name: its own, else the inherited ones. `isOpen`: a supertype is unknown, so there may be others. */
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
    // Members outside of a constant belong to a type of the same name.
    if (inside.length > 0 || owner.kind === "constant") return inside;
    const inModule = this.#head
      .definitionsIn(owner.path)
      .filter((one) => owner.kind === "module" && one.outer === owner.seq && one.name === name);
    return inModule.length > 0 ? inModule : all;
  }
}
