import { typeOfAnnotation } from "../type-expression.ts";
import { type Context, childrenAfter, isWhole } from "./context.ts";
import { docTypesOf } from "./javascript-docs.ts";
import { bindPattern, expressionOf, walkDefaults } from "./javascript-expression.ts";
import { childOf, type Reduced } from "./reduced-tree.ts";
import { innerScope, type Scope } from "./scope.ts";

const functions = [
  ...["arrow_function", "function_expression", "generator_function", "function_declaration"],
  ...["generator_function_declaration", "method_definition", "function_signature", "method_signature"],
  "abstract_method_signature",
];
export const functionKinds: readonly string[] = functions;
export const patternKinds: readonly string[] = [
  ...["identifier", "object_pattern", "array_pattern", "rest_pattern", "assignment_pattern"],
];
export const nameKinds: readonly string[] = ["identifier", "type_identifier"];

export const isFunction = ({ kind }: Reduced): boolean => functions.includes(kind);

interface FunctionHints {
  /** The variable that it is the value of, or the name of a field. */
  named?: Reduced;
  name?: string;
  /** What its first parameter is, where nothing else says so. */
  first?: string;
}

export function walkFunction(node: Reduced, scope: Scope, context: Context, hints: FunctionHints = {}): void {
  const inner = innerScope(scope);
  const own = /^arrow/.test(node.kind)
    ? undefined
    : node.children.find(({ kind }) => nameKinds.includes(kind));
  const parameters = childOf(node, "formal_parameters") ?? node.children.find((one) => one !== own);
  if (!parameters) return;
  const list = parameters.kind === "formal_parameters" ? parameters.children : [parameters];
  const doc = docTypesOf(node, context);
  for (const [at, one] of list.entries()) {
    const hint = doc.parameters.get(context.text(one)) ?? (at === 0 ? hints.first : undefined);
    bindParameter(one, hint, inner, context);
  }
  const generic = childOf(node, "type_parameters");
  if (generic) context.walkAll([generic], scope, context);
  const rest = childrenAfter(node, parameters);
  const annotation = rest.find(({ kind }) => kind === "type_annotation");
  const answers: string[] = [];
  const within = { ...context, answers };
  context.walkAll(
    rest.filter((one) => one !== annotation),
    inner,
    within,
  );
  if (annotation) context.walkAll([annotation], scope, context);
  const body = rest.find((one) => one !== annotation);
  if (body && body.kind !== "statement_block" && isWhole(node, body, context))
    answers.push(expressionOf(body, inner, context));
  const type = annotation
    ? typeOfAnnotation(context.text(annotation))
    : (doc.answer ?? answers.find((one) => one !== "?" && one !== ":builtin") ?? null);
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
  const pattern = isWrapped ? node.children.find(({ kind }) => patternKinds.includes(kind)) : node;
  const annotation = childOf(node, "type_annotation");
  const type = annotation ? typeOfAnnotation(context.text(annotation)) : (hint ?? null);
  if (pattern) {
    bindPattern(pattern, type, scope, context);
    walkDefaults(pattern, scope, context);
  }
  if (!isWrapped) return;
  context.walkAll(
    node.children.filter((one) => one !== pattern),
    scope,
    context,
  );
  const isField = /^(?:(?:public|private|protected|override|readonly)\s+)+/.test(context.text(node));
  if (isField && pattern && context.owner !== null)
    context.notes.field({
      ...{ name: context.text(pattern), container: context.owner, line: pattern.line, type },
    });
}

export function walkClass(node: Reduced, scope: Scope, context: Context): void {
  const name = childOf(node, "type_identifier", "identifier");
  const isNamed = name !== undefined && name === node.children.find(({ kind }) => kind !== "decorator");
  const owner = isNamed ? context.text(name) : null;
  const heritage = node.children.filter(({ kind }) => /^(?:class_heritage|extends_type_clause)$/.test(kind));
  const heads = heritage.flatMap((one) =>
    one.children.filter((child) => !/<[^>]*$/.test(context.source.slice(one.from, child.from))),
  );
  const supers = heads.map((child) => context.text(child).replaceAll(".", "::"));
  if (name && isNamed && supers.length > 0)
    context.notes.supers.push({ name: context.text(name), line: name.line, supers });
  const [head] = heads;
  const { parent: _, ...around } = context;
  context.walkAll(
    node.children.filter((one) => !(isNamed && one === name)),
    scope,
    { ...around, owner, ...(head ? { parent: { node: head, scope } } : {}) },
  );
}

const fieldHead =
  /^(?:@[\w.]+(?:\([^()]*\))?\s+|(?:public|private|protected|static|readonly|override|declare|abstract|accessor)\s+)*([#\p{L}_$][\p{L}\p{N}_$]*)/u;

export function walkField(node: Reduced, scope: Scope, context: Context): void {
  const name = fieldHead.exec(context.text(node).slice(0, 300))?.[1];
  const annotation = childOf(node, "type_annotation");
  const value = node.children.filter((one) => one !== annotation).at(-1);
  const isValue = value !== undefined && isWhole(node, value, context);
  if (name && isValue && isFunction(value)) {
    walkFunction(value, scope, context, { name });
    return;
  }
  context.walkAll(node.children, scope, context);
  if (!name) return;
  const type = annotation
    ? typeOfAnnotation(context.text(annotation))
    : isValue
      ? expressionOf(value, scope, context)
      : null;
  // What the constructor puts there tells the type of a field that begins empty.
  if (type === null && context.owner !== null)
    context.notes.field({ name, container: context.owner, line: node.line, type });
  else context.notes.type(name, node.line, type);
}
