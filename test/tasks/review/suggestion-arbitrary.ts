import fc from "fast-check";
import {
  blockEnd,
  type Edit,
  edited,
  editsOf,
  indentOf,
  inText,
  netDepth,
  widened,
} from "./suggestion-edits.ts";
import { foreignSnippets } from "./suggestion-foreign.ts";
import { type Sample, samples } from "./suggestion-samples.ts";

/** A suggestion as a model might write it, and the one file that may come of it. */
export interface GeneratedCase {
  kind: string;
  /** Whether it is right, or can be put right without guessing. */
  isGood: boolean;
  sample: Sample;
  /** The file; with carriage returns where its line ends are Windows'. */
  lines: readonly string[];
  start: number;
  end: number;
  suggestion: string;
  /** The file afterwards; null when whatever comes of it is wrong. */
  expected: readonly string[] | null;
}

/** How a suggestion is written down; null where the kind does not apply. */
type Writing = (edit: Edit, random: Random) => Partial<GeneratedCase> | string | null;

/** Numbers for choices within a kind. */
type Random = (below: number) => number;

const text = (lines: readonly string[]) => lines.join("\n");
const isBlank = (line: string) => line.trim() === "";
const flat = (lines: readonly string[]) => {
  const filled = lines.filter((line) => !isBlank(line)).map((line) => indentOf(line).length);
  const least = Math.min(...filled);
  return lines.map((line) => line.slice(least));
};
const pick = <T>(from: readonly T[], random: Random) => from[random(from.length)]!;
const fenced = (lines: readonly string[], info: string, marks = "```") =>
  text([marks + info, ...lines, marks]);

/** Writes that are right, or that can be put right without guessing. */
const good: Record<string, Writing> = {
  plain: ({ replacement }) => text(replacement),
  "trailing line feed": ({ replacement }) => (replacement.length === 0 ? null : `${text(replacement)}\n`),
  "empty lines around": ({ replacement }, random) =>
    isPlain(replacement)
      ? `${"\n".repeat(random(3))}${text(replacement)}${"\n".repeat(1 + random(3))}`
      : null,
  "Markdown fence": ({ replacement }, random) =>
    isPlain(replacement)
      ? fenced(replacement, pick(["", "suggestion", "ts", "python", "c++", "diff-free"], random))
      : null,
  "nested fences": ({ replacement }, random) =>
    isPlain(replacement)
      ? fenced(
          fenced(replacement, pick(["", "ts", "yaml"], random)).split("\n"),
          "suggestion",
          pick(["```", "````", "~~~~"], random),
        )
      : null,
  "added lines of a diff": ({ replacement }) =>
    isPlain(replacement) ? text(replacement.map((line) => `+${line}`)) : null,
  "diff of the lines": (edit) => {
    const old = edit.sample.lines.slice(edit.start - 1, edit.end);
    return isPlain(edit.replacement) && isPlain(old)
      ? text([...old.map((line) => `-${line}`), ...edit.replacement.map((line) => `+${line}`)])
      : null;
  },
  "numbered lines": ({ replacement, start }) =>
    isPlain(replacement) ? text(replacement.map((line, at) => `${start + at}| ${line}`)) : null,
  "numbered lines of a diff": ({ replacement, start }, random) =>
    isPlain(replacement)
      ? text(replacement.map((line, at) => `${start + at} ${pick(["+", "+", " "], random)}${line}`))
      : null,
  "indentation lost": ({ replacement }) => (isPlain(replacement) ? text(flat(replacement)) : null),
  "indentation lost in a fence": ({ replacement }) =>
    isPlain(replacement) ? fenced(flat(replacement), "") : null,
  "indented too far": ({ replacement, sample }) =>
    isPlain(replacement)
      ? text(replacement.map((line) => (isBlank(line) ? line : sample.language.unit + line)))
      : null,
  "first line's indentation lost": ({ replacement }) =>
    isPlain(replacement) && !isBlank(replacement[0]!) && opensLess(replacement)
      ? text([replacement[0]!.trimStart(), ...replacement.slice(1)])
      : null,
  "other indentation characters": ({ replacement, sample }) => {
    const { unit } = sample.language;
    const other = unit === "\t" ? "    " : "\t";
    const isAligned = replacement.every((line) => indentOf(line).length % unit.length === 0);
    if (!isAligned || !isPlain(replacement)) return null;
    return text(replacement.map((line) => indentOf(line).replaceAll(unit, other) + line.trimStart()));
  },
  "line before repeated": (edit, random) => repeated(edit, 1 + random(2), 0),
  "line after repeated": (edit, random) => repeated(edit, 0, 1 + random(2)),
  "lines around repeated": (edit, random) => repeated(edit, 1 + random(2), 1 + random(2)),
  "line before repeated, indentation lost": (edit) => {
    const suggestion = repeated(edit, 1, 0);
    return suggestion && text(flat(suggestion.split("\n")));
  },
  "Windows line ends": (edit) => ({
    suggestion: text(edit.replacement),
    lines: edit.sample.lines.map((line) => `${line}\r`),
    expected: edited(edit).map((line) => `${line}\r`),
  }),
};

