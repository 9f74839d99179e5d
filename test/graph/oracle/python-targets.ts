import type { Syntax } from "./lezer-tree.ts";
import type { Binding, PythonClass, Scope } from "./python-bindings.ts";

export function bind(scope: Scope, name: string, binding: Binding): void {
  const owner = scope.elsewhere.get(name) ?? scope;
  owner.bindings.set(name, [...(owner.bindings.get(name) ?? []), binding]);
}

/** Names between `for` and `in`. */
export function bindTargets(nodes: readonly Syntax[], scope: Scope): void {
  let isTarget = false;
  for (const node of nodes) {
    if (node.kind === "for") isTarget = true;
    else if (node.kind === "in") isTarget = false;
    else if (isTarget) bindNames(node, scope);
  }
}

export function bindNames(node: Syntax, scope: Scope): void {
  if (node.kind === "VariableName") bind(scope, node.text, { kind: "unknown" });
  if (node.kind !== "MemberExpression") for (const child of node.children) bindNames(child, scope);
}

export function splitBy(nodes: readonly Syntax[], kind: string): Syntax[][] {
  const parts: Syntax[][] = [[]];
  for (const node of nodes) {
    if (node.kind === kind) parts.push([]);
    else parts.at(-1)!.push(node);
  }
  return parts;
}

export function assign(target: readonly Syntax[], value: readonly Syntax[], scope: Scope): void {
  const [first, ...rest] = target;
  const type = rest.find(({ kind }) => kind === "TypeDef")?.children.at(-1);
  const isOne = rest.every(({ kind }) => kind === "TypeDef") && value.length <= 1;
  const given: Binding =
    isOne && type
      ? { kind: "typed", value: type, scope }
      : isOne && value[0]
        ? { kind: "value", value: value[0], scope }
        : { kind: "unknown" };
  const [object, , attribute] = first?.kind === "MemberExpression" ? first.children : [];
  const owner = object?.kind === "VariableName" && attribute ? receiverOf(object.text, scope) : null;
  if (owner && attribute)
    owner.attributes.set(attribute.text, [...(owner.attributes.get(attribute.text) ?? []), given]);
  else if (isOne && first?.kind === "VariableName") bind(scope, first.text, given);
  else for (const one of target) if (one.kind !== "TypeDef") bindNames(one, scope);
}

/** The class whose object a name is in a method. */
function receiverOf(name: string, scope: Scope): PythonClass | null {
  for (let around: Scope | null = scope; around; around = around.parent) {
    const self = around.bindings.get(name)?.find(({ kind }) => kind === "self");
    if (self?.kind === "self") return self.value;
  }
  return null;
}

/** A decorator's dotted name stands in the tree part by part. */
export function asMember(parts: readonly Syntax[]): Syntax {
  return parts
    .filter(({ kind }) => kind !== ".")
    .reduce((object, name) => {
      const children = [object, { ...name, kind: "PropertyName" }];
      return {
        kind: "MemberExpression",
        text: `${object.text}.${name.text}`,
        line: object.line,
        children,
        parent: null,
      };
    });
}
