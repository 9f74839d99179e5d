import { appendStep, splitTop, typeOfAnnotation } from "../type-expression.ts";
import {
  type Context,
  childOf,
  childrenAfter,
  declare,
  innerScope,
  isWhole,
  kinds,
  literalType,
  lookUp,
  type Scope,
  type TreeNode,
  type UseRole,
  without,
} from "./walk.ts";

const from = /\bfrom\s*["']([^"'\n]{1,500})["']/;
const bare = /^import\s*["']([^"'\n]{1,500})["']/;
const loading = /^(?:require|import)\(\s*["'`]([^"'`\n]{1,500})["'`]\s*\)/;

/** Records what `import` and `export … from` import, and the names that a file exports. */
function recordImports(node: TreeNode, { text, facts }: Context): void {
  const statement = text(node);
  const line = node.line;
  const clauseEnd = Math.max(0, statement.search(from));
  const clause = statement.slice(0, clauseEnd || statement.length);
  const specifier = from.exec(statement)?.[1] ?? bare.exec(statement)?.[1] ?? "";
  if (node.kind === "export_statement") {
    for (const [there, here] of namePairs(clause))
      facts.reexport({ specifier, imported: there, local: here, line });
    const all = /^export\s+(?:type\s+)?\*\s*(?:as\s+([\w$]+))?/.exec(clause);
    if (all) facts.reexport({ specifier, imported: "*", local: all[1] ?? "*", line });
    const main =
      /^export\s+default\s+(?:(?:async\s+)?function\s*\*?\s*|(?:abstract\s+)?class\s+)?([\p{L}_$][\p{L}\p{N}_$]*)\s*(?:[;({<]|$|extends|implements)/u.exec(
        statement.slice(0, 300),
      );
    if (main?.[1] && main[1] !== "class" && main[1] !== "function")
      facts.reexport({ specifier: "", imported: main[1], local: "default", line });
    return;
  }
  const add = (imported: string, local: string) => facts.import({ specifier, imported, local, line });
  const main = /^import\s+(?:type\s+)?([\p{L}_$][\p{L}\p{N}_$]*)\s*(?:,|$)/u.exec(clause.trimEnd());
  if (main?.[1]) add("default", main[1]);
  const all = /\*\s*as\s+([\p{L}_$][\p{L}\p{N}_$]*)/u.exec(clause);
  if (all?.[1]) add("*", all[1]);
  const names = namePairs(clause);
  for (const [there, here] of names) add(there, here);
  if (!main && !all && names.length === 0) add("", "");
}

/** Pairs of the name in the other module and the name in this file, of `{ a, b as c }`. */
function namePairs(clause: string): [string, string][] {
  const list = /^(?:import|export)\b[^{(]{0,200}\{([^}]{0,20000})\}/.exec(clause)?.[1];
  if (
    list === undefined ||
    /^export\s+(?:default|const|let|var|class|function|async|abstract|enum|interface|namespace|declare)\b/.test(
      clause,
    )
  )
    return [];
  return list.split(",").flatMap((one): [string, string][] => {
    const words = one
      .replace(/\/\*.*?\*\/|\/\/.*/g, "")
      .trim()
      .replace(/^type\s+(?=[\w$])/, "")
      .split(/\s+as\s+/);
    const [there = "", here = there] = words.map((word) => word.trim());
    return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(there) ? [[there, here]] : [];
  });
}

/** The module that a call loads: `require("…")`, `import("…")`. */
const importedBy = (text: string): string | null => {
  const found = loading.exec(text);
  return found && found[0].length === text.length ? (found[1] ?? null) : null;
};

/** The module that a variable is set to. */
function loadedModule(node: TreeNode, { text }: Context): string | null {
  const value = /^[^=]{1,2000}=\s*(?:\(?await\s+)?((?:require|import)\([\s\S]{1,300})$/.exec(text(node))?.[1];
  return value === undefined ? null : importedBy(value.trim());
}

/** Records the names taken from a loaded module: `const { a, b: c } = require("…")`. */
function recordLoaded(specifier: string, pattern: TreeNode, scope: Scope, { text, facts }: Context): void {
  const line = pattern.line;
  const add = (imported: string, local: string) =>
    facts.importIn(scope, { specifier, imported, local, line });
  if (pattern.kind === "identifier") {
    add("*", text(pattern));
    return;
  }
  for (const one of pattern.children) {
    const [value] = one.children;
    const key = /^[\w$]+/.exec(text(one))?.[0];
    if (one.kind === "shorthand_property_identifier_pattern") add(text(one), text(one));
    else if (one.kind === "pair_pattern" && key && value) add(key, text(value));
  }
}

/** The type expression of a node's value. */
function expressionOf(node: TreeNode, scope: Scope, context: Context): string {
  const { text, facts, owner } = context;
  const [first] = node.children;
  switch (node.kind) {
    case "identifier":
      return facts.typeOf(text(node), scope);
    case "this":
      return owner === null ? "?" : `:${owner}`;
    case "super":
      return owner === null ? "?" : `^${owner}`;
    case "member_expression":
      return memberOf(node, scope, context);
    case "subscript_expression":
      return first ? appendStep(expressionOf(first, scope, context), "[]") : "?";
    case "call_expression":
      return returnOf(node, scope, context);
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

/** The name of a member node; null if it is computed. */
const memberName = (node: TreeNode, { source }: Context): string | null =>
  /[#\p{L}_$][\p{L}\p{N}_$]*$/u.exec(source.slice(Math.max(node.from, node.to - 120), node.to))?.[0] ?? null;

/** Whether a member node starts with this object, apart from brackets and `await`. */
const isHead = (node: TreeNode, object: TreeNode, { source }: Context): boolean =>
  /^\(*(?:await\s+)?\(*$/.test(source.slice(node.from, Math.min(object.from, node.from + 40))) &&
  /^[\s)!]*\??\.\s*[#\p{L}_$][\p{L}\p{N}_$]*$/u.test(source.slice(object.to, node.to).slice(0, 200));

function memberOf(node: TreeNode, scope: Scope, context: Context): string {
  const [object] = node.children;
  const name = memberName(node, context);
  if (!object || name === null || !isHead(node, object, context)) return "?";
  return appendStep(expressionOf(object, scope, context), `.${name}`);
}

function returnOf(node: TreeNode, scope: Scope, context: Context): string {
  const loaded = importedBy(context.text(node).slice(0, 300));
  if (loaded !== null) return context.facts.module(loaded, node.line);
  const [callee] = node.children;
  if (!callee || callee.from !== node.from) return "?";
  return appendStep(expressionOf(callee, scope, context), "()");
}

/** `new Name()`; for a variable that holds a class, a call of it. */
function instanceOf(callee: TreeNode, scope: Scope, context: Context): string {
  const name = context.text(callee);
  const found = callee.kind === "identifier" ? lookUp(name, scope) : null;
  const isLocal = found !== null && found.scope.outer !== null && !found.binding.defines;
  if (isLocal) return appendStep(found.binding.type ?? "?", "()");
  if (collections.test(name)) return ":builtin";
  return /^[\p{L}_$][\p{L}\p{N}_$.]*$/u.test(name) ? `:${name.replaceAll(".", "::")}` : "?";
}

const collections = /^(?:Map|Set|WeakMap|WeakSet|Array|Promise|Date|RegExp|Error|URL|Proxy|Object)$/;

/** Declares the names of a destructuring pattern. */
function bindPattern(pattern: TreeNode, type: string | null, scope: Scope, context: Context): void {
  const { text } = context;
  const of = (name: string) => (type === null ? null : appendStep(type, `.${name}`));
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

/** Walks the default values of a pattern: `{ a = first() }`. */
function walkDefaults(pattern: TreeNode, scope: Scope, context: Context): void {
  const [first, ...rest] = pattern.children;
  if (/assignment_pattern$/.test(pattern.kind)) {
    if (first) walkDefaults(first, scope, context);
    walkAll(rest, scope, context);
  } else if (/^(?:pair|object|array|rest)_pattern$/.test(pattern.kind))
    for (const one of pattern.children) walkDefaults(one, scope, context);
}

/** The types in the comment above a function: of its parameters by name, and of its result. */
interface DocTypes {
  parameters: ReadonlyMap<string, string>;
  answer: string | null;
}

const none: DocTypes = { parameters: new Map(), answer: null };
/** What may be between the comment and the function: `export const run = async`. */
const between =
  /\*\/\s*(?:[\p{L}_$][\p{L}\p{N}_$.]*\s+){0,4}(?:[\p{L}_$][\p{L}\p{N}_$.]*\s*=\s*(?:async\s*)?)?$/u;
const MAX_COMMENT = 3_000;
const tag =
  /@(param|arg|argument|returns?)\s*\{((?:[^{}]|\{[^{}]{0,200}\}){1,300})\}\s*\[?([\p{L}_$][\p{L}\p{N}_$]*)?/gu;
const loaded = /import\(\s*["']([^"'\n]{1,300})["']\s*\)/g;

/** Reads the JSDoc types `@param {Type} name` and `@returns {Type}`. */
function docTypes({ from, line }: TreeNode, { source, facts }: Context): DocTypes {
  const gap = between.exec(source.slice(Math.max(0, from - 200), from));
  if (!gap) return none;
  const end = from - gap[0].length;
  const start = source.lastIndexOf("/**", end);
  if (start < 0 || end - start > MAX_COMMENT || source.slice(start, end).includes("*/")) return none;
  const parameters = new Map<string, string>();
  let answer: string | null = null;
  for (const [, word = "", written = "", name] of source.slice(start, end).matchAll(tag)) {
    const plain = written
      .replace(/^[?!]|=$/g, "")
      .replace(loaded, (_, specifier: string) => facts.module(specifier, line).slice(1));
    const type = typeOfAnnotation(plain);
    if (type === "?") continue;
    if (word.startsWith("return")) answer = type;
    else if (name !== undefined) parameters.set(name, type);
  }
  return { parameters, answer };
}

const functions = [
  ...["arrow_function", "function_expression", "generator_function", "function_declaration"],
  ...["generator_function_declaration", "method_definition", "function_signature", "method_signature"],
  "abstract_method_signature",
];
const functionKinds: readonly string[] = functions;
const patternKinds: readonly string[] = [
  ...["identifier", "object_pattern", "array_pattern", "rest_pattern", "assignment_pattern"],
];
const nameKinds: readonly string[] = ["identifier", "type_identifier"];

const isFunction = ({ kind }: TreeNode): boolean => functions.includes(kind);

interface FunctionHints {
  /** The variable that the function is assigned to. */
  named?: TreeNode;
  name?: string;
  /** The type of its first parameter, unless the code says it. */
  first?: string;
}

function walkFunction(node: TreeNode, scope: Scope, context: Context, hints: FunctionHints = {}): void {
  const inner = innerScope(scope);
  const own = /^arrow/.test(node.kind)
    ? undefined
    : node.children.find(({ kind }) => nameKinds.includes(kind));
  const parameters = childOf(node, "formal_parameters") ?? node.children.find((one) => one !== own);
  if (!parameters) return;
  const list = parameters.kind === "formal_parameters" ? parameters.children : [parameters];
  const doc = docTypes(node, context);
  for (const [at, one] of list.entries()) {
    const hint = doc.parameters.get(context.text(one)) ?? (at === 0 ? hints.first : undefined);
    bindParameter(one, hint, inner, context);
  }
  const generic = childOf(node, "type_parameters");
  if (generic) walkAll([generic], scope, context);
  const rest = childrenAfter(node, parameters);
  const annotation = rest.find(({ kind }) => kind === "type_annotation");
  const returns: string[] = [];
  const within = { ...context, returns };
  walkAll(
    rest.filter((one) => one !== annotation),
    inner,
    within,
  );
  if (annotation) walkAll([annotation], scope, context);
  const body = rest.find((one) => one !== annotation);
  if (body && body.kind !== "statement_block" && isWhole(node, body, context))
    returns.push(expressionOf(body, inner, context));
  const type = annotation
    ? typeOfAnnotation(context.text(annotation))
    : (doc.answer ?? returns.find((one) => one !== "?" && one !== ":builtin") ?? null);
  const name = hints.named ?? own;
  if (name) context.facts.type(context.text(name), name.line, type);
  else if (hints.name) context.facts.type(hints.name, node.line, type);
  else if (/^(?:abstract_)?method/.test(node.kind))
    context.facts.type(methodName(node, parameters, context), parameters.line, type);
}

const methodName = (node: TreeNode, { from }: TreeNode, { source }: Context) =>
  /([#\p{L}_$][\p{L}\p{N}_$]*)\s*\??\s*(?:<[^()]*>)?\s*$/u.exec(
    source.slice(Math.max(node.from, from - 200), from),
  )?.[1] ?? "";

function bindParameter(node: TreeNode, hint: string | undefined, scope: Scope, context: Context): void {
  const isWrapped = /_parameter$/.test(node.kind);
  const pattern = isWrapped ? node.children.find(({ kind }) => patternKinds.includes(kind)) : node;
  const annotation = childOf(node, "type_annotation");
  const type = annotation ? typeOfAnnotation(context.text(annotation)) : (hint ?? null);
  if (pattern) {
    bindPattern(pattern, type, scope, context);
    walkDefaults(pattern, scope, context);
  }
  if (!isWrapped) return;
  walkAll(without(node, pattern), scope, context);
  const isField = /^(?:(?:public|private|protected|override|readonly)\s+)+/.test(context.text(node));
  if (isField && pattern && context.owner !== null)
    context.facts.field({
      ...{ name: context.text(pattern), container: context.owner, line: pattern.line, type },
    });
}

function walkClass(node: TreeNode, scope: Scope, context: Context): void {
  const name = childOf(node, "type_identifier", "identifier");
  const isNamed = name !== undefined && name === node.children.find(({ kind }) => kind !== "decorator");
  const owner = isNamed ? context.text(name) : null;
  const heritage = node.children.filter(({ kind }) => /^(?:class_heritage|extends_type_clause)$/.test(kind));
  const heads = heritage.flatMap((one) =>
    one.children.filter((child) => !/<[^>]*$/.test(context.source.slice(one.from, child.from))),
  );
  const supers = heads.map((child) => context.text(child).replaceAll(".", "::"));
  if (name && isNamed && supers.length > 0)
    context.facts.supers.push({ name: context.text(name), line: name.line, supers });
  const [head] = heads;
  const { parent: _, ...around } = context;
  walkAll(
    node.children.filter((one) => !(isNamed && one === name)),
    scope,
    { ...around, owner, ...(head ? { parent: { node: head, scope } } : {}) },
  );
}

const fieldHead =
  /^(?:@[\w.]+(?:\([^()]*\))?\s+|(?:public|private|protected|static|readonly|override|declare|abstract|accessor)\s+)*([#\p{L}_$][\p{L}\p{N}_$]*)/u;

function walkField(node: TreeNode, scope: Scope, context: Context): void {
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
  // The type of a field without a value may come from an assignment in the constructor.
  if (type === null && context.owner !== null)
    context.facts.field({ name, container: context.owner, line: node.line, type });
  else context.facts.type(name, node.line, type);
}

/** Methods whose callback gets the elements of the receiver. */
const overElements =
  /^(?:map|filter|forEach|find|findLast|findIndex|some|every|flatMap|sort|toSorted|then|findLastIndex)$/;

function walkCall(node: TreeNode, scope: Scope, context: Context): void {
  const [callee, ...given] = node.children;
  if (!callee) return;
  const isCallee = /^(?:new\s+)?\(?$/.test(context.source.slice(node.from, callee.from));
  if (isCallee) callOf(callee, scope, context);
  else walkAll([callee], scope, context);
  const [first, ...rest] = given;
  const element = isCallee && first && isFunction(first) ? elementType(callee, scope, context) : null;
  if (first && element) walkFunction(first, scope, context, { first: element });
  walkAll(element ? rest : given, scope, context);
}

/** Decorators and JSX elements count as calls of the function that they name. */
function walkCalled(node: TreeNode, scope: Scope, context: Context): void {
  const [first, ...rest] = node.children;
  if (first) callOf(first, scope, context);
  walkAll(rest, scope, context);
}

function elementType(callee: TreeNode, scope: Scope, context: Context): string | null {
  const name = callee.kind === "member_expression" ? memberName(callee, context) : null;
  const [object] = callee.children;
  if (name === null || !object || !overElements.test(name) || !isHead(callee, object, context)) return null;
  const type = expressionOf(object, scope, context);
  return name === "then" ? type : appendStep(type, "[]");
}

function callOf(callee: TreeNode, scope: Scope, context: Context): void {
  const { facts, text, parent } = context;
  if (callee.kind === "identifier") facts.name(text(callee), callee.line, "call", scope);
  else if (callee.kind === "super" && parent) recordSuper(parent.node, callee.line, parent.scope, context);
  else if (callee.kind === "member_expression") walkMember(callee, scope, context, "call");
  else walkAll([callee], scope, context);
}

/** `super(…)` calls the base class, which is named in the head of this class. */
function recordSuper(parent: TreeNode, line: number, scope: Scope, context: Context): void {
  if (parent.kind === "identifier") context.facts.name(context.text(parent), line, "super", scope);
  const [object] = parent.children;
  const name = parent.kind === "member_expression" ? memberName(parent, context) : null;
  if (object && name !== null && isHead(parent, object, context))
    context.facts.member(name, line, "super", expressionOf(object, scope, context));
}

function walkMember(node: TreeNode, scope: Scope, context: Context, role: UseRole = "read"): void {
  const name = memberName(node, context);
  const [object] = node.children;
  const isKnown = object !== undefined && isHead(node, object, context);
  const isBehind = object === undefined || object.from > node.from;
  const type = isKnown ? expressionOf(object, scope, context) : isBehind ? literalType(node, context) : "?";
  // A read of a member is only recorded for modules, classes and constants. Other receivers would be guesses.
  if (name !== null && (role === "call" || type.startsWith("=")))
    context.facts.member(name, node.lastLine, role, type);
  walkAll(node.children, scope, context);
}

const name = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;
const exporting =
  /^(?:exports\s*=\s*)?(?:module\.exports|exports)(?:\.([\p{L}_$][\p{L}\p{N}_$]*))?\s*=(?!=)/u;
const chained = /^(?:module\.)?exports(?:\.[\p{L}_$][\p{L}\p{N}_$]*)?\s*=(?!=)\s*/u;

/** Characters of an object literal; a longer one is data. */
const MAX_OBJECT = 20_000;
const MAX_MEMBERS = 500;

/** Records the exports of a CommonJS module: `module.exports = …`, `exports.name = …`. */
function recordExports(statement: string, line: number, context: Context): void {
  const head = exporting.exec(statement);
  if (!head) return;
  let value = statement.slice(head[0].length).trim();
  for (let next = chained.exec(value); next; next = chained.exec(value)) value = value.slice(next[0].length);
  const local = head[1] ?? "export=";
  if (head[1] === undefined && value.startsWith("{")) recordMembers(value, "", line, context);
  else recordExport(value, local, line, context);
}

/** Records the members of an object literal that are names: `{ a, b: c, ...d }`. Its functions are definitions. */
function recordObject(owner: string, value: string, line: number, context: Context): void {
  if (value.startsWith("{")) recordMembers(value, `${owner}.`, line, context);
}

function recordMembers(value: string, prefix: string, line: number, context: Context): void {
  const bare = value.replace(/\s*(?:as const|satisfies [\w.<>[\], ]+)?;?\s*$/, "");
  if (bare.length > MAX_OBJECT || !bare.endsWith("}")) return;
  const body = bare.slice(1, -1).replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, "");
  for (const one of splitTop(body, ",").slice(0, MAX_MEMBERS)) {
    const spread = /^\.\.\.\s*([\s\S]+)$/.exec(one)?.[1];
    const [, key = "", given = key] = /^([\p{L}_$][\p{L}\p{N}_$]*)\s*(?::\s*([\s\S]+))?$/u.exec(one) ?? [];
    if (spread !== undefined) recordExport(spread, `${prefix}*`, line, context);
    else if (key !== "") recordExport(given, prefix + key, line, context);
  }
}

/** Records a value that is a name or a loaded module. */
function recordExport(value: string, local: string, line: number, { facts }: Context): void {
  const specifier = value.length < 600 ? importedBy(value) : null;
  if (specifier !== null) facts.reexport({ specifier, imported: "*", local, line });
  else if (name.test(value)) facts.reexport({ specifier: "", imported: value, local, line });
}

const classes = ["class_declaration", "abstract_class_declaration", "class", "interface_declaration"];

/** The kinds of nodes that the walk reads. */
export const javascriptKinds: readonly string[] = [
  ...functionKinds,
  ...classes,
  ...patternKinds,
  ...nameKinds,
  ...kinds(`
  shorthand_property_identifier shorthand_property_identifier_pattern this super call_expression
  new_expression member_expression subscript_expression as_expression formal_parameters required_parameter
  optional_parameter class_heritage class_body interface_body object_type property_signature
  public_field_definition field_definition statement_block variable_declarator type_annotation pair_pattern
  object_assignment_pattern catch_clause for_statement for_in_statement import_statement export_statement
  export_specifier decorator jsx_opening_element jsx_closing_element jsx_self_closing_element return_statement
  type_alias_declaration assignment_expression nested_type_identifier enum_declaration enum_body
  internal_module type_parameters extends_type_clause
`),
];

/** Finds what the names in a JavaScript or TypeScript file are bound to. */
export function walkJavascript(tree: TreeNode, context: Context): void {
  hoist(tree.children, context.facts.top, context);
  for (const node of tree.children) walk(node, context.facts.top, context);
}

function walkAll(nodes: readonly TreeNode[], scope: Scope, context: Context): void {
  for (const node of nodes) walk(node, scope, context);
}

/** Declares the names of a block before its code is walked. */
function hoist(nodes: readonly TreeNode[], scope: Scope, context: Context): void {
  for (const node of nodes) {
    if (node.kind === "export_statement") hoist(node.children, scope, context);
    else if (node.kind === "import_statement") recordImports(node, context);
    else if (node.kind === "variable_declarator") hoistVariable(node, scope, context);
    else if (/_declaration$|^internal_module$|^function_signature$/.test(node.kind)) {
      const name = childOf(node, "identifier", "type_identifier");
      if (name) declare(scope, context.text(name), name.line, null, true);
    }
  }
}

function hoistVariable(node: TreeNode, scope: Scope, context: Context): void {
  const [pattern, ...rest] = node.children;
  if (!pattern || loadedModule(node, context) !== null) return;
  const value = rest.find(({ kind }) => kind !== "type_annotation");
  const isRun = value !== undefined && isWhole(node, value, context) && isFunction(value);
  if (pattern.kind === "identifier")
    declare(scope, context.text(pattern), pattern.line, null, isRun || value?.kind === "class");
  else bindPattern(pattern, null, scope, context);
}

const walks: Record<string, (node: TreeNode, scope: Scope, context: Context) => void> = {
  import_statement: () => {},
  jsx_closing_element: () => {},
  type_parameters: walkTypeParameters,
  export_statement: (node, scope, context) => {
    recordImports(node, context);
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
  identifier: (node, scope, { facts, text }) => facts.name(text(node), node.line, "read", scope),
  shorthand_property_identifier: (node, scope, { facts, text }) =>
    facts.name(text(node), node.line, "read", scope),
  type_identifier: (node, scope, { facts, text }) => facts.name(text(node), node.line, "type", scope),
  nested_type_identifier: (node, scope, { facts, text }) => {
    // `module.Type`
    const [owner = "", ...rest] = text(node).split(/\s*\.\s*/);
    const name = rest.pop();
    if (name === undefined) return;
    facts.member(name, node.lastLine, "type", [facts.typeOf(owner, scope), ...rest].join("."));
    facts.name(owner, node.line, "read", scope);
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
    if (value && context.returns && isWhole(node, value, context))
      context.returns.push(expressionOf(value, scope, context));
    walkAll(node.children, scope, context);
  },
};

function walk(node: TreeNode, scope: Scope, context: Context): void {
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
/** The name of a declaration is not a use. */
const isOwnName = (node: TreeNode, child: TreeNode) =>
  naming.test(node.kind) && nameKinds.includes(child.kind) && child === node.children[0];

function walkBlock(node: TreeNode, scope: Scope, context: Context): void {
  const inner = innerScope(scope);
  hoist(node.children, inner, context);
  walkAll(node.children, inner, context);
}

function walkVariable(node: TreeNode, scope: Scope, context: Context): void {
  const [pattern, ...rest] = node.children;
  if (!pattern) return;
  const loaded = loadedModule(node, context);
  if (loaded !== null) {
    recordLoaded(loaded, pattern, scope, context);
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
  context.facts.type(context.text(pattern), pattern.line, type);
  if (scope.outer === null)
    recordObject(context.text(pattern), valueText(node, annotation ?? pattern, context), node.line, context);
}

/** The text after the `=` of an assignment. */
const valueText = (node: TreeNode, { to }: TreeNode, { source }: Context) =>
  source.slice(to, node.to).replace(/^[^=]{0,20}=\s*/, "");

/** `this.name = …` declares a field, `exports.name = …` an export. */
function walkAssignment(node: TreeNode, scope: Scope, context: Context): void {
  const [target] = node.children;
  const value = node.children.length > 1 ? node.children.at(-1) : undefined;
  const isValue = value !== undefined && isWhole(node, value, context);
  const name =
    target && /^(?:this|(?:module\.)?exports)\.([#\p{L}_$][\p{L}\p{N}_$]*)$/u.exec(context.text(target))?.[1];
  recordExports(context.text(node), node.line, context);
  if (name !== undefined && isValue && isFunction(value)) {
    walkFunction(value, scope, context, { name });
    return;
  }
  walkAll(node.children, scope, context);
  if (name === undefined || context.owner === null || !context.text(target as TreeNode).startsWith("this."))
    return;
  const type = isValue ? expressionOf(value, scope, context) : null;
  context.facts.field({ name, container: context.owner, line: node.line, type });
}

/** `<Name extends Type = Type>`: Name is a declaration, the others are uses. */
function walkTypeParameters(node: TreeNode, scope: Scope, context: Context): void {
  const isNamed = ({ from, to }: TreeNode) =>
    /[<,]\s*(?:const\s+)?$/.test(context.source.slice(Math.max(node.from, from - 30), from)) &&
    /^\s*(?:extends\b|[=,>])/.test(context.source.slice(to, to + 30));
  walkAll(
    node.children.filter((one) => one.kind !== "type_identifier" || !isNamed(one)),
    scope,
    context,
  );
}

function walkForEach(node: TreeNode, scope: Scope, context: Context): void {
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
    bindPattern(pattern, isOf ? appendStep(expressionOf(list, scope, context), "[]") : null, inner, context);
  walkAll(rest, inner, context);
}
