import type { Context } from "./context.ts";
import { importsOf } from "./python-imports.ts";
import { childOf, type Reduced } from "./reduced-tree.ts";
import { declare, type Scope } from "./scope.ts";

export const comprehensionKinds: readonly string[] = [
  ...["list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"],
];
export const targetKinds: readonly string[] = [
  ...["identifier", "pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern"],
];

/** What is given a value anywhere in a function is a name of that function, and of the file where it is in none. */
export function hoist(nodes: readonly Reduced[], scope: Scope, context: Context): void {
  for (const node of nodes) {
    const [first] = node.children;
    if (definitions.includes(node.kind)) {
      if (first?.kind === "identifier") declare(scope, context.text(first), first.line, null, true);
    } else if (imports.includes(node.kind)) importsOf(node, scope, context);
    else if (!closed.includes(node.kind)) {
      hoistTargets(node, scope, context);
      hoist(node.children, scope, context);
    }
  }
}

const definitions = ["function_definition", "class_definition"];
const imports = ["import_statement", "import_from_statement"];
/** Names of their own, or of somewhere else. */
const closed = ["global_statement", "lambda", ...comprehensionKinds];

function hoistTargets(node: Reduced, scope: Scope, context: Context): void {
  const [first] = node.children;
  if (binds(node) && first && targetKinds.includes(first.kind)) bind(first, null, scope, context);
  const named = node.kind === "as_pattern" ? childOf(node, "as_pattern_target") : undefined;
  if (named) bindAll(named, scope, context);
}

const binds = ({ kind }: Reduced) =>
  kind === "assignment" ||
  kind === "for_statement" ||
  kind === "named_expression" ||
  kind === "augmented_assignment";

export function bindAll(node: Reduced, scope: Scope, context: Context): void {
  for (const one of node.children) bind(one, null, scope, context);
}

/** Gives names to what a target takes. */
export function bind(target: Reduced, type: string | null, scope: Scope, context: Context): void {
  if (target.kind === "identifier") declare(scope, context.text(target), target.line, type);
  else if (targetKinds.includes(target.kind)) bindAll(target, scope, context);
}