const isPlain = (lines: readonly string[]) =>
  lines.some((line) => !isBlank(line)) && !isBlank(lines[0]!) && !isBlank(lines.at(-1)!);

/** Whether the lines show where the first one stood. */
function opensLess(lines: readonly string[]): boolean {
  const [first, second] = lines.filter((line) => !isBlank(line));
  return second === undefined || lines.every((line) => isBlank(line) || line.startsWith(indentOf(first!)));
}

function repeated(edit: Edit, above: number, below: number): string | null {
  if (!isPlain(edit.replacement)) return null;
  const { lines } = edit.sample;
  const head = lines.slice(Math.max(0, edit.start - 1 - above), edit.start - 1);
  const tail = lines.slice(edit.end, edit.end + below);
  if ((above > 0 && !isPlain(head)) || (below > 0 && !isPlain(tail))) return null;
  return text([...head, ...edit.replacement, ...tail]);
}

/** What may come of these is the edit itself, if it can be repaired, or nothing. */
const bad: Record<string, Writing> = {
  "cut off at the end": (edit, random) => {
    const cut = edit.replacement.slice(0, 1 + random(Math.max(1, edit.replacement.length - 1)));
    return isBroken(edit, cut) ? { suggestion: text(cut), expected: null } : null;
  },
  "cut off at the beginning": (edit, random) => {
    const cut = edit.replacement.slice(1 + random(Math.max(1, edit.replacement.length - 1)));
    return isBroken(edit, cut) && !edit.sample.language.isIndented
      ? { suggestion: text(cut), expected: null }
      : null;
  },
  "written for more lines": (edit) => {
    const last = blockEnd(edit.sample.lines, edit.start - 1);
    if (edit.what !== "block" || last === undefined) return null;
    return { suggestion: text(edit.replacement), end: edit.start };
  },
  "written for fewer lines": (edit, random) => {
    const more = 4 + random(5);
    const { lines } = edit.sample;
    // Where lines go anyway, those that are left out are as good.
    const isDeletion = edit.replacement.every((line) => lines.slice(edit.start - 1, edit.end).includes(line));
    const left = lines
      .slice(edit.end, edit.end + more)
      .filter((line) => /\w/.test(line) && !/^\s*(?:end|fi|done)$/.test(line));
    // A line less is a change that somebody may want.
    if (edit.end + more > lines.length || isDeletion || left.length < 2) return null;
    return { suggestion: text(edit.replacement), end: edit.end + more };
  },
  "wrong language": (edit, random) => {
    if (inText(edit.sample, edit.start - 1)) return null;
    const [, snippet] = pick(foreignTo(edit.sample), random);
    return { suggestion: text(snippet), expected: null };
  },
  "wrong language at the right place": (edit, random) => {
    if (inText(edit.sample, edit.start - 1)) return null;
    const indent = indentOf(edit.sample.lines[edit.start - 1]!);
    return {
      suggestion: text(pick(foreignTo(edit.sample), random)[1].map((line) => indent + line)),
      expected: null,
    };
  },
  "no change": (edit, random) => {
    const old = edit.sample.lines.slice(edit.start - 1, edit.end);
    const ways = [
      () => text(old),
      () => `${text(old)}\n`,
      () => text(old.map((line) => `${line}  `)),
      () => text(old.map((line) => `${line}\r`)),
      () => fenced(old, "suggestion"),
      () => text(flat(old)),
      () => text(old.map((line) => `\t${line}`)),
      () => repeated({ ...edit, replacement: old }, 1, 1) ?? text(old),
      () => text([...old, "", ""]),
    ];
    return isPlain(old) ? { suggestion: pick(ways, random)(), expected: null } : null;
  },
  "unsteady indentation": ({ replacement, sample, end }, random) => {
    if (!isPlain(replacement) || inText(sample, end - 1)) return null;
    const at = random(replacement.length);
    const line = replacement[at]!;
    const odd = sample.language.isIndented ? [1, 2, 3] : [1, 2, 3, 4, 8];
    const amount = pick(odd, random) % (sample.language.unit.length === 2 ? 2 : 9) || 1;
    const moved =
      random(2) === 0 ? " ".repeat(amount) + line : line.replace(new RegExp(`^ {0,${amount}}`), "");
    return text(replacement.with(at, moved));
  },
  "kept line out of its block": ({ replacement, sample, start, end }, random) => {
    const old = sample.lines.slice(start - 1, end);
    const isKept = (line: string | undefined) => line !== undefined && old.includes(line) && !isBlank(line);
    const kept = replacement.flatMap((line, at) => (isKept(line) && isKept(replacement[at - 1]) ? [at] : []));
    if (kept.length === 0 || !isPlain(replacement)) return null;
    const at = pick(kept, random);
    const { unit } = sample.language;
    const line = replacement[at]!;
    return text(
      replacement.with(at, line.startsWith(unit) && random(2) === 0 ? line.slice(unit.length) : unit + line),
    );
  },
  "half a fence": ({ replacement }, random) =>
    isPlain(replacement)
      ? random(2) === 0
        ? text(["```ts", ...replacement])
        : text([...replacement, "```"])
      : null,
  "prose around a fence": ({ replacement }) =>
    isPlain(replacement) ? `Use this instead:\n\n${fenced(replacement, "")}\n\nIt is safer.` : null,
  "code left out": ({ replacement, sample }, random) => {
    const { comment } = sample.language;
    if (comment === "" || replacement.length < 3) return null;
    const said = pick(
      ["...", "... existing code ...", "rest of the function", "... rest unchanged", "(code unchanged)"],
      random,
    );
    const [first] = replacement;
    const middle = `${indentOf(replacement[1]!)}${comment} ${said}`;
    return { suggestion: text([first!, middle, replacement.at(-1)!]), expected: null };
  },
  "comment or string never closed": ({ replacement, sample, end }, random) => {
    const openers: Record<string, string[]> = {
      Python: ['"""', "x = '''"],
      shell: ["cat <<TEXT", "cat <<EOF"],
      Ruby: ["text = <<~TEXT"],
      TOML: ['text = """', "text = '''"],
      Go: ["text := `", "/*"],
      TypeScript: ["/* TODO", "const text = `"],
      TSX: ["/* TODO", "const text = `"],
    };
    const opener = pick(openers[sample.language.name] ?? ["/* what follows"], random);
    if (sample.language.name === "YAML" || !isPlain(replacement) || inText(sample, end - 1)) return null;
    const indent = indentOf(replacement[0]!);
    return text([...replacement, indent + opener]);
  },
  "block around repeated": (edit, random) => {
    // A copy of the whole definition, changed at its head too, in the place of a line of it.
    const head = edit.sample.lines.slice(0, edit.start - 1).findLastIndex((_, at) => {
      const end = blockEnd(edit.sample.lines, at);
      return end !== undefined && end >= edit.end && at < edit.start - 1;
    });
    const end = head < 0 ? undefined : blockEnd(edit.sample.lines, head);
    if (end === undefined || edit.start !== edit.end || edit.replacement.length === 0) return null;
    const whole = widened(edit, edit.start - 1 - head, end + 1 - edit.end);
    return text(random(2) === 0 ? whole.replacement : flat(whole.replacement));
  },
};

