import { after, typeOfAnnotation } from "../type-expression.ts";
import { type Context, childrenAfter, isWhole, literalType } from "./context.ts";
import { bindPattern, expressionOf, isHead, memberName } from "./javascript-expression.ts";
import { importsOf, loadedFrom, loads } from "./javascript-imports.ts";
import { childOf, type Reduced } from "./reduced-tree.ts";
import { declare, innerScope, type Scope } from "./scope.ts";

const functions = [
  ...["arrow_function", "function_expression", "generator_function", "function_declaration"],
  ...["generator_function_declaration", "method_definition", "function_signature", "method_signature"],
  "abstract_method_signature",
];
const classes = ["class_declaration", "abstract_class_declaration", "class", "interface_declaration"];
const patterns = ["identifier", "object_pattern", "array_pattern", "rest_pattern", "assignment_pattern"];
const names = ["identifier", "type_identifier"];

/** Nodes that tell what names are bound to. */
export const javascriptKinds: readonly string[] = [
  ...[...functions, ...classes, ...patterns, ...names],
  ...["shorthand_property_identifier", "shorthand_property_identifier_pattern", "this", "super"],
  ...["call_expression", "new_expression", "member_expression", "subscript_expression"],
  ...["as_expression", "formal_parameters", "required_parameter", "optional_parameter", "class_heritage"],
  ...["class_body", "interface_body", "object_type", "property_signature", "public_field_definition"],
  ...["field_definition", "statement_block", "variable_declarator", "type_annotation", "pair_pattern"],
  ...["object_assignment_pattern", "catch_clause", "for_statement", "for_in_statement", "import_statement"],
  ...["export_statement", "export_specifier", "decorator", "jsx_opening_element", "jsx_closing_element"],
  ...["jsx_self_closing_element", "return_statement", "type_alias_declaration"],
  ...["enum_declaration", "enum_body", "internal_module", "type_parameters", "extends_type_clause"],
];

/** Calls whose first argument is given the elements of what they are called on. */
const overElements =
  /^(?:map|filter|forEach|find|findLast|findIndex|some|every|flatMap|sort|toSorted|then|findLastIndex)$/;

