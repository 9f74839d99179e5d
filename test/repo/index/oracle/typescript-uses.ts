import { ts } from "@ts-morph/common";
import { type Callable, type Files, type Oracle, siteKey } from "./truth.ts";
import { calleeOf, createService, lineOf, nameIn, root, walk } from "./typescript-oracle.ts";

interface Declared {
  callable: Callable;
  name: ts.Node;
}

/** Where types and constants are used without being called, as the TypeScript language service knows it. */
export function createTypeScriptUses(files: Files, service = createService(files)): Oracle {
  const program = service.getProgram()!;
  const declared = [...files.keys()].flatMap((path) =>
    declarationsIn(program.getSourceFile(root + path)!, path),
  );
  return {
    callables: declared.map(({ callable }) => callable),
    truthOf(callable) {
      const { name } = declared.find((one) => one.callable === callable)!;
      const certain = new Set<string>();
      const possible = new Set<string>();
      for (const { references } of service.findReferences(root + callable.path, name.getStart()) ?? [])
        for (const { fileName, textSpan } of references) {
          const node = nodeAt(program.getSourceFile(fileName)!, textSpan.start);
          // Comments name things too, and imports a module that is one.
          if (!ts.isIdentifier(node)) continue;
          const site = siteKey({ path: fileName.slice(root.length), line: lineOf(node) });
          (isUse(node) ? certain : possible).add(site);
        }
      return { certain, possible };
    },
  };
}

/** What stands on the top level of a file: one declaration for each name. */
function declarationsIn(source: ts.SourceFile, path: string): Declared[] {
  const found = new Map<string, Declared | null>();
  const add = (name: ts.Node) =>
    found.set(
      name.getText(),
      // A type, a constant and a namespace of one name are several things.
      found.has(name.getText())
        ? null
        : { callable: { path, line: lineOf(name), name: name.getText(), container: null }, name },
    );
  for (const one of source.statements) {
    if (ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one) || ts.isEnumDeclaration(one))
      add(one.name);
    if (ts.isClassDeclaration(one) && one.name) add(one.name);
    if (ts.isModuleDeclaration(one)) add(one.name);
    if (ts.isVariableStatement(one))
      for (const { name } of one.declarationList.declarations) if (ts.isIdentifier(name)) add(name);
  }
  return [...found.values()].filter((one) => one !== null);
}

function nodeAt(source: ts.SourceFile, start: number): ts.Node {
  let found: ts.Node = source;
  walk(source, (node) => {
    if (node.getStart(source) === start && node.getEnd() > start) found = node;
  });
  return found;
}

/** Neither what declares a name, nor what hands it on, nor a call. */
function isUse(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent) || ts.isImportClause(parent)) return false;
  if (ts.isExportAssignment(parent) || ts.isNamespaceImport(parent)) return false;
  if (ts.getNameOfDeclaration(parent as ts.Declaration) === node)
    return ts.isShorthandPropertyAssignment(parent);
  for (let around: ts.Node = parent; around && !ts.isStatement(around); around = around.parent) {
    const callee = calleeOf(around);
    if (callee && nameIn(callee) === node) return false;
  }
  return true;
}