/** Snippets of other languages; TSX is TypeScript with HTML in it. */
function foreignTo({ language }: Sample): typeof foreignSnippets {
  const own = language.name === "TSX" ? ["TypeScript", "HTML"] : [language.name];
  return foreignSnippets.filter(([name]) => !own.includes(name));
}

/** Whether the cut lines leave open, or close, other blocks than the lines they would replace. */
function isBroken({ sample, start, end, replacement }: Edit, cut: readonly string[]): boolean {
  const { language, lines } = sample;
  if (cut.length === 0 || cut.length === replacement.length || !isPlain(cut) || inText(sample, end - 1))
    return false;
  // Empty lines are nothing to miss.
  if (cut.filter((line) => !isBlank(line)).length === replacement.filter((line) => !isBlank(line)).length)
    return false;
  const old = lines.slice(start - 1, end);
  if (netDepth(cut, language) !== netDepth(old, language)) return true;
  if (!language.isIndented || !/:$/.test(cut.at(-1)!)) return false;
  // A head without a body.
  const next = lines.slice(end).find((line) => !isBlank(line)) ?? "";
  const after = replacement[cut.length] ?? "";
  const depth = indentOf(cut.at(-1)!).length;
  return indentOf(after).length > depth && indentOf(next).length <= depth;
}

