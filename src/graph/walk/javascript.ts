import { after, typeOfAnnotation } from "../type-expression.ts";
import { type Context, type FirstContext, isWhole } from "./context.ts";
import { walkCall, walkCalled, walkMember } from "./javascript-calls.ts";
import { exportedBy, objectOf } from "./javascript-exports.ts";
import { bindPattern, expressionOf, walkDefaults } from "./javascript-expression.ts";
import {
  functionKinds,
  isFunction,
  nameKinds,
  patternKinds,
  walkClass,
  walkField,
  walkFunction,
} from "./javascript-functions.ts";
import { importsOf, loadedFrom, loads } from "./javascript-imports.ts";
import { childOf, type Reduced } from "./reduced-tree.ts";
import { declare, innerScope, type Scope } from "./scope.ts";

const classes = ["class_declaration", "abstract_class_declaration", "class", "interface_declaration"];

/** Nodes that tell what names are bound to. */
export const javascriptKinds: readonly string[] = [
  ...[...functionKinds, ...classes, ...patternKinds, ...nameKinds],
  ...["shorthand_property_identifier", "shorthand_property_identifier_pattern", "this", "super"],
  ...["call_expression", "new_expression", "member_expression", "subscript_expression"],
  ...["as_expression", "formal_parameters", "required_parameter", "optional_parameter", "class_heritage"],
  ...["class_body", "interface_body", "object_type", "property_signature", "public_field_definition"],
  ...["field_definition", "statement_block", "variable_declarator", "type_annotation", "pair_pattern"],
  ...["object_assignment_pattern", "catch_clause", "for_statement", "for_in_statement", "import_statement"],
  ...["export_statement", "export_specifier", "decorator", "jsx_opening_element", "jsx_closing_element"],
  ...["jsx_self_closing_element", "return_statement", "type_alias_declaration"],
  ...[
    "assignment_expression",
    "nested_type_identifier",
    "enum_declaration",
    "enum_body",
    "internal_module",
    "type_parameters",
    "extends_type_clause",
  ],
];

/** Finds what the names of a file of JavaScript or TypeScript are bound to. */
export function walkJavascript(tree: Reduced, first: FirstContext): void {
  const context: Context = { ...first, walkAll };
  hoist(tree.children, context.notes.top, context);
  for (const node of tree.children) walk(node, context.notes.top, context);
}

function walkAll(nodes: readonly Reduced[], scope: Scope, context: Context): void {
  for (const node of nodes) walk(node, scope, context);
}

/** What a block declares holds in all of it. */
function hoist(nodes: readonly Reduced[], scope: Scope, context: Context): void {
  for (const node of nodes) {
    if (node.kind === "export_statement") hoist(node.children, scope, context);
    else if (node.kind === "import_statement") importsOf(node, context);
    else if (node.kind === "variable_declarator") hoistVariable(node, scope, context);
    else if (/_declaration$|^internal_module$|^function_signature$/.test(node.kind)) {
      const name = childOf(node, "identifier", "type_identifier");
      if (name) declare(scope, context.text(name), name.line, null, true);
    }
  }
}

function hoistVariable(node: Reduced, scope: Scope, context: Context): void {
  const [pattern, ...rest] = node.children;
  if (!pattern || loads(node, context) !== null) return;
  const value = rest.find(({ kind }) => kind !== "type_annotation");
  const isRun = value !== undefined && isWhole(node, value, context) && isFunction(value);
  if (pattern.kind === "identifier")
    declare(scope, context.text(pattern), pattern.line, null, isRun || value?.kind === "class");
  else bindPattern(pattern, null, scope, context);
}

const walks: Record<string, (node: Reduced, scope: Scope, context: Context) => void> = {
  import_statement: () => {},
  jsx_closing_element: () => {},
  type_parameters: walkTypeParameters,
  export_statement: (node, scope, context) => {
    importsOf(node, context);
    walkAll(node.children, scope, context);
  },
  export_specifier: () => {},
  statement_block: walkBlock,
  for_statement: walkBlock,
  variable_declarator: walkVariable,
  assignment_expression: walkAssignment,
  call_expression: walkCall,
  new_expression: walkCall,
  decorator: walkCalled,
  jsx_opening_element: walkCalled,
  jsx_self_closing_element: walkCalled,
  member_expression: walkMember,
  identifier: (node, scope, { notes, text }) => notes.name(text(node), node.line, "read", scope),
  shorthand_property_identifier: (node, scope, { notes, text }) =>
    notes.name(text(node), node.line, "read", scope),
  type_identifier: (node, scope, { notes, text }) => notes.name(text(node), node.line, "type", scope),
  nested_type_identifier: (node, scope, { notes, text }) => {
    // `module.Type`
    const [owner = "", ...rest] = text(node).split(/\s*\.\s*/);
    const name = rest.pop();
    if (name === undefined) return;
    notes.member(name, node.lastLine, "type", [notes.typeOf(owner, scope), ...rest].join("."));
    notes.name(owner, node.line, "read", scope);
  },
  catch_clause: (node, scope, context) => {
    const inner = innerScope(scope);
    const [pattern, ...rest] = node.children;
    if (pattern && patternKinds.includes(pattern.kind)) bindPattern(pattern, null, inner, context);
    walkAll(pattern && patternKinds.includes(pattern.kind) ? rest : node.children, inner, context);
  },
  for_in_statement: walkForEach,
  property_signature: walkField,
  public_field_definition: walkField,
  field_definition: walkField,
  return_statement: (node, scope, context) => {
    const [value] = node.children;
    if (value && context.answers && isWhole(node, value, context))
      context.answers.push(expressionOf(value, scope, context));
    walkAll(node.children, scope, context);
  },
};

