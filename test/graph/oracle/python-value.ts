import type { Syntax } from "./lezer-tree.ts";
import type { PythonClass, PythonFile, PythonFunction, Scope } from "./python-bindings.ts";

/** What an expression may be. `external` is surely nothing that the files define; of `unknown` nothing is known. */
export type Value =
  | { is: "module"; value: PythonFile }
  | { is: "function"; value: PythonFunction; renamed: boolean }
  | { is: "class"; value: PythonClass; renamed: boolean }
  | { is: "instance"; value: PythonClass }
  /** What follows a class in the order in which its bases are asked. */
  | { is: "super"; value: PythonClass }
  | { is: "external" }
  | { is: "unknown" };

export const external: Value = { is: "external" };
export const unknown: Value = { is: "unknown" };

/** Of another name than it was defined by. */
export const renamed = (value: Value): Value =>
  value.is === "function" || value.is === "class" ? { ...value, renamed: true } : value;

export function classAround(scope: Scope): PythonClass | null {
  for (let around: Scope | null = scope; around; around = around.parent) if (around.cls) return around.cls;
  return null;
}

/** What a function's `return`s return; null for generators. */
export function returnsIn(fn: Syntax): Syntax[] | null {
  const found: Syntax[] = [];
  const search = (node: Syntax): boolean => {
    if (node.kind === "YieldExpression" || node.kind === "YieldStatement") return false;
    if (node.kind === "ReturnStatement" && node.children[1]) found.push(node.children[1]);
    const inside = node.children.filter(
      ({ kind }) => !/^(FunctionDefinition|ClassDefinition|Lambda.*)$/.test(kind),
    );
    return inside.every(search);
  };
  return fn.children.every(search) ? found : null;
}

export function distinct(values: readonly Value[]): Value[] {
  const seen = new Map<unknown, Value>();
  for (const one of values) seen.set("value" in one ? `${one.is} ${keyOf(one)}` : one.is, one);
  return [...seen.values()];
}

function keyOf(one: Exclude<Value, { is: "external" | "unknown" }>): string {
  return one.is === "module" ? one.value.path : `${one.value.path}:${one.value.line}:${one.value.name}`;
}
