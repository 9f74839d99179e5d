import {
  type GoFile,
  type GoFunction,
  type GoProgram,
  namedOf,
  parametersIn,
  readGo,
  specsOf,
  variablesIn,
} from "./go-declarations.ts";
import { basic, type GoType, Names, none, unknown } from "./go-type.ts";
import { GoTypes } from "./go-types.ts";
import { childOf, childrenOf, type Syntax, unreadLines } from "./lezer-tree.ts";
import { CallTable, type Files, type Oracle, siteKey } from "./truth.ts";

/** The callers in Go files, by a parser of its own and the types that declarations, fields and results have. */
export function createGoOracle(files: Files): Oracle {
  const program = readGo(files);
  const table = new CallTable();
  const functions = functionsOf(program);
  const walker = new Walker(
    program,
    table,
    Map.groupBy(functions, ({ name }) => name),
  );
  for (const file of program.files) {
    walker.walkFile(file);
    for (const line of unreadLines(file.tree)) table.unread({ path: file.path, line });
  }
  const callables = functions.map(({ path, line, name, receiver }) => ({
    path,
    line,
    name,
    container: receiver,
  }));
  return { callables, truthOf: (callable) => table.truthOf(siteKey(callable)) };
}

const functionsOf = ({ packages }: GoProgram): GoFunction[] =>
  packages.flatMap((one) => [
    ...[...one.functions.values()].flat(),
    ...[...one.types.values()].flatMap(({ methods }) => [...methods.values()].flat()),
  ]);

const blocks =
  /^(Block|IfStatement|ForStatement|SwitchStatement|SelectStatement|FunctionLiteral|TypeSwitchStatement)$/;

/** Goes through functions in the order of the text and knows at each call which names are bound to what. */
class Walker {
  readonly #types: GoTypes;
  readonly #table: CallTable;
  readonly #named: ReadonlyMap<string, readonly GoFunction[]>;
  #file!: GoFile;

  constructor(program: GoProgram, table: CallTable, named: ReadonlyMap<string, readonly GoFunction[]>) {
    this.#types = new GoTypes(program);
    this.#table = table;
    this.#named = named;
  }

  walkFile(file: GoFile): void {
    this.#file = file;
    for (const node of file.tree.children) {
      // What a package declares is known already.
      if (/^(VarDecl|ConstDecl)$/.test(node.kind)) this.#children(node, none);
      else if (/^(FunctionDecl|MethodDecl)$/.test(node.kind)) this.#function(node, none);
    }
  }

