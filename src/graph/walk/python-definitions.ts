import { typeOfAnnotation } from "../type-expression.ts";
import type { Context } from "./context.ts";
import { bindAll, hoist } from "./python-bindings.ts";
import { expressionOf } from "./python-calls.ts";
import { childOf, type Reduced } from "./reduced-tree.ts";
import { declare, innerScope, type Scope } from "./scope.ts";

export const parameterKinds: readonly string[] = [
  "typed_parameter",
  "default_parameter",
  "typed_default_parameter",
];

/** Names that an annotation is made of. */
export function walkTypes(node: Reduced, scope: Scope, context: Context): void {
  const { notes, text } = context;
  const open = [...node.children];
  for (let next = open.pop(); next; next = open.pop()) {
    const [first] = next.children;
    const last = next.children.at(-1);
    if (next.kind === "identifier") notes.name(text(next), next.line, "type", scope);
    if (next.kind === "attribute" && first && last && first !== last) {
      notes.member(text(last), last.line, "type", expressionOf(first, scope, context));
      open.push(first);
    } else open.push(...next.children);
  }
}

export function walkFunction(node: Reduced, scope: Scope, context: Context): void {
  const name = childOf(node, "identifier");
  const list = childOf(node, "parameters");
  const body = childOf(node, "block");
  const annotation = childOf(node, "type");
  // Names of a class are not those of its methods.
  const inner = innerScope(context.isClassBody ? (scope.outer ?? scope) : scope);
  const isMethod = context.isClassBody === true;
  const first = list?.children[0];
  const self = isMethod && first?.kind === "identifier" ? context.text(first) : context.self;
  const answers: string[] = [];
  const { isClassBody: _, ...plain } = context;
  const within: Context = { ...plain, answers, ...(self === undefined ? {} : { self }) };
  for (const [at, one] of (list?.children ?? []).entries()) {
    const isSelf = isMethod && at === 0 && one.kind === "identifier" && context.owner !== null;
    bindParameter(one, isSelf ? `:${context.owner}` : null, inner, context);
  }
  if (annotation) walkTypes(annotation, scope, context);
  hoist(body?.children ?? [], inner, within);
  context.walkAll(body?.children ?? [], inner, within);
  const type = annotation
    ? typeOfAnnotation(context.text(annotation))
    : (answers.find((one) => one !== "?") ?? null);
  if (name) context.notes.type(context.text(name), name.line, type);
}

function bindParameter(node: Reduced, type: string | null, scope: Scope, context: Context): void {
  const [first, ...rest] = node.children;
  if (node.kind === "identifier") declare(scope, context.text(node), node.line, type);
  else if (parameterKinds.includes(node.kind) && first) {
    const annotation = childOf(node, "type");
    const own = annotation ? typeOfAnnotation(context.text(annotation)) : null;
    if (first.kind === "identifier") declare(scope, context.text(first), first.line, own);
    else bindAll(first, scope, context);
    context.walkAll(rest, scope.outer ?? scope, context);
  } else bindAll(node, scope, context);
}

export function walkLambda(node: Reduced, scope: Scope, context: Context): void {
  const inner = innerScope(scope);
  const list = childOf(node, "lambda_parameters");
  for (const one of list?.children ?? []) bindParameter(one, null, inner, context);
  context.walkAll(
    node.children.filter((one) => one !== list),
    inner,
    context,
  );
}

export function walkClass(node: Reduced, scope: Scope, context: Context): void {
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
    context.notes.supers.push({ name: context.text(name), line: name.line, supers: names });
  context.walkAll(heads, scope, context);
  const inner = innerScope(scope);
  const body = childOf(node, "block")?.children ?? [];
  const owner = name ? context.text(name) : null;
  hoist(body, inner, context);
  const [head] = supers;
  const { parent: _, ...around } = context;
  context.walkAll(body, inner, {
    ...{ ...around, owner, isClassBody: true },
    ...(head ? { parent: { node: head, scope } } : {}),
  });
}
