import { appendStep, type TypeExpression } from "../type-expression.ts";
import {
  type Context,
  childOf,
  declare,
  innerScope,
  kinds,
  lookUp,
  type Scope,
  type Shape,
  type TreeNode,
  type UseRole,
  without,
} from "./walk.ts";

const builtin =
  /^(?:string|bool|error|byte|rune|any|int\d*|uint\d*|float\d+|complex\d+|uintptr|interface\s*\{\s*\}|struct\s*\{\s*\})$/;

/** A Go type as a type expression. Of several results, the first counts. */
function typeOfGo(text: string): TypeExpression {
  let bare = text.trim();
  if (bare.startsWith("(")) bare = firstOf(bare.slice(1, bare.endsWith(")") ? -1 : undefined));
  bare = bare.replace(/^[*&\s]+/, "");
  const inner = /^(?:\[[^\]]{0,60}\]|map\[[^\]]{1,100}\]|(?:<-)?chan(?:<-)?\s)\s*(.+)$/s.exec(bare)?.[1];
  if (inner !== undefined) {
    const element = typeOfGo(inner);
    return element === "?" ? "?" : `${element}@`;
  }
  if (builtin.test(bare)) return ":builtin";
  const name = /^([\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)?)\s*(?:\[[\s\S]*\])?$/u.exec(bare)?.[1];
  return name === undefined || name === "func" ? "?" : `:${name.replace(".", "::")}`;
}

