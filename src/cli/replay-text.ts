/** Where two texts part. */
export interface TextDifference {
  /** Number of the first line that is not the same, from 1. */
  line: number;
  /** That line, in each; empty where there is none. */
  recorded: string;
  today: string;
  /** How many lines each has that the other has not. */
  lines: { recorded: number; today: number };
}

export function firstDifference(recorded: string, today: string): TextDifference {
  const [then, now] = [recorded.split("\n"), today.split("\n")];
  const at = then.findIndex((line, index) => line !== now[index]);
  const index = at < 0 ? then.length : at;
  return {
    line: index + 1,
    ...{ recorded: then[index] ?? "", today: now[index] ?? "" },
    lines: { recorded: beyond(then, now), today: beyond(now, then) },
  };
}

/** Lines of one that the other has not, or not as often. */
function beyond(lines: readonly string[], than: readonly string[]): number {
  const left = new Map<string, number>();
  for (const line of than) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  }).length;
}

/** Characters that two lines have in common at their beginning, of which some stay to tell where they part. */
const LEAD = 24;

/** Two lines without most of what they begin with alike: of long ones a terminal would show that alone. */
export function fromWhereTheyPart(one: string, other: string, width: number): [string, string] {
  let same = 0;
  while (same < one.length && one[same] === other[same]) same++;
  if (same + LEAD <= width) return [one, other];
  const cut = (text: string) => `…${text.slice(same - LEAD)}`;
  return [cut(one), cut(other)];
}
