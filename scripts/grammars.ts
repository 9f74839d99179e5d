import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { registeredDialects } from "../src/repo/code/languages.ts";

const require = createRequire(import.meta.url);

/** The platforms for which the packages of grammars bring a parser, named as Node names them, and the name that the packages use. */
const prebuilds = {
  "linux-x64": "Linux-X64",
  "linux-arm64": "Linux-ARM64",
  "darwin-x64": "macOS-X64",
  "darwin-arm64": "macOS-ARM64",
  "win32-x64": "Windows-X64",
} as const;

export type Platform = keyof typeof prebuilds;
export const platforms = Object.keys(prebuilds) as Platform[];

/** The platforms that this machine needs: one, or none if there are no parsers for it. */
export const platformsHere = platforms.filter((one) => one === `${process.platform}-${process.arch}`);

/** A package that holds the parser of a language. */
export interface GrammarPackage {
  dialect: string;
  /** Its folder. */
  folder: string;
}

export const grammarPackages: readonly GrammarPackage[] = registeredDialects.map((dialect) => ({
  ...{ dialect, folder: dirname(require.resolve(`@ast-grep/lang-${dialect}`)) },
}));

/**
 * Copies the parsers: `<platform>/<dialect>.so`, and `parsers.json` with what ast-grep must know of each. Of the packages that is a fifth;
 * the rest is C source. Rejects if a package brings a parser for another platform, or none for one of these.
 */
export async function copyGrammars(folder: string, only: readonly Platform[]): Promise<void> {
  const known = Object.values(prebuilds).map((name) => `prebuild-${name}`);
  const parsers: Record<string, unknown> = {};
  for (const { dialect, folder: from } of grammarPackages) {
    const found = await readdir(join(from, "prebuilds"));
    if (found.toSorted().join() !== known.toSorted().join())
      throw new Error(`${from} has other prebuilds than ${known.join(", ")}: ${found.join(", ")}`);
    const { extensions, languageSymbol, expandoChar } = require(from);
    parsers[dialect] = { extensions, languageSymbol, expandoChar };
    for (const platform of only) {
      await mkdir(join(folder, platform), { recursive: true });
      const built = join(from, "prebuilds", `prebuild-${prebuilds[platform]}`, "parser.so");
      await copyFile(built, join(folder, platform, `${dialect}.so`));
    }
  }
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "parsers.json"), `${JSON.stringify(parsers, null, 2)}\n`);
}
