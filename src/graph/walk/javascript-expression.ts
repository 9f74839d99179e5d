import { after, typeOfAnnotation } from "../type-expression.ts";
import { type Context, isWhole } from "./context.ts";
import { importedBy } from "./javascript-imports.ts";
import type { Reduced } from "./reduced-tree.ts";
import { declare, lookUp, type Scope } from "./scope.ts";

/** What is known of the value of a node. */
export function expressionOf(node: Reduced, scope: Scope, context: Context): string {
  const { text, notes, owner } = context;
  const [first] = node.children;
  switch (node.kind) {
    case "identifier":
      return notes.typeOf(text(node), scope);
    case "this":
      return owner === null ? "?" : `:${owner}`;
    case "super":
      return owner === null ? "?" : `^${owner}`;
    case "member_expression":
      return memberOf(node, scope, context);
    case "subscript_expression":
      return first ? after(expressionOf(first, scope, context), "[]") : "?";
    case "call_expression":
      return callOf(node, scope, context);
    case "new_expression":
      return first ? instanceOf(first, scope, context) : "?";
    case "assignment_expression": {
      const value = node.children.at(-1);
      return value && isWhole(node, value, context) ? expressionOf(value, scope, context) : "?";
    }
    case "as_expression":
      return typeOfAnnotation(/\sas\s+((?!const\b)[\s\S]{1,200})$/.exec(text(node))?.[1] ?? "unknown|any");
    default:
      return "?";
  }
}

/** What the node of a member is called; null where it is no plain name. */
export const memberName = (node: Reduced, { source }: Context): string | null =>
  /[#\p{L}_$][\p{L}\p{N}_$]*$/u.exec(source.slice(Math.max(node.from, node.to - 120), node.to))?.[0] ?? null;

/** Whether a node of a member begins with an object: nothing but brackets and `await` stands in front of it. */
export const isHead = (node: Reduced, object: Reduced, { source }: Context): boolean =>
  /^\(*(?:await\s+)?\(*$/.test(source.slice(node.from, Math.min(object.from, node.from + 40))) &&
  /^[\s)!]*\??\.\s*[#\p{L}_$][\p{L}\p{N}_$]*$/u.test(source.slice(object.to, node.to).slice(0, 200));

function memberOf(node: Reduced, scope: Scope, context: Context): string {
  const [object] = node.children;
  const name = memberName(node, context);
  if (!object || name === null || !isHead(node, object, context)) return "?";
  return after(expressionOf(object, scope, context), `.${name}`);
}

function callOf(node: Reduced, scope: Scope, context: Context): string {
  const loaded = importedBy(context.text(node).slice(0, 300));
  if (loaded !== null) return context.notes.module(loaded, node.line);
  const [callee] = node.children;
  if (!callee || callee.from !== node.from) return "?";
  return after(expressionOf(callee, scope, context), "()");
}

/** `new Name()`; a class that a variable holds is called. */
function instanceOf(callee: Reduced, scope: Scope, context: Context): string {
  const name = context.text(callee);
  const found = callee.kind === "identifier" ? lookUp(name, scope) : null;
  const isLocal = found !== null && found.scope.outer !== null && !found.binding.defines;
  if (isLocal) return after(found.binding.type ?? "?", "()");
  if (collections.test(name)) return ":builtin";
  return /^[\p{L}_$][\p{L}\p{N}_$.]*$/u.test(name) ? `:${name.replaceAll(".", "::")}` : "?";
}

const collections = /^(?:Map|Set|WeakMap|WeakSet|Array|Promise|Date|RegExp|Error|URL|Proxy|Object)$/;

/** Gives names to what a pattern takes out of a value. */
export function bindPattern(pattern: Reduced, type: string | null, scope: Scope, context: Context): void {
  const { text } = context;
  const of = (name: string) => (type === null ? null : after(type, `.${name}`));
  const [first] = pattern.children;
  switch (pattern.kind) {
    case "identifier":
      declare(scope, text(pattern), pattern.line, type);
      break;
    case "shorthand_property_identifier_pattern":
      declare(scope, text(pattern), pattern.line, of(text(pattern)));
      break;
    case "object_assignment_pattern":
    case "assignment_pattern":
      if (first) bindPattern(first, type, scope, context);
      break;
    case "pair_pattern":
      if (first) bindPattern(first, of(/^[\w$]*/.exec(text(pattern))?.[0] ?? ""), scope, context);
      break;
    case "object_pattern":
      for (const one of pattern.children) bindPattern(one, type, scope, context);
      break;
    case "array_pattern":
    case "rest_pattern":
      for (const one of pattern.children) bindPattern(one, null, scope, context);
  }
}

/** What a pattern takes where nothing was given: `{ a = first() }`. */
export function walkDefaults(pattern: Reduced, scope: Scope, context: Context): void {
  const [first, ...rest] = pattern.children;
  if (/assignment_pattern$/.test(pattern.kind)) {
    if (first) walkDefaults(first, scope, context);
    context.walkAll(rest, scope, context);
  } else if (/^(?:pair|object|array|rest)_pattern$/.test(pattern.kind))
    for (const one of pattern.children) walkDefaults(one, scope, context);
}
