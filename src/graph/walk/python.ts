import { appendStep, typeOfAnnotation } from "../type-expression.ts";
import {
  type Context,
  childOf,
  declare,
  innerScope,
  isWhole,
  kinds,
  literalType,
  type Scope,
  type TreeNode,
  without,
} from "./walk.ts";

const bare = (text: string) =>
  text
    .replace(/#[^\n]*/g, " ")
    .replace(/[()\\]/g, " ")
    .replace(/\s+/g, " ")
    .trim();

/** `import a.b`, `import a.b as c`, `from a import b as c`, `from a import *`. */
function recordImports(node: TreeNode, scope: Scope, { text, facts }: Context): void {
  const statement = bare(text(node));
  const line = node.line;
  const given = /^from (\.*[\p{L}\p{N}_.]*) ?import (.+)$/u.exec(statement);
  const names = (given?.[2] ?? statement.replace(/^import /, "")).split(",").map((one) => one.trim());
  for (const one of names.filter(Boolean)) {
    const [there = "", here] = one.split(" as ").map((word) => word.trim());
    if (given) {
      const local = here ?? there;
      facts.importIn(scope, { specifier: given[1] ?? "", imported: there, local, line });
    } else if (here !== undefined) {
      facts.importIn(scope, { specifier: there, imported: "*", local: here, line });
    } else {
      // `import a.b` declares `a`, through which `a.b` is reached.
      const top = there.split(".")[0] ?? there;
      facts.importIn(scope, { specifier: top, imported: "*", local: top, line });
      if (top !== there) facts.importIn(scope, { specifier: there, imported: "", local: "", line });
    }
  }
}

const comprehensionKinds: readonly string[] = [
  ...["list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"],
];
const targetKinds: readonly string[] = [
  ...["identifier", "pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern"],
];

/** Declares every name that is assigned anywhere in a function (or in the file, outside of functions) in its scope. */
function hoist(nodes: readonly TreeNode[], scope: Scope, context: Context): void {
  for (const node of nodes) {
    const [first] = node.children;
    if (definitions.includes(node.kind)) {
      if (first?.kind === "identifier") declare(scope, context.text(first), first.line, null, true);
    } else if (imports.includes(node.kind)) recordImports(node, scope, context);
    else if (!closed.includes(node.kind)) {
      hoistTargets(node, scope, context);
      hoist(node.children, scope, context);
    }
  }
}

const definitions = ["function_definition", "class_definition"];
const imports = ["import_statement", "import_from_statement"];
/** Nodes with a scope of their own, or with names of another one. */
const closed = ["global_statement", "lambda", ...comprehensionKinds];

function hoistTargets(node: TreeNode, scope: Scope, context: Context): void {
  const [first] = node.children;
  if (binds(node) && first && targetKinds.includes(first.kind)) bind(first, null, scope, context);
  const named = node.kind === "as_pattern" ? childOf(node, "as_pattern_target") : undefined;
  if (named) bindChildren(named, scope, context);
}

const binds = ({ kind }: TreeNode) =>
  kind === "assignment" ||
  kind === "for_statement" ||
  kind === "named_expression" ||
  kind === "augmented_assignment";

function bindChildren(node: TreeNode, scope: Scope, context: Context): void {
  for (const one of node.children) bind(one, null, scope, context);
}

/** Declares the names of an assignment target. */
function bind(target: TreeNode, type: string | null, scope: Scope, context: Context): void {
  if (target.kind === "identifier") declare(scope, context.text(target), target.line, type);
  else if (targetKinds.includes(target.kind)) bindChildren(target, scope, context);
}

function walkCall(node: TreeNode, scope: Scope, context: Context): void {
  const [callee, ...rest] = node.children;
  if (callee && callee.from === node.from) callOf(callee, scope, context);
  else if (callee) walkAll([callee], scope, context);
  walkAll(rest, scope, context);
}

function callOf(callee: TreeNode, scope: Scope, context: Context): void {
  if (callee.kind === "identifier") context.facts.name(context.text(callee), callee.line, "call", scope);
  else if (callee.kind === "attribute") walkMember(callee, scope, context, "call");
  else walkAll([callee], scope, context);
}

function walkMember(node: TreeNode, scope: Scope, context: Context, role: "call" | "read"): void {
  const name = node.children.at(-1);
  const objects = node.children.slice(0, -1);
  const [object] = objects;
  if (name?.kind !== "identifier") return;
  const isHead = object !== undefined && object.from === node.from;
  const type = isHead ? expressionOf(object, scope, context) : literalType(node, context);
  if (role === "call" || type.startsWith("="))
    context.facts.member(context.text(name), name.line, role, type);
  if (role === "call" && isHead && context.text(name) === "__init__")
    recordInit(object, name.line, scope, context);
  walkAll(objects, scope, context);
}

/** `super().__init__()` and `Base.__init__(self)` call the constructor of the base class. */
function recordInit(object: TreeNode, line: number, scope: Scope, context: Context): void {
  const { parent, text } = context;
  if (object.kind === "call") {
    const isSuper = object.children[0] !== undefined && text(object.children[0]) === "super";
    if (isSuper && parent) recordSuper(parent.node, line, parent.scope, context);
  } else recordSuper(object, line, scope, context);
}

function recordSuper(node: TreeNode, line: number, scope: Scope, context: Context): void {
  const [first] = node.children;
  const last = node.children.at(-1);
  if (node.kind === "identifier") context.facts.name(context.text(node), line, "super", scope);
  // `Base[T]` is Base.
  else if (node.kind === "subscript" && first) recordSuper(first, line, scope, context);
  else if (node.kind === "attribute" && first && last && first !== last)
    context.facts.member(context.text(last), line, "super", expressionOf(first, scope, context));
}

/** The type expression of a node's value. */
function expressionOf(node: TreeNode, scope: Scope, context: Context): string {
  const { text, facts, owner } = context;
  const [first] = node.children;
  if (node.kind === "identifier") return facts.typeOf(text(node), scope);
  if (!first || first.from !== node.from) return "?";
  if (node.kind === "attribute") {
    const name = node.children.at(-1);
    return name && name !== first ? appendStep(expressionOf(first, scope, context), `.${text(name)}`) : "?";
  }
  if (node.kind === "subscript") return appendStep(expressionOf(first, scope, context), "[]");
  if (node.kind !== "call") return "?";
  if (text(first) === "super") return owner === null ? "?" : `^${owner}`;
  const called = expressionOf(first, scope, context);
  // `cls()` creates an instance of its class.
  return text(first) === "cls" && called === `:${owner}` ? called : appendStep(called, "()");
}

const parameterKinds: readonly string[] = ["typed_parameter", "default_parameter", "typed_default_parameter"];

/** Records the names in an annotation. */
function walkTypes(node: TreeNode, scope: Scope, context: Context): void {
  const { facts, text } = context;
  const open = [...node.children];
  for (let next = open.pop(); next; next = open.pop()) {
    const [first] = next.children;
    const last = next.children.at(-1);
    if (next.kind === "identifier") facts.name(text(next), next.line, "type", scope);
    if (next.kind === "attribute" && first && last && first !== last) {
      facts.member(text(last), last.line, "type", expressionOf(first, scope, context));
      open.push(first);
    } else open.push(...next.children);
  }
}

function walkFunction(node: TreeNode, scope: Scope, context: Context): void {
  const name = childOf(node, "identifier");
  const list = childOf(node, "parameters");
  const body = childOf(node, "block");
  const annotation = childOf(node, "type");
  // Methods do not see the names of their class.
  const inner = innerScope(context.isClassBody ? (scope.outer ?? scope) : scope);
  const isMethod = context.isClassBody === true;
  const first = list?.children[0];
  const self = isMethod && first?.kind === "identifier" ? context.text(first) : context.self;
  const returns: string[] = [];
  const { isClassBody: _, ...plain } = context;
  const within: Context = { ...plain, returns, ...(self === undefined ? {} : { self }) };
  for (const [at, one] of (list?.children ?? []).entries()) {
    const isSelf = isMethod && at === 0 && one.kind === "identifier" && context.owner !== null;
    bindParameter(one, isSelf ? `:${context.owner}` : null, inner, context);
  }
  if (annotation) walkTypes(annotation, scope, context);
  hoist(body?.children ?? [], inner, within);
  walkAll(body?.children ?? [], inner, within);
  const type = annotation
    ? typeOfAnnotation(context.text(annotation))
    : (returns.find((one) => one !== "?") ?? null);
  if (name) context.facts.type(context.text(name), name.line, type);
}

function bindParameter(node: TreeNode, type: string | null, scope: Scope, context: Context): void {
  const [first, ...rest] = node.children;
  if (node.kind === "identifier") declare(scope, context.text(node), node.line, type);
  else if (parameterKinds.includes(node.kind) && first) {
    const annotation = childOf(node, "type");
    const own = annotation ? typeOfAnnotation(context.text(annotation)) : null;
    if (first.kind === "identifier") declare(scope, context.text(first), first.line, own);
    else bindChildren(first, scope, context);
    walkAll(rest, scope.outer ?? scope, context);
  } else bindChildren(node, scope, context);
}

function walkLambda(node: TreeNode, scope: Scope, context: Context): void {
  const inner = innerScope(scope);
  const list = childOf(node, "lambda_parameters");
  for (const one of list?.children ?? []) bindParameter(one, null, inner, context);
  walkAll(without(node, list), inner, context);
}

function walkClass(node: TreeNode, scope: Scope, context: Context): void {
  const name = childOf(node, "identifier");
  const heads = childOf(node, "argument_list")?.children ?? [];
  const supers = heads.filter(
    ({ kind }) => kind === "identifier" || kind === "attribute" || kind === "subscript",
  );
  const names = supers.map((one) =>
    context
      .text(one)
      .replace(/\[[\s\S]*/, "")
      .replaceAll(".", "::"),
  );
  if (name && names.length > 0)
    context.facts.supers.push({ name: context.text(name), line: name.line, supers: names });
  walkAll(heads, scope, context);
  const inner = innerScope(scope);
  const body = childOf(node, "block")?.children ?? [];
  const owner = name ? context.text(name) : null;
  hoist(body, inner, context);
  const [head] = supers;
  const { parent: _, ...around } = context;
  walkAll(body, inner, {
    ...{ ...around, owner, isClassBody: true },
    ...(head ? { parent: { node: head, scope } } : {}),
  });
}

/** The kinds of nodes that the walk reads. */
export const pythonKinds: readonly string[] = [
  ...comprehensionKinds,
  ...targetKinds.slice(1),
  ...parameterKinds,
  ...kinds(`
  identifier call argument_list attribute subscript function_definition lambda parameters lambda_parameters
  dictionary_splat_pattern class_definition block assignment augmented_assignment named_expression
  for_statement for_in_clause as_pattern as_pattern_target import_statement import_from_statement decorator
  type keyword_argument return_statement except_clause global_statement with_item
`),
];

/** Finds what the names in a Python file are bound to. */
export function walkPython(tree: TreeNode, context: Context): void {
  hoist(tree.children, context.facts.top, context);
  walkAll(tree.children, context.facts.top, context);
}

function walkAll(nodes: readonly TreeNode[], scope: Scope, context: Context): void {
  for (const node of nodes) walk(node, scope, context);
}

const walks: Record<string, (node: TreeNode, scope: Scope, context: Context) => void> = {
  import_statement: () => {},
  import_from_statement: () => {},
  global_statement: () => {},
  identifier: (node, scope, { facts, text }) => facts.name(text(node), node.line, "read", scope),
  type: (node, scope, context) => walkTypes(node, scope, context),
  function_definition: walkFunction,
  lambda: walkLambda,
  class_definition: walkClass,
  assignment: walkAssignment,
  named_expression: walkAssignment,
  for_statement: (node, scope, context) => walkLoop(node, scope, context),
  for_in_clause: (node, scope, context) => walkLoop(node, scope, context),
  call: walkCall,
  decorator: (node, scope, context) => {
    const [called, ...rest] = node.children;
    if (called) callOf(called, scope, context);
    walkAll(rest, scope, context);
  },
  attribute: (node, scope, context) => walkMember(node, scope, context, "read"),
  keyword_argument: (node, scope, context) => walkAll(node.children.slice(1), scope, context),
  as_pattern: walkAs,
  return_statement: (node, scope, context) => {
    const [value] = node.children;
    if (value && isWhole(node, value, context)) context.returns?.push(expressionOf(value, scope, context));
    walkAll(node.children, scope, context);
  },
};

function walk(node: TreeNode, scope: Scope, context: Context): void {
  const own = walks[node.kind];
  if (own) own(node, scope, context);
  else if (comprehensionKinds.includes(node.kind)) walkComprehension(node, scope, context);
  else walkAll(node.children, scope, context);
}

/** Walks the loops first, because they declare the names and come last in the text. */
function walkComprehension(node: TreeNode, scope: Scope, context: Context): void {
  const inner = innerScope(scope);
  const loops = node.children.filter(({ kind }) => kind === "for_in_clause");
  walkAll(loops, inner, context);
  walkAll(without(node, ...loops), inner, context);
}

function walkLoop(node: TreeNode, scope: Scope, context: Context): void {
  const [target, list, ...rest] = node.children;
  if (!target || !list) return;
  walk(list, scope, context);
  const isPlain = context.source.slice(target.to, list.from).trim() === "in";
  bind(target, isPlain ? appendStep(expressionOf(list, scope, context), "[]") : null, scope, context);
  walkAll(rest, scope, context);
}

function walkAs(node: TreeNode, scope: Scope, context: Context): void {
  const target = childOf(node, "as_pattern_target");
  const [value] = node.children;
  const [name] = target?.children ?? [];
  if (name && value && value !== target) bind(name, expressionOf(value, scope, context), scope, context);
  walkAll(without(node, target), scope, context);
}

function walkAssignment(node: TreeNode, scope: Scope, context: Context): void {
  const [target, ...rest] = node.children;
  if (!target) return;
  const annotation = childOf(node, "type");
  const value = rest.find((one) => one !== annotation);
  walkAll(rest, scope, context);
  const type = annotation
    ? typeOfAnnotation(context.text(annotation))
    : value && isWhole(node, value, context)
      ? expressionOf(value, scope, context)
      : null;
  if (target.kind === "attribute") {
    recordField(target, type, context);
    const object = target.children[0];
    if (object) walk(object, scope, context);
    return;
  }
  bind(target, type, scope, context);
  if (target.kind === "identifier") context.facts.type(context.text(target), target.line, type);
}

/** `self.name = …` declares a field of the class. */
function recordField(
  { children: [object, name], line }: TreeNode,
  type: string | null,
  context: Context,
): void {
  const { owner, text, facts } = context;
  if (owner === null || !object || !name || text(object) !== context.self || name.kind !== "identifier")
    return;
  facts.field({ name: text(name), container: owner, line, type });
}
