/**
 * Prints statistics of the code base, to compare two versions: `node scripts/measure-house.ts [DIR]`. DIR is a checkout of any version; the
 * default is this one.
 */
import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { Lang, parse, type SgNode } from "@ast-grep/napi";

const root = resolve(process.argv[2] ?? join(import.meta.dirname, ".."));

interface SourceFile {
  path: string;
  text: string;
  lines: number;
  tree: SgNode;
  /** Imported files of this code base, including type imports and `import()`. */
  imports: string[];
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(root, path), "utf8");
  const found = text.matchAll(
    /(?:^|\n)(?:import|export)\b[^"';]*?["'](\.[^"']+)["']|\bimport\(\s*["'](\.[^"']+)["']/g,
  );
  const imports = [...found].map(([, one, other]) => join(dirname(path), one ?? other ?? ""));
  return {
    path,
    text,
    lines: text.split("\n").length - 1,
    tree: parse(Lang.TypeScript, text).root(),
    imports,
  };
}

const read = (pattern: string) =>
  new Map(
    globSync(pattern, { cwd: root })
      .toSorted()
      .map((path) => [path, readSource(path)]),
  );
const src = read("src/**/*.ts");
const tests = read("test/**/*.ts");

const sum = (files: Iterable<SourceFile>) => [...files].reduce((all, { lines }) => all + lines, 0);
const roomOf = (path: string) => path.split("/")[1] ?? "";

/** Number of files in `src` that import each file of `src`. */
function importers(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { imports } of src.values()) {
    for (const to of new Set(imports)) counts.set(to, (counts.get(to) ?? 0) + 1);
  }
  return counts;
}

function closureOf(entries: readonly string[]): SourceFile[] {
  const files = new Map<string, SourceFile>();
  const open = [...entries];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    const file = src.get(path);
    if (!file || files.has(path)) continue;
    files.set(path, file);
    open.push(...file.imports);
  }
  return [...files.values()];
}

/** Whether every function that a file exports is a single call, and the file exports no other code. */
function isHandOn({ tree }: SourceFile): boolean {
  const exported = tree.findAll({ rule: { kind: "export_statement", inside: { kind: "program" } } });
  const kinds = exported.map((statement) => {
    const declared = statement.field("declaration");
    if (!declared) return "hands on";
    if (/interface|type_alias|enum/.test(declared.kind().toString())) return "type";
    const body = declared.find({ rule: { any: [{ kind: "statement_block" }, { kind: "arrow_function" }] } });
    if (!body) return "does";
    const block = body.kind() === "arrow_function" ? body.field("body") : body;
    const statements =
      block?.kind() === "statement_block" ? block.children().filter((one) => one.isNamed()) : [block];
    const [only] = statements;
    const isCall = /^(?:return )?(?:await )?[\w.]+\([\w\s,.{}]*\);?$/.test(only?.text() ?? "");
    return statements.length === 1 && isCall ? "hands on" : "does";
  });
  return kinds.includes("hands on") && !kinds.includes("does");
}

/** The files of `src` with these names, in any folder. */
const named = (...names: string[]) => [...src.keys()].filter((path) => names.includes(basename(path)));

const review = named("review-process.ts", "child.ts");
const journeys: Record<string, SourceFile[]> = {
  "webhook to review": closureOf([...named("serve.ts"), ...review]),
  "hunkwise review": closureOf([
    ...[...src.keys()].filter((path) => /cli\/.*\breview\.ts$/.test(path)),
    ...review,
  ]),
  "a finding": [...src.values()].filter(({ text }) =>
    /\b\w*Finding\b/.test(text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "")),
  ),
  "/fix to a commit": closureOf([
    ...[...src.keys()].filter((path) => /jobs\/.*\bfix\.ts$/.test(path)),
    ...review,
  ]),
};

/** Names of types that several files declare. */
function duplicateTypes(): [name: string, files: number][] {
  const files = new Map<string, Set<string>>();
  for (const { path, text } of src.values()) {
    for (const [, name = ""] of text.matchAll(/^(?:export )?(?:interface|type) (\w+)/gm)) {
      files.set(name, (files.get(name) ?? new Set()).add(path));
    }
  }
  const counts = [...files].map(([name, of]): [string, number] => [name, of.size]);
  return counts.filter(([, count]) => count > 1).toSorted(([, a], [, b]) => b - a);
}

const print = (...cells: (string | number)[]) => console.log(`| ${cells.join(" | ")} |`);

print("room", "files", "lines");
print("---", "---:", "---:");
for (const [room, files] of Map.groupBy(src.values(), ({ path }) => roomOf(path)))
  print(room, files.length, sum(files));
print("**src**", src.size, sum(src.values()));
print("**test**", tests.size, sum(tests.values()));

const counts = importers();
const single = [...src.values()].filter(({ path }) => counts.get(path) === 1);
console.log();
print("measure", "count", "lines");
print("---", "---:", "---:");
print("files with one importer", single.length, sum(single));
const small = single.filter(({ lines }) => lines <= 60);
print("of these at most 60 lines", small.length, sum(small));
for (const [name, files] of Object.entries(journeys)) {
  print(`files of the journey: ${name}`, files.length, sum(files));
  const handOns = files.filter(isHandOn);
  print("of these only hand on", handOns.length, sum(handOns));
}
const duplicates = duplicateTypes();
print("type names declared in several files", duplicates.length, "");
print(
  "most often",
  duplicates
    .slice(0, 5)
    .map(([name, count]) => `${name} ${count}`)
    .join(", "),
  "",
);
