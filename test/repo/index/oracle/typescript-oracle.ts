import { ts } from "@ts-morph/common";
import { type Callable, type CallSite, type Files, type Oracle, siteKey } from "./truth.ts";

/** Below which the files are held; nothing lies there on the disk. */
export const root = "/oracle/";

interface Declared {
  callable: Callable;
  name: ts.Node;
  symbol: ts.Symbol;
}

/** A call and the name by which it is called. */
interface Call {
  site: CallSite;
  name: ts.Node;
}

/**
 * The callers as the TypeScript language service knows them. Types of packages are unknown to it, so that calls through them are
 * only possible ones.
 */
export function createTypeScriptOracle(files: Files, service = createService(files)): Oracle {
  const program = service.getProgram()!;
  const checker = program.getTypeChecker();
  const sources = [...files.keys()].map((path) => ({ path, source: program.getSourceFile(root + path)! }));
  const declared = sources.flatMap(({ path, source }) => declarationsIn(source, path, checker));
  const calls = sources.flatMap(({ path, source }) => callsIn(source, path));
  const meanings = new Map(calls.map((call) => [call, meaningOf(call.name, checker)]));
  const byMeaning = Map.groupBy(calls, (call) => meanings.get(call)!);
  const unknown = calls.filter((call) => meanings.get(call) === null && isMember(call.name));
  const byPlace = new Map(calls.map((call) => [placeKey(call.site.path, call.name.getStart()), call]));

  /** What was put into an object or taken out of one under the same name may be it. */
  function mayBe(call: Call, symbol: ts.Symbol): boolean {
    const [declaration] = meanings.get(call)?.declarations ?? [];
    const value = declaration && givenTo(declaration, checker);
    return value !== null && value !== undefined && declaredOf(value, checker) === symbol;
  }

  /** A member may be called through its interface or base class, and by what the compiler cannot tell. */
  function* possibleCalls({ callable, name, symbol }: Declared): Generator<Call> {
    yield* calls.filter((call) => call.name.getText() === callable.name && mayBe(call, symbol));
    if (callable.container === null) return;
    for (const place of referencesTo(service, callable, name)) {
      const call = byPlace.get(place);
      if (call && meanings.get(call) !== symbol) yield call;
    }
    yield* unknown.filter((call) => call.name.getText() === callable.name);
  }

  return {
    callables: declared.map(({ callable }) => callable),
    truthOf(callable) {
      const one = declared.find((other) => other.callable === callable)!;
      const certain = byMeaning.get(one.symbol) ?? [];
      return {
        certain: new Set(certain.map(({ site }) => siteKey(site))),
        get possible() {
          return new Set([...possibleCalls(one)].map(({ site }) => siteKey(site)));
        },
      };
    },
  };
}

export const createService = (files: Files): ts.LanguageService =>
  ts.createLanguageService(hostOf(files), ts.createDocumentRegistry());

function hostOf(files: Files): ts.LanguageServiceHost {
  const textOf = (name: string) => (name.startsWith(root) ? files.get(name.slice(root.length)) : undefined);
  return {
    getScriptFileNames: () => [...files.keys()].map((path) => root + path),
    getScriptVersion: () => "1",
    getScriptSnapshot(name) {
      const text = textOf(name) ?? libraryText(name);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCompilationSettings: () => ({
      target: ts.ScriptTarget.ESNext,
      // Takes modules of both kinds without asking a `package.json`.
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      ...{ strict: true, skipLibCheck: true, noEmit: true, allowImportingTsExtensions: true, allowJs: true },
      jsx: ts.JsxEmit.Preserve,
      types: [],
      // Without those of browsers, which take as long as all others together.
      lib: ["lib.es2024.d.ts", "lib.esnext.disposable.d.ts"],
    }),
    getCurrentDirectory: () => root,
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    fileExists: (name) => textOf(name) !== undefined || libraryText(name) !== undefined,
    readFile: (name) => textOf(name) ?? libraryText(name),
  };
}

/** The declarations of JavaScript itself, which the compiler brings along. */
function libraryText(name: string): string | undefined {
  return name.startsWith(root) || !/\/lib\.[\w.]+\.d\.ts$/.test(name) ? undefined : ts.sys.readFile(name);
}

export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

export const lineOf = (node: ts.Node): number => {
  const source = node.getSourceFile();
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
};

function declarationsIn(source: ts.SourceFile, path: string, checker: ts.TypeChecker): Declared[] {
  const found = new Map<ts.Symbol, Declared>();
  walk(source, (node) => {
    const name = nameOfCallable(node);
    const symbol = name && checker.getSymbolAtLocation(name);
    if (!symbol || !name) return;
    const callable = { path, line: lineOf(name), name: name.getText(), container: containerOf(node) };
    // Of several declarations that one counts that has a body.
    if (!found.has(symbol) || hasBody(node)) found.set(symbol, { callable, name, symbol });
  });
  return [...found.values()];
}

const hasBody = (node: ts.Node) => "body" in node && node.body !== undefined;

function nameOfCallable(node: ts.Node): ts.Node | null {
  if (ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node)) return node.name ?? null;
  if (ts.isMethodDeclaration(node) || ts.isMethodSignature(node))
    return ts.isIdentifier(node.name) && containerOf(node) !== null ? node.name : null;
  if (!ts.isVariableDeclaration(node) || !ts.isIdentifier(node.name) || !node.initializer) return null;
  const isFunction = ts.isArrowFunction(node.initializer) || ts.isFunctionExpression(node.initializer);
  return isFunction ? node.name : null;
}

