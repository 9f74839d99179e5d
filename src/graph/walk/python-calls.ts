import { after } from "../type-expression.ts";
import { type Context, literalType } from "./context.ts";
import type { Reduced } from "./reduced-tree.ts";
import type { Scope } from "./scope.ts";

export function walkCall(node: Reduced, scope: Scope, context: Context): void {
  const [callee, ...rest] = node.children;
  if (callee && callee.from === node.from) callOf(callee, scope, context);
  else if (callee) context.walkAll([callee], scope, context);
  context.walkAll(rest, scope, context);
}

export function callOf(callee: Reduced, scope: Scope, context: Context): void {
  if (callee.kind === "identifier") context.notes.name(context.text(callee), callee.line, "call", scope);
  else if (callee.kind === "attribute") walkMember(callee, scope, context, "call");
  else context.walkAll([callee], scope, context);
}

export function walkMember(node: Reduced, scope: Scope, context: Context, role: "call" | "read"): void {
  const name = node.children.at(-1);
  const objects = node.children.slice(0, -1);
  const [object] = objects;
  if (name?.kind !== "identifier") return;
  const isHead = object !== undefined && object.from === node.from;
  const type = isHead ? expressionOf(object, scope, context) : literalType(node, context);
  if (role === "call" || type.startsWith("="))
    context.notes.member(context.text(name), name.line, role, type);
  if (role === "call" && isHead && context.text(name) === "__init__")
    setUpOf(object, name.line, scope, context);
  context.walkAll(objects, scope, context);
}

/** `super().__init__()` and `Base.__init__(self)` set up what stands there as the class above. */
function setUpOf(object: Reduced, line: number, scope: Scope, context: Context): void {
  const { parent, text } = context;
  if (object.kind === "call") {
    const isSuper = object.children[0] !== undefined && text(object.children[0]) === "super";
    if (isSuper && parent) superOf(parent.node, line, parent.scope, context);
  } else superOf(object, line, scope, context);
}

function superOf(node: Reduced, line: number, scope: Scope, context: Context): void {
  const [first] = node.children;
  const last = node.children.at(-1);
  if (node.kind === "identifier") context.notes.name(context.text(node), line, "super", scope);
  // `Base[T]` is Base.
  else if (node.kind === "subscript" && first) superOf(first, line, scope, context);
  else if (node.kind === "attribute" && first && last && first !== last)
    context.notes.member(context.text(last), line, "super", expressionOf(first, scope, context));
}

/** What is known of the value of a node. */
export function expressionOf(node: Reduced, scope: Scope, context: Context): string {
  const { text, notes, owner } = context;
  const [first] = node.children;
  if (node.kind === "identifier") return notes.typeOf(text(node), scope);
  if (!first || first.from !== node.from) return "?";
  if (node.kind === "attribute") {
    const name = node.children.at(-1);
    return name && name !== first ? after(expressionOf(first, scope, context), `.${text(name)}`) : "?";
  }
  if (node.kind === "subscript") return after(expressionOf(first, scope, context), "[]");
  if (node.kind !== "call") return "?";
  if (text(first) === "super") return owner === null ? "?" : `^${owner}`;
  const called = expressionOf(first, scope, context);
  // `cls()` makes one of its own.
  return text(first) === "cls" && called === `:${owner}` ? called : after(called, "()");
}
