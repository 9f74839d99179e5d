import { defines, isLike, isTelling, texts } from "./neighbours.ts";
import { commonLines, type Overlay, replaced, replacement } from "./overlay.ts";

/** A suggestion may leave out this many lines of code at an end, and more when it does nothing else. */
const mostLeftOut = 1;
const mostDeleted = 4;

/**
 * Why a suggestion is for fewer lines than it would replace: it has the first ones or the last ones, changed or not, and
 * nothing in the place of the others. Null when it is not.
 */
export function leftOutLines(overlay: Overlay): string | null {
  const coded = (lines: readonly string[]) =>
    texts(lines).filter((line) => /\w/.test(line) && !ender.test(line));
  const [old, now] = [coded(replaced(overlay)), coded(replacement(overlay))];
  const isDeletion = now.every((line) => old.includes(line));
  if (isDeletion && (now.length === 0 || old.length - now.length <= mostDeleted)) return null;
  const areMissing = (lines: readonly string[]) => lines.length > mostLeftOut || lines.some(defines);
  if (areMissing(behindLast(old, now))) return "it leaves out the last of the lines it replaces";
  if (areMissing(behindLast(old.toReversed(), now.toReversed())))
    return "it leaves out the first of the lines it replaces";
  if (losesDefinition(old, now)) return "it leaves out a definition";
  return losesMost(old, now) ? "it leaves out most of the lines it replaces" : null;
}

/** What is compared line by line with each of the others. */
const mostCompared = 40;

function losesDefinition(old: readonly string[], now: readonly string[]): boolean {
  const near = now.slice(0, mostCompared);
  const isKept = (line: string) => near.some((other) => defines(other) || isLike(line, other));
  return old
    .filter(defines)
    .slice(0, mostCompared)
    .some((line) => !isKept(line));
}

/** Whether many lines become a few that say little of what they said. What is written anew keeps the names. */
function losesMost(allOld: readonly string[], allNow: readonly string[]): boolean {
  if (allNow.length === 0) return false;
  const firstOther = allOld.findIndex((line, at) => line !== allNow[at]);
  const lastOther = allOld.findLastIndex((line, at) => line !== allNow[at - allOld.length + allNow.length]);
  const [old, now] = [
    allOld.slice(firstOther, lastOther + 1),
    allNow.slice(firstOther, lastOther + 1 - allOld.length + allNow.length),
  ];
  if (old.length < 4 || now.length * 2 > old.length) return false;
  const names = new Set(old.join(" ").match(/[A-Za-z_]{3,}/g) ?? []);
  const kept = new Set(now.join(" ").match(/[A-Za-z_]{3,}/g) ?? []);
  return [...names].filter((name) => kept.has(name)).length * 20 < names.size * 9;
}

const ender = /^(?:end|fi|done|esac|begin|do|then)\b\W*$/;

/** The old lines that are left out behind the one that the last new line, or one that says something, is or was. */
function behindLast(old: readonly string[], now: readonly string[]): readonly string[] {
  const matched = commonLines(old, now);
  const last = matched.has(now.length - 1) ? now.length - 1 : now.findLastIndex(isTelling);
  const line = now[last] ?? "";
  const from = Math.max(-1, ...[...matched].flatMap(([at, was]) => (at < last ? [was] : [])));
  const same = matched.get(last) ?? (old.includes(line) ? old.indexOf(line) : undefined);
  const place = same ?? old.findIndex((other, at) => at > from && isLike(line, other));
  return place < 0 ? [] : old.slice(place + 1).filter((other) => !now.includes(other));
}
