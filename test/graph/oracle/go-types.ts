import type { GoFile, GoNamed, GoPackage, GoProgram, GoVariable } from "./go-declarations.ts";
import { genericNames, type Member, memberOf, pointerType } from "./go-members.ts";
import { basic, basics, type GoType, Names, none, unknown } from "./go-type.ts";
import { childOf, childrenOf, type Syntax } from "./lezer-tree.ts";

/** Tells types as the compiler would, as far as the files say. */
export class GoTypes {
  readonly #program: GoProgram;
  #depth = 0;

  constructor(program: GoProgram) {
    this.#program = program;
  }

  /** The type that a node of the grammar of types names. */
  typeAt(node: Syntax | null, file: GoFile, names: Names): GoType {
    const [first] = node?.children ?? [];
    const last = node?.children.at(-1) ?? null;
    switch (node?.kind) {
      case "TypeName":
      case "VariableName":
        return this.#typeNamed(node.text, file, names);
      case "QualifiedType":
      case "SelectorExpr":
        return this.#qualified(first!.text, last!.text, file);
      case "PointerType":
      case "UnaryExp":
        return { is: "pointer", of: this.typeAt(last, file, names) };
      case "ParenthesizedType":
      case "ParenthesizedExpr":
        return this.typeAt(node.children[1] ?? null, file, names);
      case "SliceType":
      case "ArrayType":
        return { is: "list", of: this.typeAt(last, file, names) };
      case "ChannelType":
        return { is: "channel", of: this.typeAt(last, file, names) };
      case "MapType": {
        const parts = node.children.filter(({ kind }) => !/^(map|\[|\])$/.test(kind));
        return { is: "map", key: this.typeAt(parts[0]!, file, names), of: this.typeAt(last, file, names) };
      }
      case "FunctionType":
        return { is: "function", results: () => this.resultsOf(node, file, names) };
      case "ParameterizedType":
        return this.#instance(node, file, names);
      case "StructType":
      case "InterfaceType":
        return { is: "literal", node, file, given: names };
      default:
        return unknown;
    }
  }

