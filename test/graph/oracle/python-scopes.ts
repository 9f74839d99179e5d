import { parser } from "@lezer/python";
import { childOf, childrenOf, parseTree, type Syntax, unreadLines } from "./lezer-tree.ts";
import type { PythonFile, Scope } from "./python-bindings.ts";
import { asMember, assign, bind, bindNames, bindTargets, splitBy } from "./python-targets.ts";

export function readPython(path: string, text: string): PythonFile {
  const scope = createScope("module", path, null);
  const tree = parseTree(parser, text);
  const file: PythonFile = { path, scope, functions: [], classes: [], calls: [], unread: unreadLines(tree) };
  visitAll(tree.children, scope, file);
  return file;
}

function createScope(kind: Scope["kind"], path: string, parent: Scope | null): Scope {
  return { kind, path, parent, bindings: new Map(), stars: [], elsewhere: new Map(), cls: null };
}

const visitAll = (nodes: readonly Syntax[], scope: Scope, file: PythonFile) => {
  for (const node of nodes) visit(node, scope, file);
};

type Visit = (node: Syntax, scope: Scope, file: PythonFile) => void;

const visit: Visit = (node, scope, file) => {
  const own = visits[node.kind];
  if (own) return own(node, scope, file);
  if (childOf(node, "for")) return visitComprehension(node, scope, file);
  visitAll(node.children, scope, file);
};

const visitComprehension: Visit = (node, scope, file) => {
  const inner = createScope("inner", scope.path, scope);
  bindTargets(node.children, inner);
  visitAll(node.children, inner, file);
};

const visitFunction = (node: Syntax, scope: Scope, file: PythonFile, decorators: readonly string[] = []) => {
  const name = childOf(node, "VariableName");
  const inner = createScope("function", scope.path, scope);
  inner.cls = scope.kind === "class" ? scope.cls : null;
  const parameters = childOf(node, "ParamList");
  if (parameters) visitParameters(parameters, { inner, scope, file, decorators });
  const returns = childOf(node, "TypeDef")?.children.at(-1) ?? null;
  visitAll(childrenOf(node, "Body"), inner, file);
  if (!name) return;
  const { text, line } = name;
  const cls = inner.cls;
  const value = { path: scope.path, line, name: text, node, scope, inner, cls, returns, decorators };
  bind(scope, text, { kind: "function", value });
  file.functions.push(value);
};

interface InFunction {
  inner: Scope;
  scope: Scope;
  file: PythonFile;
  decorators: readonly string[];
}

function visitParameters({ children }: Syntax, { inner, scope, file, decorators }: InFunction): void {
  const isStatic = decorators.includes("staticmethod");
  let count = 0;
  for (const [at, child] of children.entries()) {
    const isDefault = children[at - 1]?.kind === "AssignOp";
    if (isDefault) visit(child, scope, file);
    if (isDefault || child.kind !== "VariableName") continue;
    const type = children[at + 1]?.kind === "TypeDef" ? children[at + 1]?.children.at(-1) : null;
    const isReceiver = count++ === 0 && inner.cls !== null && !isStatic;
    const receiver = decorators.includes("classmethod") || child.text === "cls" ? "cls" : "self";
    // Behind a star, the type is that of the items.
    const isStarred = /^\*/.test(children[at - 1]?.kind ?? "");
    if (isReceiver) bind(inner, child.text, { kind: receiver, value: inner.cls! });
    else if (type && !isStarred) bind(inner, child.text, { kind: "typed", value: type, scope });
    else bind(inner, child.text, { kind: "unknown" });
  }
}

const visitClass: Visit = (node, scope, file) => {
  const name = childOf(node, "VariableName");
  const inner = createScope("class", scope.path, scope);
  const given = childOf(node, "ArgList")?.children ?? [];
  const bases = given.filter((one, at) => isArgument(one) && !isNextTo(given, at));
  visitAll(given, scope, file);
  const { path } = scope;
  const { text = "", line = node.line } = name ?? {};
  inner.cls = { path, line, name: text, scope, inner, bases, attributes: new Map() };
  bind(scope, text, { kind: "class", value: inner.cls });
  file.classes.push(inner.cls);
  visitAll(childrenOf(node, "Body"), inner, file);
};

const isArgument = ({ kind }: Syntax) => !/^[(),]$|^AssignOp$|^\*+$/.test(kind);
/** Part of a `keyword=value`. */
const isNextTo = (nodes: readonly Syntax[], at: number) =>
  nodes[at - 1]?.kind === "AssignOp" || nodes[at + 1]?.kind === "AssignOp";