function containerOf({ parent }: ts.Node): string | null {
  const isType = parent && (ts.isClassDeclaration(parent) || ts.isInterfaceDeclaration(parent));
  return isType ? (parent.name?.text ?? null) : null;
}

function callsIn(source: ts.SourceFile, path: string): Call[] {
  const calls: Call[] = [];
  walk(source, (node) => {
    const callee = calleeOf(node);
    const name = callee && nameIn(callee);
    if (name) calls.push({ site: { path, line: lineOf(name) }, name });
  });
  return calls;
}

export function calleeOf(node: ts.Node): ts.Node | null {
  if (ts.isCallExpression(node) || ts.isNewExpression(node) || ts.isDecorator(node)) return node.expression;
  if (ts.isTaggedTemplateExpression(node)) return node.tag;
  if (ts.isJsxOpeningElement(node) || ts.isJsxSelfClosingElement(node)) return node.tagName;
  return null;
}

export function nameIn(callee: ts.Node): ts.Node | null {
  if (ts.isParenthesizedExpression(callee) || ts.isNonNullExpression(callee))
    return nameIn(callee.expression);
  if (ts.isPropertyAccessExpression(callee)) return callee.name;
  return ts.isIdentifier(callee) || callee.kind === ts.SyntaxKind.SuperKeyword ? callee : null;
}

const isMember = (name: ts.Node) => ts.isPropertyAccessExpression(name.parent) && name.parent.name === name;

/** What a name stands for, behind all imports; null where the compiler does not know. */
function meaningOf(name: ts.Node, checker: ts.TypeChecker): ts.Symbol | null {
  const symbol = checker.getSymbolAtLocation(name);
  return symbol ? declaredOf(symbol, checker) : null;
}

function declaredOf(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol | null {
  const meant = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  if (meant.declarations === undefined) return null;
  const exported = meant.declarations.find(isExportedProperty);
  const value = exported && givenTo(exported, checker);
  if (value && value !== symbol) return declaredOf(value, checker);
  // A member of a generic type stands for that of its declaration.
  const [declaration] = meant.declarations;
  const declaredName = declaration && ts.getNameOfDeclaration(declaration);
  return (declaredName && checker.getSymbolAtLocation(declaredName)) ?? meant;
}

/** `module.exports = { name }` */
function isExportedProperty({ parent }: ts.Node): boolean {
  const assignment = parent && ts.isObjectLiteralExpression(parent) ? parent.parent : null;
  return (
    assignment !== null && ts.isBinaryExpression(assignment) && assignment.left.getText() === "module.exports"
  );
}

/** What a property of an object or a variable taken out of one was given, where that is a name. */
function givenTo(declaration: ts.Node, checker: ts.TypeChecker): ts.Symbol | null {
  if (ts.isShorthandPropertyAssignment(declaration))
    return checker.getShorthandAssignmentValueSymbol(declaration) ?? null;
  if (ts.isPropertyAssignment(declaration) && ts.isIdentifier(declaration.initializer))
    return checker.getSymbolAtLocation(declaration.initializer) ?? null;
  if (!ts.isBindingElement(declaration)) return null;
  const property = declaration.propertyName ?? declaration.name;
  return checker.getTypeAtLocation(declaration.parent).getProperty(property.getText()) ?? null;
}

const placeKey = (path: string, start: number) => `${path}@${start}`;

function referencesTo(service: ts.LanguageService, { path }: Callable, name: ts.Node): string[] {
  const groups = service.findReferences(root + path, name.getStart()) ?? [];
  return groups.flatMap(({ references }) =>
    references.map(({ fileName, textSpan }) => placeKey(fileName.slice(root.length), textSpan.start)),
  );
}