/** The first type of a result list: Type for `name Type, err error` and for `Type, error`. */
function firstOf(results: string): string {
  const [one = ""] = results.split(",");
  const words = one.trim().split(/\s+(?=[*\w[])/);
  return words.length === 2 && !/^(?:chan|map|func)\b/.test(words[0] ?? "") ? (words[1] ?? "") : one;
}

function walkMember(node: TreeNode, scope: Scope, context: Context, role: "call" | "read"): void {
  const name = childOf(node, "field_identifier");
  const [object] = node.children;
  if (!name || !object) return;
  const type = object !== name && isHead(node, object, context) ? expressionOf(object, scope, context) : "?";
  if (role === "call" || type.startsWith("="))
    context.facts.member(context.text(name), name.line, role, type);
  if (object !== name) walkAll([object], scope, context);
}

/** The type expression of a node's value. */
function expressionOf(node: TreeNode, scope: Scope, context: Context): string {
  const { text, facts } = context;
  const [first] = node.children;
  switch (node.kind) {
    case "identifier":
      return facts.typeOf(text(node), scope);
    case "unary_expression":
      return first && /^[&*]/.test(text(node)) ? expressionOf(first, scope, context) : "?";
    case "selector_expression": {
      const name = childOf(node, "field_identifier");
      if (!name || !first || first === name || !isHead(node, first, context)) return "?";
      const shape = shapeOf(first, scope, context);
      return shape
        ? (shape.get(text(name)) ?? "?")
        : appendStep(expressionOf(first, scope, context), `.${text(name)}`);
    }
    case "composite_literal": {
      const value = childOf(node, "literal_value");
      return value ? typeOfGo(context.source.slice(node.from, value.from)) : "?";
    }
    case "call_expression":
      return first?.from === node.from ? callOf(first, node, scope, context) : "?";
    case "index_expression":
      return first?.from === node.from ? appendStep(expressionOf(first, scope, context), "[]") : "?";
    case "type_assertion_expression":
      return typeOfGo(/\.\(([^()]{1,200})\)$/.exec(text(node))?.[1] ?? "");
    default:
      return "?";
  }
}

function callOf(callee: TreeNode, call: TreeNode, scope: Scope, context: Context): string {
  const name = context.text(callee);
  if (name === "new" || name === "make")
    return typeOfGo(/^\w+\(([^,()]{1,200})/.exec(context.text(call))?.[1] ?? "");
  return appendStep(expressionOf(callee, scope, context), "()");
}

/** The values of a list; undefined for those that are not a single selected node. */
function valuesOf(list: TreeNode, { source }: Context): (TreeNode | undefined)[] {
  const values: (TreeNode | undefined)[] = [];
  let at = list.from;
  for (const one of list.children) {
    const before = source.slice(at, one.from).trim();
    const next = /^\s*(?:,|$)/.test(source.slice(one.to, list.to));
    values.push(before.replace(/^,/, "").trim() === "" && next ? one : undefined);
    at = one.to;
  }
  return values;
}

/** Whether a member node starts with this object, apart from brackets: `(*Type).Method`, `(&value).Method()`. */
const isHead = (node: TreeNode, object: TreeNode, { source }: Context): boolean =>
  node.from === object.from || /^\(+$/.test(source.slice(node.from, Math.min(object.from, node.from + 9)));

/** Fields of a value with an anonymous struct type, as in test tables: `[]struct{ in Parser }{…}`. */
function shapeOf(node: TreeNode, scope: Scope, context: Context): Shape | null {
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

/** The names of a field declaration, and their type. */
function fieldTypes(field: TreeNode, { source }: Context): { names: TreeNode[]; type: string } {
  const names = field.children.filter(({ kind }) => kind === "field_identifier");
  const last = names.at(-1);
  const written = last ? source.slice(last.to, field.to).replace(/`[^`]*`\s*$|"[^"]*"\s*$/, "") : "";
  return { names, type: last ? typeOfGo(written) : "?" };
}

/** A method of an interface. */
function walkInterfaceMethod(node: TreeNode, _scope: Scope, context: Context): void {
  const name = childOf(node, "field_identifier");
  if (name) context.facts.type(context.text(name), name.line, typeOfGo(resultOf(node, context)));
}

function walkType(node: TreeNode, scope: Scope, context: Context): void {
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
  if (supers.length > 0) context.facts.supers.push({ name: context.text(name), line: name.line, supers });
  if (!struct && !childOf(node, "interface_type"))
    context.facts.type(context.text(name), name.line, typeOfGo(context.source.slice(name.to, node.to)));
  walkAll(rest, scope, context);
}

function walkField(node: TreeNode, scope: Scope, context: Context): void {
  const { names, type } = fieldTypes(node, context);
  for (const name of names) context.facts.type(context.text(name), name.line, type);
  walkAll(without(node, ...names), scope, context);
}

/** The text between the parameters and the body. */
function resultOf(node: TreeNode, { source }: Context): string {
  const name = childOf(node, "identifier", "field_identifier");
  const list = node.children.find(
    ({ kind, from }) => kind === "parameter_list" && (!name || from >= name.to),
  );
  const body = childOf(node, "block");
  return list ? source.slice(list.to, body?.from ?? node.to) : "";
}

function walkFunction(node: TreeNode, scope: Scope, context: Context): void {
  const inner = innerScope(scope);
  const name = childOf(node, "identifier", "field_identifier");
  for (const list of node.children.filter(
    ({ kind }) => kind === "parameter_list" || kind === "type_parameter_list",
  ))
    for (const one of list.children) bindParameters(one, inner, context);
  if (name && node.kind !== "func_literal")
    context.facts.type(context.text(name), name.line, typeOfGo(resultOf(node, context)));
  walkAll(
    node.children.filter(
      (one) => one !== name && one.kind !== "parameter_list" && one.kind !== "type_parameter_list",
    ),
    inner,
    context,
  );
}

function bindParameters(node: TreeNode, scope: Scope, context: Context): void {
  const names = node.children.filter(({ kind }) => kind === "identifier");
  const last = names.at(-1);
  const text = last ? context.source.slice(last.to, node.to).trim() : "";
  const isMany = text.startsWith("...");
  const type = appendStep(typeOfGo(text.replace(/^\.\.\./, "")), isMany ? "@" : "");
  for (const name of names) declare(scope, context.text(name), name.line, type);
  walkAll(without(node, ...names), scope, context);
}

function walkVariables(node: TreeNode, scope: Scope, context: Context): void {
  const names = node.children.filter(({ kind }) => kind === "identifier");
  const values = childOf(node, "expression_list");
  const rest = without(node, ...names);
  walkAll(rest, scope, context);
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
    context.facts.type(context.text(name), name.line, type);
  }
}

const blocks = [
  ...["block", "if_statement", "for_statement", "expression_switch_statement", "type_switch_statement"],
  ...["expression_case", "type_case", "default_case", "communication_case", "select_statement"],
];
const lists = ["parameter_declaration", "variadic_parameter_declaration"];

/** The kinds of nodes that the walk reads. */
export const goKinds: readonly string[] = [
  ...blocks,
  ...lists,
  ...kinds(`
  identifier field_identifier type_identifier call_expression selector_expression function_declaration
  method_declaration func_literal parameter_list short_var_declaration expression_list assignment_statement
  var_spec const_spec range_clause import_spec composite_literal qualified_type type_spec field_declaration
  struct_type literal_value keyed_element index_expression type_parameter_list method_elem interface_type
  type_elem type_conversion_expression type_assertion_expression literal_element unary_expression type_alias
  package_clause label_name
`),
];

/** Finds what the names in a Go file are bound to. */
export function walkGo(tree: TreeNode, context: Context): void {
  const { top } = context.facts;
  for (const node of tree.children) hoist(node, top, context);
  walkAll(tree.children, top, context);
}

function walkAll(nodes: readonly TreeNode[], scope: Scope, context: Context): void {
  for (const node of nodes) walk(node, scope, context);
}

/** Declares the names of the top level. */
function hoist(node: TreeNode, scope: Scope, context: Context): void {
  const [name] = node.children;
  if (node.kind === "import_spec") recordImport(node, context);
  else if (/^(?:function_declaration|type_spec|type_alias|var_spec|const_spec)$/.test(node.kind) && name)
    declare(scope, context.text(name), name.line, null, true);
}

function recordImport(node: TreeNode, { text, facts }: Context): void {
  const [, alias = "", specifier = ""] = /^([\w.]*)\s*["`]([^"`]+)["`]/.exec(text(node)) ?? [];
  if (specifier === "") return;
  const last =
    specifier
      .replace(/\/v\d+$/, "")
      .split("/")
      .at(-1) ?? "";
  // A package usually has the name of its folder, without a prefix or suffix for the language.
  const local = alias === "_" ? "" : alias || last.replace(/^go-|[-.]go$|\.v\d+$/g, "").replaceAll("-", "");
  facts.import({ specifier, imported: local === "" ? "" : "*", local, line: node.line });
}

const walks: Record<string, (node: TreeNode, scope: Scope, context: Context) => void> = {
  import_spec: () => {},
  package_clause: () => {},
  label_name: () => {},
  identifier: (node, scope, { facts, text }) => facts.name(text(node), node.line, "read", scope),
  type_identifier: (node, scope, { facts, text }) => facts.name(text(node), node.line, "type", scope),
  function_declaration: walkFunction,
  method_declaration: walkFunction,
  func_literal: walkFunction,
  method_elem: walkInterfaceMethod,
  short_var_declaration: walkShort,
  var_spec: walkVariables,
  const_spec: walkVariables,
  range_clause: walkRange,
  call_expression: walkCall,
  selector_expression: (node, scope, context) => walkMember(node, scope, context, "read"),
  qualified_type: (node, _scope, context) => walkQualified(node, "type", context),
  type_conversion_expression: walkConversion,
  type_switch_statement: walkTypeSwitch,
  composite_literal: (node, scope, context) => walkAll(node.children, scope, context),
  keyed_element: (node, scope, context) => {
    // A key is usually the name of a field.
    const [key, ...rest] = node.children;
    if (key && key.children.length > 0 && key.children[0]?.kind !== "identifier") walk(key, scope, context);
    walkAll(rest, scope, context);
  },
  type_spec: walkType,
  type_alias: walkType,
  field_declaration: walkField,
};

function walk(node: TreeNode, scope: Scope, context: Context): void {
  const own = walks[node.kind];
  if (own) own(node, scope, context);
  else walkAll(node.children, blocks.includes(node.kind) ? innerScope(scope) : scope, context);
}

function walkShort(node: TreeNode, scope: Scope, context: Context): void {
  const [left, right] = node.children;
  if (!left || !right) return;
  walk(right, scope, context);
  const values = valuesOf(right, context);
  const isOne = right.children.length === 1 || values.length === 1;
  for (const [at, name] of left.children.entries()) {
    if (name.kind !== "identifier") continue;
    const value = isOne ? (at === 0 ? values[0] : undefined) : values[at];
    const isRun = right.children.length === 1 && right.children[0]?.kind === "func_literal";
    const type = value ? expressionOf(value, scope, context) : null;
    declare(scope, context.text(name), name.line, type, isRun, value && shapeOf(value, scope, context));
  }
}

/** `package.Type` */
function walkQualified(node: TreeNode, role: UseRole, { facts, text }: Context): void {
  const [owner = "", name = ""] = text(node).split(".");
  facts.member(name, node.line, role, `=${owner}`);
}

/** A call of a generic function with its types: `name[Type](value)`. */
function walkConversion(node: TreeNode, scope: Scope, context: Context): void {
  const [first, ...rest] = node.children;
  const isCall = first?.from === node.from && context.source[first.to] === "[";
  if (isCall && first.kind === "qualified_type") walkQualified(first, "call", context);
  else if (isCall && first.kind === "type_identifier")
    context.facts.name(context.text(first), first.line, "call", scope);
  else if (first) walk(first, scope, context);
  walkAll(rest, scope, context);
}

/** `switch name := value.(type)`: in a case with one type, the name has it. */
function walkTypeSwitch(node: TreeNode, scope: Scope, context: Context): void {
  const inner = innerScope(scope);
  const cases = node.children.filter(({ kind }) => kind === "type_case");
  const name = /^switch\s+(?:[^{]{0,200};\s*)?([\p{L}_][\p{L}\p{N}_]*)\s*:=/u.exec(context.text(node))?.[1];
  for (const one of node.children) {
    if (!cases.includes(one)) {
      // That is the declaration of the name, not a use.
      if (name === undefined || context.text(one) !== name) walk(one, inner, context);
      continue;
    }
    const own = innerScope(inner);
    const type = /^case\s+([^:,]{1,200}):/.exec(context.text(one))?.[1];
    if (name !== undefined) declare(own, name, one.line, type === undefined ? null : typeOfGo(type));
    walkAll(one.children, own, context);
  }
}

function walkRange(node: TreeNode, scope: Scope, context: Context): void {
  const [left, list] = node.children;
  if (left?.kind !== "expression_list" || !list) {
    walkAll(node.children, scope, context);
    return;
  }
  walk(list, scope, context);
  for (const [at, name] of left.children.entries()) {
    if (name.kind !== "identifier") continue;
    const type = at === 1 ? appendStep(expressionOf(list, scope, context), "[]") : null;
    const shape = at === 1 ? shapeOf(list, scope, context) : null;
    declare(scope, context.text(name), name.line, type, false, shape);
  }
}

function walkCall(node: TreeNode, scope: Scope, context: Context): void {
  const [callee, ...rest] = node.children;
  if (callee?.from === node.from && callee.kind === "identifier")
    context.facts.name(context.text(callee), callee.line, "call", scope);
  else if (callee?.from === node.from && callee.kind === "selector_expression")
    walkMember(callee, scope, context, "call");
  else if (callee) walk(callee, scope, context);
  walkAll(rest, scope, context);
}