const visitDecorated: Visit = (node, scope, file) => {
  const decorators = childrenOf(node, "Decorator");
  const callees = decorators.map(({ children }) =>
    children.filter(({ kind }) => !/^(At|ArgList)$/.test(kind)),
  );
  for (const [at, parts] of callees.entries()) {
    visitAll(decorators[at]!.children, scope, file);
    file.calls.push({ callee: asMember(parts), scope });
  }
  const names = callees.map((parts) => parts.map(({ text }) => text).join(""));
  for (const child of node.children) {
    if (child.kind === "FunctionDefinition") visitFunction(child, scope, file, names);
    else if (child.kind === "ClassDefinition") visitClass(child, scope, file);
  }
};

const visitAssignment: Visit = (node, scope, file) => {
  const parts = splitBy(node.children, "AssignOp");
  const value = parts.length > 1 ? (parts.at(-1) ?? []) : [];
  for (const target of parts.length > 1 ? parts.slice(0, -1) : parts) assign(target, value, scope);
  visitAll(node.children, scope, file);
};

const visitWith: Visit = (node, scope, file) => {
  const kind = node.kind === "WithStatement" ? "entered" : "instance";
  for (const [at, { kind: word }] of node.children.entries()) {
    if (word !== "as") continue;
    const [value, target] = [node.children[at - 1]!, node.children[at + 1]!];
    if (target.kind === "VariableName") bind(scope, target.text, { kind, value, scope });
    else bindNames(target, scope);
  }
  visitAll(node.children, scope, file);
};

const visitImport: Visit = ({ children }, scope) => {
  const at = children.findIndex(({ kind }) => kind === "import");
  const names = splitBy(children.slice(at + 1), ",").map((part) =>
    part.filter(({ kind }) => !/^[()]$/.test(kind)),
  );
  const specifier = children
    .slice(1, at)
    .map(({ text }) => text)
    .join("");
  for (const part of names.filter(({ length }) => length > 0)) {
    const as = part.findIndex(({ kind }) => kind === "as");
    const dotted = (as < 0 ? part : part.slice(0, as)).map(({ text }) => text).join("");
    const alias = as < 0 ? null : part.at(-1)!.text;
    const isFrom = children[0]?.kind === "from";
    if (isFrom && dotted === "*") scope.stars.push(specifier);
    else if (isFrom) bind(scope, alias ?? dotted, { kind: "from", specifier, name: dotted });
    else if (alias) bind(scope, alias, { kind: "import", specifier: dotted });
    else bind(scope, dotted.split(".")[0]!, { kind: "import", specifier: dotted.split(".")[0]! });
  }
};

const visitScopeStatement: Visit = ({ children }, scope) => {
  let owner = scope.parent;
  if (children[0]?.kind === "global") while (owner?.parent) owner = owner.parent;
  for (const { kind, text } of children)
    if (kind === "VariableName" && owner) scope.elsewhere.set(text, owner);
};

const visits: Readonly<Record<string, Visit>> = {
  FunctionDefinition: visitFunction,
  ClassDefinition: visitClass,
  DecoratedStatement: visitDecorated,
  AssignStatement: visitAssignment,
  WithStatement: visitWith,
  TryStatement: visitWith,
  ImportStatement: visitImport,
  ScopeStatement: visitScopeStatement,
  LambdaExpression(node, scope, file) {
    const inner = createScope("inner", scope.path, scope);
    const parameters = childOf(node, "ParamList");
    for (const child of parameters ? childrenOf(parameters, "VariableName") : []) bindNames(child, inner);
    visitAll(node.children, inner, file);
  },
  ForStatement(node, scope, file) {
    bindTargets(node.children, scope);
    visitAll(node.children, scope, file);
  },
  NamedExpression(node, scope, file) {
    let owner = scope;
    while (owner.kind === "inner" && owner.parent) owner = owner.parent;
    const [name, , value] = node.children;
    if (name && value) bind(owner, name.text, { kind: "value", value, scope });
    visitAll(node.children, scope, file);
  },
  CallExpression(node, scope, file) {
    file.calls.push({ callee: node.children[0]!, scope });
    visitAll(node.children, scope, file);
  },
  CapturePattern: bindNames,
  AsPattern(node, scope, file) {
    bindNames(node.children.at(-1)!, scope);
    visitAll(node.children, scope, file);
  },
};
