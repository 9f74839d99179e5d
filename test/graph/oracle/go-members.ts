import type { GoFile, GoFunction } from "./go-declarations.ts";
import { type GoType, mayBeOurs, Names, unknown } from "./go-type.ts";
import { childOf, childrenOf, type Syntax } from "./lezer-tree.ts";

/** What members are found with. */
interface Types {
  typeAt(node: Syntax | null, file: GoFile, names: Names): GoType;
  underlying(type: GoType): GoType;
}

/** What a selector finds: methods (several where platforms have one each) or a field, of the type or of what it embeds. */
export function memberOf(types: Types, type: GoType, name: string): Member {
  let level: GoType[] = [type];
  for (let depth = 0; depth < 6 && level.length > 0; depth++) {
    const next: GoType[] = [];
    for (const one of level) {
      const bare = one.is === "pointer" ? one.of : one;
      const methods = bare.is === "named" ? bare.named.methods.get(name) : undefined;
      if (methods && bare.is === "named")
        return { methods, field: null, given: receiverNames(bare, methods[0]!), open: false };
      const inner = types.underlying(bare);
      if (inner.is === "outside" || inner.is === "unknown" || inner.is === "type")
        return {
          methods: [],
          field: null,
          given: null,
          open: inner.is !== "outside" || mayBeOurs(inner.name),
        };
      if (inner.is !== "literal") continue;
      const { field, embedded } = fieldOf(types, inner, name);
      if (field) return { methods: [], field, given: null, open: false };
      next.push(...embedded);
    }
    level = next;
  }
  return { methods: [], field: null, given: null, open: false };
}

function fieldOf(types: Types, { node, file, given }: Extract<GoType, { is: "literal" }>, name: string) {
  const body = childOf(node, "StructBody", "InterfaceBody");
  const embedded: GoType[] = [];
  for (const one of body?.children ?? []) {
    const fields = one.kind === "FieldDecl" ? childrenOf(one, "FieldName") : [];
    const type = one.children.findLast(({ kind }) => kind !== "String" && kind !== "Tag") ?? null;
    if (fields.some(({ text }) => text === name)) return { field: types.typeAt(type, file, given), embedded };
    if (fields.length > 0 || /^([{};,]|MethodElem)$/.test(one.kind)) continue;
    const own = one.kind === "FieldDecl" ? types.typeAt(type, file, given) : types.typeAt(one, file, given);
    if (type && (type.text.replace(/^.*\./, "") || "") === name) return { field: own, embedded };
    embedded.push(own);
  }
  return { field: null, embedded };
}

export interface Member {
  methods: readonly GoFunction[];
  field: GoType | null;
  given: Names | null;
  /** Whether it may be a method of ours that nobody can tell. */
  open: boolean;
}

export const pointerType = ({ type }: { type: GoType }): GoType => ({
  is: "type",
  type: { is: "pointer", of: type },
});

/** A function's own type parameters, of which nothing is known. */
export function genericNames({ node }: GoFunction): Names {
  const names = new Names();
  const list = childOf(node, "TypeParams");
  for (const one of list ? childrenOf(list, "TypeParam") : [])
    for (const { kind, text } of one.children) if (kind === "TypeName") names.set(text, () => unknown);
  return names;
}

/** The type parameters as the method calls them. */
function receiverNames({ named, given }: Extract<GoType, { is: "named" }>, { node }: GoFunction): Names {
  if (node.kind === "MethodElem") return given;
  const names = new Names(given);
  const type = childOf(childOf(node, "Parameters")!, "Parameter")?.children.at(-1);
  const list = /\[(.*)\]/.exec(type?.text ?? "")?.[1]?.split(",") ?? [];
  for (const [at, name] of list.entries()) {
    const own = given.get(named.parameters[at] ?? "");
    names.set(name.trim(), () => own ?? unknown);
  }
  return names;
}
