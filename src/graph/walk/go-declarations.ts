import { after } from "../type-expression.ts";
import type { Context } from "./context.ts";
import { expressionOf, fieldTypes, valuesOf } from "./go-expression.ts";
import { typeOfGo } from "./go-types.ts";
import { childOf, type Reduced } from "./reduced-tree.ts";
import { declare, innerScope, type Scope } from "./scope.ts";

/** A method that an interface asks for. */
export function walkInterfaceMethod(node: Reduced, _scope: Scope, context: Context): void {
  const name = childOf(node, "field_identifier");
  if (name) context.notes.type(context.text(name), name.line, typeOfGo(resultOf(node, context)));
}

export function walkType(node: Reduced, scope: Scope, context: Context): void {
  const [name, ...rest] = node.children;
  if (!name) return;
  const struct = childOf(node, "struct_type");
  const embedded = (struct?.children ?? []).flatMap((field) =>
    field.kind === "field_declaration" && !childOf(field, "field_identifier")
      ? [
          context
            .text(field)
            .replace(/^\*|[`"\s][\s\S]*$/g, "")
            .replace(".", "::"),
        ]
      : [],
  );
  const inherited =
    childOf(node, "interface_type")?.children.filter(({ kind }) => kind === "type_elem") ?? [];
  const supers = [...embedded, ...inherited.map((one) => context.text(one).replace(".", "::"))].filter(
    (one) => /^[\w:]+$/.test(one),
  );
  if (supers.length > 0) context.notes.supers.push({ name: context.text(name), line: name.line, supers });
  if (!struct && !childOf(node, "interface_type"))
    context.notes.type(context.text(name), name.line, typeOfGo(context.source.slice(name.to, node.to)));
  context.walkAll(rest, scope, context);
}

export function walkField(node: Reduced, scope: Scope, context: Context): void {
  const { names, type } = fieldTypes(node, context);
  for (const name of names) context.notes.type(context.text(name), name.line, type);
  context.walkAll(
    node.children.filter((one) => !names.includes(one)),
    scope,
    context,
  );
}

/** What stands between the parameters and the body. */
function resultOf(node: Reduced, { source }: Context): string {
  const name = childOf(node, "identifier", "field_identifier");
  const list = node.children.find(
    ({ kind, from }) => kind === "parameter_list" && (!name || from >= name.to),
  );
  const body = childOf(node, "block");
  return list ? source.slice(list.to, body?.from ?? node.to) : "";
}

export function walkFunction(node: Reduced, scope: Scope, context: Context): void {
  const inner = innerScope(scope);
  const name = childOf(node, "identifier", "field_identifier");
  for (const list of node.children.filter(
    ({ kind }) => kind === "parameter_list" || kind === "type_parameter_list",
  ))
    for (const one of list.children) bindParameters(one, inner, context);
  if (name && node.kind !== "func_literal")
    context.notes.type(context.text(name), name.line, typeOfGo(resultOf(node, context)));
  context.walkAll(
    node.children.filter(
      (one) => one !== name && one.kind !== "parameter_list" && one.kind !== "type_parameter_list",
    ),
    inner,
    context,
  );
}

function bindParameters(node: Reduced, scope: Scope, context: Context): void {
  const names = node.children.filter(({ kind }) => kind === "identifier");
  const last = names.at(-1);
  const text = last ? context.source.slice(last.to, node.to).trim() : "";
  const isMany = text.startsWith("...");
  const type = after(typeOfGo(text.replace(/^\.\.\./, "")), isMany ? "@" : "");
  for (const name of names) declare(scope, context.text(name), name.line, type);
  context.walkAll(
    node.children.filter((one) => !names.includes(one)),
    scope,
    context,
  );
}

export function walkVariables(node: Reduced, scope: Scope, context: Context): void {
  const names = node.children.filter(({ kind }) => kind === "identifier");
  const values = childOf(node, "expression_list");
  const rest = node.children.filter((one) => !names.includes(one));
  context.walkAll(rest, scope, context);
  const last = names.at(-1);
  const declared = last
    ? context.source
        .slice(last.to, values?.from ?? node.to)
        .replace(/=\s*$/, "")
        .trim()
    : "";
  for (const [at, name] of names.entries()) {
    const value = values && valuesOf(values, context)[at];
    const type = declared === "" ? (value ? expressionOf(value, scope, context) : null) : typeOfGo(declared);
    declare(scope, context.text(name), name.line, type);
    context.notes.type(context.text(name), name.line, type);
  }
}
