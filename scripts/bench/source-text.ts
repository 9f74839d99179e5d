import { seeded } from "../../test/support/seeded.ts";

/** Generated code that parses, and is as long, varied and repetitive as the files of a real repository. */

interface Language {
  extension: string;
  open: (name: string) => string;
  statements: readonly ((a: string, b: string, n: number) => string)[];
  close: string;
}

const typescript: Language = {
  extension: "ts",
  open: (name) => `export function ${name}(input: string, limit: number): number {`,
  statements: [
    (a, b, n) => `  const ${a}${b} = input.length * limit + ${n};`,
    (a, b, n) => `  if (limit > ${n}) console.log("${a} is above ${b}", limit);`,
    (a, b, n) => `  for (let at = 0; at < ${n}; at += 1) limit += input.indexOf("${a}-${b}");`,
    (a, b, n) => `  // The ${a} of a ${b} is ${n} at most; what is larger was cut before.`,
    (a, b, n) => `  input = input.replaceAll("${a}", \`${b} \${limit} ${n}\`);`,
  ],
  close: "  return limit;\n}\n",
};

const python: Language = {
  extension: "py",
  open: (name) => `def ${name}(text: str, limit: int) -> int:`,
  statements: [
    (a, b, n) => `    ${a}_${b} = len(text) * limit + ${n}`,
    (a, b, n) => `    print("${a} is above ${b}", limit, ${n})`,
    (a, b, n) => `    limit += text.count("${a}-${b}") or ${n}`,
    (a, b, n) => `    # The ${a} of a ${b} is ${n} at most; what is larger was cut before.`,
  ],
  close: "    return limit\n",
};

const go: Language = {
  extension: "go",
  open: (name) => `func ${name}(text string, limit int) int {`,
  statements: [
    (a, b, n) => `\tlimit += strings.Count(text, "${a}-${b}") + ${n}`,
    (a, b, n) => `\tfmt.Println("${a} is above ${b}", limit, ${n})`,
    (a, b, n) => `\t// The ${a} of a ${b} is ${n} at most; what is larger was cut before.`,
  ],
  close: "\treturn limit\n}\n",
};

const languages = [typescript, typescript, python, go] as const;

const words =
  "account amount answer batch branch bucket buffer cache change channel chunk client column commit count cursor date delay entry event filter folder frame graph group handle header index invoice item label ledger level limit line member message node notice offset order owner packet page parent parser patch path payload point price query queue range rate record region report request result review route row schema score segment session shape signal slice source stage state stream table target task template token total trace tree unit user value vector version window worker".split(
    " ",
  );

/** Pseudo-random numbers that are the same in each run, so that each run measures the same repositories. */
export class Dice {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  /** A whole number below `bound`. */
  below(bound: number): number {
    return (this.#random() * 2 ** 32) % bound;
  }

  word(): string {
    return words[this.below(words.length)] ?? "";
  }
}

const languageOf = (number: number) => languages[number % languages.length] ?? typescript;

/** The path of the file with this number: about twenty files per folder. */
export function pathOf(number: number): string {
  const folder = Math.floor(number / 20);
  const area = words[folder % words.length];
  return `packages/${area}/part-${folder}/${words[(number * 7) % words.length]}-${number}.${languageOf(number).extension}`;
}

/** The text of the file with this number, about `lines` lines long. */
export function textOf(number: number, lines: number): string {
  const dice = new Dice(number + 1);
  const text: string[] = [];
  while (text.length < lines) {
    const language = languageOf(number);
    text.push(language.open(`${dice.word()}_${dice.word()}_${text.length}`));
    for (let count = 0; count < 8; count++) text.push(statement(number, dice));
    text.push(language.close);
  }
  return `${text.join("\n")}\n`;
}

/** The path and the text of the file with this number. */
export const fileOf = (number: number, lines: number): [path: string, text: string] => [
  pathOf(number),
  textOf(number, lines),
];

/** The same, edited at `places` places. */
export const editedFile = (number: number, lines: number, places: number, seed: number) =>
  [pathOf(number), edited(number, textOf(number, lines), places, seed)] satisfies [string, string];

export const numbersUpTo = (count: number, from = 0) => Array.from({ length: count }, (_, at) => from + at);

/** A statement in the language of the file with this number. */
function statement(number: number, dice: Dice): string {
  const { statements } = languageOf(number);
  return statements[dice.below(statements.length)]?.(dice.word(), dice.word(), dice.below(1000)) ?? "";
}

/** The text with statements added, changed and removed at `places` places. */
export function edited(number: number, text: string, places: number, seed: number): string {
  const dice = new Dice(seed);
  const lines = text.split("\n");
  const statements = lines.flatMap((line, at) => (isStatement(line) ? [at] : []));
  for (let count = 0; count < places; count++) {
    const at = statements[dice.below(statements.length)] ?? 0;
    const kind = dice.below(4);
    if (kind === 0) lines[at] += `\n${statement(number, dice)}\n${statement(number, dice)}`;
    else if (kind === 1) lines[at] = "";
    else lines[at] = statement(number, dice);
  }
  return lines.join("\n");
}

const isStatement = (line: string) => /^\s+\S/.test(line) && !/^\s+return limit/.test(line);
