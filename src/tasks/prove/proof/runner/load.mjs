/**
 * Loaded by `--import` into Node 24: lets JavaScript and TypeScript of a repository run as it is, without a build and without packages. Finds
 * the source behind `./x.js`, a missing extension, a folder, `paths` of a tsconfig.json and the name of one of the repository's own packages,
 * whose build does not exist. Only what Node does not find by itself comes here.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import * as nodeModule from "node:module";
import { dirname, extname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { compileFunction } from "node:vm";

/** The repository. */
const root = dirname(import.meta.dirname);

// Once for each value of the first argument: what stands on the disk when a test begins does not change for it.
const remembered = (read) => {
  const known = new Map();
  return (key) => {
    if (!known.has(key)) known.set(key, read(key));
    return known.get(key);
  };
};

const isFile = (path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
const isFolder = (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const extensions = [".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".jsx", ".json"];
const sourceOf = { ".js": [".ts", ".tsx", ".jsx"], ".jsx": [".tsx"], ".mjs": [".mts"], ".cjs": [".cts"] };

/** The file that a path without a build means; undefined if there is none. */
function fileAt(path) {
  const extension = extname(path);
  const stem = path.slice(0, path.length - extension.length);
  const asNamed = [
    path,
    ...(sourceOf[extension] ?? []).map((one) => stem + one),
    ...extensions.map((one) => path + one),
  ];
  const found = asNamed.find(isFile);
  if (found || !isFolder(path)) return found;
  const { main } = packageIn(path) ?? {};
  const behind = typeof main === "string" ? sourceBehind(path, main) : undefined;
  return behind ?? extensions.map((one) => join(path, `index${one}`)).find(isFile);
}

/** The source of a file that a build would make: the same path without the first folders, in `src` or in the package. */
function sourceBehind(folder, target) {
  const names = target.split("/").filter((name) => name !== "." && name !== "");
  for (let skipped = 0; skipped < Math.min(names.length, 4); skipped += 1) {
    const rest = names
      .slice(skipped)
      .join("/")
      .replace(/\.d\.([cm]?)ts$/, ".$1js");
    const places = skipped === 0 ? [join(folder, rest)] : [join(folder, "src", rest), join(folder, rest)];
    const found = places.map(fileNamed).find((one) => one !== undefined);
    if (found) return found;
  }
  return undefined;
}

/** Like {@link fileAt} for a path that a package names, which is no folder. */
const fileNamed = (path) => (isFolder(path) ? undefined : fileAt(path));

/** JSON with comments and trailing commas; null if it is none. */
function readJson(path) {
  try {
    const text = readFileSync(path, "utf8").replace(/^\uFEFF/, "");
    const plain = text.replace(
      /("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
      (_, string) => string ?? "",
    );
    return JSON.parse(plain.replace(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, (_, string) => string ?? ""));
  } catch {
    return null;
  }
}

const packageIn = remembered((folder) => readJson(join(folder, "package.json")));
const nearestPackage = remembered((folder) => {
  const found = packageIn(folder);
  return found || folder === root || folder === dirname(folder) ? found : nearestPackage(dirname(folder));
});

const MAX_FOLDERS = 5_000;

/** Folders of the repository's own packages, by name. */
const ownPackages = remembered(() => {
  const found = new Map();
  const open = [root];
  for (let count = 0; open.length > 0 && count < MAX_FOLDERS; count += 1) {
    const folder = open.shift();
    const name = packageIn(folder)?.name;
    if (typeof name === "string" && !found.has(name)) found.set(name, folder);
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith("."))
        open.push(join(folder, entry.name));
    }
  }
  return found;
});

/** The first target of `exports` or `imports` that applies; a condition of the repository for its source comes first. */
function targetsIn(value, isRequire) {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap((one) => targetsIn(one, isRequire));
  if (value === null || typeof value !== "object") return [];
  const applies = new Set([
    isRequire ? "require" : "import",
    "module-sync",
    "node",
    "default",
    "development",
  ]);
  const keys = Object.keys(value);
  const own = keys.filter((key) => /(?:^|[/:@_-])source$|^src$/.test(key));
  return [...own, ...keys.filter((key) => applies.has(key))].flatMap((key) =>
    targetsIn(value[key], isRequire),
  );
}

/** The targets of a name in a table of patterns with one `*`. */
function lookUp(table, name, isRequire = false) {
  const exact = table[name];
  if (exact !== undefined) return targetsIn(exact, isRequire);
  const fits = Object.keys(table)
    .filter((key) => key.includes("*"))
    .map((key) => [key, ...key.split("*")])
    .filter(
      ([, before, after]) =>
        name.length >= before.length + after.length && name.startsWith(before) && name.endsWith(after),
    )
    .toSorted(([, a], [, b]) => b.length - a.length);
  return fits.flatMap(([key, before, after]) =>
    targetsIn(table[key], isRequire).map((to) =>
      to.replaceAll("*", name.slice(before.length, name.length - after.length)),
    ),
  );
}

function exported(folder, part, isRequire) {
  const { exports, module, main } = packageIn(folder) ?? {};
  if (exports !== undefined && exports !== null) {
    const isTable = typeof exports === "object" && Object.keys(exports).some((key) => key.startsWith("."));
    return lookUp(isTable ? exports : { ".": exports }, part, isRequire);
  }
  if (part !== ".") return [part];
  return [module, main].filter((one) => typeof one === "string");
}

function inOwnPackage(specifier, isRequire) {
  const [name] = /^(?:@[^/]+\/)?[^/]+/.exec(specifier) ?? [];
  const folder = ownPackages("").get(name);
  if (!folder) return undefined;
  const part = `.${specifier.slice(name.length)}`;
  for (const target of exported(folder, part, isRequire)) {
    const found = sourceBehind(folder, target);
    if (found) return found;
  }
  return part === "."
    ? (fileAt(join(folder, "src/index")) ?? fileAt(join(folder, "index")))
    : (fileAt(join(folder, part)) ?? fileAt(join(folder, "src", part)));
}

function inOwnImports(specifier, from, isRequire) {
  for (let folder = from; folder.startsWith(root); folder = dirname(folder)) {
    const { imports } = packageIn(folder) ?? {};
    if (!imports) continue;
    return lookUp(imports, specifier, isRequire)
      .map((target) => sourceBehind(folder, target))
      .find((one) => one !== undefined);
  }
  return undefined;
}

/** `paths` and `baseUrl` of the nearest tsconfig.json, with the files that it extends. */
const pathsIn = remembered((folder) => {
  const names = ["tsconfig.json", "jsconfig.json", "tsconfig.base.json"];
  for (const name of names) {
    const found = pathsOf(join(folder, name), 0);
    if (found) return found;
  }
  return folder === root || folder === dirname(folder) ? null : pathsIn(dirname(folder));
});

function pathsOf(file, depth) {
  const config = depth < 5 ? readJson(file) : null;
  if (!config) return null;
  const { paths, baseUrl } = config.compilerOptions ?? {};
  if (paths || baseUrl)
    return { paths: paths ?? {}, base: resolve(dirname(file), baseUrl ?? "."), all: baseUrl !== undefined };
  const parents = [config.extends ?? []]
    .flat()
    .filter((one) => typeof one === "string" && one.startsWith("."));
  return (
    parents
      .map((one) => resolve(dirname(file), one))
      .map((one) => pathsOf(isFile(one) ? one : `${one}.json`, depth + 1))
      .findLast((one) => one !== null) ?? null
  );
}

function inPaths(specifier, folder) {
  const found = pathsIn(folder);
  if (!found) return undefined;
  const targets = lookUp(found.paths, specifier);
  return [...targets, ...(found.all ? [specifier] : [])]
    .map((target) => fileAt(resolve(found.base, target)))
    .find((one) => one !== undefined);
}

/** The file for a specifier that Node did not find. */
function find(specifier, parent, isRequire) {
  if (specifier.startsWith("file:")) return fileAt(fileURLToPath(specifier));
  const folder = parent?.startsWith("file:") ? dirname(fileURLToPath(parent)) : root;
  if (!folder.startsWith(root) || folder.includes("/node_modules/")) return undefined;
  if (/^\.{0,2}(?:\/|$)/.test(specifier)) return fileAt(resolve(folder, specifier.replace(/\?.*$/, "")));
  if (specifier.startsWith("#"))
    return inOwnImports(specifier, folder, isRequire) ?? inPaths(specifier, folder);
  return inPaths(specifier, folder) ?? inOwnPackage(specifier, isRequire);
}

/**
 * The text with comments and quoted strings as spaces, and templates too if they shall be no code; null if that cannot be told, because a regular expression is taken for
 * something else.
 */
function codeAlone(text, { templates = true } = {}) {
  const token =
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'|`(?:\\[\s\S]|[^`\\])*`|(?<=(?:^|[=(,:[!&|?{};<>+*%~^-]|\breturn|\btypeof|\bcase)\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[dgimsuvy]*|["'`]/g;
  let isClear = true;
  const blank = (found) => found.replace(/[^\n]/g, " ");
  const code = text.replace(token, (found) => {
    if (found.length === 1) isClear = false;
    // What stands in a template may be code.
    return templates && found.startsWith("`") ? found : blank(found);
  });
  return isClear ? code : null;
}

