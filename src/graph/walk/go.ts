import { after } from "../type-expression.ts";
import type { Context, FirstContext } from "./context.ts";
import { walkField, walkFunction, walkInterfaceMethod, walkType, walkVariables } from "./go-declarations.ts";
import { expressionOf, shapeOf, valuesOf, walkMember } from "./go-expression.ts";
import { typeOfGo } from "./go-types.ts";
import type { Reduced } from "./reduced-tree.ts";
import { declare, innerScope, type Scope, type UseRole } from "./scope.ts";

const blocks = [
  ...["block", "if_statement", "for_statement", "expression_switch_statement", "type_switch_statement"],
  ...["expression_case", "type_case", "default_case", "communication_case", "select_statement"],
];
const lists = ["parameter_declaration", "variadic_parameter_declaration"];

/** Nodes that tell what names are bound to. */
export const goKinds: readonly string[] = [
  ...["identifier", "field_identifier", "type_identifier", "call_expression"],
  ...["selector_expression", "function_declaration", "method_declaration", "func_literal", "parameter_list"],
  ...["short_var_declaration", "expression_list", "assignment_statement", "var_spec", "const_spec"],
  ...["range_clause", "import_spec", "composite_literal", "qualified_type", "type_spec", "field_declaration"],
  ...[
    "struct_type",
    "literal_value",
    "keyed_element",
    "index_expression",
    "type_parameter_list",
    "method_elem",
  ],
  ...[
    "interface_type",
    "type_elem",
    "type_conversion_expression",
    "type_assertion_expression",
    "literal_element",
  ],
  ...["unary_expression", "type_alias", "package_clause", "label_name", ...blocks, ...lists],
];

/** Finds what the names of a file of Go are bound to. */
export function walkGo(tree: Reduced, first: FirstContext): void {
  const context: Context = { ...first, walkAll };
  const { top } = context.notes;
  for (const node of tree.children) hoist(node, top, context);
  walkAll(tree.children, top, context);
}

function walkAll(nodes: readonly Reduced[], scope: Scope, context: Context): void {
  for (const node of nodes) walk(node, scope, context);
}

/** What stands on the top level of the file. */
function hoist(node: Reduced, scope: Scope, context: Context): void {
  const [name] = node.children;
  if (node.kind === "import_spec") importOf(node, context);
  else if (/^(?:function_declaration|type_spec|type_alias|var_spec|const_spec)$/.test(node.kind) && name)
    declare(scope, context.text(name), name.line, null, true);
}

function importOf(node: Reduced, { text, notes }: Context): void {
  const [, alias = "", specifier = ""] = /^([\w.]*)\s*["`]([^"`]+)["`]/.exec(text(node)) ?? [];
  if (specifier === "") return;
  const last =
    specifier
      .replace(/\/v\d+$/, "")
      .split("/")
      .at(-1) ?? "";
  // The package names itself; most often as its folder, without what stands for its language.
  const local = alias === "_" ? "" : alias || last.replace(/^go-|[-.]go$|\.v\d+$/g, "").replaceAll("-", "");
  notes.import({ specifier, imported: local === "" ? "" : "*", local, line: node.line, again: false });
}

const walks: Record<string, (node: Reduced, scope: Scope, context: Context) => void> = {
  import_spec: () => {},
  package_clause: () => {},
  label_name: () => {},
  identifier: (node, scope, { notes, text }) => notes.name(text(node), node.line, "read", scope),
  type_identifier: (node, scope, { notes, text }) => notes.name(text(node), node.line, "type", scope),
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
    // A key is most often the name of a field.
    const [key, ...rest] = node.children;
    if (key && key.children.length > 0 && key.children[0]?.kind !== "identifier") walk(key, scope, context);
    walkAll(rest, scope, context);
  },
  type_spec: walkType,
  type_alias: walkType,
  field_declaration: walkField,
};

function walk(node: Reduced, scope: Scope, context: Context): void {
  const own = walks[node.kind];
  if (own) own(node, scope, context);
  else walkAll(node.children, blocks.includes(node.kind) ? innerScope(scope) : scope, context);
}

function walkShort(node: Reduced, scope: Scope, context: Context): void {
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
function walkQualified(node: Reduced, role: UseRole, { notes, text }: Context): void {
  const [owner = "", name = ""] = text(node).split(".");
  notes.member(name, node.line, role, `=${owner}`);
}

/** A function that is given its types is called: `name[Type](value)`. */
function walkConversion(node: Reduced, scope: Scope, context: Context): void {
  const [first, ...rest] = node.children;
  const isCall = first?.from === node.from && context.source[first.to] === "[";
  if (isCall && first.kind === "qualified_type") walkQualified(first, "call", context);
  else if (isCall && first.kind === "type_identifier")
    context.notes.name(context.text(first), first.line, "call", scope);
  else if (first) walk(first, scope, context);
  walkAll(rest, scope, context);
}

/** `switch name := value.(type)`: in a case of one type the name is of it. */
function walkTypeSwitch(node: Reduced, scope: Scope, context: Context): void {
  const inner = innerScope(scope);
  const cases = node.children.filter(({ kind }) => kind === "type_case");
  const name = /^switch\s+(?:[^{]{0,200};\s*)?([\p{L}_][\p{L}\p{N}_]*)\s*:=/u.exec(context.text(node))?.[1];
  for (const one of node.children) {
    if (!cases.includes(one)) {
      // The name is given there, and not read.
      if (name === undefined || context.text(one) !== name) walk(one, inner, context);
      continue;
    }
    const own = innerScope(inner);
    const type = /^case\s+([^:,]{1,200}):/.exec(context.text(one))?.[1];
    if (name !== undefined) declare(own, name, one.line, type === undefined ? null : typeOfGo(type));
    walkAll(one.children, own, context);
  }
}

function walkRange(node: Reduced, scope: Scope, context: Context): void {
  const [left, list] = node.children;
  if (left?.kind !== "expression_list" || !list) {
    walkAll(node.children, scope, context);
    return;
  }
  walk(list, scope, context);
  for (const [at, name] of left.children.entries()) {
    if (name.kind !== "identifier") continue;
    const type = at === 1 ? after(expressionOf(list, scope, context), "[]") : null;
    const shape = at === 1 ? shapeOf(list, scope, context) : null;
    declare(scope, context.text(name), name.line, type, false, shape);
  }
}

function walkCall(node: Reduced, scope: Scope, context: Context): void {
  const [callee, ...rest] = node.children;
  if (callee?.from === node.from && callee.kind === "identifier")
    context.notes.name(context.text(callee), callee.line, "call", scope);
  else if (callee?.from === node.from && callee.kind === "selector_expression")
    walkMember(callee, scope, context, "call");
  else if (callee) walk(callee, scope, context);
  walkAll(rest, scope, context);
}
