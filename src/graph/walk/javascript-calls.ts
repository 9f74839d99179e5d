import { after } from "../type-expression.ts";
import { type Context, literalType } from "./context.ts";
import { expressionOf, isHead, memberName } from "./javascript-expression.ts";
import { isFunction, walkFunction } from "./javascript-functions.ts";
import type { Reduced } from "./reduced-tree.ts";
import type { Scope, UseRole } from "./scope.ts";

/** Calls whose first argument is given the elements of what they are called on. */
const overElements =
  /^(?:map|filter|forEach|find|findLast|findIndex|some|every|flatMap|sort|toSorted|then|findLastIndex)$/;

export function walkCall(node: Reduced, scope: Scope, context: Context): void {
  const [callee, ...given] = node.children;
  if (!callee) return;
  const isCallee = /^(?:new\s+)?\(?$/.test(context.source.slice(node.from, callee.from));
  if (isCallee) callOf(callee, scope, context);
  else context.walkAll([callee], scope, context);
  const [first, ...rest] = given;
  const element = isCallee && first && isFunction(first) ? elementGiven(callee, scope, context) : null;
  if (first && element) walkFunction(first, scope, context, { first: element });
  context.walkAll(element ? rest : given, scope, context);
}

/** Decorators and elements of JSX call what they name. */
export function walkCalled(node: Reduced, scope: Scope, context: Context): void {
  const [first, ...rest] = node.children;
  if (first) callOf(first, scope, context);
  context.walkAll(rest, scope, context);
}

function elementGiven(callee: Reduced, scope: Scope, context: Context): string | null {
  const name = callee.kind === "member_expression" ? memberName(callee, context) : null;
  const [object] = callee.children;
  if (name === null || !object || !overElements.test(name) || !isHead(callee, object, context)) return null;
  const type = expressionOf(object, scope, context);
  return name === "then" ? type : after(type, "[]");
}

function callOf(callee: Reduced, scope: Scope, context: Context): void {
  const { notes, text, parent } = context;
  if (callee.kind === "identifier") notes.name(text(callee), callee.line, "call", scope);
  else if (callee.kind === "super" && parent) superOf(parent.node, callee.line, parent.scope, context);
  else if (callee.kind === "member_expression") walkMember(callee, scope, context, "call");
  else context.walkAll([callee], scope, context);
}

/** `super(…)` calls the class above, whose name stands in the head of this one. */
function superOf(parent: Reduced, line: number, scope: Scope, context: Context): void {
  if (parent.kind === "identifier") context.notes.name(context.text(parent), line, "super", scope);
  const [object] = parent.children;
  const name = parent.kind === "member_expression" ? memberName(parent, context) : null;
  if (object && name !== null && isHead(parent, object, context))
    context.notes.member(name, line, "super", expressionOf(object, scope, context));
}

export function walkMember(node: Reduced, scope: Scope, context: Context, role: UseRole = "read"): void {
  const name = memberName(node, context);
  const [object] = node.children;
  const isKnown = object !== undefined && isHead(node, object, context);
  const isBehind = object === undefined || object.from > node.from;
  const type = isKnown ? expressionOf(object, scope, context) : isBehind ? literalType(node, context) : "?";
  // What is only read of an object is somebody's only where the object is a module or a class.
  if (name !== null && (role === "call" || type.startsWith("=")))
    context.notes.member(name, node.lastLine, role, type);
  context.walkAll(node.children, scope, context);
}
