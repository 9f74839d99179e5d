/** Unchanged lines around a change, as git shows them. */
const CONTEXT = 3;

/** The one change between two texts of a file as a unified diff that git takes; both end with a line feed, or are empty. */
export function patchOf(path: string, before: string | null, after: string): string {
  const [old, now] = [linesOf(before ?? ""), linesOf(after)];
  const shared = Math.min(old.length, now.length);
  let head = 0;
  while (head < shared && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < shared - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const start = Math.max(0, head - CONTEXT);
  const [oldEnd, newEnd] = [old.length - tail, now.length - tail];
  const behind = old.slice(oldEnd, oldEnd + CONTEXT);
  const lines = [
    ...old.slice(start, head).map((line) => ` ${line}`),
    ...old.slice(head, oldEnd).map((line) => `-${line}`),
    ...now.slice(head, newEnd).map((line) => `+${line}`),
    ...behind.map((line) => ` ${line}`),
  ];
  const range = (end: number) => {
    const count = end + behind.length - start;
    return `${count === 0 ? start : start + 1},${count}`;
  };
  const from = before === null ? "/dev/null" : `a/${path}`;
  return [`--- ${from}`, `+++ b/${path}`, `@@ -${range(oldEnd)} +${range(newEnd)} @@`, ...lines, ""].join(
    "\n",
  );
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}
