import { familyOf, folderOf, isGo, isPython, isScript, type Modules } from "../code/imports.ts";
import type { DefinitionAt, Head, ImportAt } from "./head.ts";

/**
 * What a name means: definitions, whole modules, or something that is no part of the repository. `certainty` says how sure
 * that is by the rules of the language.
 */
export type Meaning =
  | { kind: "definitions"; found: readonly DefinitionAt[]; certainty: number }
  | { kind: "modules"; paths: readonly string[] }
  | { kind: "foreign" }
  | { kind: "unknown" };

const foreign: Meaning = { kind: "foreign" };
const unknown: Meaning = { kind: "unknown" };
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
