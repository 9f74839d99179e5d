import { type Alias, isAlias, isCollection, isPair, isScalar, isSeq, type Node, type Scalar } from "yaml";

/** What a value lists, read as generously as can be: a pattern too many hides a file, one too few shows it to a model. */
export interface ReadPatterns {
  patterns: string[];
  wellShaped: boolean;
}

type Targets = ReadonlyMap<Alias, Node>;

/** Reads the patterns of a `private` key. Exceptions (`!a`) are left out. */
export function readPatterns(value: unknown, targets: Targets, text: string): ReadPatterns {
  const whole = resolve(value, targets);
  const isElement = (node: unknown) =>
    isScalar(node) && typeof node.value === "string" && !spansLines(node, text) && !looksCut(node);
  const wellShaped = isSeq(whole) && whole.items.every((item) => isElement(resolve(item, targets)));
  const found = scalarsIn(value, targets).flatMap((one) => {
    if (typeof one === "string") return [one];
    if (one === whole || spansLines(one, text)) return pieces(textOf(one));
    return looksCut(one) ? [textOf(one), ...pieces(textOf(one))] : [textOf(one)];
  });
  const patterns = new Set(found.filter((pattern) => pattern !== "" && !pattern.startsWith("!")));
  return { patterns: [...patterns], wellShaped };
}

const resolve = (node: unknown, targets: Targets) => (isAlias(node) ? targets.get(node) : node);

/** All single values at any depth; an alias of nothing as the text it was meant to be. */
function scalarsIn(node: unknown, targets: Targets, seen = new Set<unknown>()): (Scalar | string)[] {
  if (seen.has(node)) return [];
  seen.add(node);
  if (isAlias(node)) {
    const target = targets.get(node);
    return target ? scalarsIn(target, targets, seen) : [`*${node.source}`];
  }
  if (isPair(node)) return [node.key, node.value].flatMap((part) => scalarsIn(part, targets, seen));
  if (isCollection(node)) return node.items.flatMap((item) => scalarsIn(item, targets, seen));
  return isScalar(node) && node.value !== null ? [node] : [];
}

/** A number as it was written: `007` names a folder. */
function textOf({ value, source }: Scalar): string {
  return typeof value === "string" ? value : (source ?? String(value));
}

function spansLines({ range }: Scalar, text: string): boolean {
  return range ? text.slice(range[0], range[1]).trimEnd().includes("\n") : true;
}

/** Signs of a list among texts without quotes: a dash without its space, a comma before a space. */
const looksCut = ({ type, source = "" }: Scalar) => type === "PLAIN" && /^-|,(\s|$)/.test(source);

/** Where a dash, a space, a comma or a quote lacks, YAML folds several patterns into one text. */
function pieces(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  const words = text.split(/[\s,]+/).filter((word) => word !== "-");
  return [...lines, ...words, ...words.map(bareWord)];
}

/** A word without the dash, the quotes and the brackets around it. */
function bareWord(word: string): string {
  let [start, end] = [0, word.length];
  while (start < end && `-${frame}`.includes(word.charAt(start))) start += 1;
  while (end > start && frame.includes(word.charAt(end - 1))) end -= 1;
  return word.slice(start, end);
}

const frame = "'\"[]";