  #typeNamed(name: string, file: GoFile, names: Names): GoType {
    const local = names.get(name);
    if (local) return local.is === "type" ? local.type : unknown;
    const named = file.package.types.get(name);
    if (named) return this.#of(named, none);
    if (basics.test(name)) return basic;
    return /^(error|any|comparable)$/.test(name) ? { is: "outside", name } : unknown;
  }

  /** An alias is the type that it names. */
  #of(named: GoNamed, given: Names): GoType {
    return named.isAlias
      ? this.#deep(() => this.typeAt(named.spec.children.at(-1)!, named.file, given))
      : { is: "named", named, given };
  }

  #deep(find: () => GoType): GoType {
    if (this.#depth > 60) return unknown;
    this.#depth++;
    try {
      return find();
    } finally {
      this.#depth--;
    }
  }

  #qualified(prefix: string, name: string, file: GoFile): GoType {
    const meant = this.#program.imported(file, prefix);
    if (meant === null) return unknown;
    if (typeof meant === "string") return { is: "outside", name: `${meant}.${name}` };
    const named = meant.types.get(name);
    return named ? this.#of(named, none) : unknown;
  }

  #instance(node: Syntax, file: GoFile, names: Names): GoType {
    const type = this.typeAt(node.children[0]!, file, names);
    if (type.is !== "named") return type;
    const given = new Names();
    const types = childOf(node, "TypeArgs")?.children.filter(({ kind }) => !/^[[\],]$/.test(kind)) ?? [];
    for (const [at, name] of type.named.parameters.entries())
      given.set(name, () => ({ is: "type", type: this.typeAt(types[at] ?? null, file, names) }));
    return { is: "named", named: type.named, given };
  }

  resultsOf(node: Syntax, file: GoFile, names: Names): readonly GoType[] {
    const lists = childrenOf(node, "Parameters");
    // The first of a method's declaration is the receiver.
    const results = lists[node.kind === "MethodDecl" ? 2 : 1];
    if (results)
      return childrenOf(results, "Parameter").flatMap((one) => {
        const count = Math.max(1, childrenOf(one, "DefName").length);
        return Array.from({ length: count }, () => this.typeAt(one.children.at(-1)!, file, names));
      });
    const last = node.children.findLast(({ kind }) => kind !== "Block");
    return last && last.kind !== "Parameters" ? [this.typeAt(last, file, names)] : [];
  }

  /** What a type is made of, behind its name. */
  underlying(type: GoType): GoType {
    if (type.is === "pointer") return this.underlying(type.of);
    if (type.is !== "named") return type;
    const { spec, file } = type.named;
    return this.#deep(() => this.underlying(this.typeAt(spec.children.at(-1)!, file, type.given)));
  }

  variable({ file, type, value, at, isOnly }: GoVariable, names: Names): GoType {
    if (type) return this.typeAt(type, file, names);
    if (!value) return basic;
    const types = this.valuesOf(value, file, names);
    return isOnly ? (types[0] ?? unknown) : (types[at] ?? (at === 1 ? basic : unknown));
  }

  /** The types of an expression: several for a call that has several results. */
  valuesOf(node: Syntax, file: GoFile, names: Names): readonly GoType[] {
    if (node.kind !== "CallExpr") return [this.#deep(() => this.#valueOf(node, file, names))];
    const [callee] = node.children;
    if (callee?.text === "new" || callee?.text === "make" || callee?.text === "append") {
      const given = childOf(node, "Arguments")?.children[1] ?? null;
      if (callee.text === "append") return given ? this.valuesOf(given, file, names) : [unknown];
      const type = this.typeAt(given, file, names);
      return [callee.text === "new" ? { is: "pointer", of: type } : type];
    }
    const type = this.#deep(() => this.#valueOf(callee!, file, names));
    if (type.is === "type") return [type.type];
    return type.is === "function" ? type.results() : [unknown];
  }

  #valueOf(node: Syntax, file: GoFile, names: Names): GoType {
    const [first, second] = node.children;
    const of = (one: Syntax | undefined): GoType => (one && this.valuesOf(one, file, names)[0]) ?? unknown;
    switch (node.kind) {
      case "VariableName":
        return this.#nameAt(node.text, file, names);
      case "SelectorExpr":
        return this.#selected(of(first), node.children.at(-1)!.text);
      case "ParenthesizedExpr":
        return of(second);
      case "UnaryExp":
        return this.#unary(first!.text, of(second));
      case "IndexExpr":
      case "SliceExpr":
        return this.#indexed(
          of(first),
          node.kind === "SliceExpr" || node.children.some(({ kind }) => kind === ":"),
        );
      case "TypeAssertion":
        return this.typeAt(node.children.findLast(({ kind }) => kind !== ")") ?? null, file, names);
      case "TypedLiteral":
        return this.typeAt(first!, file, names);
      case "FunctionLiteral":
        return { is: "function", results: () => this.resultsOf(node, file, names) };
      case "BinaryExp":
        return /^([=!<>]=?|&&|\|\|)$/.test(second?.text ?? "") ? basic : of(first);
      case "Number":
      case "String":
      case "Rune":
      case "Bool":
        return basic;
      case "ParameterizedExpr":
        return of(first);
      default:
        return this.#asType(node, file, names);
    }
  }

  #asType(node: Syntax, file: GoFile, names: Names): GoType {
    const type = this.typeAt(node, file, names);
    return type.is === "unknown" ? unknown : { is: "type", type };
  }

  #nameAt(name: string, file: GoFile, names: Names): GoType {
    const local = names.get(name);
    if (local) return local;
    const { functions, variables, types } = file.package;
    const [fn] = functions.get(name) ?? [];
    if (fn) return { is: "function", results: () => this.resultsOf(fn.node, fn.file, genericNames(fn)) };
    const variable = variables.get(name);
    if (variable) return this.#deep(() => this.variable(variable, none));
    if (types.has(name) || basics.test(name)) return { is: "type", type: this.#typeNamed(name, file, names) };
    const meant = this.#program.imported(file, name);
    if (meant === null) return /^(true|false|iota|nil)$/.test(name) ? basic : unknown;
    return typeof meant === "string"
      ? { is: "outside package", name: meant }
      : { is: "package", package: meant };
  }

  #unary(sign: string, of: GoType): GoType {
    if (sign === "&") return { is: "pointer", of };
    if (sign === "*") return of.is === "pointer" ? of.of : of.is === "type" ? pointerType(of) : unknown;
    return sign === "<-" && of.is === "channel" ? of.of : sign === "<-" ? unknown : of;
  }

  #indexed(type: GoType, isPart: boolean): GoType {
    const inner = this.underlying(type);
    if (isPart || inner.is === "function") return type;
    return inner.is === "list" || inner.is === "map" ? inner.of : inner.is === "basic" ? basic : unknown;
  }

  #selected(object: GoType, name: string): GoType {
    if (object.is === "package") return this.#deep(() => this.#inPackage(object.package, name));
    if (object.is === "outside package") return unknown;
    const found = this.memberOf(object.is === "type" ? object.type : object, name);
    if (found.field) return found.field;
    const [method] = found.methods;
    if (!method) return unknown;
    const given = found.given ?? none;
    return { is: "function", results: () => this.resultsOf(method.node, method.file, given) };
  }

  memberOf(type: GoType, name: string): Member {
    return memberOf(this, type, name);
  }

  #inPackage(own: GoPackage, name: string): GoType {
    const file = [own.functions.get(name)?.[0], own.types.get(name), own.variables.get(name)].find(
      Boolean,
    )?.file;
    return file ? this.#nameAt(name, file, none) : unknown;
  }
}
