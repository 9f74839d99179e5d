import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { grammarPackages } from "./grammars.ts";

interface Work {
  /** Name and version. */
  name: string;
  /** SPDX expression. */
  license: string;
  /** Copyright notice and terms; empty if the package has none. */
  text: string;
}

/**
 * The copyright notices of the grammars from which the parsers are generated, all under the MIT license, by the name of the grammar's
 * package. The packages with the parsers do not repeat them. Source: the file LICENSE of each, in the version that is used.
 */
const grammarNotices: Readonly<Record<string, string>> = {
  "tree-sitter-c": "Copyright (c) 2014 Max Brunsfeld",
  "tree-sitter-cpp": "Copyright (c) 2014 Max Brunsfeld",
  "tree-sitter-c-sharp":
    "Copyright (c) 2014-2023 Max Brunsfeld, Damien Guard, Amaan Qureshi, and contributors.",
  "tree-sitter-go": "Copyright (c) 2014 Max Brunsfeld",
  "tree-sitter-java": "Copyright (c) 2017 Ayman Nadeem",
  "tree-sitter-kotlin": "Copyright (c) 2019 fwcd",
  "tree-sitter-php":
    "Copyright (c) 2017 Josh Vera, GitHub\nCopyright (c) 2019 Max Brunsfeld, Amaan Qureshi, Christian Frøystad, Caleb White",
  "tree-sitter-python": "Copyright (c) 2016 Max Brunsfeld",
  "tree-sitter-ruby": "Copyright (c) 2016 Rob Rix",
  "tree-sitter-rust": "Copyright (c) 2017 Maxim Sokolov",
};

/** Our own terms are the MIT license: everything after the line with the copyright. */
const mitTerms = readFileSync(join(import.meta.dirname, "../LICENSE"), "utf8")
  .replace(/^[\s\S]*?Copyright.*\n/, "")
  .trim();

/**
 * The licenses of everything that the built program contains and that others wrote, for people to read: the packages to which the files
 * belong, and the parsers. Works under the same text share it. Rejects for a package without a license, and for a grammar without a notice.
 *
 * @param files absolute paths of bundled files
 */
export async function licensesOf(files: readonly string[]): Promise<string> {
  const folders = new Set(files.flatMap((file) => packageFolder(file) ?? []));
  const works = [...[...folders].map(packageWork), ...grammarPackages.flatMap(parserWorks)];
  works.sort((a, b) => (a.name < b.name ? -1 : 1));
  const byText = Map.groupBy(works, ({ text, license }) => text || license);
  const parts = [...byText].map(([text, group]) => {
    const names = group.map(({ name, license }) => `${name} (${license})`);
    const terms = group.every((one) => one.text === "") ? "The package comes without a license text." : text;
    return `${[...new Set(names)].join("\n")}\n\n${terms}\n`;
  });
  const intro = `Hunkwise contains these ${new Set(works.map(({ name }) => name)).size} works of others, each under its own license.`;
  return [`${intro}\n`, ...parts].join(`\n${"-".repeat(80)}\n\n`);
}

/** The folder of the package that a file belongs to; null for our own files and for what the bundler adds. */
function packageFolder(file: string): string | null {
  const [, folder] = /^(.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+)[/\\]/.exec(file) ?? [];
  return folder ?? null;
}

function packageWork(folder: string): Work {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (typeof license !== "string") throw new Error(`${folder} does not name its license`);
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").replaceAll("\r", ""));
  return { name: `${name} ${version}`, license, text: texts.map((one) => one.trim()).join("\n\n") };
}

/** The package with the parsers, and the grammar from which they are generated. */
function parserWorks({ folder }: { folder: string }): Work[] {
  const { devDependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const grammars = Object.entries<string>(devDependencies).filter(
    ([name]) => /^tree-sitter-/.test(name) && name !== "tree-sitter-cli",
  );
  const [grammar, ...others] = grammars;
  if (!grammar || others.length > 0) throw new Error(`${folder} does not name one grammar: ${grammars}`);
  const [name, version] = grammar;
  const notice = grammarNotices[name];
  if (notice === undefined)
    throw new Error(`The copyright notice of ${name} is missing in scripts/licenses.ts`);
  return [
    packageWork(folder),
    { name: `${name} ${version}`, license: "MIT", text: `${notice}\n\n${mitTerms}` },
  ];
}