function walk(node: Reduced, scope: Scope, context: Context): void {
  const own = walks[node.kind];
  if (own) own(node, scope, context);
  else if (isFunction(node)) walkFunction(node, scope, context);
  else if (classes.includes(node.kind)) walkClass(node, scope, context);
  else
    walkAll(
      node.children.filter((one) => !isOwnName(node, one)),
      scope,
      context,
    );
}

const naming = /^(?:type_alias_declaration|enum_declaration|internal_module)$/;
/** The name that a declaration gives: it is no use of anything. */
const isOwnName = (node: Reduced, child: Reduced) =>
  naming.test(node.kind) && nameKinds.includes(child.kind) && child === node.children[0];

function walkBlock(node: Reduced, scope: Scope, context: Context): void {
  const inner = innerScope(scope);
  hoist(node.children, inner, context);
  walkAll(node.children, inner, context);
}

function walkVariable(node: Reduced, scope: Scope, context: Context): void {
  const [pattern, ...rest] = node.children;
  if (!pattern) return;
  const loaded = loads(node, context);
  if (loaded !== null) {
    loadedFrom(loaded, pattern, scope, context);
    return;
  }
  const annotation = rest.find(({ kind }) => kind === "type_annotation");
  const value = rest.find((one) => one !== annotation);
  const isValue = value !== undefined && isWhole(node, value, context);
  if (value && isValue && isFunction(value)) walkFunction(value, scope, context, { named: pattern });
  else walkAll(rest, scope, context);
  if (annotation && value && isFunction(value)) walk(annotation, scope, context);
  if (value && isValue && isFunction(value)) return;
  const type = annotation
    ? typeOfAnnotation(context.text(annotation))
    : value && isValue
      ? expressionOf(value, scope, context)
      : null;
  bindPattern(pattern, type, scope, context);
  walkDefaults(pattern, scope, context);
  if (pattern.kind !== "identifier") return;
  context.notes.type(context.text(pattern), pattern.line, type);
  if (scope.outer === null)
    objectOf(context.text(pattern), valueText(node, annotation ?? pattern, context), node.line, context);
}

/** What stands behind the sign of an assignment. */
const valueText = (node: Reduced, { to }: Reduced, { source }: Context) =>
  source.slice(to, node.to).replace(/^[^=]{0,20}=\s*/, "");

/** `this.name = …` declares a field, `exports.name = …` what the module gives. */
function walkAssignment(node: Reduced, scope: Scope, context: Context): void {
  const [target] = node.children;
  const value = node.children.length > 1 ? node.children.at(-1) : undefined;
  const isValue = value !== undefined && isWhole(node, value, context);
  const name =
    target && /^(?:this|(?:module\.)?exports)\.([#\p{L}_$][\p{L}\p{N}_$]*)$/u.exec(context.text(target))?.[1];
  exportedBy(context.text(node), node.line, context);
  if (name !== undefined && isValue && isFunction(value)) {
    walkFunction(value, scope, context, { name });
    return;
  }
  context.walkAll(node.children, scope, context);
  if (name === undefined || context.owner === null || !context.text(target as Reduced).startsWith("this."))
    return;
  const type = isValue ? expressionOf(value, scope, context) : null;
  context.notes.field({ name, container: context.owner, line: node.line, type });
}

/** `<Name extends Type = Type>`: its own names are those of nothing else. */
function walkTypeParameters(node: Reduced, scope: Scope, context: Context): void {
  const isNamed = ({ from, to }: Reduced) =>
    /[<,]\s*(?:const\s+)?$/.test(context.source.slice(Math.max(node.from, from - 30), from)) &&
    /^\s*(?:extends\b|[=,>])/.test(context.source.slice(to, to + 30));
  walkAll(
    node.children.filter((one) => one.kind !== "type_identifier" || !isNamed(one)),
    scope,
    context,
  );
}

function walkForEach(node: Reduced, scope: Scope, context: Context): void {
  const inner = innerScope(scope);
  const [pattern, list, ...rest] = node.children;
  if (!pattern || !list) {
    walkAll(node.children, scope, context);
    return;
  }
  walk(list, scope, context);
  const between = context.source.slice(node.from, pattern.from);
  const isOf = /\bof\b/.test(context.source.slice(pattern.to, list.from));
  if (/\b(?:const|let|var)\s*$/.test(between))
    bindPattern(pattern, isOf ? after(expressionOf(list, scope, context), "[]") : null, inner, context);
  walkAll(rest, inner, context);
}
