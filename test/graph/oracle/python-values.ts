import { parser } from "@lezer/python";
import { parseTree, type Syntax } from "./lezer-tree.ts";
import type { Binding, PythonClass, PythonFunction, Scope } from "./python-bindings.ts";
import type { Modules } from "./python-modules.ts";
import { classAround, distinct, external, renamed, returnsIn, unknown, type Value } from "./python-value.ts";

/** Built-in functions whose results are objects of Python's own. */
const plainResults = new Set(
  (
    "str int float bool bytes bytearray repr ascii len open isinstance issubclass hasattr callable id hash ord chr hex oct " +
    "bin format input abs sum round range print any all dir divmod pow complex"
  ).split(" "),
);
const literals = /^(String|FormatString|ContinuedString|Number|Boolean|None|.*Comprehension.*)$/;
const containers = /^(ArrayExpression|DictionaryExpression|SetExpression|TupleExpression)$/;

/** Evaluates expressions without running them: assignments, annotations, classes and their bases, whatever their order. */
export class PythonValues {
  readonly #modules: Modules;
  readonly #known = new Map<Syntax, readonly Value[]>();
  readonly #open = new Set<unknown>();

  constructor(modules: Modules) {
    this.#modules = modules;
  }

  valuesOf(node: Syntax, scope: Scope): readonly Value[] {
    const known = this.#known.get(node);
    if (known) return known;
    return this.#guarded(node, () => {
      const values = distinct(this.#evaluate(node, scope));
      this.#known.set(node, values);
      return values;
    });
  }

  /** What comes back to itself is known to nobody. */
  #guarded(key: unknown, find: () => readonly Value[]): readonly Value[] {
    if (this.#open.has(key) || this.#open.size > 200) return [unknown];
    this.#open.add(key);
    try {
      return find();
    } finally {
      this.#open.delete(key);
    }
  }

  #evaluate(node: Syntax, scope: Scope): readonly Value[] {
    const [first, second, third] = node.children;
    if (node.kind === "VariableName") return this.nameIn(node.text, scope);
    if (node.kind === "MemberExpression" && first && third && second?.kind === ".")
      return this.valuesOf(first, scope).flatMap((object) => this.member(object, third.text));
    if (node.kind === "MemberExpression" && first && second && second.kind === "PropertyName")
      return this.valuesOf(first, scope).flatMap((object) => this.member(object, second.text));
    if (node.kind === "CallExpression" && first) return this.#called(first, scope);
    if (node.kind === "ParenthesizedExpression" && second) return this.valuesOf(second, scope);
    if (node.kind === "AwaitExpression") return [unknown];
    if (node.kind === "ConditionalExpression")
      return [first, node.children.at(-1)].flatMap((one) => (one ? this.valuesOf(one, scope) : []));
    if (node.kind === "BinaryExpression" && (second?.text === "or" || second?.text === "and"))
      return [first, third].flatMap((one) => (one ? this.valuesOf(one, scope) : []));
    return literals.test(node.kind) || containers.test(node.kind) ? [external] : [unknown];
  }

  /** A name, looked up from the inside to the outside; the bodies of classes are seen from themselves alone. */
  nameIn(name: string, scope: Scope): readonly Value[] {
    for (let around: Scope | null = scope; around; around = around.parent) {
      if (around.kind === "class" && around !== scope) continue;
      const owner: Scope = around.elsewhere.get(name) ?? around;
      const bindings = owner.bindings.get(name);
      if (bindings) return bindings.flatMap((binding) => this.bound(binding, owner));
      if (around.parent === null && around.stars.length > 0) return this.#starred(name, around);
    }
    return [external];
  }

  #starred(name: string, { stars, path }: Scope): readonly Value[] {
    for (const specifier of stars) {
      const module = this.#modules.resolve(specifier, path);
      if (module && (module.scope.bindings.has(name) || module.scope.stars.length > 0))
        return this.#guarded(`* ${module.path} ${name}`, () => this.nameIn(name, module.scope));
    }
    return [external];
  }

  bound(binding: Binding, { path }: Scope): readonly Value[] {
    switch (binding.kind) {
      case "function":
      case "class":
        return [{ is: binding.kind, value: binding.value, renamed: false } as Value];
      case "self":
        return [{ is: "instance", value: binding.value }];
      case "cls":
        return [{ is: "class", value: binding.value, renamed: true }];
      case "import":
        return this.#module(binding.specifier, path);
      case "from":
        return this.#imported(binding, path);
      case "typed":
        return this.#typed(binding.value, binding.scope);
      case "value":
        return this.valuesOf(binding.value, binding.scope).map(renamed);
      case "entered":
        return this.valuesOf(binding.value, binding.scope).flatMap((one) => this.#entered(one));
      case "instance":
        return this.valuesOf(binding.value, binding.scope).map((one) =>
          one.is === "class" ? { is: "instance", value: one.value } : unknown,
        );
      case "unknown":
        return [unknown];
    }
  }

  #module(specifier: string, from: string): readonly Value[] {
    const found = this.#modules.resolve(specifier, from);
    return [found ? { is: "module", value: found } : external];
  }

  #imported({ specifier, name }: { specifier: string; name: string }, from: string): readonly Value[] {
    const module = this.#modules.resolve(specifier, from);
    if (!module) {
      const dotted = /^\.+$/.test(specifier) ? specifier + name : `${specifier}.${name}`;
      return this.#module(dotted, from);
    }
    return this.member({ is: "module", value: module }, name);
  }

  member(object: Value, name: string): readonly Value[] {
    switch (object.is) {
      case "module": {
        const { scope } = object.value;
        const part = this.#modules.part(object.value, name);
        if (scope.bindings.has(name) || scope.stars.length > 0) {
          const found = this.#guarded(`${scope.path} ${name}`, () => this.nameIn(name, scope));
          if (!part || found.some(({ is }) => is !== "external" && is !== "unknown")) return found;
        }
        return [part ? { is: "module", value: part } : external];
      }
      case "class":
      case "instance":
        return this.#memberOf(name, this.orderOf(object.value), object.is === "instance");
      case "super":
        return this.#memberOf(name, this.orderOf(object.value).slice(1), true);
      default:
        return [object.is === "external" ? external : unknown];
    }
  }

  #memberOf(name: string, order: readonly (PythonClass | null)[], isInstance: boolean): readonly Value[] {
    for (const one of order) {
      if (one === null) return [unknown];
      const bindings = [...(one.inner.bindings.get(name) ?? []), ...(one.attributes.get(name) ?? [])];
      if (bindings.length === 0) continue;
      return this.#guarded(`${one.path}:${one.line}.${name}`, () =>
        bindings.flatMap((binding) => this.#attribute(binding, one.inner, isInstance)),
      );
    }
    // What an object has beside may come from a class that is mixed in, or be put on it from outside.
    return [isInstance ? unknown : external];
  }

  #attribute(binding: Binding, scope: Scope, isInstance: boolean): readonly Value[] {
    const values = this.bound(binding, scope);
    if (binding.kind !== "function") return values;
    const isProperty = binding.value.decorators.some((one) => /(^|\.)(cached_)?property$/.test(one));
    return isProperty && isInstance ? this.#returned(binding.value) : values;
  }

  /** A class and its bases in the order in which they are asked; null stands for one that nobody knows. */
  orderOf(cls: PythonClass, seen = new Set<PythonClass>()): (PythonClass | null)[] {
    if (seen.has(cls)) return [];
    seen.add(cls);
    const bases = cls.bases.flatMap((base) => this.#basesIn(base, cls.scope));
    return [cls, ...bases.flatMap((base) => (base === null ? [null] : this.orderOf(base, seen)))];
  }

  #basesIn(node: Syntax, scope: Scope): (PythonClass | null)[] {
    // `Base[T]` is Base.
    const bare =
      node.kind === "MemberExpression" && node.children[1]?.kind === "[" ? node.children[0]! : node;
    return this.valuesOf(bare, scope).flatMap((one) =>
      one.is === "class" ? [one.value] : one.is === "unknown" ? [null] : [],
    );
  }

  #called(callee: Syntax, scope: Scope): readonly Value[] {
    if (callee.text === "super") {
      const self = this.nameIn("self", scope).find(({ is }) => is === "instance");
      const cls = self?.is === "instance" ? self.value : classAround(scope);
      return [cls ? { is: "super", value: cls } : unknown];
    }
    return this.valuesOf(callee, scope).flatMap((one): readonly Value[] => {
      if (one.is === "class") return [{ is: "instance", value: one.value }];
      if (one.is === "function") return this.#returned(one.value);
      return [one.is === "external" && plainResults.has(callee.text) ? external : unknown];
    });
  }

  #returned(fn: PythonFunction): readonly Value[] {
    const isPlain = fn.decorators.every((one) =>
      /^(staticmethod|classmethod|abstractmethod|.*property)$/.test(one),
    );
    if (!isPlain || fn.node.children[0]?.kind === "async") return [unknown];
    if (fn.returns) return this.#typed(fn.returns, fn.scope);
    const returns = returnsIn(fn.node);
    if (returns === null) return [unknown];
    return returns.length === 0
      ? [external]
      : this.#guarded(fn, () => returns.flatMap((node) => this.valuesOf(node, fn.inner)));
  }

  #entered(manager: Value): readonly Value[] {
    if (manager.is !== "instance") return [manager.is === "external" ? external : unknown];
    return this.member(manager, "__enter__").flatMap((one) =>
      one.is === "function" ? this.#returned(one.value) : [unknown],
    );
  }

  /** An object of a type that is written down: `T`, `"T"`, `T | None`, `Optional[T]`. */
  #typed(type: Syntax, scope: Scope): readonly Value[] {
    if (type.kind === "String") {
      const inner = parseTree(
        parser,
        type.text.replace(/^\W+|\W+$/g, (cut) => cut.replaceAll(/["']/g, "")),
      );
      const [expression] = inner.children[0]?.children ?? [];
      return expression ? this.#typed(expression, scope) : [unknown];
    }
    const [first, second, third] = type.children;
    if (type.kind === "None") return [];
    if (type.kind === "BinaryExpression" && first && third)
      return [...this.#typed(first, scope), ...this.#typed(third, scope)];
    if (type.kind === "MemberExpression" && second?.kind === "[")
      return /(^|\.)Optional$/.test(first!.text) && third ? this.#typed(third, scope) : [unknown];
    return this.valuesOf(type, scope).map((one) =>
      one.is === "class" ? { is: "instance", value: one.value } : unknown,
    );
  }
}
