import type { Syntax } from "./lezer-tree.ts";
import type { PythonCall, PythonClass, PythonFunction, Scope } from "./python-bindings.ts";
import { indexModules } from "./python-modules.ts";
import { readPython } from "./python-scopes.ts";
import type { Value } from "./python-value.ts";
import { PythonValues } from "./python-values.ts";
import { type Callable, type CallSite, CallTable, type Files, type Oracle, siteKey } from "./truth.ts";

/** The callers in Python files, by a parser of its own and by what assignments, annotations and classes tell of types. */
export function createPythonOracle(files: Files): Oracle {
  const parsed = [...files].map(([path, text]) => readPython(path, text));
  const values = new PythonValues(indexModules(parsed));
  const functions = parsed.flatMap((file) => file.functions);
  const classes = parsed.flatMap((file) => file.classes);
  const table = new CallTable();
  const named = Map.groupBy([...functions, ...classes], ({ name }) => name);
  const overriding = subclassesOf(classes, values);
  for (const { path, unread } of parsed) for (const line of unread) table.unread({ path, line });
  for (const call of parsed.flatMap((file) => file.calls)) {
    const name = nameOf(call.callee);
    if (!name) continue;
    const site = { path: call.scope.path, line: name.line };
    note(site, name.text, meaningsOf(call, values));
  }

  function note(site: CallSite, name: string, meanings: readonly Value[]): void {
    const ours = meanings.filter((one) => one.is === "function" || one.is === "class");
    const isSure = ours.length === 1 && meanings.every(({ is }) => is !== "unknown" && is !== "instance");
    for (const one of ours) {
      const isDirect = isSure && !one.renamed && definitionsBeside(one.value) === 1;
      if (isDirect) table.certain(keyOf(one.value), site);
      else table.possible(keyOf(one.value), site);
      const others =
        one.is === "function"
          ? overridesOf(one.value, overriding)
          : one.renamed
            ? (overriding.get(one.value) ?? [])
            : [];
      // To make an object is to call what sets it up, which is written nowhere.
      const made = one.is === "class" ? initializerOf(one.value, values) : [];
      for (const other of [...others, ...made]) table.possible(keyOf(other), site);
    }
    // Nobody knows the object: every member of that name may be meant, and every function, should it be a module.
    if (meanings.some(({ is }) => is === "unknown"))
      for (const one of named.get(name) ?? []) table.possible(keyOf(one), site);
  }

  const callables = [...functions, ...classes].filter(({ name }) => name !== "").map(callableOf);
  return { callables, truthOf: (callable) => table.truthOf(siteKey(callable)) };
}

const keyOf = siteKey as (one: PythonFunction | PythonClass) => string;

function callableOf(one: PythonFunction | PythonClass): Callable {
  const container = "bases" in one ? null : (one.cls?.name ?? null);
  return { path: one.path, line: one.line, name: one.name, container };
}

/** The name that is called: `c` of `a.b.c()`. */
function nameOf(callee: Syntax): Syntax | null {
  if (callee.kind === "VariableName") return callee;
  const last = callee.children.at(-1);
  return callee.kind === "MemberExpression" && last?.kind === "PropertyName" ? last : null;
}

/** Of a bare name that is not bound to a definition nothing is possible: the scope tells that it is something else. */
function meaningsOf({ callee, scope }: PythonCall, values: PythonValues): readonly Value[] {
  const meanings = values.valuesOf(callee, scope);
  const isBare = callee.kind === "VariableName";
  const ours = meanings.some(({ is }) => is === "function" || is === "class");
  return isBare && !ours ? [] : meanings;
}

/** How many definitions the scope has of that name: overloads, or one for each platform. */
function definitionsBeside({ scope, name }: { scope: Scope; name: string }): number {
  const bindings = scope.bindings.get(name) ?? [];
  return bindings.filter(({ kind }) => kind === "function" || kind === "class").length;
}

type Subclasses = ReadonlyMap<PythonClass, ReadonlySet<PythonClass>>;

function subclassesOf(classes: readonly PythonClass[], values: PythonValues): Subclasses {
  const found = new Map<PythonClass, Set<PythonClass>>();
  for (const cls of classes)
    for (const base of values.orderOf(cls).slice(1))
      if (base) found.set(base, (found.get(base) ?? new Set()).add(cls));
  return found;
}

function initializerOf(cls: PythonClass, values: PythonValues): PythonFunction[] {
  const found = values.member({ is: "instance", value: cls }, "__init__");
  return found.flatMap((one) => (one.is === "function" ? [one.value] : []));
}

/** Methods that may be meant in its place: those of subclasses. */
function overridesOf({ cls, name }: PythonFunction, subclasses: Subclasses): PythonFunction[] {
  const below = cls ? [...(subclasses.get(cls) ?? [])] : [];
  return below.flatMap(({ inner }) =>
    (inner.bindings.get(name) ?? []).flatMap((one) => (one.kind === "function" ? [one.value] : [])),
  );
}