const edits: readonly (readonly Edit[])[] = samples.map(editsOf);

const writings = [
  ...Object.entries(good).map(([kind, write]) => ({ kind, write, isGood: true })),
  ...Object.entries(bad).map(([kind, write]) => ({ kind, write, isGood: false })),
];

/** Suggestions of all kinds over all sample files. */
export const generatedCase: fc.Arbitrary<GeneratedCase> = fc
  .record({
    writing: fc.constantFrom(...writings),
    ofSample: fc.nat(samples.length - 1),
    nth: fc.nat(100_000),
    above: fc.nat(4),
    below: fc.nat(4),
    numbers: fc.array(fc.nat(100_000), { minLength: 4, maxLength: 4 }),
  })
  .map(({ writing, ofSample, nth, above, below, numbers }) => {
    const all = edits[ofSample]!;
    // A kind that does not apply to an edit may apply to the next one.
    for (let at = 0; at < all.length; at++) {
      const chosen = all[(nth + at) % all.length]!;
      const edit = widened(chosen, Math.max(0, above - 2), Math.max(0, below - 2));
      const made = write(writing, edit, numbers);
      if (made) return made;
    }
    return write(writings[0]!, all[nth % all.length]!, numbers)!;
  });

function write(
  { kind, write, isGood }: (typeof writings)[number],
  edit: Edit,
  numbers: readonly number[],
): GeneratedCase | null {
  let drawn = 0;
  const random: Random = (below) => numbers[drawn++ % numbers.length]! % below;
  const written = write(edit, random);
  if (written === null) return null;
  const { sample, start, end } = edit;
  const whole: GeneratedCase = {
    ...{ kind, isGood, sample, lines: sample.lines, start, end, suggestion: "", expected: edited(edit) },
    ...(typeof written === "string" ? { suggestion: written } : written),
  };
  // What happens to be the change itself is right.
  return whole;
}