  #function(node: Syntax, around: Names): void {
    const names = new Names(around);
    const generic = childOf(node, "TypeParams");
    for (const name of generic ? parametersIn(generic) : [])
      names.set(name, () => ({ is: "type", type: unknown }));
    for (const list of childrenOf(node, "Parameters"))
      for (const parameter of childrenOf(list, "Parameter")) this.#parameter(parameter, names);
    this.#children(node, names);
  }

  #parameter(parameter: Syntax, names: Names): void {
    const type = parameter.children.at(-1)!;
    const file = this.#file;
    const isRest = parameter.children.some(({ kind }) => kind === "...");
    for (const { text } of childrenOf(parameter, "DefName"))
      names.set(text, () => {
        const one = this.#types.typeAt(type, file, receiverScope(parameter, names));
        return isRest ? { is: "list", of: one } : one;
      });
  }

  #children(node: Syntax, names: Names): void {
    for (const child of node.children) this.#walk(child, names);
  }

  #walk(node: Syntax, names: Names): void {
    if (node.kind === "FunctionLiteral") this.#function(node, names);
    else if (node.kind === "TypeSwitchStatement") this.#typeSwitch(node, names);
    else if (/^(SwitchBlock|SelectBlock)$/.test(node.kind)) this.#cases(node, names, () => {});
    else if (blocks.test(node.kind)) this.#children(node, new Names(names));
    else {
      this.#children(node, names);
      this.#bind(node, names);
    }
  }

  #bind(node: Syntax, names: Names): void {
    if (node.kind === "CallExpr") this.#call(node, names);
    else if (/^(VarDecl|ConstDecl|ReceiveStatement)$/.test(node.kind)) this.#declare(node, names);
    else if (node.kind === "TypeDecl") this.#declareTypes(node, names);
    else if (node.kind === "RangeClause") this.#range(node, names);
  }

  #declare(node: Syntax, names: Names): void {
    const file = this.#file;
    const found = variablesIn(node, file).map(([name, variable]) => {
      // Values are seen from before the declaration: `x := x.next()`.
      const type = lazy(() => this.#types.variable(variable, names));
      return [name, node.kind === "ConstDecl" ? () => basic : type] as const;
    });
    for (const [, find] of found) find();
    for (const [name, find] of found) if (name !== "_") names.set(name, find);
  }

  #declareTypes(node: Syntax, names: Names): void {
    for (const spec of specsOf(node, "TypeSpec")) {
      const named = namedOf(spec, this.#file);
      names.set(named.name, () => ({ is: "type", type: { is: "named", named, given: names } }));
    }
  }

  #range(node: Syntax, names: Names): void {
    const variables = childrenOf(node, "DefName");
    const over = this.#types.underlying(
      this.#types.valuesOf(node.children.at(-1)!, this.#file, names)[0] ?? unknown,
    );
    const types: GoType[] =
      over.is === "map"
        ? [over.key, over.of]
        : over.is === "list"
          ? [basic, over.of]
          : over.is === "channel"
            ? [over.of]
            : over.is === "basic"
              ? [basic, basic]
              : [];
    for (const [at, { text }] of variables.entries()) names.set(text, () => types[at] ?? unknown);
  }

  #typeSwitch(node: Syntax, around: Names): void {
    const names = new Names(around);
    const variable = childOf(node, "DefName")?.text ?? null;
    const sign = node.children.findIndex(({ kind }) => kind === ":=");
    const subject = node.children[sign + 1];
    for (const child of node.children) {
      if (child.kind !== "SwitchBlock") this.#walk(child, names);
      else
        this.#cases(child, names, (one, inner) => {
          if (!variable || !subject) return;
          const types = one.children.filter(({ kind }) => !/^(case|default|,|:)$/.test(kind));
          const type =
            types.length === 1 && types[0]!.kind !== "Nil"
              ? this.#types.typeAt(types[0]!, this.#file, names)
              : (this.#types.valuesOf(subject, this.#file, names)[0] ?? unknown);
          inner.set(variable, () => type);
        });
    }
  }

  /** Each case is a block of its own. */
  #cases(node: Syntax, names: Names, begin: (one: Syntax, inner: Names) => void): void {
    let inner = new Names(names);
    for (const child of node.children) {
      if (child.kind === "Case" || child.kind === "DefaultCase") {
        inner = new Names(names);
        begin(child, inner);
      }
      this.#walk(child, inner);
    }
  }

  #call({ children: [callee] }: Syntax, names: Names): void {
    const bare = bareCallee(callee!);
    if (bare.kind === "VariableName") this.#callByName(bare, names);
    else if (bare.kind === "SelectorExpr") this.#callMember(bare, names);
  }

  #callByName(name: Syntax, names: Names): void {
    if (names.get(name.text)) return;
    this.#note(this.#file.package.functions.get(name.text) ?? [], name);
  }

  #callMember(selector: Syntax, names: Names): void {
    const [first] = selector.children;
    const name = selector.children.at(-1)!;
    const object = this.#types.valuesOf(first!, this.#file, names)[0] ?? unknown;
    if (object.is === "package") this.#note(object.package.functions.get(name.text) ?? [], name);
    else if (object.is !== "outside package")
      this.#callMethod(object.is === "type" ? object.type : object, name);
  }

  #callMethod(object: GoType, name: Syntax): void {
    const { methods, open } = this.#types.memberOf(object, name.text);
    this.#note(methods, name);
    const isInterface = methods.some(({ node }) => node.kind === "MethodElem");
    // Any type may be behind an interface.
    if (!open && !isInterface) return;
    for (const one of this.#named.get(name.text) ?? [])
      if (one.receiver !== null && !methods.includes(one))
        this.#table.possible(siteKey(one), this.#siteOf(name));
  }

  #note(functions: readonly GoFunction[], name: Syntax): void {
    // One for each platform: which one is compiled, nobody knows.
    const [only, ...others] = functions;
    if (only && others.length === 0) this.#table.certain(siteKey(only), this.#siteOf(name));
    else for (const one of functions) this.#table.possible(siteKey(one), this.#siteOf(name));
  }

  #siteOf = ({ line }: Syntax) => ({ path: this.#file.path, line });
}

function bareCallee(callee: Syntax): Syntax {
  if (callee.kind === "ParenthesizedExpr") return bareCallee(callee.children[1]!);
  return /^(ParameterizedExpr|IndexExpr)$/.test(callee.kind) ? bareCallee(callee.children[0]!) : callee;
}

/** `func (s *Set[T])` names the type's parameters. */
function receiverScope(parameter: Syntax, names: Names): Names {
  const isReceiver =
    parameter.parent?.parent?.kind === "MethodDecl" &&
    parameter.parent === childOf(parameter.parent.parent, "Parameters");
  return isReceiver ? none : names;
}

function lazy<Value>(find: () => Value): () => Value {
  let known: { value: Value } | undefined;
  return () => {
    known ??= { value: find() };
    return known.value;
  };
}
