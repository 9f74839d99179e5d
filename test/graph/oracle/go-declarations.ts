import { parser } from "@lezer/go";
import { regroup } from "./go-precedence.ts";
import { childOf, childrenOf, parseTree, type Syntax } from "./lezer-tree.ts";

/** A function, a method, or a method of an interface. */
export interface GoFunction {
  path: string;
  line: number;
  name: string;
  node: Syntax;
  file: GoFile;
  /** Of a method the type; null for functions. */
  receiver: string | null;
}

export interface GoNamed {
  name: string;
  file: GoFile;
  /** The `TypeSpec`. */
  spec: Syntax;
  isAlias: boolean;
  parameters: readonly string[];
  methods: Map<string, GoFunction[]>;
}

/** A variable of a package, or one of a function: the type that stands there, or the value it is made from. */
export interface GoVariable {
  file: GoFile;
  type: Syntax | null;
  value: Syntax | null;
  /** Which of the values it is, where one expression has several. */
  at: number;
  isOnly: boolean;
}

export interface GoPackage {
  folder: string;
  name: string;
  functions: Map<string, GoFunction[]>;
  types: Map<string, GoNamed>;
  variables: Map<string, GoVariable>;
}

export interface GoFile {
  path: string;
  tree: Syntax;
  /** Import paths by the names they have here; null where the package's own name is to be used. */
  imports: readonly { path: string; name: string | null }[];
  package: GoPackage;
}

export interface GoProgram {
  files: readonly GoFile[];
  packages: readonly GoPackage[];
  /** What an imported name means: a package of ours, the path of another one, or null where nothing is imported so. */
  imported(file: GoFile, name: string): GoPackage | string | null;
}

/** Reads all files and what they declare on top. `go.mod` files tell the paths by which packages are imported. */
export function readGo(files: ReadonlyMap<string, string>): GoProgram {
  const packages = new Map<string, GoPackage>();
  const modules = modulesIn(files);
  const parsed = [...files]
    .filter(([path]) => path.endsWith(".go"))
    .map(([path, text]) => readFile(path, text));
  for (const file of parsed) declareTypes(file);
  for (const file of parsed) declareOthers(file);
  const byPath = new Map([...packages.values()].flatMap((one) => pathsOf(one).map((path) => [path, one])));

  function readFile(path: string, text: string): GoFile {
    const tree = parseTree(parser, text);
    regroup(tree);
    const clause = childOf(tree, "PackageClause");
    const name = (clause && childOf(clause, "DefName")?.text) ?? "";
    const folder = path.slice(0, path.lastIndexOf("/") + 1);
    const key = `${folder} ${name}`;
    const own: GoPackage = packages.get(key) ?? {
      ...{ folder, name, functions: new Map(), types: new Map(), variables: new Map() },
    };
    packages.set(key, own);
    return { path, tree, imports: importsOf(tree), package: own };
  }

  function pathsOf({ folder, name }: GoPackage): string[] {
    if (name.endsWith("_test")) return [];
    const within = modules.filter((one) => folder.startsWith(one.folder));
    const nearest = within.toSorted((a, b) => b.folder.length - a.folder.length)[0];
    const rest = nearest && folder.slice(nearest.folder.length).replace(/\/$/, "");
    return nearest ? [rest ? `${nearest.path}/${rest}` : nearest.path] : [];
  }

  return {
    files: parsed,
    packages: [...packages.values()],
    imported(file, name) {
      for (const one of file.imports) {
        const ours = byPath.get(one.path);
        const own = one.name ?? ours?.name ?? lastPart(one.path);
        if (own === name) return ours ?? one.path;
      }
      return null;
    },
  };
}

function modulesIn(files: ReadonlyMap<string, string>): { folder: string; path: string }[] {
  return [...files].flatMap(([file, text]) => {
    const path = /^module\s+(\S+)/m.exec(text)?.[1];
    return /(^|\/)go\.mod$/.test(file) && path ? [{ folder: file.slice(0, -"go.mod".length), path }] : [];
  });
}

