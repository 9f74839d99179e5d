import { after } from "../type-expression.ts";
import type { Context } from "./context.ts";
import { typeOfGo } from "./go-types.ts";
import { childOf, type Reduced } from "./reduced-tree.ts";
import { lookUp, type Scope, type Shape } from "./scope.ts";

export function walkMember(node: Reduced, scope: Scope, context: Context, role: "call" | "read"): void {
  const name = childOf(node, "field_identifier");
  const [object] = node.children;
  if (!name || !object) return;
  const type = object !== name && isHead(node, object, context) ? expressionOf(object, scope, context) : "?";
  if (role === "call" || type.startsWith("="))
    context.notes.member(context.text(name), name.line, role, type);
  if (object !== name) context.walkAll([object], scope, context);
}

/** What is known of the value of a node. */
export function expressionOf(node: Reduced, scope: Scope, context: Context): string {
  const { text, notes } = context;
  const [first] = node.children;
  switch (node.kind) {
    case "identifier":
      return notes.typeOf(text(node), scope);
    case "unary_expression":
      return first && /^[&*]/.test(text(node)) ? expressionOf(first, scope, context) : "?";
    case "selector_expression": {
      const name = childOf(node, "field_identifier");
      if (!name || !first || first === name || !isHead(node, first, context)) return "?";
      const shape = shapeOf(first, scope, context);
      return shape
        ? (shape.get(text(name)) ?? "?")
        : after(expressionOf(first, scope, context), `.${text(name)}`);
    }
    case "composite_literal": {
      const value = childOf(node, "literal_value");
      return value ? typeOfGo(context.source.slice(node.from, value.from)) : "?";
    }
    case "call_expression":
      return first?.from === node.from ? callOf(first, node, scope, context) : "?";
    case "index_expression":
      return first?.from === node.from ? after(expressionOf(first, scope, context), "[]") : "?";
    case "type_assertion_expression":
      return typeOfGo(/\.\(([^()]{1,200})\)$/.exec(text(node))?.[1] ?? "");
    default:
      return "?";
  }
}

function callOf(callee: Reduced, call: Reduced, scope: Scope, context: Context): string {
  const name = context.text(callee);
  if (name === "new" || name === "make")
    return typeOfGo(/^\w+\(([^,()]{1,200})/.exec(context.text(call))?.[1] ?? "");
  return after(expressionOf(callee, scope, context), "()");
}

/** The parts of a list that stand whole between its commas; undefined for others. */
export function valuesOf(list: Reduced, { source }: Context): (Reduced | undefined)[] {
  const values: (Reduced | undefined)[] = [];
  let at = list.from;
  for (const one of list.children) {
    const before = source.slice(at, one.from).trim();
    const next = /^\s*(?:,|$)/.test(source.slice(one.to, list.to));
    values.push(before.replace(/^,/, "").trim() === "" && next ? one : undefined);
    at = one.to;
  }
  return values;
}

/** Whether a node begins with what it is a member of, or with that in brackets: `(*Type).Method`, `(&value).Method()`. */
const isHead = (node: Reduced, object: Reduced, { source }: Context): boolean =>
  node.from === object.from || /^\(+$/.test(source.slice(node.from, Math.min(object.from, node.from + 9)));

/** Fields of a value whose type is written where it is made, as tables of tests are: `[]struct{ in Parser }{…}`. */
export function shapeOf(node: Reduced, scope: Scope, context: Context): Shape | null {
  const [first] = node.children;
  if (node.kind === "identifier") return lookUp(context.text(node), scope)?.binding.shape ?? null;
  if ((node.kind === "index_expression" || node.kind === "unary_expression") && first)
    return shapeOf(first, scope, context);
  const struct = node.kind === "composite_literal" ? childOf(node, "struct_type") : undefined;
  if (!struct) return null;
  const fields = struct.children.filter(({ kind }) => kind === "field_declaration");
  return new Map(
    fields.flatMap((field) => {
      const { names, type } = fieldTypes(field, context);
      return names.map((one): [string, string] => [context.text(one), type]);
    }),
  );
}

/** Names of a field's declaration, and what each is. */
export function fieldTypes(field: Reduced, { source }: Context): { names: Reduced[]; type: string } {
  const names = field.children.filter(({ kind }) => kind === "field_identifier");
  const last = names.at(-1);
  const written = last ? source.slice(last.to, field.to).replace(/`[^`]*`\s*$|"[^"]*"\s*$/, "") : "";
  return { names, type: last ? typeOfGo(written) : "?" };
}
