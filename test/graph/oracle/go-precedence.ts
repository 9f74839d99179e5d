import type { Syntax } from "./lezer-tree.ts";

const postfix = /^(CallExpr|SelectorExpr|IndexExpr|SliceExpr|TypeAssertion)$/;

/**
 * Puts right what the parser groups wrongly in the head of an `if`: it takes `!found(x)` for the call of `!found`, and
 * `a || b.c` for the field of `a || b`. What stands behind an operand belongs to it before any sign in front.
 */
export function regroup(node: Syntax): void {
  for (const child of node.children) regroup(child);
  for (let around = node; postfix.test(around.kind) && isOperation(around.children[0]); ) {
    const operation = around.children[0]!;
    const operand = operation.children.at(-1)!;
    const inner: Syntax = {
      kind: around.kind,
      text: operand.text + around.text.slice(operation.text.length),
      line: operand.line,
      children: [operand, ...around.children.slice(1)],
      parent: around,
    };
    around.kind = operation.kind;
    around.children = [...operation.children.slice(0, -1), inner];
    for (const child of inner.children) child.parent = inner;
    for (const child of around.children) child.parent = around;
    around = inner;
  }
}

const isOperation = (node: Syntax | undefined) => node?.kind === "UnaryExp" || node?.kind === "BinaryExp";