/** What a package is most likely called: without a version at the end. */
const lastPart = (path: string) => path.replace(/(\/|\.)v\d+$/, "").replace(/^.*\//, "");

function importsOf(tree: Syntax): GoFile["imports"] {
  const specs = childrenOf(tree, "ImportDecl").flatMap((one) => [one, ...childrenOf(one, "SpecList")]);
  return specs.flatMap((list) =>
    childrenOf(list, "ImportSpec").map((spec) => ({
      path: childOf(spec, "String")?.text.slice(1, -1) ?? "",
      name: childOf(spec, "DefName")?.text ?? null,
    })),
  );
}

/** The specs of declarations, whether in parentheses or not. */
export const specsOf = (declaration: Syntax, kind: string): Syntax[] =>
  [declaration, ...childrenOf(declaration, "SpecList")].flatMap((list) => childrenOf(list, kind));

function declareTypes(file: GoFile): void {
  for (const declaration of childrenOf(file.tree, "TypeDecl"))
    for (const spec of specsOf(declaration, "TypeSpec")) {
      const named = namedOf(spec, file);
      file.package.types.set(named.name, named);
    }
}

export function namedOf(spec: Syntax, file: GoFile): GoNamed {
  const name = childOf(spec, "DefName")?.text ?? "";
  const given = childOf(spec, "TypeParams");
  const parameters = given ? parametersIn(given) : [];
  const isAlias = spec.children.some(({ kind }) => kind === "=");
  const named: GoNamed = { name, file, spec, isAlias, parameters, methods: new Map() };
  const body = childOf(spec, "InterfaceType")?.children.find(({ kind }) => kind === "InterfaceBody");
  for (const method of body ? childrenOf(body, "MethodElem") : []) addMethod(named, method, file);
  return named;
}

/** Names of type parameters: all of each but its constraint. */
export const parametersIn = (list: Syntax): string[] =>
  childrenOf(list, "TypeParam").flatMap((one) => {
    const names = one.children.filter(({ kind }) => kind !== ",");
    return names.slice(0, -1).map(({ text }) => text);
  });

function addMethod(named: GoNamed, node: Syntax, file: GoFile): void {
  const name = childOf(node, "FieldName");
  if (!name) return;
  const { text, line } = name;
  const one = { path: file.path, line, name: text, node, file, receiver: named.name };
  named.methods.set(text, [...(named.methods.get(text) ?? []), one]);
}

function declareOthers(file: GoFile): void {
  const own = file.package;
  for (const node of file.tree.children) {
    if (node.kind === "MethodDecl") {
      const receiver = receiverOf(node);
      const named = receiver ? own.types.get(receiver) : undefined;
      if (named) addMethod(named, node, file);
    }
    const name = node.kind === "FunctionDecl" ? childOf(node, "DefName") : null;
    if (name) {
      const { text, line } = name;
      const one = { path: file.path, line, name: text, node, file, receiver: null };
      own.functions.set(text, [...(own.functions.get(text) ?? []), one]);
    }
    if (node.kind === "VarDecl" || node.kind === "ConstDecl")
      for (const [variable, given] of variablesIn(node, file)) own.variables.set(variable, given);
  }
}

/** The name of the type that a method belongs to. */
export function receiverOf(method: Syntax): string | null {
  const parameter = childOf(childOf(method, "Parameters")!, "Parameter");
  let type = parameter?.children.at(-1) ?? null;
  while (type && type.kind !== "TypeName")
    type = childOf(type, "TypeName", "ParameterizedType", "PointerType", "ParenthesizedType");
  return type?.text ?? null;
}

/** The variables of a declaration, short ones (`:=`) too, in pairs with their names. */
export function variablesIn(declaration: Syntax, file: GoFile): [string, GoVariable][] {
  const specs = specsOf(declaration, "VarSpec").concat(specsOf(declaration, "ConstSpec"));
  const parts = declaration.children.some(({ kind }) => kind === ":=") ? [declaration] : specs;
  return parts.flatMap((part) => {
    const names = childrenOf(part, "DefName");
    const sign = part.children.findIndex(({ kind }) => kind === "=" || kind === ":=");
    const head = sign < 0 ? part.children : part.children.slice(0, sign);
    const values = sign < 0 ? [] : part.children.slice(sign + 1).filter(({ kind }) => kind !== ",");
    const type = head.findLast(({ kind }) => kind !== "DefName" && kind !== ",") ?? null;
    return names.map((name, at): [string, GoVariable] => {
      const value = values.length === 1 ? values[0]! : (values[at] ?? null);
      return [name.text, { file, type, value, at, isOnly: values.length === names.length }];
    });
  });
}
