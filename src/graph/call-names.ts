import { familyOf, folderOf, type Modules } from "../code/imports.ts";
import type { DefinitionAt, Head, ImportAt } from "./head.ts";
import type { Meaning, Names } from "./names.ts";
import { stemOf } from "./store.ts";
import type { Values } from "./values.ts";

/** What calls are understood with. */
export interface CallGround {
  head: Head;
  names: Names;
  values: Values;
  modules: Modules;
}

export const keyOf = ({ path, seq }: { path: string; seq: number }): string => `${path}\0${seq}`;

/** Classes below one that are gone through. */
const MAX_HEIRS = 200;

/** Under which names things are called. */
export class CallNames {
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