const importClause =
  /(?<=^|[;}\n])([ \t]*)import\s+((?:[\w$]+\s*,\s*)?(?:[\w$]+|\{[^{}]*\}))\s*from\s*(["'])([^"'\n]+)\3([ \t]*with\s*\{[^}]*\})?[ \t]*;?/g;

/**
 * Removes names from imports that the code does not use, and those of which a file of the repository only has a type: no module exports
 * types. Keeps all lines in their places.
 */
function withoutImportedTypes(text, path) {
  const rest = text.replace(importClause, (found) => found.replace(/[^\n]/g, " "));
  const code = codeAlone(rest) ?? rest;
  const isUsed = (name) => new RegExp(`(?<![\\w$])${name.replaceAll("$", "\\$")}(?![\\w$])`).test(code);
  return text.replace(importClause, (found, _, clause, __, from) => {
    const isType = from.startsWith(".") ? typesIn(resolve(dirname(path), from)) : () => false;
    const [, first, list] = /^([\w$]+)?\s*,?\s*(?:\{([^{}]*)\})?$/.exec(clause) ?? [];
    const names = (list ?? "").split(",").map((one) => one.trim());
    const kept = names.filter((one) => isKept(one, isUsed, isType));
    const keptFirst = first && isUsed(first) ? first : undefined;
    if (list === undefined ? keptFirst : kept.length === names.filter(Boolean).length && keptFirst === first)
      return found;
    return withNames(found, clause, keptFirst, kept);
  });
}

/** An import with fewer names, or nothing, and with as many lines. */
function withNames(found, clause, first, names) {
  if (!first && names.length === 0) return "\n".repeat(found.split("\n").length - 1) || " ";
  const list = names.length > 0 ? `{ ${names.join(", ")} }` : undefined;
  const whole = [first, list].filter(Boolean).join(", ");
  return found.replace(clause, () => whole) + "\n".repeat(Math.max(0, clause.split("\n").length - 1));
}

/** Whether an imported name stays: "a" or "a as b". */
function isKept(name, isUsed, isType) {
  const [imported, local = imported] = name.split(/\s+as\s+/);
  return name !== "" && isUsed(local) && !isType(imported);
}

const exportClause = /(?<=^|[;}\n])([ \t]*export\s*\{)([^{}]*)(\})(\s*from\s*["'](\.[^"'\n]+)["'])?/g;

/**
 * Removes types from lists of exports: `export { A } from "./x.js"` if the source of the other file only has a type of that name, and
 * `export { A }` if nothing else of this file has the name, because types are gone.
 */
function withoutExportedTypes(text, path) {
  const code = codeAlone(text.replace(exportClause, (found, _, __, ___, from) => (from ? " " : found)));
  return text.replace(exportClause, (found, before, list, after, source, from) => {
    if (/["']/.test(list)) return found;
    const isType = source
      ? typesIn(resolve(dirname(path), from))
      : (name) => code !== null && timesIn(code, name) < 2;
    const plain = list.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, " "));
    const kept = plain.split(",").map((one) => {
      const [name = ""] = one.trim().split(/\s+as\s+/);
      return name !== "" && isType(name) ? one.replace(/[^\n]/g, " ") : one;
    });
    return (
      before +
      kept.filter((one, index) => one.trim() !== "" || index === kept.length - 1).join(",") +
      after +
      (source ?? "")
    );
  });
}

const timesIn = (text, name) =>
  text.split(new RegExp(`(?<![\\w$])${name.replaceAll("$", "\\$")}(?![\\w$])`)).length - 1;

/** Tells of a name whether a file has only a type of it. */
function typesIn(path) {
  const file = fileAt(path);
  if (!file || !isTypeScript(file)) return () => false;
  const text = readFileSync(file, "utf8");
  return (name) =>
    new RegExp(`\\b(?:interface|type)\\s+${name.replaceAll("$", "\\$")}(?![\\w$])`).test(text) &&
    !new RegExp(
      `\\b(?:class|const|let|var|function\\*?|enum|namespace)\\s+${name.replaceAll("$", "\\$")}(?![\\w$])`,
    ).test(text);
}

const isTypeScript = (path) => /\.(?:ts|tsx|mts|cts)$/.test(path);

const fault = (path, what) =>
  new Error(
    `Cannot run ${path.slice(root.length + 1)} as it is: ${what}. Name a command that runs one test file in the configuration.`,
  );

function withoutTypes(path, text) {
  if (
    /^[ \t]*(?:export\s+)?(?:default\s+)?@[A-Za-z_$][\w$.]*(?:\(|[ \t]*$|[ \t]+(?:class|export|public|private|protected|readonly|static)\b)/m.test(
      codeAlone(text, { templates: false }) ?? "",
    )
  )
    throw fault(path, "it has decorators, which Node does not run");
  const strip = (options) => nodeModule.stripTypeScriptTypes(text, options);
  try {
    return withoutExportedTypes(withoutImportedTypes(strip({ mode: "strip" }), path), path);
  } catch (error) {
    if (error.code !== "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") throw faultOf(path, text, error);
  }
  try {
    const made = strip({ mode: "transform", sourceMap: true, sourceUrl: pathToFileURL(path).href });
    return withoutExportedTypes(withoutImportedTypes(made, path), path);
  } catch (error) {
    throw faultOf(path, text, error);
  }
}

const hasTags = (text) => /(?:\(|=>|return|=|\?|:|&&)\s*<(?:[A-Za-z][\w.]*[\s/>]|>)/.test(text);

const faultOf = (path, text, error) =>
  /\.[jt]sx$/.test(path) && hasTags(text)
    ? fault(path, "it has JSX, which Node does not run")
    : new SyntaxError(`${path.slice(root.length + 1)}: ${error.message}`);

/** What V8 says of code that is a module and not CommonJS, as Node's own detection does. */
const moduleOnly =
  /Cannot use import statement outside a module|Unexpected token 'export'|Cannot use 'import\.meta' outside a module|await is only valid in async functions/;

function isModule(path, text) {
  if (/\.m[jt]s$/.test(path)) return true;
  if (path.endsWith(".cjs")) return false;
  if (!path.endsWith(".cts") && nearestPackage(dirname(path))?.type === "module") return true;
  try {
    compileFunction(text, ["exports", "require", "module", "__filename", "__dirname"]);
    return false;
  } catch (error) {
    return moduleOnly.test(error.message);
  }
}

/** Names of CommonJS that sources of TypeScript use beside `import`, because a compiler makes them CommonJS. On the first line. */
function withNamesOfCommonJs(text) {
  const code = codeAlone(text) ?? text;
  const used = (name) =>
    new RegExp(`(?<![\\w$.])${name}\\b`).test(code) &&
    !new RegExp(`\\b(?:const|let|var|import|function)\\s+${name}\\b`).test(code);
  const names = [
    used("require") &&
      'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);',
    used("__filename") && "const __filename=import.meta.filename;",
    used("__dirname") && "const __dirname=import.meta.dirname;",
  ].filter(Boolean);
  return text.startsWith("#!") || names.length === 0 ? text : names.join("") + text;
}

const notFound = new Set([
  ...[
    "ERR_MODULE_NOT_FOUND",
    "MODULE_NOT_FOUND",
    "ERR_UNSUPPORTED_DIR_IMPORT",
    "ERR_PACKAGE_PATH_NOT_EXPORTED",
  ],
  ...["ERR_PACKAGE_IMPORT_NOT_DEFINED", "ENOENT"],
]);

function resolveHook(specifier, context, next) {
  try {
    return next(specifier, context);
  } catch (error) {
    if (!notFound.has(error.code)) throw error;
    const file = find(specifier, context.parentURL, context.conditions?.includes("require"));
    if (file === undefined) throw error;
    return { url: pathToFileURL(file).href, shortCircuit: true };
  }
}

/** As bundlers do it: the whole value, and each of its keys that can be a name. */
function moduleOfJson(text) {
  const value = JSON.parse(text);
  const isTable = value !== null && typeof value === "object" && !Array.isArray(value);
  const names = (isTable ? Object.keys(value) : []).filter(
    (key) => /^[A-Za-z_$][\w$]*$/.test(key) && key !== "default",
  );
  const named = names.map(
    (key, index) => `const __${index} = __all[${JSON.stringify(key)}]; export { __${index} as ${key} };`,
  );
  return [`const __all = ${JSON.stringify(value)}; export default __all;`, ...named].join("\n");
}

function loadHook(url, context, next) {
  if (!url.startsWith(`${pathToFileURL(root).href}/`) || url.includes("/node_modules/"))
    return next(url, context);
  const path = fileURLToPath(url);
  if (
    path.endsWith(".json") &&
    context.conditions?.includes("import") &&
    context.importAttributes?.type !== "json"
  ) {
    return { format: "module", source: moduleOfJson(readFileSync(path, "utf8")), shortCircuit: true };
  }
  if (!/\.[cm]?[jt]sx?$/.test(path) || path.startsWith(import.meta.dirname)) return next(url, context);
  const text = readFileSync(path, "utf8");
  if (path.endsWith(".jsx")) throw fault(path, "it has JSX, which Node does not run");
  const source = isTypeScript(path) ? withoutTypes(path, text) : text;
  if (!isModule(path, source)) return { format: "commonjs", source, shortCircuit: true };
  return { format: "module", source: withNamesOfCommonJs(source), shortCircuit: true };
}

// An older Node that a test starts runs without.
if (nodeModule.registerHooks && nodeModule.stripTypeScriptTypes && existsSync(root)) {
  const warn = process.emitWarning;
  // That stripping types is experimental is no output of the test.
  process.emitWarning = () => {};
  nodeModule.stripTypeScriptTypes("");
  process.emitWarning = warn;
  process.setSourceMapsEnabled(true);
  nodeModule.registerHooks({ resolve: resolveHook, load: loadHook });
}
