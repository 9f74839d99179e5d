import { after, typeOfAnnotation } from "../type-expression.ts";
import { type Context, type FirstContext, isWhole } from "./context.ts";
import { bind, comprehensionKinds, hoist, targetKinds } from "./python-bindings.ts";
import { callOf, expressionOf, walkCall, walkMember } from "./python-calls.ts";
import { parameterKinds, walkClass, walkFunction, walkLambda, walkTypes } from "./python-definitions.ts";
import { childOf, type Reduced } from "./reduced-tree.ts";
import { innerScope, type Scope } from "./scope.ts";

/** Nodes that tell what names are bound to. */
export const pythonKinds: readonly string[] = [
  ...["identifier", "call", "argument_list", "attribute", "subscript", "function_definition", "lambda"],
  ...["parameters", "lambda_parameters", "dictionary_splat_pattern", "class_definition", "block"],
  ...["assignment", "augmented_assignment", "named_expression", "for_statement", "for_in_clause"],
  ...["as_pattern", "as_pattern_target", "import_statement", "import_from_statement", "decorator", "type"],
  ...["keyword_argument", "return_statement", "except_clause", "global_statement", "with_item"],
  ...[...comprehensionKinds, ...targetKinds.slice(1), ...parameterKinds],
];

/** Finds what the names of a file of Python are bound to. */
export function walkPython(tree: Reduced, first: FirstContext): void {
  const context: Context = { ...first, walkAll };
  hoist(tree.children, context.notes.top, context);
  walkAll(tree.children, context.notes.top, context);
}

function walkAll(nodes: readonly Reduced[], scope: Scope, context: Context): void {
  for (const node of nodes) walk(node, scope, context);
}

const walks: Record<string, (node: Reduced, scope: Scope, context: Context) => void> = {
  import_statement: () => {},
  import_from_statement: () => {},
  global_statement: () => {},
  identifier: (node, scope, { notes, text }) => notes.name(text(node), node.line, "read", scope),
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
    if (value && isWhole(node, value, context)) context.answers?.push(expressionOf(value, scope, context));
    walkAll(node.children, scope, context);
  },
};

function walk(node: Reduced, scope: Scope, context: Context): void {
  const own = walks[node.kind];
  if (own) own(node, scope, context);
  else if (comprehensionKinds.includes(node.kind)) walkComprehension(node, scope, context);
  else walkAll(node.children, scope, context);
}

/** The elements are named behind what is done with them. */
function walkComprehension(node: Reduced, scope: Scope, context: Context): void {
  const inner = innerScope(scope);
  const loops = node.children.filter(({ kind }) => kind === "for_in_clause");
  walkAll(loops, inner, context);
  walkAll(
    node.children.filter((one) => !loops.includes(one)),
    inner,
    context,
  );
}

function walkLoop(node: Reduced, scope: Scope, context: Context): void {
  const [target, list, ...rest] = node.children;
  if (!target || !list) return;
  walk(list, scope, context);
  const isPlain = context.source.slice(target.to, list.from).trim() === "in";
  bind(target, isPlain ? after(expressionOf(list, scope, context), "[]") : null, scope, context);
  walkAll(rest, scope, context);
}

function walkAs(node: Reduced, scope: Scope, context: Context): void {
  const target = childOf(node, "as_pattern_target");
  const [value] = node.children;
  const [name] = target?.children ?? [];
  if (name && value && value !== target) bind(name, expressionOf(value, scope, context), scope, context);
  walkAll(
    node.children.filter((one) => one !== target),
    scope,
    context,
  );
}

function walkAssignment(node: Reduced, scope: Scope, context: Context): void {
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
    fieldOf(target, type, context);
    const object = target.children[0];
    if (object) walk(object, scope, context);
    return;
  }
  bind(target, type, scope, context);
  if (target.kind === "identifier") context.notes.type(context.text(target), target.line, type);
}

/** `self.name = …` declares a field of the class. */
function fieldOf({ children: [object, name], line }: Reduced, type: string | null, context: Context): void {
  const { owner, text, notes } = context;
  if (owner === null || !object || !name || text(object) !== context.self || name.kind !== "identifier")
    return;
  notes.field({ name: text(name), container: owner, line, type });
}