/** Finds what the names of a file of JavaScript or TypeScript are bound to. */
export function walkJavascript(tree: Reduced, context: Context): void {
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

const isFunction = ({ kind }: Reduced) => functions.includes(kind);

const walks: Record<string, (node: Reduced, scope: Scope, context: Context) => void> = {
  import_statement: () => {},
  jsx_closing_element: () => {},
  type_parameters: () => {},
  export_statement: (node, scope, context) => {
    importsOf(node, context);
    walkAll(node.children, scope, context);
  },
  export_specifier: () => {},
  statement_block: walkBlock,
  for_statement: walkBlock,
  variable_declarator: walkVariable,
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
  catch_clause: (node, scope, context) => {
    const inner = innerScope(scope);
    const [pattern, ...rest] = node.children;
    if (pattern && patterns.includes(pattern.kind)) bindPattern(pattern, null, inner, context);
    walkAll(pattern && patterns.includes(pattern.kind) ? rest : node.children, inner, context);
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
  naming.test(node.kind) && names.includes(child.kind) && child === node.children[0];

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
    loadedFrom(loaded, pattern, context);
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
  if (pattern.kind === "identifier") context.notes.type(context.text(pattern), pattern.line, type);
}

interface FunctionHints {
  /** The variable that it is the value of, or the name of a field. */
  named?: Reduced;
  name?: string;
  /** What its first parameter is, where nothing else says so. */
  first?: string;
}

function walkFunction(node: Reduced, scope: Scope, context: Context, hints: FunctionHints = {}): void {
  const inner = innerScope(scope);
  const own = /^arrow/.test(node.kind) ? undefined : node.children.find(({ kind }) => names.includes(kind));
  const parameters = childOf(node, "formal_parameters") ?? node.children.find((one) => one !== own);
  if (!parameters) return;
  const list = parameters.kind === "formal_parameters" ? parameters.children : [parameters];
  for (const [at, one] of list.entries())
    bindParameter(one, at === 0 ? hints.first : undefined, inner, context);
  const rest = childrenAfter(node, parameters);
  const annotation = rest.find(({ kind }) => kind === "type_annotation");
  const answers: string[] = [];
  const within = { ...context, answers };
  walkAll(
    rest.filter((one) => one !== annotation),
    inner,
    within,
  );
  if (annotation) walk(annotation, scope, context);
  const body = rest.find((one) => one !== annotation);
  if (body && body.kind !== "statement_block" && isWhole(node, body, context))
    answers.push(expressionOf(body, inner, context));
  const type = annotation
    ? typeOfAnnotation(context.text(annotation))
    : (answers.find((one) => one !== "?" && one !== ":builtin") ?? null);
  const name = hints.named ?? own;
  if (name) context.notes.type(context.text(name), name.line, type);
  else if (hints.name) context.notes.type(hints.name, node.line, type);
  else if (/^(?:abstract_)?method/.test(node.kind))
    context.notes.type(methodName(node, parameters, context), parameters.line, type);
}

const methodName = (node: Reduced, { from }: Reduced, { source }: Context) =>
  /([#\p{L}_$][\p{L}\p{N}_$]*)\s*\??\s*(?:<[^()]*>)?\s*$/u.exec(
    source.slice(Math.max(node.from, from - 200), from),
  )?.[1] ?? "";

function bindParameter(node: Reduced, hint: string | undefined, scope: Scope, context: Context): void {
  const isWrapped = /_parameter$/.test(node.kind);
  const pattern = isWrapped ? node.children.find(({ kind }) => patterns.includes(kind)) : node;
  const annotation = childOf(node, "type_annotation");
  const type = annotation ? typeOfAnnotation(context.text(annotation)) : (hint ?? null);
  if (pattern) bindPattern(pattern, type, scope, context);
  if (!isWrapped) return;
  walkAll(
    node.children.filter((one) => one !== pattern),
    scope,
    context,
  );
  const isField = /^(?:(?:public|private|protected|override|readonly)\s+)+/.test(context.text(node));
  if (isField && pattern && context.owner !== null)
    context.notes.fields.push({
      ...{ name: context.text(pattern), container: context.owner, line: pattern.line, type },
    });
}

function walkClass(node: Reduced, scope: Scope, context: Context): void {
  const name = childOf(node, "type_identifier", "identifier");
  const isNamed = name !== undefined && name === node.children.find(({ kind }) => kind !== "decorator");
  const owner = isNamed ? context.text(name) : null;
  const heritage = node.children.filter(({ kind }) => /^(?:class_heritage|extends_type_clause)$/.test(kind));
  const supers = heritage.flatMap((one) =>
    one.children
      .filter((child) => !/<[^>]*$/.test(context.source.slice(one.from, child.from)))
      .map((child) => context.text(child).replaceAll(".", "::")),
  );
  if (name && isNamed && supers.length > 0)
    context.notes.supers.push({ name: context.text(name), line: name.line, supers });
  walkAll(
    node.children.filter((one) => !(isNamed && one === name)),
    scope,
    { ...context, owner },
  );
}

const fieldHead =
  /^(?:@[\w.]+(?:\([^()]*\))?\s+|(?:public|private|protected|static|readonly|override|declare|abstract|accessor)\s+)*([#\p{L}_$][\p{L}\p{N}_$]*)/u;

function walkField(node: Reduced, scope: Scope, context: Context): void {
  const name = fieldHead.exec(context.text(node).slice(0, 300))?.[1];
  const annotation = childOf(node, "type_annotation");
  const value = node.children.filter((one) => one !== annotation).at(-1);
  const isValue = value !== undefined && isWhole(node, value, context);
  if (name && isValue && isFunction(value)) {
    walkFunction(value, scope, context, { name });
    return;
  }
  walkAll(node.children, scope, context);
  if (!name) return;
  const type = annotation
    ? typeOfAnnotation(context.text(annotation))
    : isValue
      ? expressionOf(value, scope, context)
      : null;
  context.notes.type(name, node.line, type);
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

/** Decorators and elements of JSX call what they name. */
function walkCalled(node: Reduced, scope: Scope, context: Context): void {
  const [first, ...rest] = node.children;
  if (first) callOf(first, scope, context);
  walkAll(rest, scope, context);
}

function walkCall(node: Reduced, scope: Scope, context: Context): void {
  const [callee, ...given] = node.children;
  if (!callee) return;
  const isCallee = /^(?:new\s+)?\(?$/.test(context.source.slice(node.from, callee.from));
  if (isCallee) callOf(callee, scope, context);
  else walk(callee, scope, context);
  const [first, ...rest] = given;
  const element = isCallee && first && isFunction(first) ? elementGiven(callee, scope, context) : null;
  if (first && element) walkFunction(first, scope, context, { first: element });
  walkAll(element ? rest : given, scope, context);
}

function elementGiven(callee: Reduced, scope: Scope, context: Context): string | null {
  const name = callee.kind === "member_expression" ? memberName(callee, context) : null;
  const [object] = callee.children;
  if (name === null || !object || !overElements.test(name) || !isHead(callee, object, context)) return null;
  const type = expressionOf(object, scope, context);
  return name === "then" ? type : after(type, "[]");
}

function callOf(callee: Reduced, scope: Scope, context: Context): void {
  const { notes, text } = context;
  if (callee.kind === "identifier") notes.name(text(callee), callee.line, "call", scope);
  else if (callee.kind === "super" && context.owner)
    notes.member("constructor", callee.line, "call", `^${context.owner}`);
  else if (callee.kind === "member_expression") walkMember(callee, scope, context, "call");
  else walk(callee, scope, context);
}

function walkMember(node: Reduced, scope: Scope, context: Context, role: "call" | "read" = "read"): void {
  const name = memberName(node, context);
  const [object] = node.children;
  const isKnown = object !== undefined && isHead(node, object, context);
  const isBehind = object === undefined || object.from > node.from;
  const type = isKnown ? expressionOf(object, scope, context) : isBehind ? literalType(node, context) : "?";
  // What is only read of an object is somebody's only where the object is a module or a class.
  if (name !== null && (role === "call" || type.startsWith("=")))
    context.notes.member(name, node.lastLine, role, type);
  walkAll(node.children, scope, context);
}
